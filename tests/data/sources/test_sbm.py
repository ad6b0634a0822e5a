import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pgso.data import load_task
from pgso.data.sources.embedded import numbered_pairs, sample_edges, tossed_heads
from pgso.errors import InputError


def test_the_default_is_the_graph_of_section_5_1():
    task = load_task("sbm")
    assert (task.num_nodes, task.num_classes, task.num_features) == (600, 3, 4)
    assert task.graph.is_undirected
    assert task.graph.loops is None
    assert [len(part) for part in (task.train, task.val, task.test)] == [480, 60, 60]
    assert torch.bincount(task.y[task.test]).tolist() == [20, 20, 20]
    edges = 3 * 19900 * 0.5 + 3 * 40000 * 0.25
    assert task.num_edges / 2 == pytest.approx(edges, rel=0.02)


def test_all_attributes_are_uninformative_but_one_per_community():
    task = load_task("sbm", communities=4, size=[5, 6, 7, 8], seed=2)
    assert task.x.sum(0).tolist() == [22, 1, 1, 1, 1]
    informative = (task.x[:, 0] == 0).nonzero().flatten()
    assert torch.equal(task.x[informative].argmax(1) - 1, task.y[informative])


def test_attributes_may_be_the_labels():
    task = load_task("sbm", attributes="labels")
    assert torch.equal(task.x.argmax(1) - 1, task.y)


@pytest.mark.parametrize(("p", "q"), [(1, 0), (0, 1), (1, 1), (0, 0)])
def test_certain_edges_are_all_there_and_impossible_ones_are_not(p, q):
    task = load_task("sbm", size=[3, 4, 5], p=p, q=q)
    same = task.y[:, None] == task.y
    expected = torch.where(same, p, q).float() * (1 - torch.eye(12))
    assert torch.equal(task.graph.to_torch_sparse().to_dense(), expected)


def test_pairs_have_the_probabilities_asked_for():
    rng = np.random.default_rng(0)
    actual = np.zeros((2, 2))
    for _ in range(400):
        i, j = sample_edges(np.array([6, 10]), 0.3, 0.05, rng)
        np.add.at(actual, ((i >= 6).astype(int), (j >= 6).astype(int)), 1)
    rates = actual / 400 / np.array([[15, np.inf], [60, 45]])
    assert rates[0, 0] == pytest.approx(0.3, abs=0.03)
    assert rates[1, 1] == pytest.approx(0.3, abs=0.02)
    assert rates[1, 0] == pytest.approx(0.05, abs=0.01)


@given(st.integers(1, 60), st.floats(0, 1), st.integers(0, 9))
def test_heads_are_ascending_tosses(tosses, probability, seed):
    heads = tossed_heads(tosses, probability, np.random.default_rng(seed))
    assert (np.diff(heads) > 0).all()
    assert heads.min(initial=0) >= 0
    assert heads.max(initial=0) < tosses
    if probability == 1:
        assert len(heads) == tosses


@given(st.integers(1, 10**6), st.data())
def test_pairs_are_numbered_row_by_row(i, data):
    j = data.draw(st.integers(0, i - 1))
    assert numbered_pairs(np.array([i * (i - 1) // 2 + j])).ravel().tolist() == [i, j]


def test_large_sparse_graphs_are_sampled_edge_by_edge():
    task = load_task("sbm", communities=4, size=50_000, p=5e-5, q=1e-6)
    assert task.num_nodes == 200_000
    expected = 200_000 * (50_000 * 5e-5 + 150_000 * 1e-6)
    assert task.num_edges == pytest.approx(expected, rel=0.02)


def test_the_seed_is_the_graph():
    first, again, other = (load_task("sbm", size=20, seed=seed).graph for seed in (1, 1, 2))
    assert torch.equal(first.edge_index, again.edge_index)
    assert not torch.equal(first.edge_index, other.edge_index)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"p": 1.5}, "p must be a probability"),
        ({"q": float("nan")}, "q must be a probability"),
        ({"communities": 1}, "communities must be a whole number from 2 to 10,000"),
        ({"size": 2}, "size must be a whole number from 3 on"),
        ({"size": [5, 5]}, "or 3 of them"),
        ({"attributes": "all"}, "attributes must be one of one, labels"),
        ({"size": 10**6}, "take smaller probabilities"),
    ],
)
def test_wrong_options_are_refused(options, problem):
    with pytest.raises(InputError, match=problem):
        load_task("sbm", **options)
