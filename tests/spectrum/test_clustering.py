"""Spectral clustering: scikit-learn's conventions, and the regularising effect of a."""

import networkx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from pgso import Graph, dense_pgso, polynomial, shift
from pgso.errors import InputError
from pgso.spectrum import (
    PGSOSpectralClustering,
    PGSOSpectralEmbedding,
    bethe_hessian,
    eigenpairs,
    eigenvalues,
    regularised_adjacency,
)

BLOCKS = np.repeat([0, 1], 40)


def block_graph(p=0.4, q=0.02):
    return networkx.stochastic_block_model([40, 40], [[p, q], [q, p]], seed=0)


@pytest.mark.parametrize("S", ["gcn", "mean", "symmetric_laplacian", regularised_adjacency(1.0)])
def test_it_finds_clear_communities_with_any_normalised_operator(S):
    graph = Graph.from_networkx(block_graph())
    labels = PGSOSpectralClustering(2, S=S, random_state=0).fit_predict(graph)
    assert adjusted_rand_score(BLOCKS, labels) == 1


def test_every_form_of_a_graph_gives_the_same_labels():
    A = networkx.to_scipy_sparse_array(block_graph(), dtype=float)
    graph = Graph.from_scipy(A)
    forms = [graph, graph.edge_index, A, A.toarray(), torch.from_numpy(A.toarray())]
    model = PGSOSpectralClustering(2, random_state=0)
    first, *others = (model.fit(form).labels_ for form in forms)
    for labels in others:
        np.testing.assert_array_equal(labels, first)


@pytest.mark.parametrize(
    "make",
    [
        lambda graph: shift(graph, "symmetric_laplacian"),
        lambda graph: -1 * shift(graph, "symmetric_laplacian"),
        lambda graph: shift(graph, "gcn") - 3 * shift(graph, "gcn") ** 0,
        lambda graph: polynomial(shift(graph, "symmetric_laplacian"), [1.0, -0.9, 0.2]),
    ],
)
def test_an_operator_is_clustered_at_the_end_where_communities_show(make):
    op = make(Graph.from_networkx(block_graph()))
    labels = PGSOSpectralClustering(2, random_state=0).fit_predict(op)
    assert adjusted_rand_score(BLOCKS, labels) == 1


def test_it_is_a_scikit_learn_estimator():
    model = PGSOSpectralClustering(3, S="mean", random_state=1)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_clusters=2).fit(Graph.from_networkx(block_graph())) is model
    assert model.labels_.shape == (80,)
    assert model.n_features_in_ == 80


def test_the_embedding_takes_the_end_where_communities_show():
    graph = Graph.from_networkx(block_graph())
    upper = PGSOSpectralEmbedding(3, S="mean").fit(graph)
    lower = PGSOSpectralEmbedding(3, S="random_walk_laplacian").fit(graph)
    np.testing.assert_allclose(upper.eigenvalues_, eigenvalues(graph, "mean", 3, "largest"))
    np.testing.assert_allclose(lower.eigenvalues_, 1 - upper.eigenvalues_[::-1], atol=1e-9)


def test_rows_are_on_the_unit_sphere_unless_told_otherwise():
    graph = Graph.from_networkx(block_graph())
    rows = PGSOSpectralEmbedding(2).fit_transform(graph)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    columns = PGSOSpectralEmbedding(2, normalise_rows=False).fit_transform(graph)
    np.testing.assert_allclose(np.linalg.norm(columns, axis=0), 1)


def test_the_regularised_adjacency_is_that_of_Qin_and_Rohe():
    A = torch.from_numpy(networkx.to_numpy_array(block_graph()))
    scale = (A.sum(1) + 3.0) ** -0.5
    expected = scale[:, None] * A * scale
    torch.testing.assert_close(dense_pgso(A, regularised_adjacency(3.0)), expected)


def test_a_finds_communities_in_a_sparse_graph_where_its_absence_does_not():
    random = np.random.default_rng(0)
    blocks = np.repeat([0, 1, 2], 150)
    hubs = random.choice([0.4, 2.5], 450, p=[5 / 7, 2 / 7])
    rate = np.where(blocks[:, None] == blocks, 15, 3) / 450 * hubs[:, None] * hubs
    A = np.triu(random.random((450, 450)) < rate, 1).astype(float)
    graph = Graph.from_dense(A + A.T)
    mean_degree = float(graph.degree.mean())
    without, regularised = (
        adjusted_rand_score(
            blocks,
            PGSOSpectralClustering(3, S=regularised_adjacency(a), random_state=0).fit_predict(
                graph
            ),
        )
        for a in (0.0, mean_degree)
    )
    assert regularised > without + 0.2


def test_more_components_than_nodes_are_refused():
    with pytest.raises(InputError, match="between 1 and the number of nodes 80, got 81"):
        PGSOSpectralEmbedding(81).fit(Graph.from_networkx(block_graph()))


def test_the_bethe_hessian_is_gamma_and_its_formula():
    A = networkx.to_numpy_array(networkx.karate_club_graph(), weight=None)
    d = A.sum(1)
    r = (np.sum(d**2) / d.sum() - 1) ** 0.5
    wanted = (r**2 - 1) * np.eye(len(A)) - r * A + np.diag(d)
    made = dense_pgso(torch.from_numpy(A), bethe_hessian(A))
    torch.testing.assert_close(made, torch.from_numpy(wanted))
    with pytest.raises(InputError, match="a graph with edges"):
        bethe_hessian(np.zeros((3, 3)))


def test_the_bethe_hessian_finds_communities_of_a_sparse_graph_where_the_adjacency_does_not():
    n = 4000  # three neighbours a node; (5 - 1)² > 2 (5 + 1): detectable (Decelle et al., 2011)
    rates = np.array([[5.0, 1.0], [1.0, 5.0]]) / n
    drawn = networkx.stochastic_block_model([n // 2] * 2, rates, seed=2)
    graph = Graph.from_networkx(networkx.Graph(drawn.edges))
    nodes = list(networkx.Graph(drawn.edges))
    blocks = np.where(np.array(nodes) < n // 2, -1, 1)

    def overlap(S, which, column):
        vector = eigenpairs(graph, S, k=2, which=which, tol=1e-4).vectors[:, column]
        return abs(np.mean(np.sign(vector) * blocks))

    assert overlap(bethe_hessian(graph), "smallest", 1) > 0.4
    assert overlap("adjacency", "largest", 0) < 0.25  # it sits on hubs
