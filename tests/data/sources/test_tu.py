import numpy as np
import pytest
import torch
from torch_geometric.datasets import TUDataset

from pgso.data import load_task
from pgso.errors import InputError
from tests.data.sources.raw_files import write_tu


def write(tmp_path, **changes):
    write_tu(tmp_path / "TOY" / "raw", **changes)


def test_any_tu_dataset_whose_files_are_there_is_found(tmp_path):
    write(tmp_path)
    for name in ("TOY", "tu:TOY"):
        task = load_task(name, root=tmp_path)
        assert (task.kind, task.num_graphs, task.num_nodes, task.num_edges) == ("graph", 20, 60, 80)
        assert task.classes == ("-1", "1")


def test_nodes_without_labels_are_described_by_their_degree(tmp_path):
    write(tmp_path)
    task = load_task("TOY", root=tmp_path)
    assert task.x[:3].tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0]]
    assert torch.equal(task.x.argmax(1), task.graph.degree.long())


def test_labels_come_one_hot_and_attributes_when_asked_for(tmp_path):
    labels, numbers = [3, 5, 3] * 20, ["0.5, 1"] * 60
    write(tmp_path, node_labels=labels, node_attributes=numbers)
    assert load_task("TOY", root=tmp_path).x[:2].tolist() == [[1, 0, 0], [0, 0, 1]]
    both = load_task("TOY", root=tmp_path, attributes=True)
    assert both.x[:2].tolist() == [[0.5, 1, 1, 0, 0], [0.5, 1, 0, 0, 1]]


def test_attributes_stand_alone_where_there_are_no_labels(tmp_path):
    write(tmp_path, node_attributes=["0.5"] * 60)
    assert load_task("TOY", root=tmp_path).x.unique().tolist() == [0.5]


def test_it_is_what_pyg_loads(tmp_path):
    write(tmp_path, node_labels=[3, 5, 3] * 20)
    task = load_task("TOY", root=tmp_path)
    theirs = TUDataset(str(tmp_path), "TOY")
    assert torch.equal(task.x, theirs.x)
    assert torch.equal(task.y, theirs.y)
    batch = task.batch(torch.tensor([4, 2]))
    assert torch.equal(batch.graph.edge_index[:, :4].sort()[0], theirs[4].edge_index.sort()[0])


def test_seeds_are_folds(tmp_path):
    write(tmp_path)
    tests = [load_task("TOY", root=tmp_path, seed=seed).test for seed in range(10)]
    assert torch.equal(torch.cat(tests).sort()[0], torch.arange(20))
    gin = load_task("TOY", root=tmp_path, seed=3, protocol="gin")
    assert torch.equal(gin.val, tests[3])
    assert gin.test.numel() == 0
    assert load_task("TOY", root=tmp_path, folds=5).test.numel() == 4


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"A": ["1, 2", "1, 61"]}, "a node .counted from 0. is 60"),
        ({"A": ["1, 2", "0, 1"]}, "a node .counted from 0. is -1"),
        ({"A": ["1, 2", "3"]}, "line 2: expected 2 whole numbers"),
        ({"A": ["1, 4"]}, "joins graph 0 with graph 1"),
        ({"graph_indicator": [1, 2, 1] * 20}, "in order"),
        ({"graph_labels": [1, 2] * 3}, "a graph .counted from 0. is"),
        ({"graph_labels": ["a", "b"] * 10}, "line 1: expected 1 whole numbers"),
        ({"node_labels": [1, 2]}, "60 nodes have 2 rows"),
        ({"node_attributes": ["nan"] * 60}, "features hold nan in row 0"),
        ({"graph_labels": []}, "is empty"),
    ],
)
def test_wrong_files_are_one_clear_error(tmp_path, changes, problem):
    write(tmp_path, **changes)
    with pytest.raises(InputError, match=problem):
        load_task("TOY", root=tmp_path)


def test_a_truncated_published_dataset_is_recognised(tmp_path):
    write_tu(tmp_path / "MUTAG" / "raw", name="MUTAG")
    with pytest.raises(InputError, match="hold 20 graphs, but MUTAG has 188"):
        load_task("MUTAG", root=tmp_path)


def test_an_unknown_protocol_is_refused(tmp_path):
    write(tmp_path)
    with pytest.raises(InputError, match="protocol must be one of fair, gin"):
        load_task("TOY", root=tmp_path, protocol="unfair")


def test_hubs_share_the_last_column(tmp_path, monkeypatch):
    monkeypatch.setattr("pgso.data.sources.tu.MAX_DEGREE", 1)
    write(tmp_path)
    x = load_task("TOY", root=tmp_path).x
    assert np.array_equal(x.numpy(), np.tile([0.0, 1.0], (60, 1)))
