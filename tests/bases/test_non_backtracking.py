"""The operator on directed edges, its small form, and what it is good for."""

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse.linalg import eigs, eigsh

from pgso import PGSO, Graph
from pgso.bases import ihara_bass, non_backtracking, two_steps
from pgso.errors import InputError

GRAPH = Graph.from_networkx(nx.karate_club_graph(), weight=None)


def test_a_walk_goes_on_to_every_edge_but_its_reverse():
    walks = non_backtracking(GRAPH)
    source, target = walks.source.tolist(), walks.target.tolist()
    B = walks.graph.to_torch_sparse().to_dense()
    assert B.shape == (GRAPH.num_edges, GRAPH.num_edges)
    for e in range(0, GRAPH.num_edges, 7):
        for f in range(GRAPH.num_edges):
            assert B[e, f] == (target[f] == source[e] and source[f] != target[e])


def test_the_small_form_has_the_eigenvalues_of_the_large_one_but_for_one_and_minus_one():
    small = np.linalg.eigvals(ihara_bass(GRAPH).toarray())
    large = np.linalg.eigvals(non_backtracking(GRAPH).graph.to_torch_sparse().to_dense().numpy())
    for values, others in ((small, large), (large, small)):
        values = values[np.abs(np.abs(values) - 1) > 0.05]
        assert np.abs(values[:, None] - others).min(axis=1).max() < 1e-3


def test_an_eigenvector_read_out_is_one_of_the_small_form():
    walks = non_backtracking(GRAPH)
    values, vectors = np.linalg.eig(walks.graph.to_torch_sparse().to_dense().numpy())
    first = np.abs(values).argmax()
    x = walks.readout(torch.from_numpy(vectors[:, [first]].real)).numpy().ravel()
    value = values[first].real
    both = np.concatenate([x, x / value])
    np.testing.assert_allclose(ihara_bass(GRAPH) @ both, value * both, atol=1e-4)


def test_lift_and_readout_are_the_adjacency_matrix_and_an_operator_runs_between():
    walks, x = non_backtracking(GRAPH), torch.randn(34, 3)
    torch.testing.assert_close(walks.readout(walks.lift(x)), PGSO("adjacency")(x, GRAPH))
    out = walks.readout(PGSO("mean")(walks.lift(x), walks.graph))
    assert out.shape == (34, 3)


def sparse_block_model(n, inside, outside, seed):
    """Two blocks; a node has about (inside + outside) / 2 neighbours: detectable in principle.

    (inside - outside)² > 2 (inside + outside) is the threshold of Decelle et al. (2011).
    """
    rates = np.array([[inside, outside], [outside, inside]]) / n
    drawn = nx.stochastic_block_model([n // 2] * 2, rates, seed=seed)
    plain = nx.Graph()
    plain.add_nodes_from(range(n))
    plain.add_edges_from(drawn.edges)
    return Graph.from_networkx(plain), np.repeat([-1, 1], n // 2)


def test_it_finds_communities_of_a_sparse_graph_where_the_adjacency_matrix_does_not():
    graph, blocks = sparse_block_model(4000, inside=5.0, outside=1.0, seed=2)
    n = graph.num_nodes

    def overlap(vector):
        return abs(np.mean(np.sign(vector) * blocks))

    values, vectors = eigs(ihara_bass(graph), k=2, which="LR", v0=np.ones(2 * n))
    second = vectors[:n, values.real.argsort()[0]].real
    A = ihara_bass(graph)[:n, :n]
    _, of_adjacency = eigsh(A, k=2, which="LA", v0=np.ones(n))
    assert overlap(second) > 0.4
    assert overlap(of_adjacency[:, 0]) < 0.25  # it sits on hubs


@pytest.mark.parametrize(
    "graph",
    [
        Graph.from_edge_index(torch.tensor([[0], [1]])),
        Graph.from_dense([[0.0, 2.0], [2.0, 0.0]]),
        Graph.from_dense([[1.0, 1.0], [1.0, 0.0]]),
    ],
)
def test_other_graphs_are_refused(graph):
    with pytest.raises(InputError, match="without weights and self-loops"):
        non_backtracking(graph)


def test_two_steps_lift_walk_and_read_out_at_once():
    walks = non_backtracking(GRAPH)
    x = torch.randn(34, 3)
    wanted = walks.readout(walks.graph.to_torch_sparse() @ walks.lift(x))
    torch.testing.assert_close(two_steps(GRAPH).to_torch_sparse() @ x, wanted)


def test_two_steps_leave_self_loops_out():
    path = nx.path_graph(4)
    with_loop = nx.path_graph(4)
    with_loop.add_edge(1, 1)
    with_loop, path = (Graph.from_networkx(graph) for graph in (with_loop, path))
    assert torch.equal(
        two_steps(with_loop).to_torch_sparse().to_dense(),
        two_steps(path).to_torch_sparse().to_dense(),
    )
