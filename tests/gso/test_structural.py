"""Values per node from a network on structural features."""

import networkx as nx
import numpy as np
import pytest
import torch

from pgso import PGSO, Graph, apply_pgso
from pgso.graph import EdgeList
from pgso.gso.module import structural_features

KARATE = nx.karate_club_graph()


def perturbed(gso):
    with torch.no_grad():
        gso.network.out.weight.normal_(std=0.3)
    return gso


def test_the_features_are_those_of_networkx():
    actual = structural_features(Graph.from_networkx(KARATE)).numpy()
    degree = np.array([d for _, d in KARATE.degree()])
    rank = nx.pagerank(KARATE, weight=None, tol=1e-12)
    np.testing.assert_allclose(actual[:, 0], np.log1p(degree), rtol=1e-6)
    np.testing.assert_allclose(actual[:, 1], list(nx.clustering(KARATE).values()), rtol=1e-6)
    np.testing.assert_allclose(actual[:, 2], 34 * np.array(list(rank.values())), rtol=1e-3)


def test_a_graph_keeps_its_features():
    graph = Graph.from_networkx(KARATE)
    assert structural_features(graph) is structural_features(graph)


@pytest.mark.parametrize("preset", ["gcn", "laplacian"])
def test_it_starts_exactly_at_the_preset(preset):
    graph, x = Graph.from_networkx(KARATE), torch.randn(34, 3)
    torch.testing.assert_close(
        PGSO(preset, shape="structural")(x, graph), apply_pgso(x, graph, preset)
    )


def test_it_learns_and_carries_over_to_another_graph():
    gso = PGSO("gcn", shape="structural")
    graph = Graph.from_networkx(KARATE)
    optimiser = torch.optim.SGD(gso.parameters(), lr=1e-4)
    for _ in range(2):  # the first step moves the output layer alone, which starts at zero
        optimiser.zero_grad()
        gso(torch.randn(34, 3), graph).square().sum().backward()
        optimiser.step()
    assert gso.network.hidden.weight.grad.abs().sum() > 0
    other = Graph.from_networkx(nx.path_graph(9))
    assert gso.S_on(other).shape == (7, 9, 1)
    assert gso(torch.randn(9, 3), other).isfinite().all()


def test_renaming_the_nodes_renames_the_values():
    gso = perturbed(PGSO("gcn", shape="structural"))
    edges = Graph.from_networkx(KARATE).edge_index
    order = torch.randperm(34)
    renamed = Graph.from_edge_index(order.argsort()[edges], num_nodes=34)
    original = Graph.from_edge_index(edges, num_nodes=34)
    torch.testing.assert_close(gso.S_on(renamed), gso.S_on(original)[:, order])


def test_what_does_not_learn_stays_the_same_at_every_node():
    gso = perturbed(PGSO("gcn", learn=("a", "m2"), shape="structural"))
    S = gso.S_on(Graph.from_networkx(KARATE)).squeeze(2)
    assert [bool((row != row[0]).any()) for row in S] == [0, 1, 0, 0, 0, 0, 1]
    assert list(PGSO("gcn", learn=False, shape="structural").parameters()) == []


def test_raw_edges_have_the_same_features():
    graph = Graph.from_networkx(KARATE)
    edges = EdgeList.of(graph.edge_index, None, 34)
    torch.testing.assert_close(structural_features(edges), structural_features(graph))


def test_features_found_in_inference_mode_are_of_use_in_training():
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    gso, x = PGSO("gcn", shape="structural"), torch.randn(3, 2)
    with torch.inference_mode():
        gso(x, graph)
    gso(x, graph).sum().backward()
    assert gso.m2.grad is not None
