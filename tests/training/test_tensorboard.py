import sys

import pytest

from pgso import fit
from pgso.errors import InputError
from pgso.gso.parameters import NAMES
from pgso.training.tensorboard import TensorBoard
from tests.training.tasks import karate, minesweeper, shapes


def read_back(folder) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def steps(curve) -> list[tuple[int, float]]:
    return [(epoch, pytest.approx(value, rel=1e-5, abs=1e-6)) for epoch, value in enumerate(curve)]


def test_every_curve_can_be_read_back(tmp_path):
    record = fit(minesweeper(operator="mpgso", epochs=4), watch=TensorBoard(tmp_path))
    (run,) = tmp_path.iterdir()
    assert run.name == f"minesweeper-gcn-mpgso-{record.spec.key}"
    logged, curves = read_back(run), record.curves
    expected = {"loss": curves["loss"]}
    expected |= {f"roc_auc/{part}": curves[part] for part in ("train", "val", "test")}
    for place in range(2):
        for number, name in enumerate(NAMES):
            expected[f"S{place}/{name}"] = [S[place][number] for S in curves["parameters"]]
        for number, end in enumerate(("low", "high")):
            expected[f"interval{place}/{end}"] = [
                ends[place][number] for ends in curves["interval"]
            ]
    assert logged.keys() == expected.keys()
    for tag, curve in expected.items():
        assert logged[tag] == steps(curve)


def test_a_run_that_is_taken_up_again_is_logged_without_gaps_or_repetitions(tmp_path):
    spec = karate(epochs=7)

    def stop(session):
        log(session)
        if session.epoch == 5:
            raise KeyboardInterrupt

    log = TensorBoard(tmp_path / "log")
    options = {"checkpoint": tmp_path / "run.safetensors", "checkpoint_every": 2}
    with pytest.raises(KeyboardInterrupt):
        fit(spec, watch=stop, **options)
    log.close()
    record = fit(spec, watch=TensorBoard(tmp_path / "log"), **options)
    (run,) = (tmp_path / "log").iterdir()
    assert read_back(run)["loss"] == steps(record.curves["loss"])


def test_each_run_has_a_folder_of_its_own_and_missing_scores_are_left_out(tmp_path, shapes_root):
    log = TensorBoard(tmp_path)
    without_test = {"folds": 3, "protocol": "gin"}
    fit(shapes(epochs=2, data_options=without_test), shapes_root, watch=log)
    fit(karate(operator="auto", epochs=2), watch=log)
    runs = {"-".join(path.name.split("-")[:3]): path for path in tmp_path.iterdir()}
    assert set(runs) == {
        "SHAPES-gin-pgso",
        "karate-gcn-fixed",
        *(f"karate-bank-{mode}" for mode in ("fixed", "pgso", "mpgso")),  # what find proposes here
    }
    assert "accuracy/test" not in read_back(runs["SHAPES-gin-pgso"])
    assert len(read_back(runs["karate-gcn-fixed"])["accuracy/test"]) == 2


def test_without_the_package_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"pip install 'pgso\[tensorboard\]'"):
        TensorBoard(tmp_path)
