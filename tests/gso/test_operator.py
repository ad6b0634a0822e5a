"""γ as a value: its matrix, its transpose, what it holds and what it does not see."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import pgso
from pgso import PGSO, Graph, ShiftOperator, polynomial, shift
from pgso.errors import InputError
from tests.strategies import dense_shift, edge_lists, parameters, random_features

PATH = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
DIRECTED = torch.tensor([[0.0, 2, 0, 1], [0, 0, 1, 0], [1, 0, 0.5, 0], [0, 0, 3, 0]]).double()


def gradients(out, leaves):
    direction = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view(out.shape)
    return torch.autograd.grad(out, leaves, direction, retain_graph=True)


@given(edges=edge_lists(), S=parameters(), degrees=st.sampled_from(["row", "both"]))
def test_every_form_of_the_operator_is_the_dense_matrix(edges, S, degrees):
    op, matrix = shift(edges.graph, S, degrees=degrees), dense_shift(edges.adjacency, S, degrees)
    x = random_features(edges.num_nodes)
    torch.testing.assert_close(op.to_dense().double(), matrix, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(op @ x, matrix @ x)
    torch.testing.assert_close(op.T @ x, matrix.t() @ x)
    torch.testing.assert_close(op.diagonal().double(), matrix.diagonal(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(op.to_scipy().toarray(), matrix.numpy(), atol=1e-10)
    np.testing.assert_allclose(op.to_linear_operator() @ x.numpy(), (matrix @ x).numpy(), atol=1e-9)
    np.testing.assert_allclose(
        op.to_linear_operator().rmatvec(x[:, 0].numpy()), matrix.t() @ x[:, 0]
    )
    assert op.shape == tuple(matrix.shape)
    if torch.allclose(matrix, matrix.t(), rtol=1e-12, atol=0):
        return
    assert not op.is_symmetric


@given(edges=edge_lists(), S=parameters(), degrees=st.sampled_from(["row", "both"]))
def test_gradients_of_both_directions_are_those_of_the_dense_matrix(edges, S, degrees):
    vector = torch.tensor(S, dtype=torch.float64, requires_grad=True)
    x = random_features(edges.num_nodes).requires_grad_()
    op, matrix = (
        shift(edges.graph, vector, degrees=degrees),
        dense_shift(edges.adjacency, vector, degrees),
    )
    for actual, wanted in ((op @ x, matrix @ x), (op.T @ x, matrix.t() @ x)):
        pairs = zip(gradients(actual, (x, vector)), gradients(wanted, (x, vector)), strict=True)
        for one, other in pairs:
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


GENERAL = (0.3, 0.8, 0.4, 0.2, -0.5, -0.3, 1.0)


def test_x_to_the_power_of_nothing_is_one_so_sums_are_sums_on_directed_graphs():
    graph = Graph.from_dense(DIRECTED)
    torch.testing.assert_close(shift(graph, "adjacency").to_dense(), DIRECTED)
    torch.testing.assert_close(shift(graph, "gin").to_dense(), DIRECTED + torch.eye(4).double())


def test_both_degrees_are_rows_on_the_left_and_columns_on_the_right():
    op = pgso.PGSO((0, 1, 0, 0, -0.5, -0.5, 0), degrees="both").on(Graph.from_dense(DIRECTED))
    rows, columns = DIRECTED.sum(1), DIRECTED.sum(0)
    wanted = DIRECTED / (rows.sqrt()[:, None] * columns.sqrt())
    torch.testing.assert_close(op.to_dense(), wanted)


@given(edges=edge_lists())
def test_the_reversed_graph_has_the_transposed_matrix_and_is_the_graph_if_undirected(edges):
    graph = edges.graph
    torch.testing.assert_close(graph.T.to_torch_sparse().to_dense().double(), edges.adjacency.t())
    torch.testing.assert_close(graph.T.degree.double(), edges.adjacency.sum(0))
    assert graph.T.T is graph
    assert (graph.T is graph) == graph.is_undirected


@pytest.mark.parametrize(
    "apply",
    [
        lambda graph, x: shift(graph, GENERAL, degrees="both") @ x,
        lambda graph, x: shift(graph, GENERAL).T @ x,
        lambda graph, x: shift(graph.T, GENERAL) @ x,
        lambda graph, x: PGSO(GENERAL, learn=False, edges="out").double()(x, graph),
    ],
    ids=["both degrees", "transpose", "reversed graph", "outgoing edges"],
)
def test_each_of_two_equal_weights_has_its_own_gradient(apply):
    """An undirected graph whose weights learn: the two directions of an edge may come apart."""
    edges = torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])
    weight, x = torch.ones(6).double().requires_grad_(), random_features(3, 2)
    assert torch.autograd.gradcheck(
        lambda weight: apply(Graph.from_edge_index(edges, weight), x), (weight,)
    )


def rectangle(weights=None):
    edges = torch.tensor([[0, 1, 2, 3, 3], [0, 0, 1, 1, 0]])  # four sources, two targets
    A = torch.zeros(2, 4).double()
    for place, (source, target) in enumerate(edges.t().tolist()):
        A[target, source] += 1.0 if weights is None else float(weights[place])
    return Graph.from_edge_index(edges, weights, num_nodes=(2, 4)), A


@pytest.mark.parametrize("weights", [None, torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0])])
@given(S=parameters())
def test_a_rectangle_is_the_formula_with_pairs(weights, S):
    graph, A = rectangle(weights)
    m1, m2, m3, e1, e2, e3, a = S
    source, target = random_features(4), random_features(2)
    d, s = A.sum(1) + a, A.sum(0) + a
    power = pgso.gso.formula.positive_power
    left, right = power(d, e2)[:, None], power(s, e3)[:, None]
    wanted = (m1 * power(d, e1)[:, None] + m3) * target + m2 * left * (A @ (right * source))
    gso = PGSO(S, learn=False).double()
    torch.testing.assert_close(gso((source, target), graph), wanted, rtol=1e-5, atol=1e-5)
    op = shift(graph, S)
    assert (op.shape, op.T.shape, graph.T.shape) == ((2, 4), (4, 2), (4, 2))
    torch.testing.assert_close(op @ source, op.to_dense().double() @ source, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(op.T.to_dense(), op.to_dense().t())
    back = op.to_dense().double().t() @ target
    torch.testing.assert_close(op.T @ target, back, rtol=1e-5, atol=1e-5)


def test_a_rectangle_passes_gradients_to_everything():
    graph, _ = rectangle()
    S = torch.tensor([0.3, 0.7, 0.2, 0.4, -0.6, 0.3, 0.5], dtype=torch.float64, requires_grad=True)
    source, target = random_features(4).requires_grad_(), random_features(2).requires_grad_()
    check = torch.autograd.gradcheck
    assert check(lambda s, t, S: shift(graph, S) @ (s, t), (source, target, S))


def test_a_rectangle_refuses_what_has_no_meaning_there():
    graph, _ = rectangle()
    with pytest.raises(InputError, match="no diagonal"):
        shift(graph, "gcn").diagonal()
    with pytest.raises(InputError, match="only 2 targets"):
        Graph.from_edge_index(torch.tensor([[0], [2]]), num_nodes=(2, 4))
    with pytest.raises(InputError, match="one row per node"):
        shift(graph, "gcn") @ torch.randn(2, 3)
    with pytest.raises(InputError, match="x_source has 3 columns, x_target has 5"):
        shift(graph, "gcn") @ (torch.randn(4, 3), torch.randn(2, 5))


@pytest.mark.parametrize("shape", ["structural", ("node", 2), ("channel", 3)])
def test_an_S_with_many_values_needs_one_set_of_nodes(shape):
    graph, _ = rectangle()
    with pytest.raises(InputError, match="needs one set of nodes"):
        PGSO("gcn", shape=shape)((torch.randn(4, 3), torch.randn(2, 3)), graph)


def test_sources_and_targets_may_have_the_same_features():
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 2]]), num_nodes=(3, 3))
    op, x = shift(graph, (0.3, 0.8, 0.4, 0.2, -0.5, -0.3, 1.0)), torch.randn(3, 2)
    torch.testing.assert_close(op @ (x, x), op @ (x, x.clone()))


def test_an_operator_is_a_value():
    gso = PGSO("gcn")
    op, x = gso.on(PATH), torch.randn(3, 2)
    wanted = op @ x
    with torch.no_grad():
        gso.m2.fill_(3.0)
    assert torch.equal(op @ x, wanted)
    with pytest.raises(AttributeError, match="cannot be set"):
        op.graph = None
    for twin in (copy.copy(op), pickle.loads(pickle.dumps(shift(PATH, "gcn")))):
        torch.testing.assert_close(twin @ x, wanted)
    factor = torch.tensor(2.0, requires_grad=True).exp()
    for learned in (op, factor * op, polynomial(op, factor.expand(3))):
        torch.testing.assert_close(copy.deepcopy({"op": learned})["op"] @ x, learned @ x)
    assert isinstance(op, ShiftOperator)


def test_S_changed_by_a_hook_between_two_layers_counts_from_the_next_pass_on():
    model = pgso.GNN("gcn", 2, 4, 2, dropout=0.0).eval()
    x, wanted = torch.randn(3, 2), None
    wanted = model(x, PATH)

    def change(module, inputs, output):
        with torch.no_grad():
            model.operators[0].m2.fill_(5.0)

    handle = model.layers[0].register_forward_hook(change)
    torch.testing.assert_close(model(x, PATH), wanted)  # the operator was made before
    handle.remove()
    assert not torch.allclose(model(x, PATH), wanted)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_operator_that_is_first_used_without_gradients_has_them_later(mode):
    gso, x = PGSO("gcn"), torch.randn(3, 2)
    op = gso.on(PATH)
    with mode():
        assert not (op @ x).requires_grad
    (op @ x).square().sum().backward()
    assert gso.m2.grad != 0


def test_threads_share_an_operator():
    op, x = shift(PATH, "gcn"), torch.randn(3, 2)
    wanted = shift(PATH, "gcn") @ x
    with ThreadPoolExecutor(4) as pool:
        for actual in pool.map(lambda _: op @ x, range(200)):
            assert torch.equal(actual, wanted)


def test_threads_with_one_edge_index_and_different_weights_get_their_own():
    edges = torch.randint(0, 30, (2, 200), generator=torch.Generator().manual_seed(0))
    weights = [torch.rand(200) for _ in range(4)]
    x = torch.randn(30, 3)
    wanted = [pgso.apply_pgso(x, Graph.from_edge_index(edges, w, 30), "gcn") for w in weights]

    def run(place):
        return place % 4, pgso.apply_pgso(x, edges, "gcn", weights[place % 4])

    with ThreadPoolExecutor(4) as pool:
        for place, actual in pool.map(run, range(2000)):
            assert torch.equal(actual, wanted[place])


@pytest.mark.parametrize("what", ["edges", "weights"])
@pytest.mark.parametrize("through", ["numpy", "data", "dlpack"])
def test_changes_that_torch_does_not_count_are_seen(what, through):
    edges, weights = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.rand(4)
    x = torch.randn(3, 2)
    for _ in range(2):
        pgso.apply_pgso(x, edges, "gcn", weights)
    changed = edges if what == "edges" else weights
    alias = {
        "numpy": lambda: torch.from_numpy(changed.numpy()),
        "data": lambda: changed.data,
        "dlpack": lambda: torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(changed)),
    }[through]()
    alias[..., 0] = 2
    graph = Graph.from_edge_index(edges.clone(), weights.clone(), 3)
    assert torch.equal(pgso.apply_pgso(x, edges, "gcn", weights), pgso.apply_pgso(x, graph, "gcn"))


def test_no_module_is_generated_for_messages_that_are_never_sent(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    pgso.GNN("gin", 2, 4, 2)(torch.randn(3, 2), PATH)
    assert not list(tmp_path.iterdir())
