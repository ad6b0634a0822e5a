import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save, save_file

from pgso import fit
from pgso.data import load_task
from pgso.errors import InputError
from pgso.evaluation.scores import predict_outputs
from pgso.predictors import load
from pgso.predictors.inputs import fitted
from pgso.records import NUMERICS, RunSpec
from pgso.training.session import Checkpoint, Session
from tests.training.tasks import karate, load_model, minesweeper, shapes


class StoppedError(Exception):
    pass


def stop_at(epoch):
    def watch(session):
        if session.epoch == epoch:
            raise StoppedError

    return watch


CASES = {
    "node": minesweeper(operator="mpgso", norm="batch", epochs=9, lr_step=2, seed=4),
    "gat": karate(conv="gat", epochs=9, max_radius=2.0),
    "graph": shapes(epochs=9, lr_step=3),
    "auto": karate(operator="auto", epochs=9),
}


@pytest.fixture(params=CASES)
def spec(request):
    return CASES[request.param]


@pytest.mark.parametrize("epoch", [1, 5, 8])
def test_a_stopped_run_goes_on_as_if_it_had_not_been(spec, shapes_root, tmp_path, epoch):
    file = tmp_path / "run.safetensors"
    whole = fit(spec, shapes_root)
    with pytest.raises(StoppedError):
        fit(spec, shapes_root, watch=stop_at(epoch), checkpoint=file, checkpoint_every=2)
    torch.manual_seed(99)
    epochs = []
    resumed = fit(
        spec,
        shapes_root,
        watch=lambda session: epochs.append(session.epoch),
        checkpoint=file,
        checkpoint_every=2,
    )
    assert resumed.without_times() == whole.without_times()
    assert epochs[0] == (epoch - 1) // 2 * 2 + 1  # the last even epoch before the checkpoint
    assert list(tmp_path.iterdir()) == []  # what is finished needs no checkpoint


def test_trainings_of_a_choice_that_had_ended_are_not_run_again(tmp_path):
    file, spec = tmp_path / "run.safetensors", karate(operator="auto", epochs=4)
    whole, passes = fit(spec), []

    def stop_in_the_third(session):
        passes.append(session.epoch)
        if len(passes) == 10:
            raise StoppedError

    with pytest.raises(StoppedError):
        fit(spec, watch=stop_in_the_third, checkpoint=file, checkpoint_every=3)
    passes.clear()
    resumed = fit(spec, watch=lambda session: passes.append(session.epoch), checkpoint=file)
    assert resumed.without_times() == whole.without_times()
    assert passes == [1, 2, 3, 4] * 3  # of the third of five, which had no checkpoint, and of more
    assert list(tmp_path.iterdir()) == []


def test_the_checkpoint_of_files_that_changed_since_is_ignored(tmp_path):
    folder, file = tmp_path / "friends", tmp_path / "run.safetensors"
    folder.mkdir()
    (folder / "edges.csv").write_text("".join(f"{i},{(i + 1) % 12}\n" for i in range(12)))
    spec = RunSpec(dataset=str(folder), epochs=4, hidden_channels=4)
    for shift in (0, 1):
        labels = [f"{i},{(i + shift) // 2 % 2}\n" for i in range(12)]
        (folder / "labels.csv").write_text("".join(labels))
        if shift == 0:
            with pytest.raises(StoppedError):
                fit(spec, watch=stop_at(3), checkpoint=file, checkpoint_every=1)
    assert fit(spec, checkpoint=file).without_times() == fit(spec).without_times()


def test_the_checkpoint_of_other_numerics_is_ignored(tmp_path, monkeypatch):
    file, spec, epochs = tmp_path / "run.safetensors", karate(epochs=4), []
    monkeypatch.setattr("pgso.training.session.NUMERICS", NUMERICS - 1)
    with pytest.raises(StoppedError):
        fit(spec, watch=stop_at(3), checkpoint=file, checkpoint_every=1)
    monkeypatch.undo()
    fit(spec, watch=lambda session: epochs.append(session.epoch), checkpoint=file)
    assert epochs == [1, 2, 3, 4]


def test_the_end_of_a_run_removes_its_own_checkpoints_and_nothing_else(tmp_path):
    others = ["run2", "run.log", "run.safetensors"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / "runs").mkdir()
    fit(karate(operator="auto"), checkpoint=tmp_path / "run", save=tmp_path / "run.weights")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted([*others, "runs", "run.weights"])


def test_changed_files_may_choose_another_preset_without_being_another_run(tmp_path):
    file, spec = tmp_path / "run.safetensors", RunSpec(dataset="somewhere", preset="gcn")
    task = load_task("karate")
    Checkpoint(file, 1, data="then").save(Session(spec.but(preset="mean"), task))
    session = Session(spec, task)
    assert not Checkpoint(file, 1, data="now").load(session)
    with pytest.raises(InputError, match="belongs to another run"):
        Checkpoint(file, 1, data="then").load(session)


def test_weights_that_cannot_be_written_cost_no_training(tmp_path):
    (tmp_path / "file").touch()
    file = tmp_path / "run.safetensors"
    with pytest.raises(OSError, match="file"):
        fit(karate(), save=tmp_path / "file" / "best.safetensors", checkpoint=file)
    epochs = []
    fit(karate(), checkpoint=file, watch=lambda session: epochs.append(session.epoch))
    assert epochs == []


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    file = tmp_path / "run.safetensors"
    with pytest.raises(StoppedError):
        fit(karate(), watch=stop_at(3), checkpoint=file, checkpoint_every=1)
    with pytest.raises(InputError, match="belongs to another run; choose another file"):
        fit(karate(seed=1), checkpoint=file)
    assert file.exists()


@pytest.mark.parametrize(
    "content", [b"", b"not a checkpoint at all", b"\x08" + b"\x00" * 7 + b"{}{}{}{}"]
)
def test_a_damaged_checkpoint_is_named(tmp_path, content):
    file = tmp_path / "run.safetensors"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"run.safetensors is not a file that pgso has saved"):
        fit(karate(), checkpoint=file)
    with pytest.raises(InputError, match=r"run.safetensors is not a file that pgso has saved"):
        load_model(file)


def test_a_saved_model_gives_the_recorded_score(spec, shapes_root, tmp_path):
    file = tmp_path / "deep" / "best.safetensors"
    record = fit(spec, shapes_root, save=file)
    model, loaded, header = load_model(file)
    expected = spec if spec.operator != "auto" else spec.but(operator=record.chosen)
    assert loaded == expected
    task = load_task(spec.dataset, shapes_root, spec.seed, **spec.data_options)
    fitted(load(file), task)
    logits, y = predict_outputs(model, task).detach().numpy(), task.y.numpy()
    assert task.objective.score(logits[task.test], y[task.test]) == record.test
    assert task.objective.score(logits[task.val], y[task.val]) == record.val
    assert tuple(header["classes"]) == task.classes


def test_a_model_is_not_used_on_data_of_another_shape(tmp_path, shapes_root):
    file = tmp_path / "best.safetensors"
    fit(karate(epochs=1), save=file)
    model = load(file)
    with pytest.raises(InputError, match="number of features is 34, but minesweeper has 7"):
        fitted(model, load_task("minesweeper", rows=8, cols=8))
    with pytest.raises(InputError, match="kind of task is node, but SHAPES has graph"):
        fitted(model, load_task("SHAPES", shapes_root, folds=3))


def test_a_checkpoint_is_not_a_model_and_a_model_is_not_a_checkpoint(tmp_path):
    checkpoint, model = tmp_path / "run.safetensors", tmp_path / "best.safetensors"
    fit(karate(), save=model)
    with pytest.raises(StoppedError):
        fit(karate(), watch=stop_at(3), checkpoint=checkpoint, checkpoint_every=1)
    with pytest.raises(InputError, match="is the checkpoint of a run, not a model"):
        load_model(checkpoint)
    with pytest.raises(InputError):
        fit(karate(), checkpoint=model)


def test_a_model_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(InputError, match=r"there is no saved model at .*; write one with --save"):
        load_model(tmp_path / "none.safetensors")


def rewritten(path, **changes):
    """The same file with another header."""
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["pgso"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    spec = {**header["spec"], **changes.pop("spec", {})}
    header = {**header, "spec": spec, **changes}
    header = {name: value for name, value in header.items() if value != "absent"}
    save_file(tensors, path, metadata={"pgso": json.dumps(header)})


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"hidden_channels": 50_000}},
        {"spec": {"hidden_channels": 10**8}},
        {"spec": {"num_layers": 10**7}},
        {"spec": {"num_layers": 900}},
        {"num_features": 10**9},
        {"num_features": "many"},
        {"num_features": -1},
        {"num_features": "absent"},
        {"classes": ["a"] * 1000},
        {"classes": [1, 2]},
        {"categories": [10**9]},
        {"kind": "galaxy"},
        {"kind": "absent"},
        {"spec": {"dataset": 3}},
    ],
    ids=str,
)
def test_a_header_that_does_not_fit_its_tensors_is_refused_before_a_model_is_built(
    tmp_path, changes
):
    path = tmp_path / "model.safetensors"
    fit(karate(epochs=1), save=path)
    load_model(path)
    rewritten(path, **changes)
    with pytest.raises(InputError) as caught:
        load_model(path)
    assert len(str(caught.value)) < 600


def test_a_header_nested_a_million_deep_is_one_sentence(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(save({"a": torch.ones(1)}, metadata={"pgso": "[" * 10**6}))
    with pytest.raises(InputError, match="not a file that pgso has saved"):
        load_model(path)


@pytest.mark.parametrize(
    "changes",
    [{"optimiser": "absent"}, {"optimiser": {"state": {}}}, {"best": None}, {"curves": 3}],
    ids=str,
)
def test_a_broken_checkpoint_is_one_sentence_with_its_name(tmp_path, changes):
    path = tmp_path / "run.safetensors"

    def stop(session):
        if session.epoch == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fit(karate(epochs=4), watch=stop, checkpoint=path, checkpoint_every=1)
    rewritten(path, **changes)
    with pytest.raises(InputError, match=r"run\.safetensors is not a file that pgso has saved"):
        fit(karate(epochs=4), checkpoint=path)
