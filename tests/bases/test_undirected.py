"""Every edge gets its reverse."""

import torch

from pgso import Graph
from pgso.bases import undirected


def test_a_reverse_is_added_and_weights_of_a_pair_become_their_mean():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]])
    graph = undirected(Graph.from_edge_index(edges, torch.tensor([1.0, 3.0, 5.0, 7.0]), 3))
    assert graph.is_undirected
    dense = torch.zeros(3, 3)
    dense[graph.edge_index[1], graph.edge_index[0]] = graph.edge_weight
    assert dense.tolist() == [[0, 2, 0], [2, 0, 5], [0, 5, 7]]


def test_an_undirected_graph_stays_itself():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    assert undirected(graph) is graph
