from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import coalesce, to_undirected

from pgso.data.edge_lists import both_directions, distinct, merged, without_loops
from pgso.errors import InputError

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


def as_array(listed):
    return np.array(listed, dtype=np.int64).reshape(-1, 2).T


@given(pairs)
def test_distinct_edges_are_those_of_pyg(listed):
    expected = coalesce(torch.from_numpy(as_array(listed).copy()), num_nodes=5, sort_by_row=False)
    assert np.array_equal(distinct(as_array(listed), 5), expected.numpy())


@given(pairs)
def test_both_directions_are_those_of_pyg(listed):
    expected = to_undirected(torch.from_numpy(as_array(listed).copy()), num_nodes=5)
    actual = both_directions(as_array(listed), 5)
    assert set(map(tuple, actual.T.tolist())) == set(map(tuple, expected.t().tolist()))
    assert actual.shape == expected.shape


def test_loops_go():
    assert without_loops(as_array([(0, 1), (1, 1)])).tolist() == [[0], [1]]


def test_an_undirected_edge_may_be_listed_once_or_twice():
    for listed in ([(0, 1)], [(1, 0)], [(0, 1), (1, 0)]):
        edges, weight, _ = merged(as_array(listed), None, 2, True, Path("edges.csv"))
        assert edges.tolist() == [[1, 0], [0, 1]]
        assert weight is None


def test_an_edge_listed_again_adds_up():
    edges, weight, _ = merged(
        as_array([(0, 1), (0, 1)]), np.array([1.0, 0.5]), 2, False, Path("edges.csv")
    )
    assert edges.tolist() == [[0], [1]]
    assert weight.tolist() == [1.5]


def test_an_undirected_edge_with_two_weights_is_refused():
    with pytest.raises(InputError, match=r"weight 1 in one direction and 2.*undirected=False"):
        merged(as_array([(0, 1), (1, 0)]), np.array([1.0, 2.0]), 2, True, Path("edges.csv"))


def test_sums_of_the_same_parts_in_another_order_are_one_weight():
    edges = np.array([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    weight = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1])
    _, total, _ = merged(edges, weight, 2, undirected=True, path=Path("edges.csv"))
    assert total[0] == total[1]
    assert total[0] == pytest.approx(0.6)
