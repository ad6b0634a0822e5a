"""A saved model says whose columns it takes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest


def test_columns_without_names_are_not_taken_from_another_dataset_in_silence(pgso):
    trained = pgso("train", "minesweeper", "--epochs", 1, "--save", "m.safetensors")
    assert trained.exit_code == 0, trained.output
    same = pgso("predict", "m.safetensors", "minesweeper")
    assert same.exit_code == 0, same.output
    assert same.stderr == ""
    other = pgso("predict", "m.safetensors", "./grid.npz")
    assert other.exit_code == 2  # there is none yet
    write_grid()
    other = pgso("predict", "m.safetensors", "./grid.npz")
    assert other.exit_code == 0, other.output
    assert "columns have no names, so they are read as the columns of minesweeper" in other.stderr


def write_grid():
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(20), np.roll(np.arange(20), 1)])
    y, x = np.arange(20) % 2, rng.random((20, 7)).astype(np.float32)
    np.savez("grid.npz", edge_index=edges, y=y, x=x)


SHOP = "shop_id;city;income;since\n" + "".join(
    f"s{i};{['Nice', 'Lyon'][i % 2]};{'' if i % 5 == 0 else 1000 * i + 500.5};2024-01-1{i % 9}\n"
    for i in range(30)
)


def write_shop(folder, features=SHOP, labels=True):
    folder.mkdir()
    (folder / "features.csv").write_text(features)
    edges = "".join(f"s{i};s{(i + 1) % 30};{1 + i % 3}\n" for i in range(30))
    (folder / "edges.csv").write_text("from;to;orders\n" + edges)
    if labels:
        answers = "".join(f"s{i};{'no' if i % 2 else 'yes'}\n" for i in range(30))
        (folder / "labels.csv").write_text("shop_id;churn\n" + answers)


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "macro_f1"])
def test_a_table_is_prepared_again_as_it_was_for_training(pgso, tmp_path, metric):
    write_shop(tmp_path / "shops")
    trained = pgso(
        "train", "shops", "--epochs", 3, "--objective", metric, "--save", "m.safetensors"
    )
    assert trained.exit_code == 0, trained.output
    assert "standardised (mean" in trained.stdout
    assert "3 columns became 5 features" in trained.stdout
    rows = predictions(pgso, "shops")
    assert list(rows["s0"]) == [
        "id", "prediction", "probability", "p(no)", "p(yes)", "set 90", "label", "split",
    ]  # fmt: skip
    assert rows["s0"]["label"] == "yes"
    assert {row["split"] for row in rows.values()} == {"train", "val", "test"}
    # The same shops among others with incomes a hundred times theirs, without labels.
    others = SHOP + "".join(f"t{i};Nice;{100_000 * i};2025-01-01\n" for i in range(5))
    write_shop(tmp_path / "more", others, labels=False)
    again = predictions(pgso, "more")
    assert "label" not in again["s0"]
    for name, row in rows.items():
        assert again[name]["p(yes)"] == row["p(yes)"]


def predictions(pgso, folder):
    shown = pgso("predict", "m.safetensors", folder)
    assert shown.exit_code == 0, shown.output
    lines = Path("predictions.csv").read_text().splitlines()
    return {row["id"]: row for row in csv.DictReader(lines)}


def test_probabilities_are_calibrated_ranked_and_printed_as_json(pgso):
    trained = pgso("train", "customers", "--epochs", 5, "--save", "m.safetensors",
                   "--option", "size=400", "--json")  # fmt: skip
    assert trained.exit_code == 0, trained.output
    calibration = json.loads(trained.stdout)["evaluation"]["calibration"]
    options = ("predict", "m.safetensors", "customers", "--option", "size=400")
    shown = pgso(*options, "--rank-by", "leaves", "--json")
    assert shown.exit_code == 0, shown.output
    output = json.loads(shown.stdout)
    assert output["calibration"]["temperature"] == pytest.approx(calibration["temperature"])
    rows = output["predictions"]
    chances = [row["p(leaves)"] for row in rows]
    assert chances == sorted(chances, reverse=True)
    assert [row["rank"] for row in rows] == list(range(1, 401))
    # On test, they are as sure as the record says that calibrated ones are.
    test = [row for row in rows if row["split"] == "test"]
    sure = sum(row["probability"] for row in test)
    assert sure == pytest.approx(sum(entry[1] for entry in calibration["after"]), rel=1e-4)
    assert sure != pytest.approx(sum(entry[1] for entry in calibration["before"]), rel=1e-4)
    said = pgso(*options, "--top", 3)
    assert "probabilities are calibrated on validation: temperature" in said.stdout
    assert "3 predictions" in said.stdout
    refused = pgso(*options, "--rank-by", "nobody")
    assert refused.exit_code == 2
    assert "choose one of: probability, stays, leaves" in refused.stderr


def test_what_was_written_before_is_kept(pgso):
    assert pgso("train", "karate", "--epochs", 2, "--save", "m.safetensors").exit_code == 0
    weights = Path("m.safetensors").read_bytes()
    assert "what was in" not in pgso("predict", "m.safetensors", "karate").output
    whole = Path("predictions.csv").read_text()
    assert "what was in" not in pgso("predict", "m.safetensors", "karate").output  # the same again
    assert not Path("predictions-1.csv").exists()
    some = pgso("predict", "m.safetensors", "karate", "--top", 3)
    assert "what was in predictions.csv before: predictions-1.csv" in some.stdout
    assert Path("predictions-1.csv").read_text() == whole
    assert len(Path("predictions.csv").read_text().splitlines()) == 4
    again = pgso("train", "karate", "--epochs", 3, "--save", "m.safetensors")
    assert "what was in m.safetensors before: m-1.safetensors" in again.stdout
    assert Path("m-1.safetensors").read_bytes() == weights


@pytest.mark.parametrize(("mark", "options"), [("|", ()), ("/", ("--option", "label_separator=/"))])
def test_several_labels_are_written_as_they_are_read_and_calibrated(pgso, tmp_path, mark, options):
    write_shop(tmp_path / "shops")
    labels = [f"big{mark}nice", "nice", mark, "", "big"]
    rows = "".join(f"s{i};{labels[i % 5]}\n" for i in range(30))
    (tmp_path / "shops" / "labels.csv").write_text("shop_id;is\n" + rows)
    trained = pgso("train", "shops", "--epochs", 5, "--save", "m.safetensors", "--json", *options)
    assert trained.exit_code == 0, trained.output
    evaluation = json.loads(trained.stdout)["evaluation"]
    assert [entry["label"] for entry in evaluation["labels"]] == ["big", "nice"]
    rows = predictions(pgso, "shops")
    assert [rows[f"s{i}"]["label"] for i in range(5)] == labels
    said = {mark.join(name for name in ("big", "nice") if float(row[f"p({name})"]) > 0.5) or mark
            for row in rows.values()}  # fmt: skip
    assert {row["prediction"] for row in rows.values()} == said
    test = [float(row[f"p({n})"]) for row in rows.values() if row["split"] == "test"
            for n in ("big", "nice")]  # fmt: skip
    after = sum(entry[1] for entry in evaluation["calibration"]["after"])
    assert sum(test) == pytest.approx(after, rel=1e-4)


def test_scores_of_an_explanation_are_those_the_model_was_trained_for(pgso, tmp_path):
    write_shop(tmp_path / "shops")
    trained = pgso("train", "shops", "--epochs", 3, "--objective", "roc_auc",
                   "--save", "m.safetensors", "--json")  # fmt: skip
    val = json.loads(trained.stdout)["val"]
    shown = pgso("explain", "m.safetensors", "./shops", "--repeats", 2, "--json")
    assert shown.exit_code == 0, shown.output
    explanation = json.loads(shown.stdout)
    assert explanation["score"] == pytest.approx(val)
    assert explanation["report"] is not None  # ./shops is shops
