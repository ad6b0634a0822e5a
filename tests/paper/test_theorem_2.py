"""Theorem 2: every eigenvalue lies in the interval; and the paper's examples of it."""

import networkx as nx
import pytest
import torch
from hypothesis import given

from pgso import PRESETS, Graph, dense_pgso
from pgso.spectrum import gershgorin_interval, symmetrised
from tests.strategies import edge_lists, parameters

GRAPHS = {
    "karate": nx.karate_club_graph(),
    "star": nx.star_graph(6),
    "cycle": nx.cycle_graph(7),
    "complete": nx.complete_graph(5),
    "tree": nx.balanced_tree(2, 3),
}


@pytest.fixture(params=GRAPHS.values(), ids=GRAPHS.keys())
def graph(request):
    return Graph.from_networkx(request.param, weight=None)


def eigenvalues(graph, S):
    return torch.linalg.eigvalsh(symmetrised(graph.to(torch.float64), S).to_dense())


@given(edges=edge_lists(undirected=True), S=parameters())
def test_every_eigenvalue_lies_in_the_interval(edges, S):
    low, high = gershgorin_interval(edges.graph, S)
    spectrum = torch.linalg.eigvals(dense_pgso(edges.adjacency, S)).real
    slack = 1e-6 * (1 + max(abs(float(low)), abs(float(high))))
    assert low - slack <= spectrum.min()
    assert spectrum.max() <= high + slack


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_stays_in_its_interval(graph, preset):
    low, high = gershgorin_interval(graph, preset)
    spectrum = eigenvalues(graph, preset)
    assert low - 1e-9 <= spectrum.min()
    assert spectrum.max() <= high + 1e-9


def test_the_support_of_the_adjacency_matrix_is_the_largest_degree_both_ways(graph):
    low, high = gershgorin_interval(graph, "adjacency")
    d_max = float(graph.degree.max())
    assert (float(low), float(high)) == (-d_max, d_max)


def test_the_support_of_the_gcn_operator(graph):
    low, high = gershgorin_interval(graph, "gcn")
    d_max = float(graph.degree.max())
    assert float(low) == pytest.approx(-(d_max - 1) / (d_max + 1))
    assert float(high) == pytest.approx(1.0)


@pytest.mark.parametrize("preset", ["laplacian", "signless_laplacian"])
def test_the_support_of_the_laplacians_is_twice_the_largest_degree(graph, preset):
    low, high = gershgorin_interval(graph, preset)
    assert float(low) == 0
    assert float(high) == 2 * float(graph.degree.max())


@pytest.mark.parametrize("preset", ["symmetric_laplacian", "random_walk_laplacian"])
def test_the_support_of_the_normalised_laplacians_is_zero_to_two(graph, preset):
    low, high = gershgorin_interval(graph, preset)
    assert float(low) == pytest.approx(0, abs=1e-12)
    assert float(high) == pytest.approx(2)


def test_the_support_of_the_mean_is_minus_one_to_one(graph):
    low, high = gershgorin_interval(graph, "mean")
    assert (float(low), float(high)) == pytest.approx((-1, 1))


def test_the_bound_is_reached_by_a_regular_bipartite_graph():
    cycle = Graph.from_networkx(nx.cycle_graph(8))
    low, high = gershgorin_interval(cycle, "adjacency")
    spectrum = eigenvalues(cycle, "adjacency")
    torch.testing.assert_close(torch.stack([low, high]), spectrum[[0, -1]])
