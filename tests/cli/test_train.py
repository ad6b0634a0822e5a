"""``pgso train`` and ``pgso predict``: one record, weights, predictions."""

import csv
import json

import pytest

from pgso.data import load_task
from pgso.records import RunRecord, RunSpec
from pgso.training.fit import fit


def test_a_run_prints_its_scores_and_writes_its_record(pgso, tmp_path):
    shown = pgso("train", "karate", "--epochs", 3)
    assert shown.exit_code == 0, shown.output
    assert "validation accuracy:" in shown.stdout
    (path,) = (tmp_path / "runs" / "records").glob("*.json")
    record = RunRecord.model_validate_json(path.read_text())
    assert len(record.curves["loss"]) == 3
    assert path.name in shown.stdout.replace("\n", "")
    refused = pgso("train", "karate", "--epochs", 3, "--device", "gpu")  # though it is there
    assert refused.exit_code == 2
    assert "no device is called 'gpu'" in refused.stderr


def test_json_is_the_record_and_nothing_else(pgso):
    shown = pgso("train", "karate", "--epochs", 2, "--operator", "fixed", "--seed", 1, "--json")
    record = RunRecord.model_validate(json.loads(shown.stdout))
    assert (record.spec.operator, record.spec.seed, record.status) == ("fixed", 1, "done")


def test_a_bank_and_a_filter_are_trained_saved_and_read_again(pgso, tmp_path):
    for choice, conv in ((("--terms", "self,gcn@in,gcn@out"), "bank"), (("--degree", 3), "filter")):
        shown = pgso("train", "karate", "--epochs", 2, *choice, "--save", "net.safetensors")
        assert shown.exit_code == 0, shown.output
        assert pgso("predict", "net.safetensors", "karate", "--to", "out.csv").exit_code == 0
        record = RunRecord.model_validate_json(
            max(
                (tmp_path / "runs" / "records").glob("*.json"), key=lambda p: p.stat().st_mtime_ns
            ).read_text()
        )
        assert record.spec.conv == conv
        assert len(record.parameters) == len(record.nearest) == (2 if conv == "bank" else 1)
    refused = pgso("train", "karate", "--terms", "self,gnc")
    assert refused.exit_code == 2
    assert "no preset is called 'gnc'" in refused.stderr
    refused = pgso("train", "karate", "--conv", "gat", "--basis", "jacobi")
    assert "basis is a choice of conv='filter'" in refused.stderr


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
    predicted = predictions(pgso, tmp_path / "other.csv", there)
    assert [row | predicted[name] for name, row in expected.items()] == list(expected.values())
    assert [expected[name]["label"] for name in ("ann", "bob")] == ["red", "blue"]
    assert [expected[name]["split"] for name in ("ann", "cid", "fay")] == ["train", "val", "test"]
    assert not {"label", "split"} & set(predicted["ann"])
    write_folder(there, features=table.replace("node,g,f", "node,g,h"))
    refused = pgso("predict", "best.safetensors", there)
    assert refused.exit_code == 2
    assert "has no column 'f', which the model was trained with" in refused.stderr


def test_nodes_without_features_are_known_by_their_names(pgso, tmp_path):
    here = write_folder(tmp_path / "here")
    assert pgso("train", here, "--epochs", 5, "--save", "best.safetensors").exit_code == 0
    expected = predictions(pgso, tmp_path / "one.csv", here)
    order = "node,label\n" + "".join(f"{name},\n" for name in reversed(list(expected)))
    there = write_folder(tmp_path / "there", labels=order, splits=None)
    predicted = predictions(pgso, tmp_path / "other.csv", there)
    assert predicted.keys() == expected.keys()
    for name, row in predicted.items():
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
        (("--save", "."), "is not a saved model; choose another name"),
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
    assert "model: none, because no epoch was completed" in shown.stdout
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


TINY = ("--epochs", 3, "--hidden", 8)


def test_the_shell_and_python_make_the_same_record(pgso, tmp_path):
    size = ("--option", "rows=8", "--option", "cols=8")
    shown = pgso("train", "MINESWEEPER", *TINY, *size, "--objective", "average precision", "--json")
    record = json.loads(shown.stdout)
    spec = RunSpec(
        dataset="minesweeper", epochs=3, hidden_channels=8, data_options={"rows": 8, "cols": 8},
        objective="average_precision",
    )  # fmt: skip
    assert record["metric"] == "average_precision"
    assert RunRecord.model_validate(record).spec == spec
    assert RunRecord.model_validate(record).without_times() == fit(spec).without_times()


def test_an_unknown_objective_is_refused_by_name(pgso):
    shown = pgso("train", "karate", "--objective", "acurracy")
    assert shown.exit_code == 2
    assert "no objective is called 'acurracy'. Did you mean 'accuracy'?" in shown.stderr


def test_a_regression_is_predicted_with_intervals_in_the_unit_of_the_target(pgso, tmp_path):
    shown = pgso("train", "diabetes", *TINY, "--save", "best.safetensors")
    assert shown.exit_code == 0, shown.output
    assert "test rmse: " in shown.stdout
    rows = predictions(pgso, tmp_path / "out.csv", "diabetes")
    assert len(rows) == 442
    for row in rows.values():
        low, value, high = (float(row[f"progression{end}"]) for end in (" low 90", "", " high 90"))
        assert low < value < high
        assert 0 < value < 400


def test_new_molecules_are_predicted_without_labels(pgso, tmp_path):
    pytest.importorskip("rdkit")
    rows = [f"{'C' * k}O,{k}" for k in range(1, 21)]
    (tmp_path / "known.csv").write_text("\n".join(["smiles,target", *rows]))
    trained = pgso("train", "known.csv", *TINY, "--conv", "gin", "--save", "best.safetensors")
    assert trained.exit_code == 0, trained.output
    (tmp_path / "new.csv").write_text("smiles,id\nCCN,amine\nCCCl,chloride\n")
    assert predictions(pgso, tmp_path / "out.csv", "new.csv").keys() == {"amine", "chloride"}


def test_new_links_are_predicted_best_first(pgso, tmp_path):
    trained = pgso("train", "karate", *TINY, "--task", "link", "--save", "best.safetensors")
    assert trained.exit_code == 0, trained.output
    assert "test link_auc: " in trained.stdout
    shown = pgso("predict", "best.safetensors", "karate", "--links", 7, "--to", "out.csv")
    assert shown.exit_code == 0, shown.output
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    chances = [float(row["probability"]) for row in rows]
    assert len(rows) == 7
    assert chances == sorted(chances, reverse=True)
    graph = load_task("karate", task="link").graph
    known = set(map(tuple, graph.edge_index.T.tolist()))
    assert not {(int(row["source"]), int(row["target"])) for row in rows} & known


def test_every_class_has_its_probability_and_every_label_too(pgso, tmp_path):
    assert pgso("train", "karate", *TINY, "--save", "best.safetensors").exit_code == 0
    for row in predictions(pgso, tmp_path / "out.csv", "karate").values():
        sure = {name: float(row[f"p({name})"]) for name in ("Mr. Hi", "Officer")}
        assert sum(sure.values()) == pytest.approx(1, abs=1e-5)
        assert sure[row["prediction"]] == max(sure.values()) == float(row["probability"])
    folder = tmp_path / "labels"
    folder.mkdir()
    (folder / "edges.csv").write_text("".join(f"{i},{(i + 1) % 30}\n" for i in range(30)))
    rows = "".join(f"{i},{i % 2},{(i + 1) // 2 % 2}\n" for i in range(30))
    (folder / "targets.csv").write_text("node,odd,half\n" + rows)
    assert pgso("train", folder, *TINY, "--save", "best.safetensors").exit_code == 0
    for row in predictions(pgso, tmp_path / "out.csv", folder).values():
        chosen = {name for name in ("odd", "half") if float(row[f"p({name})"]) > 0.5}
        assert set(filter(None, row["prediction"].split("|"))) == chosen


def test_an_s_per_node_does_not_carry_over_to_another_graph(pgso, tmp_path):
    size = ("--option", "rows=8", "--option", "cols=8")
    options = ("--set", "shape=node", "--save", "best.safetensors")
    assert pgso("train", "minesweeper", *TINY, *size, *options).exit_code == 0
    refused = pgso("predict", "best.safetensors", "minesweeper", "--option", "rows=9")
    assert refused.exit_code == 2
    assert "an S for each of 64 nodes, but minesweeper has 72" in refused.stderr


def test_a_rare_class_is_pointed_out(pgso):
    rare = ("--option", "rows=10", "--option", "cols=10", "--option", "mines=0.06")
    shown = pgso("train", "minesweeper", *TINY, *rare)
    assert "consider --objective average_precision" in " ".join(shown.stdout.split())


@pytest.mark.parametrize("command", ["train", "compare"])
def test_the_closed_form_is_found_and_not_trained(pgso, command):
    refused = pgso(command, "karate", "--set", "head=closed_form")
    assert refused.exit_code == 2
    assert "--set cannot change head here: the closed form is pgso find" in refused.stderr
    assert "--head " not in pgso(command, "--help").stdout
