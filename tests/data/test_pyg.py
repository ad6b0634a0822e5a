"""PyG's data become tasks."""

import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset

import pgso
from pgso.data import Task
from pgso.data.pyg import unanswered_task
from pgso.errors import InputError

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def data(n=12, **fields):
    given = {"x": torch.rand(n, 3), "edge_index": EDGES, "y": torch.arange(n) % 2, "num_nodes": n}
    return Data(**{**given, **fields})


def test_a_graph_with_masks_keeps_them():
    mask = torch.zeros(12, dtype=torch.bool)
    masks = {name: mask.clone() for name in ("train_mask", "val_mask", "test_mask")}
    for place, name in enumerate(masks):
        masks[name][4 * place : 4 * place + 4] = True
    task = Task.from_data(data(**masks))
    parts = [part.tolist() for part in (task.train, task.val, task.test)]
    assert parts == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    several = {name: torch.stack([mask, ~mask], dim=1) for name, mask in masks.items()}
    with pytest.raises(InputError, match="more than one part of the split"):
        Task.from_data(data(**several), seed=1)
    assert Task.from_data(data(**several), seed=2).train.tolist() == [0, 1, 2, 3]


def test_what_y_holds_says_what_is_learned():
    assert Task.from_data(data()).answer == "class"
    assert Task.from_data(data(y=torch.rand(12))).targets == ("y",)
    assert Task.from_data(data(y=(torch.rand(12, 3) > 0.5).float())).answer == "labels"
    assert Task.from_data(data(y=torch.rand(12, 2))).answer == "value"
    assert Task.from_data(data(), objective="macro_f1").metric == "macro_f1"
    assert Task.from_data(data(), objective="rmse").targets == ("y",)
    with pytest.raises(InputError, match="rmse scores numbers"):
        Task.from_data(data(y=torch.arange(12) % 2 == 0), objective="rmse")
    floats = Task.from_data(data(y=(torch.arange(12) % 3).float()))
    assert floats.classes == ("0", "1", "2")
    signs = torch.arange(12) % 2 * 2 - 1
    for y in (signs, signs.float()):
        with pytest.raises(InputError, match="y holds 1 and -1, and -1 means unknown"):
            Task.from_data(data(y=y))


def test_many_graphs_are_a_graph_task():
    graphs = [data(4, y=torch.tensor([k % 2])) for k in range(20)]
    task = Task.from_data(graphs)
    assert (task.kind, task.num_graphs, task.num_nodes, task.num_edges) == ("graph", 20, 80, 120)
    assert task.y.tolist() == [0, 1] * 10
    assert Task.from_data([data()]).kind == "node"
    assert pgso.find(graphs).record.kind == "graph"
    assert Task.from_data(Toy(graphs)).num_graphs == 20
    assert Task.from_data(Toy([data()])).kind == "node"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"x": torch.rand(4, 2)}, "graph 1 has 2 columns of x, graph 0 has 3"),
        ({"x": None}, "graph 1 has 0 columns of x, graph 0 has 3"),
        ({"y": torch.zeros(4)}, "graph 1 has 4 answers, graph 0 has 1.*Batch.from_data_list"),
        ({"y": torch.zeros(4, 2)}, r"y of shape \(4, 2\).*Batch.from_data_list"),
        ({"edge_weight": torch.ones(6)}, "graph 1 has some edge weights, graph 0 has no"),
        ({"edge_index": torch.tensor([[4], [5]])}, "graph 1: a node's id is 4, .* 0 and 3"),
    ],
)
def test_graphs_that_are_not_alike_are_refused(changed, problem):
    answer = torch.tensor([1])
    with pytest.raises(InputError, match=problem):
        Task.from_data([data(4, y=answer), data(4, **{"y": answer, **changed})])


def test_graphs_whose_nodes_have_answers_are_joined():
    task = Task.from_data(Batch.from_data_list([data(4), data(6)]))
    assert (task.kind, task.num_nodes, task.num_edges) == ("node", 10, 12)


def test_answers_may_be_plain_numbers():
    assert Task.from_data([data(4, y=k % 2) for k in range(20)]).y.tolist() == [0, 1] * 10


def test_a_sparse_matrix_in_the_place_of_edges():
    weight = torch.rand(6)
    matrix = torch.sparse_coo_tensor(EDGES.flip(0), weight, (12, 12), check_invariants=True)
    with_edges = Task.from_data(data(edge_weight=weight))
    with_matrix = Task.from_data(data(edge_index=None, adj_t=matrix))
    x = torch.eye(12)
    expected, given = (pgso.shift(task.graph, "gcn") @ x for task in (with_edges, with_matrix))
    torch.testing.assert_close(given, expected)


class Toy(InMemoryDataset):
    def __init__(self, graphs):
        super().__init__(None)
        self._data, self.slices = self.collate(graphs)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (data(y=None), "need edge_index and y"),
        (data(y=torch.zeros(5)), "y has 5 answers, but there are 12 nodes"),
        ([HeteroData(), HeteroData()], "many graphs with types of nodes are no task yet"),
        ("Cora", "takes PyG's Data, HeteroData or a Dataset of graphs, got str"),
        (data(train_mask=torch.ones(12, dtype=torch.bool)), "need train_mask and val_mask"),
        (
            data(train_mask=torch.arange(5), val_mask=torch.arange(5, 9)),
            r"train_mask has shape \(5,\); it needs one entry for each of 12 nodes",
        ),
        (data(y=torch.arange(12) / 0), "y holds inf"),
        (data(edge_index=EDGES + 0.5), "edge_index must hold integers, got float32"),
    ],
)
def test_what_is_missing_is_said(given, problem):
    with pytest.raises(InputError, match=problem):
        Task.from_data(given)


def test_a_target_belongs_to_types_of_nodes():
    with pytest.raises(InputError, match="target='user' is a type of nodes of HeteroData"):
        Task.from_data(data(), target="user")


def test_edges_alone_are_enough_for_links():
    task = unanswered_task(data(y=None))
    assert (task.num_nodes, task.num_edges, task.classes) == (12, 6, ())
    with pytest.raises(InputError, match="within one graph of PyG's Data, got HeteroData"):
        unanswered_task(HeteroData())


def test_graphs_of_one_size_whose_nodes_have_answers_are_refused():
    graphs = [data(4, edge_index=EDGES, y=torch.tensor([0, 1, 0, 1])) for _ in range(12)]
    with pytest.raises(InputError, match="every graph has as many answers as nodes, 4"):
        Task.from_data(graphs)
    for graph in graphs:
        graph.y = graph.y.unsqueeze(0)
    assert Task.from_data(graphs).answer == "labels"


def test_find_and_tasks_read_the_same_answers():
    years = (torch.arange(60) % 33).float()
    task = Task.from_data(data(60, y=years))
    assert (task.answer, pgso.find(data(60, y=years)).record.metric) == ("value", "r2")
    whole = data(60, y=torch.arange(60) % 7)
    assert Task.from_data(whole, objective="mae").answer == "value"
    assert pgso.find(whole, objective="mae").record.metric == "mae"
