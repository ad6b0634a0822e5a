"""Links that are taken out of a graph leave no trace in it."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import RandomLinkSplit

from pgso.data import load_task
from pgso.data.links import NonLinks, link_task
from pgso.data.task import Task
from pgso.errors import InputError


def keys(pairs, n):
    low, high = pairs.min(-1).values, pairs.max(-1).values
    return set((low * n + high).flatten().tolist())


@pytest.fixture(params=["structured", "uniform"])
def task(request):
    return load_task("karate", seed=3, task="link", val=0.1, test=0.2, negatives=request.param)


def test_links_are_split_without_leakage(task):
    whole = load_task("karate").graph.edge_index.T
    n = task.num_nodes
    held_out = [keys(task.pairs[part, 0], n) for part in (task.val, task.test)]
    seen, every = keys(task.graph.edge_index.T, n), keys(whole, n)
    assert not held_out[0] & held_out[1]
    assert not (held_out[0] | held_out[1]) & seen
    assert held_out[0] | held_out[1] | seen == every
    assert task.graph.is_undirected
    assert keys(task.graph.edge_index.T[task.train], n) == seen
    assert len(task.train) == len(seen)  # each link once
    assert not keys(task.pairs[:, 1:], n) & every
    assert (task.pairs[..., 0] != task.pairs[..., 1]).all()


def test_a_held_out_link_is_in_no_relation(tmp_path):
    rows = [
        f"{i},{(i + k) % 20},{'knows' if k == 1 else 'likes'}\n" for i in range(20) for k in (1, 2)
    ]
    (tmp_path / "edges.csv").write_text("source,target,relation\n" + "".join(rows))
    task = load_task(tmp_path, task="link", val=0.2, test=0.2)
    n = task.num_nodes
    held_out = keys(task.pairs[:, 0], n)
    for graph in task.relations.graphs.values():
        assert graph.num_edges
        assert not keys(graph.edge_index.T, n) & held_out
    assert keys(task.edges.union.edge_index.T, n) == keys(task.graph.edge_index.T, n)


def test_the_parts_are_as_large_as_those_of_pyg():
    whole = load_task("karate")
    data = Data(edge_index=whole.graph.edge_index, num_nodes=34)
    train, val, test = RandomLinkSplit(0.1, 0.2, is_undirected=True)(data)
    ours = load_task("karate", task="link", val=0.1, test=0.2)
    assert len(ours.val) == int(val.edge_label.sum())
    assert len(ours.test) == int(test.edge_label.sum())
    assert ours.num_edges == train.edge_index.size(1)


def test_structured_pairs_keep_the_source_and_the_seed_decides():
    one, same, other = (load_task("karate", seed=s, task="link") for s in (1, 1, 2))
    assert (one.pairs[:, 1:, 0] == one.pairs[:, :1, 0]).all()
    assert torch.equal(one.pairs, same.pairs)
    assert not torch.equal(one.pairs, other.pairs)
    assert one.pairs.size(1) == 21
    assert load_task("karate", task="link", candidates=3).pairs.shape[1:] == (4, 2)


def test_directed_links_are_taken_out_in_their_direction(tmp_path):
    (tmp_path / "edges.csv").write_text("".join(f"{i},{(i + 1) % 40}\n" for i in range(40)))
    task = load_task(tmp_path, task="link", undirected=False)  # a folder needs no labels
    assert task.num_edges == 40 - len(task.val) - len(task.test)
    source, target = task.pairs[:, 0].T
    assert (target == (source + 1) % 40).all()


def test_a_node_that_is_joined_with_all_others_does_not_hang():
    star = np.stack([np.zeros(5, dtype=int), np.arange(1, 6)])
    pairs = NonLinks(star, 6).draw(5, 2, np.random.default_rng(0), star[0])
    assert pairs.shape == (5, 2, 2)


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("karate", {"val": 0.6, "test": 0.5}, "shares that leave links to train on"),
        ("karate", {"candidates": 0}, "candidates must be a whole number from 1 on"),
        ("karate", {"negatives": "none"}, "negatives must be one of structured, uniform"),
        ("karate", {"val": 0.001}, "karate has 78 links, too few"),
        ("karate", {"objective": "accuracy"}, "accuracy scores one class each, .* hold links"),
        ("karate", {"rows": 3}, "karate has no option 'rows'"),
    ],
)
def test_what_makes_no_link_task_is_refused(name, options, problem):
    with pytest.raises(InputError, match=problem):
        load_task(name, task="link", **options)


def test_a_task_of_another_kind_is_refused():
    with pytest.raises(InputError, match="karate is a node task; choose node or link"):
        load_task("karate", task="graph")
    assert load_task("karate", task="node").kind == "node"


def test_an_edge_that_is_listed_twice_is_one_link():
    edges = np.random.default_rng(0).integers(30, size=(2, 80))
    nobody = np.zeros(0, dtype=np.int64)
    once = np.unique(edges, axis=1)
    given = {"x": np.eye(30), "y": np.full(30, -1), "split": (nobody, nobody, nobody)}
    task, other = (
        link_task(Task.from_arrays("edges", edge_index=e, **given), 0, val=0.2, test=0.2)
        for e in (np.tile(once, 2), once)
    )
    val, test = (set(map(tuple, task.pairs[part, 0].tolist())) for part in (task.val, task.test))
    assert not val & test
    assert (len(val), len(test)) == (len(task.val), len(task.test))
    assert torch.equal(task.pairs, other.pairs)


@pytest.mark.parametrize("negatives", ["structured", "uniform"])
def test_pairs_beside_a_hub_are_no_links(negatives):
    hub = np.stack([np.zeros(290, dtype=int), np.arange(1, 291)])
    pairs = NonLinks(hub, 300)
    rng = np.random.default_rng(0)
    drawn = pairs.draw(hub.shape[1], 5, rng, hub[0])
    if negatives == "uniform":  # nearly all pairs are links
        dense = np.stack(np.triu_indices(40, 1))[:, 3:]
        pairs = NonLinks(dense, 40)
        drawn = pairs.draw(200, 2, rng)
        only = [0, 1, 2, 3]  # the nodes of the three pairs that are left
        wrong = pairs.are_links(*drawn.reshape(-1, 2).T)
        assert not np.isin(drawn.reshape(-1, 2)[wrong, 0], only).any()
        return
    assert not pairs.are_links(*drawn.reshape(-1, 2).T).any()
