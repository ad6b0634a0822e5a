"""Eigenvalues and eigenvectors: against dense matrices, with repeated ones, with residuals."""

import networkx
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgso import PGSO, PRESETS, Graph, dense_pgso, shift
from pgso.errors import InputError
from pgso.spectrum import NotConvergedError, eigen, eigenpairs, eigenvalues
from tests.strategies import edge_lists, parameters


@pytest.fixture
def always_lanczos(monkeypatch):
    monkeypatch.setattr(eigen, "DENSE_BELOW", 0)


def sorted_real(matrix):
    return np.sort(torch.linalg.eigvals(matrix).real.numpy())


@given(edges=edge_lists(undirected=True), S=parameters())
def test_all_eigenvalues_are_those_of_the_dense_operator(edges, S):
    values = eigenvalues(edges.graph, S, k=None)
    expected = sorted_real(dense_pgso(edges.adjacency, S))
    # eigvals of a matrix that is not symmetric is the less accurate side: √eps at multiple ones
    np.testing.assert_allclose(values, expected, atol=1e-5 * (1 + abs(expected).max()))


@given(edges=edge_lists(undirected=True), S=parameters())
def test_eigenvectors_are_those_of_the_operator_itself(edges, S):
    d_a = edges.adjacency.sum(1) + S[6]
    assume((d_a > 0).all() or (S[4] == 0) == (S[5] == 0))  # else they are refused, see below
    pairs = eigenpairs(edges.graph, S, k=None)
    gamma = dense_pgso(edges.adjacency, S).numpy()
    scale = 1 + abs(gamma).max()
    np.testing.assert_allclose(
        gamma @ pairs.vectors, pairs.vectors * pairs.values, atol=1e-9 * scale
    )
    np.testing.assert_allclose(np.linalg.norm(pairs.vectors, axis=0), 1)
    assert (pairs.residuals <= 1e-9 * scale).all()


def test_eigenvectors_of_a_matrix_that_is_similar_to_none_are_refused_and_its_values_given():
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    S = (0, 1, 0, 0, 0, -0.5, -1)  # d + a = 0 at both ends, where x⁰ = 1
    np.testing.assert_allclose(
        eigenvalues(path, S, k=3), sorted_real(dense_pgso(path.to_torch_sparse().to_dense(), S))
    )
    with pytest.raises(InputError, match="one of e2, e3 is exactly 0"):
        eigenpairs(path, S, k=3)


WITH_REPEATED_EIGENVALUES = {
    "torus": networkx.grid_2d_graph(14, 14, periodic=True),
    "many components": networkx.disjoint_union_all(
        [networkx.gnp_random_graph(12, 0.4, seed=s % 3) for s in range(16)]
    ),
    "sparse, with isolated nodes": networkx.gnp_random_graph(220, 0.01, seed=1),
}


@pytest.mark.parametrize("name", WITH_REPEATED_EIGENVALUES)
@pytest.mark.parametrize("preset", PRESETS)
def test_lanczos_finds_repeated_eigenvalues_as_often_as_they_occur(name, preset, always_lanczos):
    graph = Graph.from_networkx(WITH_REPEATED_EIGENVALUES[name])
    expected = eigenvalues(graph, preset, k=None)
    for which, k in [("both", 6), ("both", 1), ("smallest", 5), ("largest", 5)]:
        low = {"both": k // 2, "smallest": k, "largest": 0}[which]
        wanted = np.r_[expected[:low], expected[len(expected) - (k - low) :]]
        values = eigenvalues(graph, preset, k=k, which=which)
        np.testing.assert_allclose(values, wanted, atol=1e-6 * (1 + abs(expected).max()))


@settings(max_examples=15)
@given(S=parameters(), seed=st.integers(0, 3))
def test_lanczos_agrees_with_the_dense_solver_on_signed_weights_and_loops(S, seed):
    random = np.random.default_rng(seed)
    A = random.integers(-2, 3, (60, 60)) * (random.random((60, 60)) < 0.1) / 4
    graph = Graph.from_dense(np.triu(A) + np.triu(A, 1).T)
    expected = eigenvalues(graph, S, k=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eigen, "DENSE_BELOW", 0)
        values = eigenvalues(graph, S, k=4, tol=1e-8)
    wanted = expected[[0, 1, -2, -1]]
    np.testing.assert_allclose(values, wanted, atol=1e-6 * (1 + abs(expected).max()))


def test_lanczos_returns_small_residuals_of_the_operator_itself(always_lanczos):
    graph = Graph.from_networkx(networkx.barabasi_albert_graph(400, 3, seed=0))
    pairs = eigenpairs(graph, "random_walk_laplacian", k=4)
    assert pairs.vectors.shape == (400, 4)
    assert (pairs.residuals < 1e-6).all()


def test_an_operator_that_learns_is_read_without_a_warning(always_lanczos):
    graph = Graph.from_networkx(networkx.karate_club_graph(), weight=None)
    learned, fixed = (eigenvalues(PGSO("gcn", learn).on(graph), k=3) for learn in (True, False))
    np.testing.assert_allclose(learned, fixed)


def test_too_few_iterations_are_an_error_that_says_what_to_try(always_lanczos):
    graph = Graph.from_networkx(networkx.path_graph(900))
    with pytest.raises(NotConvergedError, match=r"of 6 eigenvalues converged.*max_iterations"):
        eigenvalues(graph, "laplacian", which="smallest", max_iterations=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be at least 1, for a graph of at least one node, got 0"),
        ({"which": "lowest"}, "no end of the spectrum is called 'lowest'"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(options, message):
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    with pytest.raises(InputError, match=message):
        eigenvalues(path, "gcn", **{"k": 2, **options})


def test_a_graph_of_fewer_nodes_than_eigenvalues_asked_for_gives_them_all():
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    np.testing.assert_allclose(eigenvalues(path, "laplacian"), [0.0, 1.0, 3.0], atol=1e-12)


def test_all_eigenvalues_of_a_large_graph_are_refused(monkeypatch):
    monkeypatch.setattr(eigen, "DENSE_LIMIT", 2)
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    with pytest.raises(InputError, match="ask for k of them, or for the density"):
        eigenvalues(path, "gcn", k=None)


def test_a_directed_graph_is_refused_with_an_edge():
    with pytest.raises(InputError, match="the edge 0 → 1 has no reverse"):
        eigenvalues(torch.tensor([[0], [1]]), "gcn", k=1)


MOSTLY_ONE_EIGENVALUE = {
    "star": networkx.star_graph(1099),
    "one edge": networkx.Graph([(0, 1)]),
    "two hubs": networkx.complete_bipartite_graph(2, 1100),
    "a clique among isolated nodes": networkx.complete_graph(9),
}


@pytest.mark.parametrize("name", MOSTLY_ONE_EIGENVALUE)
@pytest.mark.parametrize("preset", ["laplacian", "gcn", "adjacency"])
@pytest.mark.parametrize("which", ["both", "smallest", "largest"])
def test_large_graphs_with_one_eigenvalue_a_thousand_times(name, preset, which):
    drawn = MOSTLY_ONE_EIGENVALUE[name].copy()
    drawn.add_nodes_from(range(1100))  # the isolated ones
    graph, k = Graph.from_networkx(drawn), 6
    symmetric = shift(graph, preset).to_scipy().toarray()
    true = np.linalg.eigvalsh(symmetric)
    low = {"both": 3, "smallest": 6, "largest": 0}[which]
    expected = np.r_[true[:low], true[len(true) - (k - low) :]]
    pairs = eigenpairs(graph, preset, k=k, which=which)
    np.testing.assert_allclose(pairs.values, expected, atol=1e-6 * (1 + np.abs(true).max()))
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(k), atol=1e-5)
