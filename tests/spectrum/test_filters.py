"""Filters against scipy's expm and against eigenvectors; what is not defined is refused."""

import warnings

import networkx
import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given
from hypothesis import strategies as st

import pgso
from pgso import Graph, shift
from pgso.errors import InputError
from pgso.spectrum.filters import Filter, FilterWarning
from tests.strategies import edge_lists

SENSORS = networkx.random_geometric_graph(60, 0.25, seed=3)
GRAPH = Graph.from_networkx(SENSORS)
ONE_WAY = Graph.from_edge_index(torch.tensor([[0, 1, 2, 0, 3], [1, 2, 0, 3, 1]]))
X = torch.randn(60, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LAPLACIANS = ["laplacian", "symmetric_laplacian", "random_walk_laplacian"]


def matrix(op) -> np.ndarray:
    return op.to_scipy().toarray()


def exact(op, function) -> np.ndarray:
    """f(γ) = V f(Λ) V^-1 by numpy's eigenvectors."""
    values, vectors = np.linalg.eig(matrix(op))
    return (vectors * function(torch.from_numpy(values.real)).numpy()) @ np.linalg.inv(vectors)


@pytest.mark.parametrize("preset", [*LAPLACIANS, "gcn", "mean", "adjacency"])
def test_a_filter_is_the_function_of_the_eigenvalues(preset):
    op = shift(GRAPH, preset)
    function = lambda s: 1 / (30 + s) + torch.sin(0.1 * s)  # noqa: E731
    made = pgso.filter(op, function, degree=40)
    np.testing.assert_allclose((made @ X).numpy(), exact(op, function) @ X.numpy(), atol=1e-6)
    assert made.error < 1e-6


def test_a_filter_works_on_expressions_and_their_spectra():
    op = 0.5 * shift(GRAPH, "symmetric_laplacian") ** 2
    made = pgso.filter(op, torch.cos)
    np.testing.assert_allclose((made @ X).numpy(), exact(op, torch.cos) @ X.numpy(), atol=1e-6)
    low, high = map(float, pgso.spectrum.interval(made))
    values = pgso.spectrum.eigenvalues(made, k=None)
    assert low - 1e-6 <= values.min()
    assert values.max() <= high + 1e-6


@given(edges=edge_lists(undirected=True), degree=st.integers(0, 12))
def test_the_error_that_is_said_bounds_the_error_that_is_made(edges, degree):
    op = shift(edges.graph, "symmetric_laplacian")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FilterWarning)
        made = pgso.filter(op, lambda s: torch.exp(-s), degree)
    wrong = np.linalg.norm(matrix(made) - exact(op, lambda s: torch.exp(-s)), ord=2)
    assert wrong <= 1.01 * made.error + 1e-9


def test_the_error_is_that_of_the_fit():
    op = shift(GRAPH, "symmetric_laplacian")
    absolute = lambda s: (s - 1).abs()  # noqa: E731
    with pytest.warns(FilterWarning, match=r"degree 2 is up to 0\.2"):
        coarse = pgso.filter(op, absolute, degree=2)
    fine = pgso.filter(op, absolute, degree=200)
    assert coarse.error > 0.1 > 0.01 > fine.error > 0
    assert f"error={fine.error:.2g}" in repr(fine)


@pytest.mark.parametrize("preset", LAPLACIANS)
@pytest.mark.parametrize("t", [0.0, 0.1, 3.0])
def test_heat_is_the_matrix_exponential(preset, t):
    op = shift(GRAPH, preset)
    truth = scipy.linalg.expm(-t * matrix(op)) @ X.numpy()
    np.testing.assert_allclose((pgso.heat(op, t) @ X).numpy(), truth, atol=1e-6)


@pytest.mark.parametrize("preset", [*LAPLACIANS, "adjacency", "transition"])
@pytest.mark.parametrize("t", [0.0, 0.5, 6.0])
def test_heat_on_a_directed_graph_is_the_matrix_exponential(preset, t):
    op, x = shift(ONE_WAY, preset), X[:4]
    made = pgso.heat(op, t, degree=60)
    truth = scipy.linalg.expm(-t * matrix(op)) @ x.numpy()
    np.testing.assert_allclose((made @ x).numpy(), truth, atol=1e-6)
    assert made.interval is None
    assert made.error < 1e-6


def test_the_bound_of_heat_on_a_directed_graph_holds_and_is_warned_about():
    op = shift(ONE_WAY, "laplacian")
    with pytest.warns(FilterWarning):
        made = pgso.heat(op, 3.0, degree=8)
    wrong = np.abs(matrix(made) - scipy.linalg.expm(-3.0 * matrix(op)))
    assert wrong.sum(axis=1).max() <= made.error < np.inf
    assert made.error < 1000 * wrong.sum(axis=1).max()
    with pytest.warns(FilterWarning, match="inf"):
        assert pgso.heat(op, 100.0).error == np.inf


@pytest.mark.parametrize("graph", [GRAPH, ONE_WAY], ids=["undirected", "directed"])
@pytest.mark.parametrize("preset", ["mean", "transition"])
def test_pagerank_solves_its_equation(graph, preset):
    op, n = shift(graph, preset, degrees="both"), graph.num_nodes
    made = pgso.ppr(op, alpha=0.3, degree=60)
    truth = 0.3 * np.linalg.solve(np.eye(n) - 0.7 * matrix(op), X[:n].numpy())
    np.testing.assert_allclose((made @ X[:n]).numpy(), truth, atol=1e-6)
    assert made.error < 1e-6


def test_pagerank_refuses_an_operator_whose_series_diverges():
    with pytest.raises(InputError, match=r"pole at 1 / \(1 - alpha\) = 1\.111, within"):
        pgso.ppr(shift(GRAPH, "adjacency"))
    with pytest.raises(InputError, match="need not converge"):
        pgso.ppr(shift(ONE_WAY, "adjacency"))
    with pytest.raises(InputError, match="alpha must be a number above 0"):
        pgso.ppr(shift(GRAPH, "gcn"), alpha=0)


@pytest.mark.parametrize("preset", LAPLACIANS)
@pytest.mark.parametrize("kind", ["mexican_hat", "spline", "meyer"])
def test_wavelets_cover_the_spectrum_and_all_but_the_first_leave_constants_out(preset, kind):
    op = shift(GRAPH, preset)
    bank = pgso.wavelets(op, kind, count=3)
    assert len(bank) == 4
    values = pgso.spectrum.eigenvalues(op, k=None)
    power = sum(np.diag(gains(made, op)) ** 2 for made in bank)
    assert power.min() > 0.1
    if kind == "meyer":
        np.testing.assert_allclose(power, 1, atol=0.02)
    for made in bank[1:]:
        assert abs(np.diag(gains(made, op))[np.abs(values) < 1e-9]).max() < 0.02
    peaks = [values[np.abs(np.diag(gains(made, op))).argmax()] for made in bank[1:]]
    assert peaks == sorted(peaks)
    assert peaks[0] < peaks[-1]


def gains(made, op) -> np.ndarray:
    """What a filter does to each eigenvector: a diagonal matrix in the Fourier basis."""
    one = torch.eye(op.shape[0], dtype=torch.float64)
    return pgso.gft(op, made @ pgso.igft(op, one)).numpy()


def test_mexican_hats_are_those_of_the_eigenvalues():
    op = shift(GRAPH, "laplacian")
    high = pgso.wavelets(op, degree=120)[0].interval[1]
    finest = pgso.wavelets(op, degree=120)[-1]
    truth = exact(op, lambda s: s / high * torch.exp(-s / high))
    np.testing.assert_allclose(matrix(finest), truth, atol=1e-6)


def test_wavelets_refuse_an_operator_that_is_not_a_laplacian():
    P = shift(GRAPH, "gcn")
    with pytest.raises(InputError, match=r"eigenvalues from 0 up.*P\*\*0 - P"):
        pgso.wavelets(P)
    assert len(pgso.wavelets(P**0 - P)) == 5
    with pytest.raises(InputError, match="Did you mean 'meyer'"):
        pgso.wavelets(P**0 - P, "meier")


@pytest.mark.parametrize("preset", [*LAPLACIANS, "gcn", "mean"])
def test_the_fourier_transform_diagonalises_the_operator_and_is_inverted(preset):
    op = shift(GRAPH, preset)
    values = pgso.spectrum.eigenvalues(op, k=None)
    coefficients = pgso.gft(op, X)
    np.testing.assert_allclose(pgso.igft(op, coefficients).numpy(), X.numpy(), atol=1e-9)
    shifted = pgso.gft(op, op @ X).numpy()
    np.testing.assert_allclose(shifted, values[:, None] * coefficients.numpy(), atol=1e-6)
    if op.is_symmetric:
        assert float(coefficients.norm()) == pytest.approx(float(X.norm()))


def test_the_fourier_transform_of_a_large_graph_is_refused_with_another_way():
    ring = torch.arange(5_001)
    edges = torch.stack([ring, ring.roll(1)])
    graph = Graph.from_edge_index(torch.cat([edges, edges.flip(0)], dim=1))
    with pytest.raises(InputError, match=r"all 5001 eigenvectors.*pgso\.filter"):
        pgso.gft(shift(graph, "laplacian"), torch.zeros(5_001))


def test_what_a_directed_graph_has_not_is_refused_without_an_option_of_the_shell():
    op = shift(ONE_WAY, "laplacian")
    for refused in (
        lambda: pgso.filter(op, torch.exp),
        lambda: pgso.wavelets(op),
        lambda: pgso.gft(op, X[:4]),
        lambda: pgso.igft(op, X[:4]),
    ):
        with pytest.raises(InputError, match="the edge 0 → 1 has no reverse") as caught:
            refused()
        assert "--" not in str(caught.value)


def test_smoothness_is_the_mean_frequency():
    op = shift(GRAPH, "laplacian")
    energy, values = pgso.gft(op, X).square(), pgso.spectrum.eigenvalues(op, k=None)
    truth = (energy * torch.from_numpy(values)[:, None]).sum(0) / energy.sum(0)
    torch.testing.assert_close(pgso.smoothness(op, X), truth)
    assert float(pgso.smoothness(op, torch.ones(60))) == pytest.approx(0, abs=1e-6)
    assert float(pgso.smoothness(op, torch.zeros(60))) == 0
    assert pgso.smoothness(shift(ONE_WAY, "mean"), X[:4]).shape == (3,)


@given(edges=edge_lists(undirected=True))
def test_the_divergence_of_the_gradient_is_the_laplacian(edges):
    graph = edges.graph
    if graph.edge_weight is not None and bool((graph.edge_weight < 0).any()):
        with pytest.raises(InputError, match="negative"):
            pgso.gradient(graph, torch.zeros(graph.num_nodes))
        return
    x = torch.randn(graph.num_nodes, 2, dtype=torch.float64)
    twice = pgso.divergence(graph, pgso.gradient(graph, x))
    torch.testing.assert_close(twice, shift(graph, "laplacian") @ x, atol=1e-6, rtol=1e-6)


def test_gradient_and_divergence_are_adjoint_on_a_directed_graph():
    x, y = X[:4, 0], X[:5, 1]
    left = (pgso.gradient(ONE_WAY, x) * y).sum()
    torch.testing.assert_close(left, (x * pgso.divergence(ONE_WAY, y)).sum())
    with pytest.raises(InputError, match="5 edges"):
        pgso.divergence(ONE_WAY, x)
    with pytest.raises(InputError, match="4 nodes"):
        pgso.gradient(ONE_WAY, y)


def test_a_function_that_is_not_finite_or_not_real_is_refused():
    op = shift(GRAPH, "laplacian")
    with pytest.raises(InputError, match="the function is inf at 0"):
        pgso.filter(op, lambda s: 1 / s)
    with pytest.raises(InputError, match="complex"):
        pgso.filter(op, lambda s: s * 1j)
    with pytest.raises(InputError, match="degree must be a whole number"):
        pgso.filter(op, torch.exp, degree=1.5)
    with pytest.raises(InputError, match=r"takes an operator, got Graph; see pgso\.shift"):
        pgso.filter(GRAPH, torch.exp)
    with pytest.raises(InputError, match="per channel"):
        pgso.filter(shift(GRAPH, torch.randn(7, 1, 3)), torch.exp)
    with pytest.raises(InputError, match="one for each channel"):
        pgso.heat(shift(ONE_WAY, torch.randn(7, 1, 3)))
    with pytest.raises(InputError, match="must be a number that is not negative"):
        pgso.heat(op, t=-1)


def test_a_constant_function_and_an_operator_with_one_eigenvalue():
    lonely = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.long), num_nodes=3)
    x = torch.tensor([1.0, 2.0, 3.0])
    torch.testing.assert_close(pgso.heat(shift(lonely, "laplacian")) @ x, x)
    torch.testing.assert_close(pgso.filter(shift(GRAPH, "gcn"), lambda s: 2.0) @ X, 2 * X)
    five = pgso.filter(5 * shift(GRAPH, "gcn") ** 0, lambda s: s**2)
    torch.testing.assert_close(five @ X, 25 * X)


def test_gradients_flow_into_s_and_the_transpose_is_a_filter():
    S = torch.tensor(pgso.PRESETS["symmetric_laplacian"], requires_grad=True)
    (pgso.heat(shift(GRAPH, S)) @ X).square().sum().backward()
    assert S.grad is not None
    assert S.grad.abs().sum() > 0
    made = pgso.heat(shift(GRAPH, "random_walk_laplacian"))
    assert isinstance(made.T, Filter)
    np.testing.assert_allclose(matrix(made.T), matrix(made).T, atol=1e-12)
    assert made.T.error == made.error


@pytest.mark.parametrize("take", [pgso.gft, pgso.igft])
def test_whole_numbers_are_refused_where_they_would_be_cut(take):
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    with pytest.raises(InputError, match="floating-point"):
        take(shift(path, "laplacian"), torch.arange(3))
    with pytest.raises(InputError, match="floating-point"):
        pgso.gradient(path, torch.arange(3))
    with pytest.raises(InputError, match="floating-point"):
        pgso.divergence(path, torch.arange(4))
    with pytest.raises(InputError, match="must be a tensor"):
        take(shift(path, "laplacian"), [1.0, 2.0, 3.0])


def test_what_is_no_function_of_eigenvalues_is_refused():
    path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    op = shift(path, "laplacian")
    with pytest.raises(InputError, match="takes a function of the eigenvalues, got 3"):
        pgso.filter(op, 3)
    with pytest.raises(InputError, match=r"a number for each of 41 eigenvalues, got shape \(2,\)"):
        pgso.filter(op, lambda s: s[:2])
