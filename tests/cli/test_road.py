"""A new user's road: find, train, predict new rows, explain; four commands with no option."""

import csv
import json
from pathlib import Path

import pandas
import pytest

from tests.predictors.planted import customers, write


def predictions(path="predictions.csv"):
    rows = csv.DictReader(Path(path).read_text().splitlines())
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("first", ["yes", "no"])
def test_four_commands_from_a_folder_to_new_customers(pgso, tmp_path, first):
    """The rare class has the first name or the second one; every number must be right."""
    names = {"yes": {"yes": "a leaver", "no": "stays"}, "no": {"yes": "leaver", "no": "a stayer"}}
    nodes, edges, new, links = customers(500, 40)
    nodes["label"] = nodes.pop("leaves").map(names[first])
    truth = new.set_index("customer")["leaves"].map(names[first])
    write(tmp_path / "customers", nodes, edges)
    write(tmp_path / "new_rows", new.drop(columns="leaves"), links)

    found = pgso("find", "./customers", "--save", "model", "--json")
    assert found.exit_code == 0, found.output
    record = json.loads(found.stdout)
    assert "1 hop" in record["best"]  # the planted truth: neighbours, one hop away

    trained = pgso("train", "./customers", "--save", "m")
    assert trained.exit_code == 0, trained.output
    assert "what pgso find keeps" in trained.stdout
    assert "model: m (" in trained.stdout

    for model in ("m", "model"):
        shown = pgso("predict", model, "./new_rows")
        assert shown.exit_code == 0, shown.output
        assert "sets are made to hold 90 % of the truths; of 100 test labels" in shown.stdout
        rows = predictions()
        assert list(rows) == list(truth.index)
        right = [rows[name]["prediction"] == label for name, label in truth.items()]
        held = [label in rows[name]["set 90"].split("|") for name, label in truth.items()]
        assert sum(right) / len(right) > 0.75
        assert sum(held) / len(held) > 0.75
        again = pgso("predict", model, "./customers", "--json")
        assert again.exit_code == 0, again.output
        told = json.loads(again.stdout)
        assert told["positive"] == names[first]["yes"]
        test = [row for row in told["predictions"] if row["split"] == "test"]
        score = sum(row["prediction"] == row["label"] for row in test) / len(test)
        expected = record["heads"] if model == "model" else None
        if expected:
            (kept,) = [head for head in expected if head["name"] == record["head"]]
            assert score == pytest.approx(kept["test"])

    explained = pgso("explain", "m", "./customers", "--json")
    assert explained.exit_code == 0, explained.output
    features = {entry["name"]: entry for entry in json.loads(explained.stdout)["features"]}
    assert max(features, key=lambda name: features[name]["loss"]) == "income"


def test_no_option_is_needed_and_a_finding_is_used_again(pgso, tmp_path, monkeypatch):
    """find and train save models of a user's folder; train and compare take what find has kept."""
    nodes, edges, new, links = customers(300, 10, numbers=True)
    write(tmp_path / "shop", nodes.rename(columns={"spends": "target"}), edges)
    write(tmp_path / "new_rows", new.drop(columns="spends"), links)
    alone = pgso("train", "shop", "--out", "alone", "--json")
    assert alone.exit_code == 0, alone.output
    found = pgso("find", "shop", "--json")
    assert found.exit_code == 0, found.output
    finding = json.loads(found.stdout)
    assert finding["model"] == "runs/find-shop/model"

    def forbidden(*_):
        raise AssertionError("the ladder is climbed once")

    monkeypatch.setattr("pgso.training.choice.Ladder", forbidden)
    monkeypatch.setattr("pgso.evaluation.baselines.baselines", forbidden)
    trained = pgso("train", "shop", "--json")
    assert trained.exit_code == 0, trained.output
    record, before = json.loads(trained.stdout), json.loads(alone.stdout)
    for name in ("val", "test", "rung", "network", "parameters", "closed_form", "baselines"):
        assert record[name] == before[name], name
    assert record["rung"] == finding["best"]
    compared = pgso("compare", "shop", "--seeds", 1, "--epochs", 5, "--json")
    assert compared.exit_code == 0, compared.output
    assert json.loads(compared.stdout)["found"]["rung"] == finding["best"]
    for model in (finding["model"], record["model"]):
        shown = pgso("predict", model, "new_rows")
        assert shown.exit_code == 0, shown.output
        assert list(predictions()) == list(new["customer"])
    assert pgso("explain", record["model"], "shop").exit_code == 0
    assert pgso("train", "shop").stdout.count("epochs, about") == 0  # nothing is trained again

    (tmp_path / "shop" / "edges.csv").write_text("source,target\nc0,c1\nc2,c3\n")
    changed = pgso("train", "shop", "--json")  # other data have no finding
    assert isinstance(changed.exception, SystemExit)
    assert changed.exit_code != 0


def test_bad_rows_are_skipped_on_request_and_listed(pgso, tmp_path):
    nodes, edges, new, links = customers(200, 5)
    write(tmp_path / "customers", nodes, edges)
    broken = new.drop(columns="leaves").astype(object)
    broken.iloc[2, 3] = "last week"
    write(tmp_path / "new", broken, links)
    options = ("--option", "target=leaves", "--head", "ridge")
    assert pgso("find", "./customers", "--save", "model", *options).exit_code == 0
    refused = pgso("predict", "model", "./new")
    assert refused.exit_code == 2
    assert "features.csv, line 4: column 'since'" in refused.stderr
    shown = pgso("predict", "model", "./new", "--skip-bad-rows")
    assert shown.exit_code == 0, shown.output
    assert "line 4" in shown.stdout
    assert len(predictions()) == 4


def test_a_frame_of_new_rows_without_edges_is_enough(pgso, tmp_path):
    nodes, edges, new, _ = customers(200, 5)
    write(tmp_path / "customers", nodes, edges)
    write(tmp_path / "new", new.drop(columns="leaves"), None)
    options = ("--option", "target=leaves", "--head", "ridge")
    assert pgso("find", "./customers", "--save", "model", *options).exit_code == 0
    shown = pgso("predict", "model", "./new")
    assert shown.exit_code == 0, shown.output
    assert list(predictions()) == list(new["customer"])
    frame = pandas.read_csv("predictions.csv")
    assert ((frame["p(no)"] + frame["p(yes)"] - 1).abs() < 1e-6).all()
