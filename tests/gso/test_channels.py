"""S per node and per channel: values and gradients against Equation (1), entry by entry."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import forward_ad, gradcheck, gradgradcheck

from pgso import PGSO, Graph, apply_pgso, dense_pgso, polynomial, shift
from pgso.errors import InputError
from pgso.graph import EdgeList
from pgso.gso import node_shift
from pgso.gso.formula import positive_power
from tests.strategies import edge_lists, parameters, random_features, smooth_parameters


@st.composite
def graphs_with(draw, of, each, **options):
    """Edges, and S with a draw of ``of`` for each node or for each of three channels."""
    edges = draw(edge_lists(**options))
    count = edges.num_nodes if each == "node" else 3
    S = torch.tensor([draw(of) for _ in range(count)], dtype=torch.float64).t()
    return edges, S.unsqueeze(2 if each == "node" else 1)


def dense_by_node(A, S):
    """γ with entries m2_i d_i^e2_i (A + diag a)_ij d_j^e3_j off, and the rest on the diagonal."""
    m1, m2, m3, e1, e2, e3, a = S.squeeze(2)
    A_a = A + a.diag()
    d_a = A_a.sum(1)
    left, right = m2 * positive_power(d_a, e2), positive_power(d_a, e3)
    return (m1 * positive_power(d_a, e1) + m3).diag() + left[:, None] * A_a * right


def by_node(x, A, S):
    return dense_by_node(A, S) @ x


def by_channel(x, A, S):
    return torch.stack([dense_pgso(A, S[:, 0, c]) @ x[:, c] for c in range(x.size(1))], dim=1)


TRUTH = {"node": by_node, "channel": by_channel}


def gradients(function, *inputs):
    leaves = [value.detach().clone().requires_grad_() for value in inputs]
    out = function(*leaves)
    direction = torch.linspace(-1, 2, out.numel(), dtype=torch.float64).reshape(out.shape)
    return torch.autograd.grad(out, leaves, direction)


@pytest.mark.parametrize("each", TRUTH)
@given(data=st.data())
def test_the_product_and_its_gradients_equal_those_of_the_dense_operator(each, data):
    edges, S = data.draw(graphs_with(parameters(), each))
    x, A, graph = random_features(edges.num_nodes), edges.adjacency, edges.graph
    torch.testing.assert_close(apply_pgso(x, graph, S), TRUTH[each](x, A, S))
    actual = gradients(lambda x, S: apply_pgso(x, graph, S), x, S)
    wanted = gradients(lambda x, S: TRUTH[each](x, A, S), x, S)
    for one, other in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("each", TRUTH)
@settings(max_examples=10)
@given(data=st.data())
def test_gradcheck_passes(each, data):
    edges, S = data.draw(graphs_with(smooth_parameters(), each, max_nodes=4))
    x = random_features(edges.num_nodes).requires_grad_()
    graph = edges.graph
    assert gradcheck(
        lambda x, S: apply_pgso(x, graph, S), (x, S.requires_grad_()), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("each", TRUTH)
@settings(max_examples=15)
@given(data=st.data())
def test_the_traceable_form_and_learned_edges_give_the_same(each, data):
    edges, S = data.draw(graphs_with(parameters(), each))
    x = random_features(edges.num_nodes)
    wanted = apply_pgso(x, edges.graph, S)
    index, weight, n = edges
    torch.testing.assert_close(shift(EdgeList.of(index, weight, n), S) @ x, wanted)
    weight = torch.ones(index.size(1), dtype=x.dtype) if weight is None else weight
    learned = Graph.from_edge_index(index, weight.clone().requires_grad_(), n)
    torch.testing.assert_close(apply_pgso(x, learned, S), wanted)


@given(drawn=graphs_with(parameters(), "node"))
def test_the_entries_of_the_matrix_are_those_of_the_dense_operator(drawn):
    edges, S = drawn
    graph = edges.graph
    gamma = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    gamma[graph.pattern.row.long(), graph.pattern.col.long()] = shift(graph, S).entries(
        torch.float64
    )
    torch.testing.assert_close(gamma, dense_by_node(edges.adjacency, S))


@pytest.mark.parametrize("shape", [(7, 30, 1), (7, 1, 4)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_equal_values_are_the_scalar_operator(shape, dtype):
    graph = Graph.from_edge_index(torch.randint(30, (2, 90)), num_nodes=30)
    S = torch.tensor([0.3, -0.8, 0.5, 0.7, -0.4, -0.9, 1.2])
    x = torch.randn(2, 30, 4, dtype=dtype)
    actual = apply_pgso(x, graph, S.view(7, 1, 1).expand(shape))
    assert actual.dtype == dtype
    wanted = apply_pgso(x, graph, S)
    tolerance = {} if dtype == torch.float32 else {"rtol": 0.05, "atol": 0.05}
    torch.testing.assert_close(actual, wanted, **tolerance)


def test_nothing_is_nan_where_degrees_vanish():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=4)
    for shape in ((7, 4, 1), (7, 1, 2)):
        S = torch.full(shape, -1.0).requires_grad_()  # d + a is 0, and -1 at isolated nodes
        x = torch.ones(4, 2, requires_grad=True)
        apply_pgso(x, graph, S).sum().backward()
        assert S.grad.isfinite().all()
        assert x.grad.isfinite().all()


def test_another_shape_is_refused():
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(InputError, match=r"\(7, 2, 1\) for a value per node or \(7, 1, 3\)"):
        apply_pgso(torch.ones(2, 3), graph, torch.zeros(7, 1, 2))
    with pytest.raises(InputError, match="finite"):
        apply_pgso(torch.ones(2, 3), graph, torch.full((7, 1, 3), torch.nan))


@pytest.mark.parametrize("shape", [(7, 4, 1), (7, 1, 2)])
def test_second_derivatives_are_exact(shape):
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 0]]))
    S = torch.rand(shape, dtype=torch.float64, requires_grad=True)
    x = torch.rand(4, 2, dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda x, S: apply_pgso(x, graph, S), (x, S))


@pytest.mark.parametrize("each", TRUTH)
@pytest.mark.parametrize("m2", [1.0, 1e-6, 0.0])
def test_gradients_keep_their_digits_in_single_precision_where_m2_vanishes(each, m2):
    torch.manual_seed(0)
    A = (torch.rand(12, 12) < 0.4).double().triu(1)
    A = A + A.t()
    S = torch.tensor([0.3, m2, 0.5, 0.2, -0.4, -0.3, 1.0], dtype=torch.float64).view(7, 1, 1)
    S = S.repeat(1, *((12, 1) if each == "node" else (1, 3)))
    x = torch.randn(12, 3, dtype=torch.float64)
    actual = gradients_of_type(torch.float32, Graph.from_dense(A), x, S)
    wanted = gradients(lambda x, S: TRUTH[each](x, A, S), x, S)
    for one, other in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4)


def gradients_of_type(dtype, graph, x, S):
    x, S = (value.to(dtype).requires_grad_() for value in (x, S))
    out = apply_pgso(x, graph, S)
    direction = torch.linspace(-1, 2, out.numel(), dtype=dtype).reshape(out.shape)
    return torch.autograd.grad(out, (x, S), direction)


EXPRESSIONS = {  # of an operator per channel and one without, and of their matrices by channel
    "multiple": (lambda P, Q: 2 * P, lambda P, Q: 2 * P),
    "sum": (lambda P, Q: P + Q, lambda P, Q: P + Q),
    "difference": (lambda P, Q: Q - P, lambda P, Q: Q - P),
    "product": (lambda P, Q: P @ Q, lambda P, Q: P @ Q),
    "other product": (lambda P, Q: Q @ P, lambda P, Q: Q @ P),
    "power": (lambda P, Q: P**2, lambda P, Q: P @ P),
    "coefficients": (
        lambda P, Q: polynomial(Q, torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])),
        lambda P, Q: (
            torch.tensor([1.0, 2.0, 3.0]).view(3, 1, 1) * torch.eye(3)
            + torch.tensor([4.0, 5.0, 6.0]).view(3, 1, 1) * Q
        ),
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_are_one_matrix_per_channel(name):  # as many channels as nodes: 3
    of_operators, of_matrices = EXPRESSIONS[name]
    A = torch.tensor([[0, 1, 0], [1, 0, 2], [0, 2, 1]], dtype=torch.float64)
    graph = Graph.from_dense(A)
    S = torch.linspace(-0.5, 1.5, 21, dtype=torch.float64).view(7, 1, 3)
    channels, one = shift(graph, S), shift(graph, "laplacian")
    op = of_operators(channels, one)
    matrices = of_matrices(
        torch.stack([dense_pgso(A, S[:, 0, c]) for c in range(3)]), dense_pgso(A, "laplacian")
    ).double()
    torch.testing.assert_close(op.to_dense(), matrices.movedim(0, 2))
    torch.testing.assert_close(op.diagonal(), matrices.diagonal(dim1=1, dim2=2).t())
    x = torch.randn(4, 3, 3, dtype=torch.float64)  # four times (n, F)
    truth = torch.einsum("cij,bjc->bic", matrices, x)
    torch.testing.assert_close(op @ x, truth)
    torch.testing.assert_close(op @ x[1], truth[1])
    torch.testing.assert_close(op.T @ x, torch.einsum("cji,bjc->bic", matrices, x))
    with pytest.raises(InputError, match="channel"):
        op @ x[1, :, 0]
    with pytest.raises(InputError, match="channel"):
        op.to_scipy()


def test_many_matrices_are_no_sparse_one():
    operator = shift(torch.tensor([[0, 1], [1, 0]]), torch.ones(7, 1, 2))
    for form in (operator.to_scipy, operator.to_torch_sparse):
        with pytest.raises(InputError, match="2 matrices, one for each channel or head"):
            form()


@pytest.mark.parametrize("each", ["node", "channel"])
def test_an_operator_keeps_the_S_of_the_moment_it_was_made(each):
    S = torch.tensor((0.3, 1.2, -0.4, 0.2, -0.6, -0.3, 0.7), dtype=torch.float64).view(7, 1, 1)
    S = S.repeat((1, 3, 1) if each == "node" else (1, 1, 2))
    x, edges = torch.randn(3, 2, dtype=torch.float64), torch.tensor([[0, 1, 2], [1, 2, 0]])
    wanted = shift(edges, S.clone()) @ x
    op = shift(edges, S)
    S += 1
    torch.testing.assert_close(op @ x, wanted)


def test_the_transpose_has_the_same_diagonal():
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 2, 2, 3, 1], [1, 2, 0, 3, 1, 1]]))
    op = shift(graph, torch.linspace(-0.5, 1, 14).view(7, 1, 2))
    torch.testing.assert_close(op.T.diagonal(), op.to_dense().diagonal().t())


@pytest.mark.parametrize("shape", [(7, 4, 1), (7, 1, 2)])
@pytest.mark.parametrize("learned", [True, False])
def test_gradients_that_may_be_differentiated_again_are_the_same(shape, learned):
    torch.manual_seed(0)
    graph = Graph.from_edge_index(
        torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])
    )
    S = torch.rand(shape, dtype=torch.float64, requires_grad=True)
    x = torch.randn(4, 2, dtype=torch.float64, requires_grad=learned)
    wanted = (S, x) if learned else (S,)

    def slopes(create_graph):
        loss = apply_pgso(x, graph, S).square().sum()
        return torch.autograd.grad(loss, wanted, create_graph=create_graph)

    for once, again in zip(slopes(False), slopes(True), strict=True):
        torch.testing.assert_close(once, again)


def test_derivatives_may_be_taken_forwards():
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    S, x = torch.rand(7, 1, 2, dtype=torch.float64), torch.rand(3, 2, dtype=torch.float64)
    tangent, h = torch.rand_like(S), 1e-6
    with forward_ad.dual_level():
        out = apply_pgso(x, graph, forward_ad.make_dual(S, tangent))
        slope = forward_ad.unpack_dual(out).tangent
    ends = [apply_pgso(x, graph, S + sign * h * tangent) for sign in (1, -1)]
    torch.testing.assert_close(slope, (ends[0] - ends[1]) / (2 * h), atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("degrees", ["row", "both"])
@pytest.mark.parametrize("shape", ["channel", "head"])
def test_powers_taken_once_for_a_degree_change_nothing(shape, degrees, monkeypatch):
    torch.manual_seed(0)
    source, target = torch.arange(32), torch.arange(32).roll(-1)
    edges = torch.stack([torch.cat([source, source[::4]]), torch.cat([target, target[2::4]])])
    graph = Graph.from_edge_index(edges)  # directed, and degrees are 0, 1 and 2
    operator = PGSO(shape=(shape, 2), degrees=degrees).double()
    start = torch.tensor([0.4, -0.8, 0.5, 0.7, 0.0, -0.9, -1.0], dtype=torch.float64)  # d + a <= 0
    for value, parameter in zip(start, operator.parameters(), strict=True):
        parameter.data = value + torch.tensor([[0.0, 0.3]], dtype=torch.float64)
    x = torch.randn(32, 2 if shape == "channel" else 6, dtype=torch.float64, requires_grad=True)
    inputs = (x, *operator.parameters())

    def derivatives():
        out = operator(x, graph)
        first = torch.autograd.grad(out.square().sum(), inputs, create_graph=True)
        loss = sum(part.square().sum() for part in first)
        return out, *first, *torch.autograd.grad(loss, inputs)

    by_node = derivatives()
    monkeypatch.setattr(node_shift, "MANY_VALUES", 0)
    assert operator.on(graph)._vectors(x)[1] is not None
    for one, other in zip(by_node, derivatives(), strict=True):
        torch.testing.assert_close(one, other)
