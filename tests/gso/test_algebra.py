"""Sums, products and polynomials of operators against dense matrices."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev
from scipy.special import comb, eval_jacobi

from pgso import Graph, ShiftOperator, polynomial, shift
from pgso.errors import InputError
from pgso.gso.dense import dense_pgso
from pgso.spectrum import eigenpairs, eigenvalues, gershgorin_interval, interval
from tests.strategies import edge_lists, parameters, random_features

TRAIL = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))

BASES = ["monomial", "chebyshev", "bernstein", "jacobi"]


def scalar_values(basis, c, t):
    """Σ c_k p_k(t) by numpy and scipy."""
    K = len(c) - 1
    if basis == "monomial":
        return sum(c[k] * t**k for k in range(K + 1))
    if basis == "chebyshev":
        return chebyshev.chebval(t, c)
    if basis == "jacobi":
        return sum(c[k] * eval_jacobi(k, 1.0, 1.0, t) for k in range(K + 1))
    half = (1 + t) / 2
    return sum(c[k] * comb(K, k) * (1 - half) ** (K - k) * half**k for k in range(K + 1))


def expressions(depth=3):
    """Random trees: functions from (leaf operators, leaf matrices) to (operator, matrix)."""
    leaf = st.integers(0, 1).map(lambda k: lambda ops, mats: (ops[k], mats[k]))

    def join(children):
        pair = st.tuples(children, children)
        number = st.sampled_from([-1.5, 0.5, 2.0])
        coefficients = st.lists(number, min_size=1, max_size=3)
        return st.one_of(
            pair.map(lambda two: lambda *leaves: tuple(x + y for x, y in both(two, leaves))),
            pair.map(lambda two: lambda *leaves: tuple(x - y for x, y in both(two, leaves))),
            pair.map(lambda two: lambda *leaves: tuple(x @ y for x, y in both(two, leaves))),
            st.tuples(number, children).map(
                lambda two: lambda *leaves: tuple(two[0] * x for x in two[1](*leaves))
            ),
            children.map(lambda one: lambda *leaves: tuple(x.T for x in one(*leaves))),
            children.map(lambda one: lambda *leaves: squared(*one(*leaves))),
            st.tuples(coefficients, children).map(
                lambda two: lambda *leaves: of_polynomial(two[0], *two[1](*leaves))
            ),
        )

    return st.recursive(leaf, join, max_leaves=depth)


def both(two, leaves):
    return zip(two[0](*leaves), two[1](*leaves), strict=True)


def squared(op, matrix):
    return op**2, matrix @ matrix


def of_polynomial(c, op, matrix):
    powers = [torch.linalg.matrix_power(matrix, k) for k in range(len(c))]
    return polynomial(op, c), sum(value * power for value, power in zip(c, powers, strict=True))


@settings(max_examples=60)
@given(edges=edge_lists(max_nodes=4), S=st.tuples(parameters(), parameters()), tree=expressions())
def test_random_expressions_are_their_dense_matrices_in_values_and_gradients(edges, S, tree):
    x = random_features(edges.num_nodes).requires_grad_()
    vectors = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in S]
    graph = Graph.from_edge_index(edges.edge_index, edges.edge_weight, edges.num_nodes)
    ops = [shift(graph.to(torch.float64), vector) for vector in vectors]
    op, matrix = tree(ops, [dense_pgso(edges.adjacency, vector) for vector in vectors])
    assert isinstance(op, ShiftOperator)
    size = 1 + float(matrix.detach().abs().max())
    close = {"rtol": 1e-6, "atol": 1e-7 * size}
    torch.testing.assert_close(op @ x, matrix @ x, **close)
    torch.testing.assert_close(op.T @ x, matrix.t() @ x, **close)
    torch.testing.assert_close(op.to_dense(), matrix, **close)
    torch.testing.assert_close(op.diagonal(), matrix.diagonal(), **close)
    np.testing.assert_allclose(op.to_scipy().toarray(), matrix.detach(), **close)
    torch.testing.assert_close(op.to_torch_sparse().to_dense().detach(), matrix.detach(), **close)
    leaves = (x, *vectors)
    actual, wanted = (
        torch.autograd.grad((each @ x).sum(), leaves, allow_unused=True, retain_graph=True)
        for each in (op, matrix)
    )
    for one, other in zip(actual, wanted, strict=True):
        if other is not None:
            one = torch.zeros_like(other) if one is None else one
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6 * size * size)


@pytest.mark.parametrize("basis", BASES)
@given(edges=edge_lists(undirected=True, weights="positive"), seed=st.integers(0, 5))
def test_a_polynomial_acts_on_the_eigenvalues(basis, edges, seed):
    c = np.random.default_rng(seed).normal(size=5)
    matrix = dense_pgso(edges.adjacency, "gcn")
    values, vectors = torch.linalg.eigh(matrix)
    of_values = torch.from_numpy(np.asarray(scalar_values(basis, c, values.numpy())))
    wanted = vectors @ of_values.diag() @ vectors.t()
    op = polynomial(shift(edges.graph, "gcn"), c, basis)
    x = random_features(edges.num_nodes)
    torch.testing.assert_close(op @ x, wanted @ x)
    for bound in (gershgorin_interval, interval):
        low, high = bound(op)
        assert low - 1e-9 <= of_values.min()
        assert of_values.max() <= high + 1e-9


@given(edges=edge_lists(undirected=True), S=parameters(), c=st.sampled_from([-2.0, 0.5]))
def test_bounds_of_multiples_shifts_and_symmetric_sums_hold(edges, S, c):
    m1, m2, m3, e1, e2, _, a = S
    op = shift(edges.graph, (m1, m2, m3, e1, e2, e2, a))
    other = shift(edges.graph, (m3, m1, m2, e1, e1, e1, a))
    for expression in (c * op, op - 3 * op**0, op + c * other):
        low, high = interval(expression)
        values = torch.linalg.eigvalsh(expression.to_dense().double())
        slack = 1e-5 * (1 + float(values.abs().max()))
        assert low - slack <= values.min()
        assert values.max() <= high + slack
        assert expression.is_certifiable


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("degree", [0, 1, 2, 5, 12, 40, 150])
def test_bounds_of_a_polynomial_hold_and_are_its_range(basis, degree):
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    op = shift(path, "gcn")
    c = np.random.default_rng(degree).standard_normal(degree + 1)
    low, high = (float(end) for end in interval(op))
    values = scalar_values(basis, c, np.linspace(low, high, 5001))
    p_low, p_high = (float(end) for end in interval(polynomial(op, c, basis)))
    width, slack = values.max() - values.min(), 1e-9 * np.abs(values).max()
    assert values.min() - 0.01 * width - slack <= p_low <= values.min() + slack
    assert values.max() - slack <= p_high <= values.max() + 0.01 * width + slack


def test_coefficients_may_learn_and_may_differ_by_channel():
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    c = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    x = random_features(3, 2)
    op = shift(path, "gcn")
    assert torch.autograd.gradcheck(lambda c: polynomial(op, c, "chebyshev") @ x, (c,))
    by_channel = [polynomial(op, c[:, k], "jacobi") @ x[:, k] for k in range(2)]
    torch.testing.assert_close(polynomial(op, c, "jacobi") @ x, torch.stack(by_channel, 1))


def test_parts_of_different_types_have_a_dense_product():
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])).to(torch.float64)
    op = shift(path, "laplacian")
    product = (2 * op**0) @ op  # the identity has no type of its own
    torch.testing.assert_close(product.to_dense(), 2 * op.to_dense())
    torch.testing.assert_close(product.diagonal(), 2 * op.diagonal())


@pytest.mark.parametrize(
    "number", [2, 2.0, np.float32(2), np.float64(2), np.int64(2), np.array(2.0), torch.tensor(2)]
)
def test_any_kind_of_number_is_a_factor(number):
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    op, x = shift(path, "gcn"), random_features(3, 2)
    torch.testing.assert_close((op * number) @ x, 2 * (op @ x))
    torch.testing.assert_close((number * op) @ x, 2 * (op @ x))
    torch.testing.assert_close((op / number) @ x, (op @ x) / 2)


@pytest.mark.parametrize("exponent", [2, np.int64(2), np.uint8(2)])
def test_any_whole_number_is_an_exponent(exponent):
    op, x = shift(TRAIL, "gcn"), random_features(TRAIL.num_nodes, 2)
    torch.testing.assert_close(op**exponent @ x, op @ (op @ x))


@pytest.mark.parametrize(
    ("values", "make"),
    [
        (torch.tensor(2.0), lambda op, c: c * op),
        (torch.tensor([1.0, 2.0]), polynomial),
        (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), polynomial),
    ],
)
def test_what_becomes_of_the_tensors_of_an_expression_does_not_change_it(values, make):
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    x, c = random_features(3, 2), values.clone().requires_grad_()
    expression = make(shift(path, "gcn"), c)
    before = expression @ x
    with torch.no_grad():
        c.fill_(9.0)
    torch.testing.assert_close(expression @ x, before)
    (expression @ x).sum().backward()
    assert c.grad.abs().sum() > 0


def test_the_sum_of_a_list_and_coefficients_in_an_array():
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    op, x = shift(path, "gcn"), random_features(3, 2)
    torch.testing.assert_close(sum([op, op, op]) @ x, 3 * (op @ x))
    c = np.array([[1.0, 2.0], [3.0, 4.0]])
    torch.testing.assert_close(polynomial(op, c) @ x, polynomial(op, torch.tensor(c)) @ x)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda op: polynomial(op, [1.0], "fourier"), "no basis is called 'fourier'"),
        (lambda op: polynomial(op, []), "coefficients must have shape"),
        (lambda op: polynomial(3, [1.0]), "takes an operator, got int"),
        (
            lambda op: polynomial(op, [1.0], "chebyshev", alpha=1.0),
            "basis 'chebyshev' has no options",
        ),
        (lambda op: polynomial(op, [1.0], "jacobi", gamma=1.0), "option of basis 'jacobi'"),
        (lambda op: polynomial(op, ["a"]), "coefficients must be numbers"),
        (lambda op: polynomial(op, np.array(["a"])), "coefficients must be numbers"),
        (lambda op: op * np.ones(3), "multiplied or divided by a number"),
        (lambda op: op * "2", "multiplied or divided by a number"),
        (lambda op: op**-1, "exponent must be 0, 1, 2"),
        (lambda op: op * op, "multiplied by @"),
        (lambda op: op / op, "multiplied by @"),
        (lambda op: op / "2", "multiplied or divided by a number"),
        (lambda op: op / None, "multiplied or divided by a number"),
        (lambda op: op @ [1.0, 2.0, 3.0], r"a pair of features is .* got 3 of them"),
        (lambda op: op * torch.ones(3), "multiplied or divided by a number"),
        (lambda op: op + shift(torch.tensor([[0], [1]]), "gcn"), "cannot be added"),
        (lambda op: op @ shift(torch.tensor([[0], [1]]), "gcn"), "cannot follow"),
    ],
)
def test_what_has_no_meaning_is_refused_in_a_sentence(make, sentence):
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    with pytest.raises(InputError, match=sentence):
        make(shift(path, "gcn"))


@pytest.mark.parametrize(
    "factor",
    [float("nan"), float("inf"), torch.tensor(torch.nan), 10**400],
    ids=["nan", "inf", "0-d nan", "10^400"],
)
def test_a_factor_that_is_no_finite_number_is_refused_in_words(factor):
    op = shift(TRAIL, "gcn")
    with pytest.raises(InputError, match="finite number"):
        factor * op


@pytest.mark.parametrize(
    "divisor", [0, 0.0, np.float32(0), torch.tensor(0.0), float("nan"), 10**400, math.inf]
)
def test_a_divisor_that_gives_no_finite_number_is_refused_in_words(divisor):
    with pytest.raises(InputError, match=r"divided by|finite number"):
        shift(TRAIL, "gcn") / divisor


@pytest.mark.parametrize("preset", ["laplacian", "random_walk_laplacian", "gcn"])
def test_a_product_with_itself_has_the_interval_of_the_square(preset):
    L = shift(TRAIL, preset)
    for method in ("theorem2", "optimal"):
        square = interval(L**2, method=method)
        torch.testing.assert_close(interval(L @ L, method=method), square)
        again = shift(TRAIL, preset)  # made once more from the same graph and S
        torch.testing.assert_close(interval(L @ again, method=method), square)
        wanted = interval(polynomial(L, [0.0, -1.0, 1.0]), method=method)
        torch.testing.assert_close(interval(L @ L - L, method=method), wanted)


def test_eigenvalues_of_products_of_one_operator_are_found_and_lie_in_their_interval():
    L = shift(TRAIL, "random_walk_laplacian")
    expression = 0.5 * L @ (L - L @ L) + L**3
    values = torch.linalg.eigvals(expression.to_dense().double()).real.sort().values
    found = torch.from_numpy(eigenvalues(expression, k=None))
    torch.testing.assert_close(found, values, atol=1e-6, rtol=1e-6)
    low, high = interval(expression)
    assert low <= values.min() + 1e-9
    assert values.max() - 1e-9 <= high
    pairs = eigenpairs(expression, k=2)
    assert pairs.residuals.max() < 1e-6


def test_products_of_two_operators_are_not_certified():
    product = shift(TRAIL, "gcn") @ shift(TRAIL, "laplacian")
    assert not product.is_certifiable
    with pytest.raises(InputError, match="does not reach this Product"):
        interval(product)
