"""``pgso train`` and ``pgso predict``: one record, weights, predictions."""

import csv
import json

import pytest

from pgso.records import RunRecord


def test_a_run_prints_its_scores_and_writes_its_record(pgso, tmp_path):
    shown = pgso("train", "karate", "--epochs", 3)
    assert shown.exit_code == 0, shown.output
    assert "validation accuracy:" in shown.stdout
    (path,) = (tmp_path / "runs" / "records").glob("*.json")
    record = RunRecord.model_validate_json(path.read_text())
    assert len(record.curves["loss"]) == 3
    assert path.name in shown.stdout.replace("\n", "")


def test_json_is_the_record_and_nothing_else(pgso):
    shown = pgso("train", "karate", "--epochs", 2, "--operator", "fixed", "--seed", 1, "--json")
    record = RunRecord.model_validate(json.loads(shown.stdout))
    assert (record.spec.operator, record.spec.seed, record.status) == ("fixed", 1, "done")


def test_saved_weights_predict_every_node(pgso, tmp_path):
    trained = pgso("train", "karate", "--epochs", 3, "--save", "best.safetensors")
    assert trained.exit_code == 0, trained.output
    shown = pgso("predict", "best.safetensors", "karate", "--to", "out.csv")
    assert shown.exit_code == 0, shown.output
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert len(rows) == 34
    assert {row["prediction"] for row in rows} <= {"Mr. Hi", "Officer"}


def test_weights_are_refused_on_data_of_another_shape(pgso):
    pgso("train", "karate", "--epochs", 1, "--save", "best.safetensors")
    refused = pgso("predict", "best.safetensors", "digits")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: ")


def test_a_log_is_written_though_the_record_is_there_already(pgso, tmp_path):
    pytest.importorskip("tensorboard")
    assert pgso("train", "karate", "--epochs", 2).exit_code == 0
    shown = pgso("train", "karate", "--epochs", 2, "--tensorboard", tmp_path / "log")
    assert "karate: 2/2 epochs" in shown.stdout
    assert len(list((tmp_path / "log").iterdir())) == 1
