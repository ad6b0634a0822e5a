"""The optimal interval: inside Theorem 2's, around the spectrum, differentiable."""

import pytest
import torch
from hypothesis import given

from pgso import PRESETS, Graph, dense_pgso
from pgso.errors import InputError
from pgso.spectrum import gershgorin_interval, interval
from tests.strategies import edge_lists, parameters, smooth_parameters


def real_eigenvalues(A, S):
    return torch.linalg.eigvals(dense_pgso(A, S)).real


@given(edges=edge_lists(undirected=True), S=parameters())
def test_it_contains_every_eigenvalue_with_loops_signs_and_decoupled_nodes(edges, S):
    low, high = interval(edges.graph, S, method="optimal")
    values = real_eigenvalues(edges.adjacency, S)
    slack = 1e-6 * (1 + float(values.abs().max()))
    assert low - slack <= values.min()
    assert values.max() <= high + slack


@given(edges=edge_lists(undirected=True), S=parameters())
def test_it_is_never_wider_than_theorem_2(edges, S):
    low, high = interval(edges.graph, S)
    printed_low, printed_high = interval(edges.graph, S, method="theorem2")
    assert printed_low <= low
    assert high <= printed_high


@given(edges=edge_lists(undirected=True), S=parameters())
def test_theorem_2_is_one_of_its_methods(edges, S):
    assert interval(edges.graph, S, method="theorem2") == gershgorin_interval(edges.graph, S)


def test_it_is_exact_on_a_star_where_theorem_2_is_far_off():
    star = Graph.from_dense([[0.0] + [1.0] * 16] + [[1.0] + [0.0] * 16] * 16)
    low, high = interval(star, "adjacency")
    assert float(high) == pytest.approx(4.0, rel=1e-3)
    assert float(low) == pytest.approx(-4.0, rel=1e-3)
    assert gershgorin_interval(star, "adjacency")[1] == 16


@given(edges=edge_lists(undirected=True), S=smooth_parameters())
def test_its_gradient_in_S_is_finite(edges, S):
    vector = torch.tensor(S, dtype=torch.float64, requires_grad=True)
    low, high = interval(edges.graph, vector)
    (high - low).backward()
    assert vector.grad.isfinite().all()


def test_descending_its_gradient_narrows_it():
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2, 1, 3], [1, 0, 2, 1, 3, 1]]))
    S = torch.tensor(PRESETS["laplacian"], dtype=torch.float64, requires_grad=True)
    low, high = interval(path, S)
    (high - low).backward()
    narrower = interval(path, (S - 1e-2 * S.grad).detach())
    assert narrower[1] - narrower[0] < high - low


def test_an_unknown_method_is_refused_with_the_known_ones():
    path = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(InputError, match=r"'optimum'\. Did you mean 'optimal'"):
        interval(path, "gcn", method="optimum")


def test_a_directed_graph_is_refused_with_an_edge():
    with pytest.raises(InputError, match="the edge 0 → 1 has no reverse"):
        interval(torch.tensor([[0], [1]]), "gcn")
