"""Columns beside the features: structure, and the labels of neighbours."""

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

import pgso
from pgso.finding.blocks import LABEL_PATHS, Letter, Propagation, neighbour_labels
from pgso.finding.columns import structural_columns, structural_names
from pgso.graph import Graph
from tests.finding.problems import generated


def path_of(hops, edges="any"):
    return tuple(Letter.of(name, edges) for name in LABEL_PATHS[hops])


@pytest.mark.parametrize("hops", LABEL_PATHS)
@pytest.mark.parametrize("directed", [False, True])
def test_no_node_sees_its_own_label(hops, directed):
    problem = generated("nothing", nodes=60, labels=30, directed=directed)
    edges = torch.cat([problem.graph.edge_index, torch.tensor([[3, 4], [3, 4]])], dim=1)
    propagation = Propagation(Graph.from_edge_index(edges, num_nodes=60))  # with self-loops
    letters = path_of(hops, "in" if directed else "any")
    targets = torch.randn(30, 2, generator=torch.Generator().manual_seed(0)).double()
    targets -= targets.mean(dim=0)
    before = neighbour_labels(propagation, letters, targets, problem.train)
    other = targets.clone()
    other[4] += 100
    other[7] -= 100  # the mean stays as it is
    after = neighbour_labels(propagation, letters, other, problem.train)
    if not directed:
        assert not torch.allclose(before, after)  # somebody else does see it
    W = np.eye(60)
    for letter in letters:
        W = W @ propagation.operator(letter).to_scipy().toarray()
    np.fill_diagonal(W, 0)
    Y, M, mean = np.zeros((60, 2)), np.zeros((60, 1)), np.zeros((60, 2))
    Y[problem.train], M[problem.train] = targets.numpy(), 1
    mean[problem.train] = -targets.numpy() / 29  # of the others
    np.testing.assert_allclose(before, (W @ Y - W @ M * mean) / (1 + W @ M), atol=1e-5)


def test_trees_do_not_read_a_label_off_the_labels_of_its_neighbours():
    network = nx.grid_2d_graph(30, 30)
    graph = Graph.from_networkx(nx.convert_node_labels_to_integers(network))
    classes = torch.randint(2, (900,), generator=torch.Generator().manual_seed(0))
    train = torch.randperm(900, generator=torch.Generator().manual_seed(1))[:600]
    targets = torch.nn.functional.one_hot(classes[train], 2).double()

    def told(for_trees):
        propagation = Propagation(graph)
        columns = [
            neighbour_labels(propagation, path_of(hops), targets, train, for_trees)[train, :1]
            for hops in LABEL_PATHS
        ]
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
        y = classes[train].numpy()
        x = torch.cat(columns, dim=1).numpy()
        return tree.fit(x, y).score(x, y)

    assert told(for_trees=True) < 0.8
    assert told(for_trees=False) > 0.9  # what the closed form sees, and does not tell apart


def test_structural_columns_are_what_networkx_says():
    network = nx.karate_club_graph()
    columns = structural_columns(Graph.from_networkx(network, weight=None)).numpy()
    graph = Graph.from_networkx(network, weight=None)
    named = dict(zip(structural_names(graph), columns.T, strict=True))
    degree = np.array([d for _, d in network.degree()])
    np.testing.assert_allclose(named["log degree"], np.log1p(degree), rtol=1e-5)
    core = np.log1p(list(nx.core_number(network).values()))
    np.testing.assert_allclose(named["core number"], core, rtol=1e-5)
    clustering = list(nx.clustering(network).values())
    np.testing.assert_allclose(named["clustering"], clustering, rtol=1e-5)
    ranks = np.log(34 * np.array(list(nx.pagerank(network, weight=None).values())))
    np.testing.assert_allclose(named["PageRank"], ranks, atol=1e-2)


def test_a_directed_graph_has_both_degrees():
    graph = Graph.from_edge_index(torch.tensor([[0, 0, 1], [1, 2, 2]]), num_nodes=3)
    named = dict(zip(structural_names(graph), structural_columns(graph).T, strict=True))
    np.testing.assert_allclose(named["log in-degree"].exp() - 1, [0, 1, 2], atol=1e-5)
    np.testing.assert_allclose(named["log out-degree"].exp() - 1, [2, 1, 0], atol=1e-5)


def test_labels_made_from_degrees_are_found():
    """Features are noise and centred; without a column of ones no operator sees a degree."""
    problem = generated("nothing", nodes=600, labels=250, val=150)
    degree = problem.graph.degree
    y = (degree > degree.median()).long()
    parts = {name: getattr(problem, name) for name in ("train", "val", "test")}
    found = pgso.find(problem.graph, problem.raw, y, **parts)
    assert found.best.test > 0.9
    assert found.record.signal == "graph"


def test_labels_of_neighbours_are_used_where_features_are_noise():
    rng = np.random.default_rng(0)
    n = 600
    y = np.repeat(np.arange(3), n // 3)
    same = y[:, None] == y
    A = np.triu(rng.random((n, n)) < np.where(same, 0.02, 0.002), 1)
    order = rng.permutation(n)
    parts = {"train": order[:200], "val": order[200:300], "test": order[300:]}
    found = pgso.find(A | A.T, rng.normal(size=(n, 4)), y, **parts)
    assert any(block.endswith("labels") for block in found.best.blocks)
    assert found.best.test > 0.8
    assert "labels of neighbours" in found.verdict
