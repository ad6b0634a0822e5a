"""Expressions of expressions: their intervals, filters, Fourier transforms and types."""

import random
import warnings

import pytest
import scipy.linalg
import torch
from hypothesis import given
from hypothesis import strategies as st

import pgso
from pgso import Graph, shift
from pgso.errors import InputError
from pgso.spectrum import eigenpairs, gershgorin_interval, interval
from pgso.spectrum.filters import FilterWarning
from tests.strategies import edge_lists

ENDS = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
RING = Graph.from_edge_index(torch.cat([ENDS, ENDS.flip(0)], 1), torch.ones(8).double())
PATH = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.ones(4).double())
# Node 0 has degree 0: its neighbour and its loop cancel.
ONE_WAY = Graph.from_edge_index(
    torch.tensor([[0, 1, 0], [1, 0, 0]]), torch.tensor([1.0, 1.0, -1.0]).double(), num_nodes=2
)


def assert_inside(op) -> None:
    """Both intervals hold every eigenvalue of the dense matrix."""
    values = torch.linalg.eigvals(op.to_dense().double()).real
    for low, high in (interval(op), gershgorin_interval(op)):
        slack = 1e-6 * (1 + float(values.abs().max()) + float(torch.maximum(-low, high)))
        assert float(low) - slack <= float(values.min())
        assert float(values.max()) <= float(high) + slack


def made_of_filters(graph):
    A = shift(graph, "adjacency")
    h, p = pgso.heat(A @ A), pgso.polynomial(A @ A, torch.tensor([1.0, 0.5]))
    return [A**0 - h, h @ h, h + h, A**0 - p, p @ p - 2 * p, h**2 - h]


@pytest.mark.parametrize("graph", [RING, PATH], ids=["ring", "path"])
@pytest.mark.parametrize("which", range(6))
def test_the_interval_of_an_expression_of_a_filter_holds_its_eigenvalues(graph, which):
    assert_inside(made_of_filters(graph)[which])


def test_the_interval_of_a_filter_squared_is_that_of_its_values():
    A = shift(RING, "adjacency")
    h = pgso.heat(A @ A)  # e^-λ² on [-2, 2]
    low, high = map(float, interval(h @ h))
    assert low == pytest.approx(torch.e**-8, abs=2e-3)
    assert high == pytest.approx(1, abs=2e-3)


def tree(draw: random.Random, leaf, depth: int):
    """A random expression of one operator."""
    if depth == 0:
        return draw.choice([leaf, leaf, leaf**0])
    left, right = tree(draw, leaf, depth - 1), tree(draw, leaf, draw.randrange(depth))
    c = [draw.uniform(-1, 1) for _ in range(draw.randint(1, 4))]
    basis = draw.choice(["monomial", "chebyshev", "bernstein"])
    kind = draw.randrange(7)
    if kind == 0:
        return left + right
    if kind == 1:
        return left @ right
    if kind == 2:
        return draw.uniform(-2, 2) * left
    if kind == 3:
        return pgso.polynomial(left, c, basis)
    if kind == 4 and left.is_certifiable:
        return pgso.filter(left, torch.cos, degree=draw.choice([2, 8, 12]))
    return left @ left if kind == 5 else left - left @ left


@given(edges=edge_lists(undirected=True), seed=st.integers(0, 10**6))
def test_the_interval_of_a_random_expression_holds_its_eigenvalues(edges, seed):
    draw = random.Random(seed)
    op = shift(edges.graph, draw.choice(["adjacency", "laplacian", "gcn", "symmetric_laplacian"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FilterWarning)
        made = tree(draw, (0.3 * op) if draw.random() < 0.5 else op, 3)
    if made.is_certifiable:
        assert_inside(made)


def test_filters_refuse_an_operator_without_a_basis_of_eigenvectors():
    op = shift(ONE_WAY, "mean")
    for refused in (
        lambda: eigenpairs(op),
        lambda: pgso.heat(op, 1.0),
        lambda: pgso.ppr(op, 0.5),
        lambda: pgso.filter(op, torch.exp),
        lambda: pgso.filter(op @ op - 2 * op, torch.exp),
        lambda: pgso.wavelets(op**0 - op),
    ):
        with pytest.raises(InputError, match=r"node 0 has d \+ a ≤ 0 .* is exactly 0"):
            refused()
    square = pgso.polynomial(op, [0.0, 0.0, 1.0]).to_dense()
    torch.testing.assert_close(square, op.to_dense() @ op.to_dense())


def test_a_filter_of_a_symmetric_operator_with_a_node_of_degree_0_is_allowed():
    op = shift(ONE_WAY, "laplacian")
    truth = torch.from_numpy(scipy.linalg.expm(-op.to_dense().numpy()))
    torch.testing.assert_close(pgso.heat(op).to_dense(), truth)


def test_the_fourier_transform_of_a_symmetric_operator_is_orthogonal():
    # Two components with degrees 2 and 1 share the eigenvalues 1 and -1.
    edges = torch.cat([ENDS, torch.tensor([[4], [5]])], 1)
    graph = Graph.from_edge_index(torch.cat([edges, edges.flip(0)], 1), torch.ones(10).double())
    for ring in (RING, graph):
        op = shift(ring, "mean")
        assert op.is_symmetric
        one = torch.eye(ring.num_nodes, dtype=torch.float64)
        V = pgso.igft(op, one)
        torch.testing.assert_close(V.t() @ V, one)
        torch.testing.assert_close(pgso.gft(op, one), V.t())
        values = torch.from_numpy(pgso.spectrum.eigenvalues(op, k=None))
        torch.testing.assert_close(V @ values.diag() @ V.t(), op.to_dense())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_expressions_have_the_type_of_their_operator(dtype):
    A = shift(Graph.from_edge_index(ENDS, torch.ones(4, dtype=dtype)), "adjacency")
    assert A.dtype == dtype
    for op in (A**0, 2 * A**0, A**0 + A**0, pgso.heat(A @ A), pgso.heat(A) + A**0):
        assert op.dtype == op.to_dense().dtype == op.diagonal().dtype == dtype
