"""Dirichlet energy and mean average distance: scale-free, 0 where features are smooth."""

import networkx
import numpy as np
import pytest
import torch

from pgso import Graph
from pgso.spectrum import dirichlet_energy, mean_average_distance

RING = Graph.from_networkx(networkx.cycle_graph(8))


def test_both_are_zero_on_constant_features_of_a_regular_graph():
    h = torch.ones(8, 3)
    assert dirichlet_energy(h, RING) == pytest.approx(0, abs=1e-6)
    assert mean_average_distance(h, RING) == pytest.approx(0, abs=1e-6)


def test_both_are_largest_on_alternating_features():
    h = torch.tensor([[1.0], [-1.0]]).repeat(4, 1)
    assert dirichlet_energy(h, RING) == pytest.approx(2)
    assert mean_average_distance(h, RING) == pytest.approx(2)


def test_neither_depends_on_the_scale_of_the_features():
    h = torch.randn(8, 3)
    assert dirichlet_energy(1000 * h, RING) == pytest.approx(dirichlet_energy(h, RING), rel=1e-4)
    assert mean_average_distance(1000 * h, RING) == pytest.approx(
        mean_average_distance(h, RING), rel=1e-4
    )


def test_the_distance_is_the_mean_over_nodes_of_the_mean_over_neighbours():
    tree = networkx.star_graph(3)
    h = torch.randn(4, 2)
    unit = (h / h.norm(dim=1, keepdim=True)).numpy()
    by_node = [np.mean([1 - unit[i] @ unit[j] for j in tree[i]]) for i in tree]
    actual = mean_average_distance(h, Graph.from_networkx(tree))
    assert actual == pytest.approx(np.mean(by_node), rel=1e-5)


def test_a_graph_without_edges_has_distance_zero_and_zero_features_no_energy():
    lonely = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.long), num_nodes=3)
    assert mean_average_distance(torch.randn(3, 2), lonely) == 0
    assert dirichlet_energy(torch.zeros(8, 2), RING) == 0
