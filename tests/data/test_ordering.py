"""Large graphs in another order: the same task, and the same answers for the same ids."""

from dataclasses import replace

import pytest
import torch

from pgso import GNN, Graph, RunSpec, load_task
from pgso.data import batch as ordering
from pgso.data.batch import fast_order, in_fast_order
from pgso.graph import Relations
from pgso.training.fit import fit_task


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(ordering, "LARGE", 10)


def test_neighbours_stand_near_each_other():
    ring = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    edges = torch.stack([ring, ring.roll(1)])
    graph = Graph.from_edge_index(torch.cat([edges, edges.flip(0)], dim=1))
    place = fast_order(graph).argsort()
    apart = (place[graph.edge_index[0]] - place[graph.edge_index[1]]).abs()
    assert apart.max() <= 2
    assert (graph.edge_index[0] - graph.edge_index[1]).abs().max() > 100


def largest_share(graph, order):
    """Of the edges, in one of four equal runs of rows; 1: all have the same."""
    by_run = torch.stack([part.sum() for part in graph.degree[order].tensor_split(4)])
    return float(by_run.max() / by_run.mean())


def test_parts_have_equal_work(monkeypatch):
    path = torch.stack([torch.arange(3999), torch.arange(1, 4000)])
    core = torch.randint(3000, 4000, (2, 10_000), generator=torch.Generator().manual_seed(0))
    edges = torch.cat([path, core], dim=1)
    graph = Graph.from_edge_index(torch.cat([edges, edges.flip(0)], dim=1), num_nodes=4000)
    monkeypatch.setattr(ordering, "RUN", 4000)
    assert largest_share(graph, fast_order(graph)) > 2  # a single block: Cuthill-McKee alone
    monkeypatch.setattr(ordering, "RUN", 50)
    order = fast_order(graph)
    assert largest_share(graph, order) < 1.25
    assert torch.equal(order.sort().values, torch.arange(4000))


@pytest.mark.parametrize("name", ["karate", "digits"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_reordered_task_is_the_task(name, sparse, everything_is_large):
    task = load_task(name)
    dense = task.x if task.x.layout == torch.strided else task.x.to_dense()
    ids = tuple(map(str, range(task.num_nodes)))
    task = replace(task, x=dense.to_sparse_csr() if sparse else dense, ids=ids)
    other = in_fast_order(task)
    order = torch.tensor([int(name) for name in other.ids])
    assert not torch.equal(order, torch.arange(task.num_nodes))
    model = GNN("gcn", task.num_features, 4, task.num_classes).eval()
    torch.testing.assert_close(model(other.x, other.graph), model(task.x, task.graph)[order])
    assert torch.equal(other.y, task.y[order])
    for one, part in ((other.train, task.train), (other.val, task.val), (other.test, task.test)):
        assert torch.equal(order[one], part)


def test_small_graphs_stay_and_runs_may_keep_the_order(everything_is_large, monkeypatch):
    task = load_task("karate")
    orders = [
        fit_task(RunSpec(dataset="karate", epochs=1, reorder=reorder), task)[0].task.y
        for reorder in (True, False)
    ]
    assert not torch.equal(orders[0], task.y)
    assert torch.equal(orders[1], task.y)
    monkeypatch.setattr(ordering, "LARGE", 1000)
    assert in_fast_order(task) is task


def test_relations_are_reordered_with_the_nodes(everything_is_large):
    task = load_task("karate")
    edges, n = task.graph.edge_index, task.num_nodes
    relations = Relations({"near": edges[:, ::2], "far": edges[:, 1::2]}, n)
    task = replace(task, relations=relations, ids=tuple(map(str, range(n))))
    other = in_fast_order(task)
    order = torch.tensor([int(name) for name in other.ids])
    model = GNN("bank", task.num_features, 4, 2, terms=("self", "gcn@near", "mean@far")).eval()
    torch.testing.assert_close(model(other.x, other.edges), model(task.x, task.edges)[order])
