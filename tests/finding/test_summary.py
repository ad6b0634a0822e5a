"""What a finding shows beside its rungs."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pgso import Graph
from pgso.finding.summary import (
    MOST_EDGES,
    ROWS,
    graph_statistics,
    some_predictions,
    spectrum_of,
)
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
    assert graph_statistics(square([0, 0, 1, 1, 0], [[0, 1], [2, 3]])).adjusted_homophily == 1
    assert graph_statistics(square([0, 1, 0, 1, 0], [[0, 1], [2, 3]])).adjusted_homophily == -1


def test_labels_of_the_test_set_do_not_count():
    with_test = square([0, 0, 1, 1, 0], [[0, 1], [2, 3], [3, 4]])
    assert graph_statistics(with_test).adjusted_homophily == 1
    assert graph_statistics(square([0, 0, 1, 1, 0], [[3, 4]])).adjusted_homophily is None


def test_one_class_has_no_homophily():
    assert graph_statistics(square([0, 0, 0, 0, 0], [[0, 1], [2, 3]])).adjusted_homophily is None


def test_the_graph_is_counted():
    actual = graph_statistics(square([0, 0, 1, 1, 0], [[0, 1], [1, 2]]))
    assert (actual.num_nodes, actual.num_edges, actual.is_directed) == (5, 2, True)
    assert actual.components == 3
    assert actual.isolated == 3  # nobody has an edge to them
    assert (actual.degree_max, actual.degree_mean) == (1, pytest.approx(0.4))
    assert actual.classes == (0.5, 0.5, 0)


GCN = (0.0, 1.0, 0.0, 0.0, -0.5, -0.5, 1.0)


@pytest.fixture(scope="module")
def problem():
    return generated("nothing", labels=100, val=50)


def test_predictions_are_of_the_test_set_every_kth_if_there_are_many(problem):
    out = torch.randn(400, 3, generator=torch.Generator().manual_seed(0))
    rows = some_predictions(problem, out)
    assert len(problem.test) == 250
    assert 50 <= len(rows) <= ROWS
    assert {int(row.item) for row in rows} <= set(problem.test.tolist())
    for row in rows:
        item = int(row.item)
        assert row.predicted == (problem.classes[int(out[item].argmax())],)
        assert row.truth == (problem.classes[int(problem.y[item])],)
        assert row.probability == pytest.approx(float(out[item].softmax(0).max()), abs=1e-4)


def test_without_a_test_set_what_has_no_label_is_shown_by_its_name(problem):
    y = problem.y.clone()
    y[problem.test] = -1
    ids = tuple(f"node {k}" for k in range(400))
    unknown = replace(problem, y=y, test=problem.test[:0], ids=ids)
    rows = some_predictions(unknown, torch.zeros(400, 3))
    assert rows[0].item.startswith("node ")
    assert all(row.truth == () for row in rows)


def test_numbers_are_written_with_four_digits(problem):
    y = torch.full((400, 2), float("nan"))
    y[problem.test] = torch.tensor([12345.678, 0.123456])
    numbers = replace(problem, y=y, classes=(), targets=("a", "b"), metric="rmse")
    (row, *_) = some_predictions(numbers, torch.tensor([[2e12, -0.5]]).expand(400, 2))
    assert row.truth == ("12,346", "0.1235")
    assert row.predicted == ("2e+12", "-0.5")
    assert row.probability is None


def test_a_spectrum_is_a_density_within_the_eigenvalues(problem):
    actual = spectrum_of(problem, GCN)
    area = np.trapezoid(actual.density, actual.grid)
    assert area == pytest.approx(1, abs=0.02)
    assert -1.1 < actual.grid[0] < actual.grid[-1] < 1.1
    directed = generated("nothing", directed=True)
    assert spectrum_of(directed, GCN) is not None


def test_no_graph_and_large_graphs_have_no_spectrum(problem, monkeypatch):
    assert spectrum_of(problem, None) is None
    monkeypatch.setattr("pgso.finding.summary.MOST_EDGES", 10)
    assert MOST_EDGES > 10
    assert spectrum_of(problem, GCN) is None
