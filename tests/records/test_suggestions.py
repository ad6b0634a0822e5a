"""What suits a user's table is part of the spec, and visible in it."""

import pytest

from pgso.records import RunSpec
from pgso.records.suggestions import MOST_COLUMNS, TABLE


def folder(path, header, edges="source,target"):
    (path / "features.csv").write_text(f"{header}\n")
    (path / "edges.csv").write_text(f"{edges}\n")
    return str(path)


def test_a_table_suggests_what_works_on_tables(tmp_path):
    spec = RunSpec(dataset=folder(tmp_path, "node,age,income"))
    assert {name: getattr(spec, name) for name in TABLE} == dict(TABLE)
    assert RunSpec(dataset=str(tmp_path), num_layers=3).num_layers == 3
    assert RunSpec(dataset="customers").residual


@pytest.mark.parametrize(
    ("header", "edges"),
    [
        (";".join(["word"] * (MOST_COLUMNS + 1)), "source,target"),
        ("graph,node,size", "graph,source,target"),
    ],
    ids=["words of texts", "several graphs"],
)
def test_what_is_no_table_of_nodes_suggests_nothing(tmp_path, header, edges):
    assert RunSpec(dataset=folder(tmp_path, header, edges)).residual is False


def test_a_folder_without_a_table_suggests_nothing(tmp_path):
    assert RunSpec(dataset=str(tmp_path)) == RunSpec(complete=True, dataset=str(tmp_path))
    (tmp_path / "features.csv").write_bytes(b"\xff\xfe\xff")
    assert RunSpec(dataset=str(tmp_path)).residual is False
