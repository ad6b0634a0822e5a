"""The graph in numbers."""

from dataclasses import replace

import pytest
import torch

from pgso import Graph
from pgso.finding.graph_numbers import adjusted_homophily, graph_statistics
from tests.finding.problems import generated


def square(classes, edges):
    problem = generated("nothing", nodes=20, labels=4, val=0)
    graph = Graph.from_edge_index(torch.tensor(edges).t(), num_nodes=5)
    return replace(
        problem,
        graph=graph,
        y=torch.tensor(classes),
        train=torch.arange(4),
        val=torch.arange(0),
        test=torch.tensor([4]),
    )


def test_homophily_is_1_within_classes_and_negative_between_them():
    assert adjusted_homophily(square([0, 0, 1, 1, 0], [[0, 1], [2, 3]])) == 1
    assert adjusted_homophily(square([0, 1, 0, 1, 0], [[0, 1], [2, 3]])) == -1


def test_labels_of_the_test_set_do_not_count():
    with_test = square([0, 0, 1, 1, 0], [[0, 1], [2, 3], [3, 4]])
    assert adjusted_homophily(with_test) == 1
    assert adjusted_homophily(square([0, 0, 1, 1, 0], [[3, 4]])) is None


def test_one_class_has_no_homophily():
    assert adjusted_homophily(square([0, 0, 0, 0, 0], [[0, 1], [2, 3]])) is None


def test_the_graph_is_counted():
    actual = graph_statistics(square([0, 0, 1, 1, 0], [[0, 1], [1, 2]]))
    assert (actual.num_nodes, actual.num_edges, actual.is_directed) == (5, 2, True)
    assert actual.components == 3
    assert actual.isolated == 3  # nobody has an edge to them
    assert (actual.degree_max, actual.degree_mean) == (1, pytest.approx(0.4))
    assert actual.label_share == 0.8
    assert actual.classes == (0.5, 0.5, 0)
