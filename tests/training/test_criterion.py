"""Every objective is trained by its loss, on its scale, and scored in its unit."""

import numpy as np
import pytest
import torch

from pgso.data import load_task
from pgso.data.dataset import suited
from pgso.errors import InputError
from pgso.evaluation import statistics
from pgso.evaluation.scores import predict_outputs
from pgso.objectives import OBJECTIVES
from pgso.records import RunSpec
from pgso.training.fit import fit
from pgso.training.learning import Criterion
from pgso.training.session import Session
from tests.training.tasks import karate, load_model, minesweeper

TINY = {"epochs": 5, "hidden_channels": 8}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A ring whose nodes have a price each, and one whose nodes have labels; some are missing."""
    by_name = {}
    rng = np.random.default_rng(0)
    for name in ("value", "labels"):
        folder = by_name[name] = tmp_path_factory.mktemp(name)
        (folder / "edges.csv").write_text("".join(f"{i},{(i + 1) % 60}\n" for i in range(60)))
        x = rng.normal(size=60)
        (folder / "features.csv").write_text(
            "node,x\n" + "".join(f"{i},{v}\n" for i, v in enumerate(x))
        )
        one, two = np.exp(3 + x), 100 + 5 * x
        if name == "labels":
            one, two = (x > 0).astype(int), (x < 0.5).astype(int)
        rows = [
            f"{i},{a},{'' if i % 7 == 0 else b}\n"
            for i, (a, b) in enumerate(zip(one, two, strict=True))
        ]
        (folder / "targets.csv").write_text("node,one,two\n" + "".join(rows))
    return by_name


def spec_for(objective, folders, **choices):
    if objective.answer == "class":
        return minesweeper(objective=objective.name, **choices)
    if objective.answer == "link":
        return karate(task="link", objective=objective.name, data_options={"val": 0.1}, **choices)
    chosen = {"operator": "pgso", **TINY, **choices}  # not the network that find proposes
    return RunSpec(dataset=folders[objective.answer], objective=objective.name, **chosen)


@pytest.fixture(params=list(OBJECTIVES))
def objective(request):
    return OBJECTIVES[request.param]


def test_every_objective_trains_and_the_best_epoch_is_the_one_it_likes_best(objective, folders):
    record = fit(spec_for(objective, folders, dropout=0.0))
    assert (record.status, record.metric) == ("done", objective.name)
    merits = [objective.merit(score) for score in record.curves["val"]]
    assert merits[record.epoch] == max(merits)
    low, high = objective.bounds
    assert low <= record.test <= high
    assert record.curves["loss"][-1] < record.curves["loss"][0]


def test_a_saved_model_gives_the_recorded_score(objective, folders, tmp_path):
    spec = spec_for(objective, folders)
    record = fit(spec, save=tmp_path / "best.safetensors")
    model, loaded, header = load_model(tmp_path / "best.safetensors")
    assert loaded == suited(spec)
    task = load_task(spec.dataset, task=spec.task, objective=spec.objective, **spec.data_options)
    out = predict_outputs(model, task).detach()
    if header["scale"] is not None:
        out = out * torch.tensor(header["scale"]["sd"]) + torch.tensor(header["scale"]["mean"])
    score = objective.score(out[task.test].numpy(), task.y[task.test].numpy())
    assert score == pytest.approx(record.test, rel=1e-5)


def test_targets_are_standardised_on_the_training_set_alone(folders):
    spec = spec_for(OBJECTIVES["rmse"], folders)
    task = load_task(spec.dataset)
    criterion = Criterion.of(spec, task)
    train = task.y[task.train]
    np.testing.assert_allclose(criterion.scale.mean, np.nanmean(train, axis=0), rtol=1e-5)
    learned = criterion.scale.encode(task.y).float()
    torch.testing.assert_close(criterion.scale.decode(learned), task.y, equal_nan=True)


def test_scores_are_in_the_unit_of_the_targets_also_where_logarithms_are_learned(folders):
    for log in (False, True):
        spec = spec_for(OBJECTIVES["mae"], folders, log_targets=log, data_options={"target": "one"})
        session = Session(spec, load_task(spec.dataset, target="one", objective="mae"))
        session.run_epoch()
        out, _ = session.evaluate()
        assert (out > 0).all() or not log
        val, answers = session.by_part(out)["val"], session.answers["val"]
        expected = (val - torch.from_numpy(answers)).abs().mean()
        assert session.curves["val"][-1] == pytest.approx(float(expected), rel=1e-5)


def test_class_weights_are_part_of_the_run_and_only_for_classes(folders):
    plain, weighted = (fit(minesweeper(class_weights=w, epochs=2)) for w in (None, "balanced"))
    assert plain.curves["loss"] != weighted.curves["loss"]
    with pytest.raises(InputError, match="rmse is not about classes"):
        fit(spec_for(OBJECTIVES["rmse"], folders, class_weights="balanced"))
    with pytest.raises(InputError, match="log_targets is for numbers"):
        fit(karate(log_targets=True))


def test_a_link_run_takes_no_samples():
    with pytest.raises(InputError, match="links are learned on the whole graph"):
        fit(karate(task="link", sample=(2, 2)))


@pytest.mark.parametrize("name", ["rmse", "multilabel_average_precision", "link_mrr"])
def test_auto_with_evidence_works_for_every_kind(name, folders, monkeypatch):
    monkeypatch.setattr(statistics, "ROUNDS", 50)  # of the bootstrap: what it says is not asked
    objective = OBJECTIVES[name]
    record = fit(spec_for(objective, folders, operator="auto", recipe="robust"))
    assert record.chosen in ("fixed", "pgso", "mpgso")
    assert all(0 <= sure <= 1 for sure in record.confidence.values())


@pytest.mark.parametrize("name", ["r2", "multilabel_roc_auc", "balanced_accuracy"])
def test_sampled_training_takes_every_objective_of_nodes(name, folders):
    spec = spec_for(OBJECTIVES[name], folders, sample=(2, 2), num_layers=2, batch_size=16)
    assert fit(spec).metric == name


def test_a_regression_on_graphs(tmp_path):
    pytest.importorskip("rdkit")
    chains = ["C" * k + "O" * (k % 3) for k in range(1, 31)]
    rows = [f"{smiles},{len(smiles)}" for smiles in chains]
    (tmp_path / "molecules.csv").write_text("\n".join(["smiles,target", *rows]))
    spec = RunSpec(dataset=tmp_path / "molecules.csv", conv="gin", epochs=30, dropout=0.0)
    record = fit(spec)
    assert record.metric == "rmse"
    assert record.test < np.std([len(smiles) for smiles in chains])
