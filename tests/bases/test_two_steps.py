"""Walks of two steps that do not turn back: A² - D."""

import networkx as nx
import pytest
import torch

from pgso import Graph
from pgso.bases import two_steps
from pgso.errors import InputError


def test_two_steps_count_common_neighbours_and_never_return():
    graph = Graph.from_networkx(nx.karate_club_graph(), weight=None)
    A = graph.to_torch_sparse().to_dense()
    walks = two_steps(graph).to_torch_sparse().to_dense()
    torch.testing.assert_close(walks, A @ A - A.sum(1).diag())
    assert not walks.diagonal().any()


def test_two_steps_leave_self_loops_out():
    path, with_loop = nx.path_graph(4), nx.path_graph(4)
    with_loop.add_edge(1, 1)
    of_loop, of_path = (
        two_steps(Graph.from_networkx(graph)).to_torch_sparse().to_dense()
        for graph in (with_loop, path)
    )
    assert torch.equal(of_loop, of_path)


@pytest.mark.parametrize("matrix", [[[0.0, 1.0], [0.0, 0.0]], [[0.0, 2.0], [2.0, 0.0]]])
def test_other_graphs_are_refused(matrix):
    with pytest.raises(InputError, match="undirected graph without weights"):
        two_steps(Graph.from_dense(matrix))
