"""What suits a user's table: no spec opens a file, and every format of a table is the same run."""

import builtins
import io
import pathlib

import numpy as np
import pytest

import pgso
from pgso.data.dataset import suited
from pgso.records import RunSpec
from pgso.records.suggestions import MOST_COLUMNS, TABLE

ROWS = [(f"n{i}", i % 7, i * i % 11) for i in range(30)]


def folder(path, header, edges="source,target"):
    (path / "features.csv").write_text(f"{header}\n")
    (path / "edges.csv").write_text(f"{edges}\n")
    return str(path)


def shop(path, suffix):
    """A folder with the same table in one format or another."""
    path.mkdir()
    edges = "".join(f"n{i},n{(i + 1) % 30}\n" for i in range(30))
    (path / "edges.csv").write_text(f"source,target\n{edges}")
    labels = "".join(f"{name},{'ab'[age > 3]}\n" for name, age, _ in ROWS)
    (path / "labels.csv").write_text(f"node,label\n{labels}")
    if suffix == "csv":
        rows = "".join(f"{name},{age},{size}\n" for name, age, size in ROWS)
        (path / "features.csv").write_text(f"node,age,size\n{rows}")
    else:
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        names, ages, sizes = zip(*ROWS, strict=True)
        table = {"node": list(names), "age": list(ages), "size": list(sizes)}
        parquet.write_table(arrow.table(table), path / "features.parquet")
    return path


def test_a_spec_opens_no_file(tmp_path, monkeypatch):
    path = str(shop(tmp_path / "shop", "csv"))

    def refuse(*args, **options):
        raise AssertionError(f"opened {args[0]}")

    RunSpec(dataset="karate")  # datasets are imported
    for module, name in ((builtins, "open"), (io, "open"), (pathlib.Path, "open")):
        monkeypatch.setattr(module, name, refuse)
    spec = RunSpec(dataset=path, epochs=3).but(operator="fixed", recipe="robust")
    assert spec.key
    assert repr(spec)
    assert len(spec.compared) == 4


def test_a_table_suggests_what_works_on_tables(tmp_path):
    spec = suited(RunSpec(dataset=folder(tmp_path, "node,age,income")))
    assert {name: getattr(spec, name) for name in TABLE} == dict(TABLE)
    assert suited(spec) == spec
    assert suited(RunSpec(dataset=str(tmp_path), num_layers=3)).num_layers == 3
    assert RunSpec(dataset="customers").residual


def test_a_default_that_was_asked_for_is_no_gap_to_fill(tmp_path):
    path = folder(tmp_path, "node,age,income")
    assert suited(RunSpec(dataset=path, num_layers=2, dropout=0.5)).num_layers == 2
    assert suited(RunSpec(dataset=path).but(dropout=0.5)).dropout == 0.5


def test_a_recipe_and_a_task_go_before_the_table(tmp_path):
    path = folder(tmp_path, "node,age,income")
    links = suited(RunSpec(dataset=path, task="link"))
    assert (links.weight_decay, links.lr_decay, links.residual) == (0.0, 1.0, True)
    nodes = suited(RunSpec(dataset=path))
    assert (nodes.operator, links.operator) == ("found", "pgso")  # find answers no links
    assert nodes.but(task="link", operator="pgso") == links.but(operator="pgso")
    strong = suited(RunSpec(dataset=path, recipe="strong"))
    assert (strong.num_layers, strong.norm, strong.lr) == (2, "batch", 0.1)


@pytest.mark.parametrize(
    ("header", "edges"),
    [
        (";".join(["word"] * (MOST_COLUMNS + 1)), "source,target"),
        ("graph,node,size", "graph,source,target"),
    ],
    ids=["words of texts", "several graphs"],
)
def test_what_is_no_table_of_nodes_suggests_nothing(tmp_path, header, edges):
    assert suited(RunSpec(dataset=folder(tmp_path, header, edges))).residual is False


def test_a_folder_without_a_table_suggests_what_find_keeps_and_nothing_else(tmp_path):
    spec = RunSpec(dataset=str(tmp_path))
    assert suited(spec) == spec.but(operator="found")
    (tmp_path / "features.csv").write_bytes(b"\xff\xfe\xff")
    assert suited(spec) == spec.but(operator="found")
    asked = RunSpec(dataset=str(tmp_path), operator="pgso")
    assert suited(asked) == asked


def test_the_same_table_is_the_same_run_in_every_format(tmp_path):
    folders = [shop(tmp_path / suffix, suffix) for suffix in ("csv", "parquet")]
    choices = {"epochs": 5, "seed": 1}
    records = [pgso.fit(RunSpec(dataset=str(path), **choices)) for path in folders]
    specs = [record.spec.but(dataset="shop") for record in records]
    assert specs[0] == specs[1]
    assert specs[0].num_layers == TABLE["num_layers"]
    assert records[0].curves["loss"] == records[1].curves["loss"]


def test_an_array_of_few_columns_is_a_table_too(tmp_path):
    path = shop(tmp_path / "array", "csv")
    (path / "features.csv").unlink()
    np.save(path / "features.npy", np.ones((30, 3)))
    assert suited(RunSpec(dataset=str(path))).residual is True
    np.save(path / "features.npy", np.ones((30, MOST_COLUMNS + 1)))
    assert suited(RunSpec(dataset=str(path))).residual is False


def test_a_task_in_memory_suggests_what_its_folder_does(tmp_path):
    path = shop(tmp_path / "shop", "csv")
    task = pgso.load_task(path)
    spec = suited(RunSpec(dataset="mine"), task)
    assert spec == suited(RunSpec(dataset=str(path))).but(dataset="mine")


@pytest.mark.parametrize("features", ["none", "array", "labels", "table"])
def test_a_task_of_a_folder_suggests_what_the_folder_does(tmp_path, features):
    path = shop(tmp_path / "shop", "csv")
    if features != "table":
        (path / "features.csv").unlink()
    if features == "array":
        np.save(path / "features.npy", np.ones((30, 3)))
    if features == "labels":
        (path / "labels.csv").rename(path / "nodes.csv")
    spec = suited(RunSpec(dataset="mine"), pgso.load_task(path))
    assert spec == suited(RunSpec(dataset=str(path))).but(dataset="mine")
    assert spec.residual is (features in ("array", "table"))
