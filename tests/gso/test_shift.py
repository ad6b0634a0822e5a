"""Equation (2), fast, against Equation (1), readable: values, gradients, types, shapes, edges."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from pgso import PRESETS, Graph, apply_pgso, dense_pgso, shift
from pgso.graph import EdgeList, product
from tests.strategies import edge_lists, parameters, random_features, smooth_parameters

STAR = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
DIRECTED = torch.tensor([[0, 1, 2, 2, 3, 4, 4], [1, 2, 0, 2, 1, 3, 3]])
S = (0.3, -0.8, 0.5, 0.7, -0.4, -0.9, 1.2)


def gradients(function, *inputs):
    """The gradients of a function's output, weighted by fixed random numbers."""
    leaves = [value.detach().clone().requires_grad_() for value in inputs]
    out = function(*leaves)
    direction = torch.linspace(-1, 2, max(out.numel(), 1), dtype=torch.float64)[: out.numel()]
    return torch.autograd.grad(out, leaves, direction.reshape(out.shape).to(out.dtype))


def assert_all_close(found, wanted, **tolerance):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other.double(), **tolerance)


@given(edges=edge_lists(), S=parameters())
def test_the_fast_product_equals_the_dense_operator(edges, S):
    x = random_features(edges.num_nodes)
    torch.testing.assert_close(apply_pgso(x, edges.graph, S), dense_pgso(edges.adjacency, S) @ x)


@given(edges=edge_lists(), S=parameters())
def test_the_gradients_of_x_and_S_equal_those_of_the_dense_operator(edges, S):
    x, vector = random_features(edges.num_nodes), torch.tensor(S, dtype=torch.float64)
    A, graph = edges.adjacency, edges.graph
    actual = gradients(lambda x, S: apply_pgso(x, graph, S), x, vector)
    wanted = gradients(lambda x, S: dense_pgso(A, S) @ x, x, vector)
    assert_all_close(actual, wanted, rtol=1e-7, atol=1e-7)


@given(edges=edge_lists(weights="signed"), S=parameters())
def test_the_gradients_of_the_edge_weights_equal_those_of_the_dense_operator(edges, S):
    x, vector = random_features(edges.num_nodes), torch.tensor(S, dtype=torch.float64)
    source, target = edges.edge_index

    def dense(x, S, weight):
        A = torch.zeros(edges.num_nodes, edges.num_nodes, dtype=torch.float64)
        return dense_pgso(A.index_put((target, source), weight, accumulate=True), S) @ x

    actual = gradients(
        lambda x, S, weight: apply_pgso(x, edges.edge_index, S, weight),
        *(x, vector, edges.edge_weight),
    )
    wanted = gradients(dense, x, vector, edges.edge_weight)
    assert_all_close(actual, wanted, rtol=1e-7, atol=1e-7)


@given(edges=edge_lists(), S=parameters())
def test_the_traceable_form_equals_the_fast_one_in_values_and_gradients(edges, S):
    x, vector = random_features(edges.num_nodes), torch.tensor(S, dtype=torch.float64)
    index, weight, _ = edges

    def traceable(x, S):
        return shift(EdgeList.of(index, weight, x.size(0)), S) @ x

    def fast(x, S):
        return apply_pgso(x, index, S, weight)

    torch.testing.assert_close(traceable(x, vector), fast(x, vector))
    assert_all_close(
        gradients(traceable, x, vector), gradients(fast, x, vector), rtol=1e-7, atol=1e-7
    )


@settings(max_examples=20)
@given(edges=edge_lists(max_nodes=4), S=smooth_parameters())
def test_gradcheck_passes_for_x_and_the_seven_parameters(edges, S):
    x = random_features(edges.num_nodes, 2).requires_grad_()
    vector = torch.tensor(S, dtype=torch.float64, requires_grad=True)
    graph = edges.graph
    assert gradcheck(lambda x, S: apply_pgso(x, graph, S), (x, vector), rtol=1e-3, atol=1e-4)


@settings(max_examples=20)
@given(edges=edge_lists(weights="signed", max_nodes=4), S=smooth_parameters())
def test_gradcheck_passes_for_the_edge_weights(edges, S):
    x = random_features(edges.num_nodes, 2).requires_grad_()
    vector = torch.tensor(S, dtype=torch.float64, requires_grad=True)
    weight = edges.edge_weight.requires_grad_()
    assert gradcheck(
        lambda *inputs: apply_pgso(inputs[0], edges.edge_index, inputs[1], inputs[2]),
        (x, vector, weight),
        rtol=1e-3,
        atol=1e-4,
    )


@pytest.mark.parametrize("index", [STAR, DIRECTED], ids=["undirected", "directed"])
@pytest.mark.parametrize("m2", [-0.8, 1e-4, 0.0])
def test_gradients_of_gradients_are_exact(index, m2):
    n = int(index.max()) + 1
    x = random_features(n, 2).requires_grad_()
    vector = torch.tensor([S[0], m2, *S[2:]], dtype=torch.float64, requires_grad=True)
    graph = Graph.from_edge_index(index)
    assert gradgradcheck(lambda x, S: apply_pgso(x, graph, S), (x, vector))


def test_gradients_of_gradients_are_exact_for_edge_weights():
    x = random_features(5, 2).requires_grad_()
    vector = torch.tensor(S, dtype=torch.float64, requires_grad=True)
    weight = torch.linspace(0.5, 2.0, 7, dtype=torch.float64).requires_grad_()
    assert gradgradcheck(
        lambda x, S, weight: apply_pgso(x, DIRECTED, S, weight), (x, vector, weight)
    )


def test_gradients_of_gradients_reach_x_of_a_fixed_operator():
    x = random_features(5, 2).requires_grad_()
    assert gradgradcheck(lambda x: apply_pgso(x, DIRECTED, S).square(), (x,))


@given(edges=edge_lists(weights="signed"), S=parameters())
def test_values_and_gradients_are_finite_in_single_precision(edges, S):
    x = random_features(edges.num_nodes, dtype=torch.float32)
    weight = edges.edge_weight.float()
    vector = torch.tensor(S)
    out = apply_pgso(x, edges.edge_index, S, weight)
    assert out.isfinite().all()
    actual = gradients(lambda *v: apply_pgso(v[0], edges.edge_index, v[1], v[2]), x, vector, weight)
    assert all(gradient.isfinite().all() for gradient in actual)


@pytest.mark.parametrize("a", [0.0, -1.0, -0.5, -2.0, -3.0, -7.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_node_without_degree_passes_its_features_times_m3_only(a, dtype):
    x = random_features(6, dtype=dtype)  # nodes 4 and 5 are isolated
    graph = Graph.from_edge_index(STAR, num_nodes=6)
    vector = torch.tensor([0.7, 1.0, 0.5, -1.5, -0.5, -2.0, a], requires_grad=True)
    out = apply_pgso(x, graph, vector)
    decoupled = graph.degree + a <= 0
    torch.testing.assert_close(out[decoupled], 0.5 * x[decoupled])
    (gradient,) = torch.autograd.grad(out[decoupled].sum(), vector)
    wanted = x[decoupled].double().sum()
    torch.testing.assert_close(gradient[2].double(), wanted, rtol=1e-2, atol=1e-2)
    assert gradient[[0, 1, 3, 4, 5, 6]].eq(0).all()


@pytest.mark.parametrize("m2", [0.0, 1e-30, 1e-7, 1e-3, 0.02, 0.3])
@pytest.mark.parametrize("m3", [0.0, 1.0])
def test_single_precision_gradients_hold_where_m2_is_near_zero(m2, m3):
    index = torch.randint(40, (2, 300))
    x = random_features(40, 8)
    values = (0.4 * m3, m2, m3, 0.5, -0.5, -0.4, 1.0)

    def fast(x, S):
        return apply_pgso(x, index, S)

    def dense(x, S):
        return dense_pgso(Graph.from_edge_index(index).to_torch_sparse().to_dense().double(), S) @ x

    wanted = gradients(dense, x, torch.tensor(values, dtype=torch.float64))
    actual = gradients(fast, x.float(), torch.tensor(values))
    scale = wanted[1].abs().clamp(min=1e-3 * float(wanted[1].abs().max()))
    assert ((actual[1] - wanted[1]).abs() / scale).max() < 1e-3
    torch.testing.assert_close(actual[0].double(), wanted[0], rtol=1e-4, atol=1e-5)


def test_single_precision_gradients_hold_where_powers_make_the_part_of_m2_small():
    index, x = torch.randint(60, (2, 6000)), random_features(60, 8)
    values = (0, 0.02, 1, 0, -1, -1, 1)

    def fast(x, S):
        return apply_pgso(x, index, S)

    wanted = gradients(fast, x, torch.tensor(values, dtype=torch.float64))
    actual = gradients(fast, x.float(), torch.tensor(values, dtype=torch.float32))
    assert_all_close(actual, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "zeros"])
def test_a_training_step_costs_two_products_also_with_a_hub(preset, monkeypatch):
    products = []

    def counted(*inputs):
        products.append(inputs)
        return product(*inputs)

    monkeypatch.setattr("pgso.gso.node_shift.product", counted)
    hub = torch.stack([torch.zeros(500), torch.arange(1, 501)]).long()
    graph = Graph.from_edge_index(torch.cat([hub, hub.flip(0)], dim=1))
    gradients(
        lambda x, S: apply_pgso(x, graph, S),
        torch.randn(501, 2),
        torch.tensor(PRESETS[preset]).float(),
    )
    assert len(products) == 2


@pytest.mark.parametrize("m2", [0.0, 0.02, 1.0])
def test_an_exponent_of_nothing_gets_no_gradient(m2):
    """Adam would turn rounding noise into steps of full size."""
    index, x = torch.randint(40, (2, 300)), random_features(40, 8, dtype=torch.float32)
    vector = torch.tensor([0.5 if m2 == 0 else 0.0, m2, 0.3, 0.5, -0.5, -0.5, 1.0])
    (_, gradient) = gradients(lambda x, S: apply_pgso(x, index, S), x, vector)
    assert gradient[4:6].eq(0).all() if m2 == 0 else gradient[3] == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_type_of_x_is_answered_in_its_own_type_and_precision(dtype, weighted):
    weight = torch.linspace(0.5, 2, 7, dtype=torch.float64) if weighted else None
    graph = Graph.from_edge_index(DIRECTED, weight)
    x = random_features(5, 4, dtype=dtype)
    out = apply_pgso(x, graph, S)
    assert out.dtype == dtype
    A = graph.to(dtype=torch.float64).to_torch_sparse().to_dense()
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(
        out.double(), dense_pgso(A, S) @ x.double(), rtol=8 * eps, atol=8 * eps
    )


@pytest.mark.parametrize("m2", [-0.8, 0.05, 0.0])
def test_gradients_of_half_precision_features_are_as_good_as_the_features(m2):
    index, values = torch.randint(40, (2, 300)), (S[0], m2, *S[2:])
    x = random_features(40, 16, dtype=torch.bfloat16)
    vector = torch.tensor(values, dtype=torch.float64)
    actual = gradients(lambda x, S: apply_pgso(x, index, S), x, vector.float())
    wanted = gradients(lambda x, S: apply_pgso(x, index, S), x.double(), vector)
    assert actual[0].dtype == torch.bfloat16
    assert actual[1].dtype == torch.float32
    assert (actual[1] - wanted[1]).abs().max() < 0.03 * wanted[1].abs().max()


@given(edges=edge_lists(), S=parameters(), shape=st.sampled_from([(), (2,), (2, 3), (0,), (1, 1)]))
def test_leading_dimensions_are_so_many_products(edges, S, shape):
    x = torch.randn(*shape, edges.num_nodes, 2, dtype=torch.float64)
    out = apply_pgso(x, edges.graph, S)
    torch.testing.assert_close(out, dense_pgso(edges.adjacency, S) @ x)
    assert out.shape == x.shape


@given(edges=edge_lists(), S=parameters())
def test_a_vector_is_one_column(edges, S):
    x = random_features(edges.num_nodes, 1)
    torch.testing.assert_close(
        apply_pgso(x[:, 0], edges.graph, S), apply_pgso(x, edges.graph, S)[:, 0]
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_memory_layout_of_x_does_not_matter(dtype):
    x = random_features(4, 6, dtype=dtype)
    graph = Graph.from_edge_index(STAR)
    wanted = apply_pgso(x, graph, S)
    torch.testing.assert_close(apply_pgso(x.t().contiguous().t(), graph, S), wanted)
    torch.testing.assert_close(apply_pgso(x.repeat(1, 2)[:, :6], graph, S), wanted)
    torch.testing.assert_close(apply_pgso(x[:, :1].expand(4, 5), graph, S)[:, 4], wanted[:, 0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0), (0,), (2, 0, 3), (2, 4, 0), (4, 3)])
def test_empty_graphs_and_features_give_values_and_gradients(shape, dtype):
    n = shape[0] if len(shape) == 1 else shape[-2]
    graph = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.long), num_nodes=n)
    x = torch.ones(shape, dtype=dtype, requires_grad=True)
    vector = torch.tensor(S, requires_grad=True)
    out = apply_pgso(x, graph, vector)
    grads = torch.autograd.grad(out.sum(), (x, vector))
    assert out.shape == x.shape
    assert all(gradient.isfinite().all() for gradient in grads)


@given(edges=edge_lists(), S=parameters(), seed=st.integers(0, 99))
def test_renaming_the_nodes_renames_the_outputs(edges, S, seed):
    order = torch.randperm(edges.num_nodes, generator=torch.Generator().manual_seed(seed))
    x = random_features(edges.num_nodes)
    renamed = Graph.from_edge_index(order.argsort()[edges.edge_index], *edges[1:])
    torch.testing.assert_close(
        apply_pgso(x[order], renamed, S), apply_pgso(x, edges.graph, S)[order]
    )


@given(edges=edge_lists(), S=parameters(), factor=st.sampled_from([-3.0, 0.0, 0.5, 7.0]))
def test_the_product_is_linear_in_x(edges, S, factor):
    x, y, graph = random_features(edges.num_nodes), random_features(edges.num_nodes), edges.graph
    torch.testing.assert_close(
        apply_pgso(factor * x + y, graph, S),
        factor * apply_pgso(x, graph, S) + apply_pgso(y, graph, S),
        rtol=1e-9,
        atol=1e-9,
    )


@given(edges=edge_lists(), S=parameters(), factor=st.sampled_from([-3.0, 0.0, 0.5]))
def test_the_product_is_linear_in_the_multipliers(edges, S, factor):
    x, graph = random_features(edges.num_nodes), edges.graph
    scaled = tuple(factor * m for m in S[:3]) + S[3:]
    torch.testing.assert_close(
        apply_pgso(x, graph, scaled), factor * apply_pgso(x, graph, S), rtol=1e-9, atol=1e-9
    )


@given(edges=edge_lists(weights="signed"), S=parameters(), c=st.sampled_from([0.25, 2.0, 8.0]))
def test_scaling_the_weights_and_a_scales_the_powers(edges, S, c):
    """γ(cA, S with ca) = γ(A, S') with m1' = c^e1 m1 and m2' = c^(1 + e2 + e3) m2."""
    m1, m2, m3, e1, e2, e3, a = S
    x = random_features(edges.num_nodes)
    stretched = Graph.from_edge_index(edges.edge_index, c * edges.edge_weight, edges.num_nodes)
    torch.testing.assert_close(
        apply_pgso(x, stretched, (m1, m2, m3, e1, e2, e3, c * a)),
        apply_pgso(x, edges.graph, (c**e1 * m1, c ** (1 + e2 + e3) * m2, m3, e1, e2, e3, a)),
        rtol=1e-9,
        atol=1e-9,
    )


@given(edges=edge_lists(), S=parameters())
def test_the_transpose_exchanges_e2_and_e3_on_an_undirected_graph_only(edges, S):
    m1, m2, m3, e1, e2, e3, a = S
    graph = edges.graph
    x, g = random_features(edges.num_nodes), random_features(edges.num_nodes)
    (transposed,) = torch.autograd.grad(apply_pgso(x.requires_grad_(), graph, S), x, g)
    if graph.is_undirected:
        wanted = apply_pgso(g, graph, (m1, m2, m3, e1, e3, e2, a))
    else:
        wanted = dense_pgso(edges.adjacency, S).t() @ g
    torch.testing.assert_close(transposed, wanted)


@given(edges=edge_lists(), S=parameters())
def test_the_entries_are_those_of_the_matrix_and_of_its_transpose(edges, S):
    graph, vector = edges.graph, torch.tensor(S, dtype=torch.float64)
    gamma = dense_pgso(edges.adjacency, S)
    entries = shift(graph, vector).entries(torch.float64)
    torch.testing.assert_close(entries, gamma[graph.pattern.row, graph.pattern.col])
    transposed = shift(graph, vector).T
    pattern = transposed.graph.pattern
    torch.testing.assert_close(
        transposed.entries(torch.float64), gamma.t()[pattern.row, pattern.col]
    )


def test_S_may_be_floats_tensors_a_mixture_or_a_name():
    x, graph = random_features(4), Graph.from_edge_index(STAR)
    wanted = apply_pgso(x, graph, (0, 1, 0, 0, -0.5, -0.5, 1))
    mixture = (0, torch.tensor(1.0), 0.0, 0, torch.tensor(-0.5, dtype=torch.float64), -0.5, 1)
    for given_S in ("gcn", [0, 1, 0, 0, -0.5, -0.5, 1], torch.tensor(mixture), mixture):
        torch.testing.assert_close(apply_pgso(x, graph, given_S), wanted)


def test_only_the_parameters_that_ask_get_gradients():
    learned = torch.tensor(1.0, requires_grad=True)
    out = apply_pgso(random_features(4), STAR, (0, learned, 0, 0, -0.5, -0.5, 1))
    out.sum().backward()
    assert learned.grad.isfinite()


def test_an_edge_weight_of_exactly_zero_still_learns():
    index = torch.tensor([[0, 0, 1], [0, 1, 0]])
    weight = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    x = torch.eye(2, dtype=torch.float64)
    apply_pgso(x, index, (0, 1, 0, 0, 0, 0, 1), weight).sum().backward()
    assert weight.grad.tolist() == [1.0, 1.0, 1.0]


def test_unused_features_are_not_kept_alive_by_a_fixed_operator():
    x = random_features(4).requires_grad_()
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.numel()), lambda t: t):
        apply_pgso(x, STAR, S)
    assert max(saved) == x.size(0)  # vectors over the nodes, nothing of the size of x


@pytest.mark.parametrize(("dtype", "a"), [(torch.float32, 1e-45), (torch.float64, 5e-324)])
def test_a_subnormal_degree_gives_no_nan(dtype, a):
    S = torch.tensor((0, 1, 1, 0, 0, 0, a), dtype=dtype, requires_grad=True)
    edges = torch.tensor([[0, 1], [1, 0]])
    apply_pgso(torch.ones(3, 2, dtype=dtype), edges, S).sum().backward()
    assert S.grad.isfinite().all()


def test_gradients_keep_their_digits_where_the_diagonal_dominates():
    # A star: its hub's m1 d^e1 is many times the rest of γ.
    leaves = torch.arange(1, 40)
    hub = torch.zeros_like(leaves)
    edges = torch.stack([torch.cat([hub, leaves]), torch.cat([leaves, hub])])
    x = torch.randn(40, 5, generator=torch.Generator().manual_seed(0)) + 1
    grads = []
    for dtype in (torch.float32, torch.float64):
        S = torch.tensor((6, 0.15, 0.5, 1.0, -0.3, 0.2, 0.5), dtype=dtype, requires_grad=True)
        apply_pgso(x.to(dtype), edges, S).square().sum().backward()
        grads.append(S.grad.double())
    torch.testing.assert_close(grads[0], grads[1], rtol=1e-5, atol=0)


def test_gradients_keep_their_digits_where_a_node_has_a_self_loop_alone():
    # m1 d^e1 is a thousand times m2's part of the entry, and the loop is the node's only edge.
    values, grads = (50, 0.03, 0.1, -0.57, 0.76, 0.9, 0.1), []
    x = torch.randn(1, 7, generator=torch.Generator().manual_seed(0))
    for dtype in (torch.float32, torch.float64):
        S = torch.tensor(values, dtype=dtype, requires_grad=True)
        apply_pgso(x.to(dtype), torch.tensor([[0], [0]]), S).square().sum().backward()
        grads.append(S.grad.double())
    torch.testing.assert_close(grads[0], grads[1], rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "S",
    [
        torch.tensor([0.3, 1.0, 0.1, 0.2, -0.5, -0.4, 1.0], dtype=torch.float64),
        tuple(torch.tensor([0.3, 1.0, 0.1, 0.2, -0.5, -0.4, 1.0], dtype=torch.float64)),
        torch.full((7, 1, 2), 0.3, dtype=torch.float64),
    ],
    ids=["one S", "seven tensors", "per channel"],
)
def test_an_S_in_double_precision_gives_matrices_in_double_precision(S):
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    op = shift(edges, S)
    made = [op.to_dense(), op.diagonal(), op.entries(), op.T.to_dense()]
    if isinstance(S, tuple) or S.dim() == 1:
        made.append(op.to_torch_sparse())
        made.append((2 * op @ op).to_dense())
    assert {matrix.dtype for matrix in made} == {torch.float64}
    assert shift(edges, "gcn").to_dense().dtype == torch.float32
    wanted = shift(Graph.from_edge_index(edges).to(torch.float64), S).to_dense()
    torch.testing.assert_close(op.to_dense(), wanted, rtol=1e-14, atol=0)
