import pytest
import torch

from pgso.data import load_task
from pgso.data.molecules import ATOM_CATEGORIES
from pgso.errors import InputError

pytest.importorskip("rdkit")

ALCOHOLS = ["CO", "CCO", "CCCO", "CCCCO"]
ALKANES = ["C", "CC", "CCC", "CCCC"]


def write(folder, *rows, header="smiles,label"):
    path = folder / "molecules.csv"
    path.write_text("\n".join([header, *rows]))
    return path


def both(*more):
    return [f"{s},alcohol" for s in ALCOHOLS] + [f"{s},alkane" for s in ALKANES] + list(more)


def test_a_table_is_a_graph_task(tmp_path):
    task = load_task(write(tmp_path, *both()))
    assert (task.kind, task.num_graphs, task.metric) == ("graph", 8, "roc_auc")
    assert task.categories == ATOM_CATEGORIES
    assert task.classes == ("alcohol", "alkane")
    assert task.ids[:2] == ("CO", "CCO")
    assert task.nodes_per_graph.tolist() == [2, 3, 4, 5, 1, 2, 3, 4]
    assert task.batch(torch.tensor([4])).graph.num_edges == 0


def test_it_says_how_many_molecules_it_could_not_parse(tmp_path):
    path = write(tmp_path, *both("C(C,alkane", ",alkane", "xyz,alcohol"))
    with pytest.warns(UserWarning, match=r"3 of 11 molecules.*first in line 10: 'C\(C'"):
        task = load_task(path)
    assert task.num_graphs == 8


def test_columns_for_ids_and_parts_are_used(tmp_path):
    parts = ["train", "train", "val", "test"]
    rows = [
        f"m{k},{s},{k % 2},{part}" for k, (s, part) in enumerate(zip(ALCOHOLS, parts, strict=True))
    ]
    task = load_task(write(tmp_path, *rows, header="id,SMILES,Label,split"))
    assert task.ids == ("m0", "m1", "m2", "m3")
    assert [part.tolist() for part in (task.train, task.val, task.test)] == [[0, 1], [2], [3]]


def test_three_classes_are_scored_by_accuracy(tmp_path):
    assert load_task(write(tmp_path, *both("O,water", "O,water", "O,water"))).metric == "accuracy"


@pytest.mark.parametrize(
    ("rows", "header", "problem"),
    [
        (["C,1"], "molecule,label", "line 1: a table of molecules needs a header"),
        (["C,1", "CC"], "smiles,label", "line 3: expected 2 cells, got 1"),
        (["xyz,1"], "smiles,label", "no molecule that RDKit can parse"),
        (["C,1", "CC,1"], "smiles,label", "two classes or more"),
        (["C,1,dev"], "smiles,label,split", "two classes or more"),
        (
            ["C,1,vla", "CC,0,train"],
            "smiles,label,split",
            "line 2: column .split.: a part of the split",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path, rows, header, problem):
    with pytest.raises(InputError, match=problem):
        load_task(write(tmp_path, *rows, header=header))


def test_a_smiles_that_would_take_minutes_is_refused_with_its_line(tmp_path):
    (tmp_path / "m.csv").write_text(f"smiles,label\nCC,0\n{'C' * 5_001},1\n")
    with pytest.raises(InputError, match=r"m\.csv, line 3: a SMILES of 5001 letters"):
        load_task(tmp_path / "m.csv")


def test_targets_are_numbers_to_predict(tmp_path):
    rows = [f"{smiles},{k / 2}" for k, smiles in enumerate(ALCOHOLS + ALKANES)]
    task = load_task(write(tmp_path, *rows, "CCN,", header="smiles,target"))
    assert (task.kind, task.metric, task.targets, task.classes) == (
        "graph",
        "rmse",
        ("target",),
        (),
    )
    assert task.y[:8, 0].tolist() == [k / 2 for k in range(8)]
    assert 8 not in torch.cat([task.train, task.val, task.test])  # its target is missing
