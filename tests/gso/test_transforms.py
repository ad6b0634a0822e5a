"""The operator inside torch's own machinery: grad modes, torch.func, torch.compile, autocast."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad

from pgso import GNN, PGSO, Graph, apply_pgso, dense_pgso, shift

EDGES = torch.tensor([[0, 1, 1, 2, 3, 3], [1, 0, 2, 1, 3, 0]])
WEIGHT = torch.tensor([1.0, 2.0, 0.5, 1.5, 3.0, 0.25])
S = (0.3, -0.8, 0.5, 0.7, -0.4, -0.9, 1.2)
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*should not be instantiated:DeprecationWarning"  # torch.compile's own doing
)
FORMS = {
    "Graph": (Graph.from_edge_index(EDGES), None),
    "weighted Graph": (Graph.from_edge_index(EDGES, WEIGHT), None),
    "edge_index": (EDGES, None),
    "int32": (EDGES.int(), None),
    "edge_index and weights": (EDGES, WEIGHT),
}


@pytest.fixture(params=FORMS.values(), ids=FORMS.keys())
def form(request):
    return request.param


@pytest.fixture
def x():
    return torch.randn(4, 3)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_values_are_the_same(form, x, mode):
    gso = PGSO(S)
    wanted = gso(x, *form)
    with mode():
        actual = gso(x, *form)
    assert not actual.requires_grad
    assert torch.equal(actual, wanted.detach())


def test_func_grad_agrees_with_backward(form, x):
    vector = torch.tensor(S)

    def loss(x, S):
        return apply_pgso(x, form[0], S, form[1]).square().sum()

    actual = torch.func.grad(loss, argnums=(0, 1))(x, vector)
    leaves = x.clone().requires_grad_(), vector.clone().requires_grad_()
    torch.testing.assert_close(actual, torch.autograd.grad(loss(*leaves), leaves))


def test_func_grad_reaches_the_edge_weights(x):
    def loss(weight):
        return apply_pgso(x, EDGES, S, weight).square().sum()

    leaf = WEIGHT.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(loss(leaf), leaf)
    torch.testing.assert_close(torch.func.grad(loss)(WEIGHT), wanted)


FORWARD = {
    "jvp": lambda f, w, t: torch.func.jvp(f, (w,), (t,))[1],
    "jacfwd": lambda f, w, t: torch.func.jacfwd(f)(w) @ t,
    "jacrev": lambda f, w, t: torch.func.jacrev(f)(w) @ t,
    "dual": lambda f, w, t: tangent_of(f, w, t),
}


def tangent_of(f, w, t):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(w, t))).tangent.clone()


@pytest.mark.parametrize("weight", [WEIGHT, torch.ones(6)])  # an unweighted graph is one of ones
@pytest.mark.parametrize("degrees", ["row", "both"])
@pytest.mark.parametrize("way", FORWARD)
def test_forward_derivatives_reach_the_edge_weights(x, way, degrees, weight):
    x, weight = x.double(), weight.double()

    def f(weight):
        return apply_pgso(x, EDGES, S, weight, degrees)

    f(weight)  # the graph is remembered, and its weights do not learn
    tangent, step = torch.randn(6, dtype=torch.float64), 1e-6
    wanted = (f(weight + step * tangent) - f(weight - step * tangent)) / (2 * step)
    torch.testing.assert_close(FORWARD[way](f, weight, tangent), wanted, rtol=1e-6, atol=1e-8)


def test_attention_gives_no_wrong_forward_derivatives(x):
    model = GNN("gat", 3, 4, 2).eval()  # the second layer's attention depends on the weights
    with pytest.raises(NotImplementedError, match="jvp"):
        torch.func.jvp(lambda weight: model(x, EDGES, weight), (WEIGHT,), (WEIGHT,))


def test_func_grad_of_grad_is_the_second_derivative(x):
    A = Graph.from_edge_index(EDGES).to_torch_sparse().to_dense().double()
    x, vector = x.double(), torch.tensor(S, dtype=torch.float64)

    def twice(operator):
        first = torch.func.grad(lambda S: operator(S).square().sum())
        return torch.func.grad(lambda S: first(S).square().sum())(vector)

    torch.testing.assert_close(
        twice(lambda S: apply_pgso(x, EDGES, S)), twice(lambda S: dense_pgso(A, S) @ x)
    )


def test_functional_call_replaces_S(x):
    gso, graph = PGSO("zeros"), Graph.from_edge_index(EDGES)
    state = dict(zip(("m1", "m2", "m3", "e1", "e2", "e3", "a"), torch.tensor(S), strict=True))
    torch.testing.assert_close(
        torch.func.functional_call(gso, state, (x, graph)), apply_pgso(x, graph, S)
    )


@pytest.mark.parametrize("name", ["weighted Graph", "edge_index and weights"])
@pytest.mark.parametrize("shape", [(4, 3), (4,), (2, 4, 3)])
def test_a_compiled_module_gives_the_same_values_and_gradients(name, shape):
    torch._dynamo.reset()
    x = torch.randn(shape)

    def run(function, gso):
        leaf = x.clone().requires_grad_()
        out = function(leaf, *FORMS[name])
        grads = torch.autograd.grad(out.square().sum(), (leaf, *gso.parameters()))
        return out.detach(), *grads

    gso = PGSO(S)
    compiled = torch.compile(gso, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(run(compiled, gso), run(gso, gso), rtol=1e-4, atol=1e-4)


def test_a_compiled_function_gives_the_same_values_and_gradients(form, x):
    torch._dynamo.reset()
    vector = torch.tensor(S, requires_grad=True)
    graph, weight = copy.deepcopy(form)  # which remembers nothing of other tests

    def loss(S):
        return apply_pgso(x, graph, S, weight).square().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    (actual,) = torch.autograd.grad(compiled(vector), vector)
    (wanted,) = torch.autograd.grad(loss(vector), vector)
    torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch's look at S
def test_a_compiled_function_keeps_nothing_of_an_operator_that_was_used_before(x):
    operator = shift(EDGES, torch.tensor(S, requires_grad=True))
    operator.diagonal()  # which keeps its vectors
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: operator.times(x), backend="eager")
    for _ in range(2):  # a second pass through what is kept would be refused
        compiled(x).sum().backward()


def test_compiled_edge_weights_get_their_gradients(x):
    torch._dynamo.reset()
    weight = WEIGHT.clone().requires_grad_()

    def loss(weight):
        return apply_pgso(x, EDGES, S, weight).square().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    (actual,) = torch.autograd.grad(compiled(weight), weight)
    (wanted,) = torch.autograd.grad(loss(weight), weight)
    torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=1e-4)


def test_a_compiled_network_trains_on_graphs_of_several_sizes():
    torch._dynamo.reset()

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.gso = nn.Linear(3, 2), PGSO("gcn")

        def forward(self, x, edge_index):
            return self.gso(self.linear(x), edge_index).relu()

    network = Network()
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager", dynamic=True)
    for n in (4, 6, 9):
        x, edges = torch.randn(n, 3), torch.randint(n, (2, 3 * n))
        torch.testing.assert_close(compiled(x, edges), network(x, edges))
        compiled(x, edges).sum().backward()


def test_the_custom_operator_is_registered_as_torch_wants_it():
    pattern = Graph.from_edge_index(EDGES).pattern
    for dtype in (torch.float32, torch.float64):
        values, x = torch.randn(pattern.row.numel(), dtype=dtype), torch.randn(4, 3, dtype=dtype)
        torch.library.opcheck(
            torch.ops.pgso.product.default,
            (pattern.rowptr, pattern.col, values, x),
            test_utils=("test_schema", "test_faketensor"),
        )


def test_autocast_leaves_the_operator_in_the_precision_of_its_features(x):
    gso, graph = PGSO(S), Graph.from_edge_index(EDGES)
    wanted = gso(x, graph)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = gso(x, graph)
        mixed = gso(nn.Linear(3, 2)(x), graph)
    assert torch.equal(actual, wanted)
    assert mixed.dtype == torch.bfloat16
    mixed.float().sum().backward()
    assert gso.e2.grad.isfinite()


@pytest.mark.parametrize("learn", [True, False])
def test_a_compiled_operator_refuses_features_of_another_graph(learn):
    torch._dynamo.reset()
    compiled = torch.compile(PGSO(S, learn=learn), fullgraph=True, backend="aot_eager")
    with pytest.raises(torch._dynamo.exc.Unsupported, match="one row per node"):
        compiled(torch.randn(3, 2, dtype=torch.float64), Graph.from_edge_index(EDGES))


@pytest.mark.parametrize(
    ("dtype", "shape"), [(torch.bfloat16, (400,)), (torch.int64, (400, 1)), (torch.float64, (400,))]
)
def test_a_compiled_operator_takes_the_weights_that_an_eager_one_takes(dtype, shape):
    torch._dynamo.reset()
    edges, weight = torch.randint(3, (2, 400)), torch.full(shape, 1.3).to(dtype)
    gso, x = PGSO("gcn"), torch.randn(3, 2)
    compiled = torch.compile(gso, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, edges, weight), gso(x, edges, weight))


@pytest.mark.parametrize("degrees", ["row", "both"])
def test_a_graph_is_usable_after_it_was_used_in_nested_transforms(x, degrees):
    graph = Graph.from_edge_index(EDGES)

    def loss(S):
        operator = shift(graph, S, degrees=degrees)
        return (operator @ x + operator.T @ x).square().sum()

    vector = torch.tensor(S)
    second = torch.func.grad(lambda S: torch.func.grad(loss)(S).sum())(vector)
    assert bool(second.isfinite().all())
    leaf = vector.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(loss(leaf), leaf)
    torch.testing.assert_close(torch.func.grad(loss)(vector), wanted)
    transpose = pickle.loads(pickle.dumps(shift(graph, vector, degrees=degrees).T))
    torch.testing.assert_close(transpose @ x, shift(graph, vector, degrees=degrees).T @ x)


def test_a_graph_that_is_made_inside_a_transform_is_usable_outside(x):
    made = []

    def loss(S):
        made.append(Graph.from_edge_index(EDGES, WEIGHT))
        return apply_pgso(x, made[-1], S, degrees="both").square().sum()

    torch.func.grad(lambda S: torch.func.grad(loss)(S).sum())(torch.tensor(S))
    wanted = apply_pgso(x, Graph.from_edge_index(EDGES, WEIGHT), S, degrees="both")
    torch.testing.assert_close(apply_pgso(x, made[-1], S, degrees="both"), wanted)
