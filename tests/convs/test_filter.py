"""Polynomial filters: every basis starts as PageRank, learns, and stays where it is defined."""

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import comb

from pgso import GNN, PGSO, FilterConv, Graph, dense_pgso, param_groups, shift
from pgso.convs.filter import TELEPORT, NormalisedPGSO, from_values, start_coefficients
from pgso.errors import InputError
from pgso.gso.polynomials import BASES
from pgso.spectrum import gershgorin_interval
from tests.strategies import edge_lists

HALF = torch.tensor([[0, 1, 2, 2, 3, 4, 0], [1, 2, 0, 3, 4, 0, 3]])
EDGES = torch.cat([HALF, HALF.flip(0)], dim=1)  # node 5 is isolated
GRAPH = Graph.from_edge_index(EDGES, num_nodes=6)
A = GRAPH.to_torch_sparse().to_dense().double()
X = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
EXACT = [basis for basis in BASES if basis != "bernstein"]  # which approximates


@pytest.fixture(params=BASES)
def basis(request):
    return request.param


def dense_pagerank(K):
    """Σ_{k<K} α(1 - α)^k P^k + (1 - α)^K P^K for GCN's P."""
    P = dense_pgso(A, "gcn")
    power = torch.linalg.matrix_power
    walk = sum(TELEPORT * (1 - TELEPORT) ** k * power(P, k) for k in range(K))
    return walk + (1 - TELEPORT) ** K * power(P, K)


def filter_of(layer):
    """The filter as a matrix: the layer on an identity, with W = I."""
    with torch.no_grad():
        layer.lin.weight.copy_(torch.eye(6))
    return layer(torch.eye(6), EDGES).double()


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("K", [1, 4, 10])
def test_a_filter_starts_as_pagerank(name, K):
    actual = filter_of(FilterConv(6, 6, K=K, basis=name))
    torch.testing.assert_close(actual, dense_pagerank(K), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", EXACT)
def test_at_its_start_a_filter_is_pygs_appnp(name):
    layer, theirs = FilterConv(4, 3, K=6, basis=name), pyg.APPNP(6, TELEPORT)
    wanted = theirs(layer.lin(X), EDGES)
    torch.testing.assert_close(layer(X, EDGES), wanted, atol=1e-5, rtol=1e-4)


def test_bernsteins_start_takes_pageranks_values():
    K, P = 6, dense_pgso(A, "gcn")
    k = torch.arange(K + 1).double()
    weights = TELEPORT * (1 - TELEPORT) ** k
    weights[-1] = (1 - TELEPORT) ** K
    values = [float((weights * t**k).sum()) for t in (2 * k / K - 1)]
    identity, power = torch.eye(6).double(), torch.linalg.matrix_power
    low, high = (identity - P) / 2, (identity + P) / 2
    wanted = sum(
        value * comb(K, j) * power(low, K - j) @ power(high, j) for j, value in enumerate(values)
    )
    actual = filter_of(FilterConv(6, 6, K=K, basis="bernstein"))
    torch.testing.assert_close(actual, wanted, atol=1e-5, rtol=1e-4)


def test_coefficients_weights_and_the_line_learn(basis):
    layer = FilterConv(4, 3, K=4, basis=basis)
    layer(X, EDGES).square().sum().backward()
    assert (layer.coefficients.grad != 0).all()
    assert {name for name, _ in layer.gso.named_parameters()} == {"e2", "a"}
    assert all(p.grad != 0 for p in layer.gso.parameters())


def test_jacobi_has_coefficients_per_channel():
    layer = FilterConv(4, 3, K=4, basis="jacobi")
    assert layer.coefficients.shape == (5, 3)
    before = layer(X, EDGES)
    with torch.no_grad():
        layer.coefficients[:, 1] = 0.0
    after = layer(X, EDGES)
    assert torch.equal(after[:, [0, 2]], before[:, [0, 2]])
    assert torch.equal(after[:, 1], torch.zeros(6))


def test_bernsteins_filter_is_never_negative():
    """Coefficients below 0 count as 0, so that the filter is one of a positive matrix."""
    layer = FilterConv(6, 6, K=5, basis="bernstein")
    with torch.no_grad():
        layer.coefficients.copy_(torch.tensor([1.0, -2.0, 0.5, -0.1, -3.0, 0.7]))
    assert torch.linalg.eigvalsh(filter_of(layer)).min() > -1e-6


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=8))
def test_chebyshevs_parameters_are_the_values_at_its_nodes(values):
    wanted = torch.tensor(values, dtype=torch.float64)
    k = torch.arange(len(values)).double()
    nodes = torch.cos(torch.pi * (k + 0.5) / len(values))
    basis = torch.cos(k * nodes.clamp(-1, 1).acos().unsqueeze(1))
    torch.testing.assert_close(basis @ from_values(wanted), wanted, atol=1e-10, rtol=1e-8)


@given(
    edges=edge_lists(undirected=True, weights="positive"),
    alpha=st.floats(-2, 3),
    a=st.just(0.0) | st.floats(1e-3, 5),
)
def test_the_spectrum_of_p_stays_in_the_unit_interval(edges, alpha, a):
    gso = NormalisedPGSO().double()
    with torch.no_grad():
        gso.e2.fill_(-alpha)
        gso.a.fill_(a)
    eigenvalues = torch.linalg.eigvals(gso.on(edges.graph).to_dense())
    assert eigenvalues.real.abs().max() <= 1 + 1e-6
    assert eigenvalues.imag.abs().max() <= 1e-5
    S = gso.parameters_tuple()
    assert S.e2 + S.e3 == pytest.approx(-1)


def test_a_negative_a_is_as_good_as_a_positive_one_and_still_learns():
    gso = NormalisedPGSO()
    with torch.no_grad():
        gso.a.fill_(-0.7)
    assert gso.parameters_tuple().a == pytest.approx(0.7)
    gso(X, GRAPH).square().sum().backward()
    assert gso.a.grad != 0


@pytest.mark.parametrize("name", ["chebyshev", "bernstein", "jacobi"])
def test_another_operator_is_scaled_by_its_certified_interval(name):
    gso = PGSO("laplacian", learn=False)
    layer = FilterConv(6, 6, gso, K=3, basis=name)
    low, high = gershgorin_interval(shift(GRAPH, "laplacian"))
    scaled = layer.scaled(gso.on(GRAPH))
    eigenvalues = torch.linalg.eigvalsh(scaled.to_dense().double())
    assert eigenvalues.min() >= -1 - 1e-6
    assert eigenvalues.max() <= 1 + 1e-6
    matrix = (2 * dense_pgso(A, "laplacian") - (low + high) * torch.eye(6)) / (high - low)
    torch.testing.assert_close(scaled.to_dense().double(), matrix, atol=1e-6, rtol=1e-5)
    assert filter_of(layer).isfinite().all()


def test_monomials_take_an_operator_as_it_is():
    layer = FilterConv(6, 6, PGSO("laplacian", learn=False), K=2)
    with torch.no_grad():
        layer.coefficients.copy_(torch.tensor([1.0, 0.5, -0.25]))
    L = dense_pgso(A, "laplacian")
    wanted = torch.eye(6) + 0.5 * L - 0.25 * L @ L
    torch.testing.assert_close(filter_of(layer), wanted, atol=1e-5, rtol=1e-5)


def test_an_operator_on_a_directed_graph_has_no_interval():
    layer = FilterConv(4, 3, "laplacian", basis="chebyshev")
    with pytest.raises(InputError, match="undirected"):
        layer(X, HALF)
    assert FilterConv(4, 3, basis="chebyshev")(X, HALF).isfinite().all()


@pytest.mark.parametrize("operator", ["fixed", "pgso", "mpgso"])
def test_the_modes_of_a_network_start_as_one_function(operator, basis):
    def made(mode):
        torch.manual_seed(0)
        return GNN("filter", 4, 8, 3, operator=mode, K=3, basis=basis).eval()

    model = made(operator)
    torch.testing.assert_close(model(X, EDGES), made("fixed")(X, EDGES))
    assert all(layer.conv.basis == basis for layer in model.layers)


def test_some_of_the_two_scalars_may_learn():
    model = GNN("filter", 4, 8, 3, learn=("a",))
    assert [gso.learned for gso in model.operators] == [("a",)]
    with pytest.raises(InputError, match="only e2 and a learn, got m1"):
        GNN("filter", 4, 8, 3, learn=("m1",))


def test_coefficients_have_a_rate_and_decay_of_their_own():
    model = GNN("filter", 4, 8, 3, basis="jacobi")
    groups = {
        group["name"]: group
        for group in param_groups(model, coefficient_lr=0.002, coefficient_decay=0.1)
    }
    assert groups["coefficients"]["lr"] == 0.002
    assert groups["coefficients"]["weight_decay"] == 0.1
    assert len(groups["coefficients"]["params"]) == 2
    total = sum(p.numel() for group in groups.values() for p in group["params"])
    assert total == sum(p.numel() for p in model.parameters())


def test_a_filter_of_degree_0_is_a_linear_map(basis):
    layer = FilterConv(4, 3, K=0, basis=basis)
    torch.testing.assert_close(layer(X, EDGES), layer.lin(X))
    assert start_coefficients(0, basis).tolist() == pytest.approx([1.0])


def test_bad_filters_are_refused_in_words():
    with pytest.raises(InputError, match=r"no basis is called 'chebychev'\. Did you mean"):
        FilterConv(4, 3, basis="chebychev")
    for K in (-1, 2.5, True):
        with pytest.raises(InputError, match="the degree of the filter"):
            FilterConv(4, 3, K=K)


def test_the_exponents_of_the_line_sum_to_minus_one():
    gso = NormalisedPGSO()
    with torch.no_grad():
        gso.e2.fill_(-0.2)
    *_, e2, e3, _ = gso.S.tolist()
    assert (e2, e3) == pytest.approx((-0.2, -0.8))
