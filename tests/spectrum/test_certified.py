"""Directed graphs are refused with an edge that proves it."""

import re

import pytest
import torch
from hypothesis import given

from pgso import Graph
from pgso.errors import InputError
from pgso.spectrum import gershgorin_interval, symmetrised, symmetriser
from pgso.spectrum.certified import undirected
from tests.strategies import edge_lists


@given(edges=edge_lists())
def test_a_symmetric_matrix_passes_and_another_is_refused_with_a_true_example(edges):
    A = edges.adjacency
    graph = Graph.from_dense(A)
    if torch.equal(A, A.t()):
        assert undirected(graph) is graph
        return
    with pytest.raises(InputError, match="undirected") as caught:
        undirected(graph)
    source, target = map(int, re.search(r"the edge (\d+) → (\d+)", str(caught.value)).groups())
    assert A[target, source] != 0
    assert A[target, source] != A[source, target]


def test_weights_that_differ_are_named():
    with pytest.raises(InputError, match="the edge 1 → 0 weighs 2, its reverse 3"):
        undirected(Graph.from_dense([[0.0, 2.0], [3.0, 0.0]]))


def test_sums_in_another_order_are_not_a_difference():
    edges = torch.tensor([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    assert Graph.from_edge_index(edges, torch.tensor([0.1, 0.2, 0.3, 0.3, 0.2, 0.1])).is_undirected


@pytest.mark.parametrize("function", [gershgorin_interval, symmetrised, symmetriser])
def test_every_part_of_the_theory_asks(function):
    with pytest.raises(InputError, match="the edge 0 → 1 has no reverse"):
        function(torch.tensor([[0], [1]]), "gcn")
    with pytest.raises(InputError, match="without nodes"):
        function(Graph.from_dense(torch.empty(0, 0)), "gcn")


def test_two_sets_of_nodes_are_named():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=(4, 3))
    with pytest.raises(InputError, match="between 3 sources and 4 targets"):
        undirected(graph)
