"""Of two classes the rarer is positive, or the one that is named; its name stands by the score."""

import csv
import json

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score
from typer.testing import CliRunner

import pgso
from pgso.cli.main import app
from pgso.data.arrays import named_class, rarer_class
from pgso.errors import InputError
from pgso.objectives import OBJECTIVES

NODES = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Payments, one in eight of them fraud: by name the rare class comes first."""
    return write_folder(tmp_path_factory.mktemp("payments"), "fraud", "ok")


def write_folder(path, rare, frequent):
    random = np.random.default_rng(0)
    is_rare = np.arange(NODES) % 8 == 0
    amount = is_rare + random.normal(size=NODES)
    pairs = random.integers(0, NODES, size=(3 * NODES, 2))
    tables = {
        "edges": [("source", "target"), *((f"n{a}", f"n{b}") for a, b in pairs if a != b)],
        "features": [("id", "amount"), *((f"n{i}", f"{amount[i]:.4f}") for i in range(NODES))],
        "labels": [
            ("id", "label"),
            *((f"n{i}", rare if is_rare[i] else frequent) for i in range(NODES)),
        ],
    }
    for name, rows in tables.items():
        with (path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return path


def test_the_rarer_class_in_the_training_labels_is_positive():
    assert rarer_class(np.array([0, 1, 1]), ("fraud", "ok")) == "fraud"
    assert rarer_class(np.array([0, 0, 1]), ("fraud", "ok")) == "ok"
    assert rarer_class(np.array([0, 1]), ("no", "yes")) == "yes"  # as frequent: the second
    assert rarer_class(np.array([0, 1, 2]), ("a", "b", "c")) is None


def test_a_class_is_named_with_or_without_capitals_and_others_are_refused():
    assert named_class("FRAUD", ("fraud", "ok"), "here") == "fraud"
    assert named_class(1, ("0", "1"), "here") == "1"
    with pytest.raises(InputError, match="one of the classes 'fraud' and 'ok', got 'theft'"):
        named_class("theft", ("fraud", "ok"), "here")
    with pytest.raises(InputError, match="one of two classes, and the data have 3"):
        named_class("a", ("a", "b", "c"), "here")


def test_average_precision_is_of_the_rare_class_in_either_order(folder, tmp_path):
    found = pgso.find(folder, objective="average_precision")
    task = found.task
    truth = (task.y[task.test] == task.classes.index("fraud")).numpy()
    p = found.predict()[task.test, task.classes.index("fraud")].numpy()
    assert found.best.test == pytest.approx(average_precision_score(truth, p))
    assert found.record.guess < 0.3  # the share of fraud, not that of ok
    other = pgso.find(write_folder(tmp_path, "zero", "most"), objective="average_precision")
    assert other.record.positive == "zero"
    assert other.best.test == pytest.approx(found.best.test)


def test_roc_auc_is_the_same_for_both_classes():
    random = np.random.default_rng(1)
    out, y = random.normal(size=(50, 2)).round(1), random.integers(0, 2, 50)
    first, second = (OBJECTIVES["roc_auc"].score(out[:, order], (y == order[1]).astype(int))
                     for order in ([0, 1], [1, 0]))  # fmt: skip
    assert first == second


def test_the_other_class_is_scored_if_it_is_named(folder):
    task = pgso.load_task(folder, objective="average_precision", positive="ok")
    assert task.objective.label == "average precision of ok"
    random = torch.randn(len(task.y), 2).numpy()
    y = task.y.numpy()
    own = average_precision_score(y == task.classes.index("ok"), random[:, 1] - random[:, 0])
    assert task.classes == ("fraud", "ok")
    assert task.objective.score(random, y) == pytest.approx(own)
    assert task.scored_by("accuracy").objective.label == "accuracy"


def test_every_door_takes_the_name_of_the_positive_class(folder):
    choices = {"objective": "average_precision", "epochs": 2}
    found = pgso.find(folder, objective="average_precision", positive="ok")
    assert found.record.positive == "ok"
    assert found.spec().data_options["positive"] == "ok"
    in_memory = pgso.find(
        found.task.graph, found.task.x, found.task.y, objective="average_precision", positive=0
    )
    assert in_memory.record.positive == "0"
    spec = pgso.RunSpec(dataset=str(folder), operator="fixed", **choices)
    assert pgso.fit(spec).positive == "fraud"
    assert pgso.fit(spec, positive="ok").positive == "ok"
    compared = pgso.compare(folder, seeds=1, positive="ok", **choices)
    assert compared.objective.label == "average precision of ok"
    model = pgso.PGSOClassifier(epochs=2, objective="average_precision", positive=1)
    task = found.task
    model.fit(task.graph, task.x.numpy(), task.y.numpy())
    assert model.record_.positive == "1"
    balanced = pgso.PGSOClassifier(epochs=2, class_weights="balanced")
    balanced.fit(task.graph, task.x.numpy(), task.y.numpy())
    assert balanced.record_.spec.class_weights == "balanced"


def test_terminal_page_json_and_predictions_name_the_class(folder, tmp_path):
    run = CliRunner()
    common = ["--objective", "average_precision", "--out", str(tmp_path)]
    model = tmp_path / "model.safetensors"
    said = run.invoke(app, ["train", str(folder), *common, "--epochs", "3", "--save", str(model)])
    assert said.exit_code == 0, said.output
    assert "test average_precision of fraud:" in said.output
    said = run.invoke(
        app, ["compare", str(folder), *common, "--epochs", "3", "--seeds", "2", "--json"]
    )
    assert said.exit_code == 0, said.output
    [summary] = list(tmp_path.glob("*/comparison.json"))
    assert json.loads(summary.read_text())["positive"] == "fraud"
    assert "average precision of fraud, %" in (summary.parent / "report.html").read_text()
    assert "average precision of fraud, %" in (summary.parent / "report.md").read_text()
    said = run.invoke(app, ["find", str(folder), *common])
    assert "average precision of fraud" in said.output
    to = str(tmp_path / "predictions.csv")
    said = run.invoke(app, ["predict", str(model), str(folder), "--to", to, "--json"])
    assert json.loads(said.stdout)["positive"] == "fraud"


def test_the_option_of_the_command_overrules(folder, tmp_path):
    said = CliRunner().invoke(
        app,
        ["train", str(folder), "--objective", "average_precision", "--epochs", "2", "--json",
         "--option", "positive=ok", "--out", str(tmp_path)],
    )  # fmt: skip
    record = json.loads(said.stdout)
    assert record["positive"] == "ok"
    assert record["evaluation"]["detection"]["positive"] == "ok"


def test_curves_are_of_the_rare_class_whatever_is_scored(folder):
    record = pgso.fit(pgso.RunSpec(dataset=str(folder), operator="fixed", epochs=2))
    assert record.evaluation.detection.positive == "fraud"
    assert record.evaluation.detection.share < 0.2
    assert record.positive is None  # accuracy is not about one class
