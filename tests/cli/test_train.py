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


FRIENDS = "node,f,g\nann,1,0\nbob,0,1\ncid,1,0\ndan,0,1\neve,1,0\nfay,0,1\n"


def write_folder(folder, **files):
    folder.mkdir(exist_ok=True)
    names = ("ann", "bob", "cid", "dan", "eve", "fay")
    colours = ("red", "blue") * 3
    parts = ("train", "train", "val", "val", "test", "test")
    content = {
        "edges": "source,target\nann,bob\nbob,cid\ncid,dan\ndan,eve\neve,fay\n",
        "labels": "node,label\n" + "".join(map("{},{}\n".format, names, colours)),
        "splits": "node,split\n" + "".join(map("{},{}\n".format, names, parts)),
    }
    for name, text in {**content, **files}.items():
        if text is not None:
            (folder / f"{name}.csv").write_text(text)
    return folder


def predictions(pgso, path, *arguments):
    shown = pgso("predict", "best.safetensors", *arguments, "--to", path)
    assert shown.exit_code == 0, shown.output
    return {row["id"]: row for row in csv.DictReader(path.read_text().splitlines())}


def test_another_folder_is_predicted_without_labels_and_by_the_names_of_its_columns(pgso, tmp_path):
    here = write_folder(tmp_path / "here", features=FRIENDS)
    assert pgso("train", here, "--epochs", 5, "--save", "best.safetensors").exit_code == 0
    expected = predictions(pgso, tmp_path / "one.csv", here)
    swapped = [line.split(",") for line in FRIENDS.split()]
    table = "".join(f"{node},{g},{f}\n" for node, f, g in swapped)
    there = write_folder(tmp_path / "there", features=table, labels=None, splits=None)
    assert predictions(pgso, tmp_path / "other.csv", there) == expected
    write_folder(there, features=table.replace("node,g,f", "node,g,h"))
    refused = pgso("predict", "best.safetensors", there)
    assert refused.exit_code == 2
    assert "a feature called 'f'" in refused.stderr


def test_nodes_without_features_are_known_by_their_names(pgso, tmp_path):
    here = write_folder(tmp_path / "here")
    assert pgso("train", here, "--epochs", 5, "--save", "best.safetensors").exit_code == 0
    expected = predictions(pgso, tmp_path / "one.csv", here)
    order = "node,label\n" + "".join(f"{name},\n" for name in reversed(list(expected)))
    there = write_folder(tmp_path / "there", labels=order, splits=None)
    found = predictions(pgso, tmp_path / "other.csv", there)
    assert found.keys() == expected.keys()
    for name, row in found.items():
        assert row["prediction"] == expected[name]["prediction"]
        assert float(row["probability"]) == pytest.approx(float(expected[name]["probability"]))


def test_the_models_own_dataset_is_read_as_it_was_trained_on(pgso, tmp_path):
    size = ("--option", "rows=8", "--option", "cols=8")
    trained = pgso("train", "minesweeper", "--epochs", 2, *size, "--save", "best.safetensors")
    assert trained.exit_code == 0, trained.output
    assert len(predictions(pgso, tmp_path / "one.csv", "minesweeper")) == 64


def test_what_was_changed_is_trained_again(pgso, tmp_path):
    folder = write_folder(tmp_path / "here")
    first = json.loads(pgso("train", folder, "--epochs", 2, "--json").stdout)
    again = json.loads(pgso("train", folder, "--epochs", 2, "--json").stdout)
    assert again == first
    write_folder(folder, edges="source,target\nann,cid\nbob,dan\n")
    changed = json.loads(pgso("train", folder, "--epochs", 2, "--json").stdout)
    assert changed["curves"]["loss"] != first["curves"]["loss"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "dataset=Cora"), "--set cannot change dataset"),
        (("--set", 'data_options={"a":1}'), "--option NAME=VALUE"),
        (("--save", "."), "--save must name a file"),
        (("--save", "/dev/null/best.safetensors"), "--save /dev/null/best.safetensors cannot be"),
        (("--out", "/dev/null/runs"), "--out /dev/null/runs cannot be written to"),
        (("--out", "/proc"), "--out /proc cannot be written to"),  # which is there
    ],
)
def test_what_cannot_be_is_said_before_training(pgso, tmp_path, arguments, message):
    shown = pgso("train", "karate", "--epochs", 1, *arguments)
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert not (tmp_path / "runs" / "records").exists()


def test_a_run_without_an_epoch_does_not_claim_to_have_written_weights(pgso, tmp_path):
    options = ("--epochs", 2, "--set", "lr=1e30", "--save", "best.safetensors")
    shown = pgso("train", "karate", *options)
    assert shown.exit_code == 1
    assert "weights: none, for no epoch came to its end" in shown.stdout
    assert not (tmp_path / "best.safetensors").exists()


def test_the_progress_of_several_trainings_ends_at_their_sum(pgso):
    shown = pgso("train", "karate", "--epochs", 2, "--operator", "auto", "--recipe", "robust")
    assert "karate: 10/10 epochs, about 0 s left" in shown.stdout


def test_another_folder_is_read_as_the_one_that_was_trained_on(pgso, tmp_path):
    here = write_folder(tmp_path / "here", features=FRIENDS)
    directed = ("--option", "undirected=false")
    trained = pgso("train", here, "--epochs", 5, *directed, "--save", "best.safetensors")
    assert trained.exit_code == 0, trained.output
    there = write_folder(tmp_path / "there", features=FRIENDS)
    expected = predictions(pgso, tmp_path / "one.csv", there, *directed)
    assert predictions(pgso, tmp_path / "other.csv", there) == expected
    undirected = predictions(pgso, tmp_path / "both.csv", there, "--option", "undirected=true")
    assert undirected != expected


def test_one_run_is_no_mean_over_seeds(pgso):
    shown = pgso("train", "karate", "--epochs", 2).stdout
    assert "The learned operator S" in shown
    assert "seeds" not in shown.partition("The nearest")[0]
