"""The operator as a module: what learns, what is saved, what is shown."""

import copy
import itertools
import pickle

import pytest
import torch
from hypothesis import given

from pgso import PGSO, PRESETS, Graph, PGSOParameters, apply_pgso, dense_pgso
from pgso.gso.parameters import NAMES
from tests.strategies import edge_lists, parameters, random_features

EDGES = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 3]])
X = torch.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0], [1.0, 1.0]])


@given(edges=edge_lists(), S=parameters())
def test_the_module_is_the_functional_form(edges, S):
    x = random_features(edges.num_nodes)
    gso = PGSO(S).double()  # S itself is kept in single precision otherwise
    torch.testing.assert_close(
        gso(x, edges.graph), apply_pgso(x, edges.graph, gso.parameters_tuple())
    )
    torch.testing.assert_close(
        gso(x, edges.edge_index, edges.edge_weight), apply_pgso(x, edges.graph, gso.S)
    )


@pytest.mark.parametrize("learn", [True, False, (), "a", ("m2", "a"), ["e1"], {"m1", "e3"}])
def test_any_subset_can_learn(learn):
    gso = PGSO("symmetric_laplacian", learn=learn)
    expected = {True: set(NAMES), False: set(), "a": {"a"}}.get(
        learn if isinstance(learn, str | bool) else None,
        learn if not isinstance(learn, bool) else (),
    )
    assert {name for name, _ in gso.named_parameters()} == set(expected)
    assert set(gso.state_dict()) == set(NAMES)
    out = gso(X, EDGES)
    assert out.requires_grad == bool(expected)
    if expected:
        out.square().sum().backward()
        assert all(parameter.grad.isfinite() for parameter in gso.parameters())


@pytest.mark.parametrize("names", list(itertools.combinations(NAMES, 2))[:8])
def test_what_does_not_learn_stays_through_training(names):
    gso = PGSO((0.5, 1.0, 0.5, 0.5, -0.5, -0.4, 1.0), learn=names)
    before = gso.parameters_tuple()._asdict()
    optimiser = torch.optim.SGD(gso.parameters(), lr=0.01)
    gso(X, EDGES).square().sum().backward()
    optimiser.step()
    after = gso.parameters_tuple()._asdict()
    assert {name for name in NAMES if before[name] != after[name]} == set(names)


def test_learning_the_whole_operator_recovers_the_one_that_made_the_data():
    graph = Graph.from_edge_index(torch.randint(30, (2, 120)), num_nodes=30)
    x = torch.randn(30, 4)
    target = apply_pgso(x, graph, (0.3, 1.2, -0.5, 0.6, -0.4, -0.7, 1.5))
    gso = PGSO("gcn")
    optimiser = torch.optim.LBFGS(gso.parameters(), max_iter=300, line_search_fn="strong_wolfe")

    def loss():
        optimiser.zero_grad()
        value = (gso(x, graph) - target).square().mean()
        value.backward()
        return value

    optimiser.step(loss)
    torch.testing.assert_close(gso(x, graph), target, rtol=1e-2, atol=1e-2)


def test_repr_shows_the_current_values_and_what_learns():
    gso = PGSO("gcn")
    assert repr(gso) == "PGSO(m1=0, m2=1, m3=0, e1=0, e2=-0.5, e3=-0.5, a=1)"
    with torch.no_grad():
        gso.a.fill_(0.25)
    assert "a=0.25" in repr(gso)
    assert repr(PGSO("gcn", learn=False)).endswith("a=1, learn=False)")
    assert repr(PGSO("gcn", learn=("a", "m2"))).endswith("a=1, learn=m2,a)")


def test_a_state_dict_goes_round_and_between_learned_and_fixed():
    learned = PGSO((0.5, 1, 2, -1, -0.5, -0.25, 3))
    for other in (PGSO("zeros"), PGSO("gcn", learn=False), PGSO("gin", learn=("a",))):
        other.load_state_dict(learned.state_dict())
        assert other.parameters_tuple() == learned.parameters_tuple()
        torch.testing.assert_close(other(X, EDGES), learned(X, EDGES))


@pytest.mark.parametrize("learn", [True, False, ("m2",)])
@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda gso: pickle.loads(pickle.dumps(gso))], ids=["copy", "pickle"]
)
def test_a_copy_is_equal_and_apart(again, learn):
    gso = PGSO("gcn", learn=learn)
    gso(X, EDGES)
    twin = again(gso)
    assert repr(twin) == repr(gso)
    torch.testing.assert_close(twin(X, EDGES), gso(X, EDGES))
    with torch.no_grad():
        twin.a.add_(1)
    assert gso.parameters_tuple().a == 1


@pytest.mark.parametrize("learn", [True, False])
def test_reset_goes_back_to_the_start(learn):
    gso = PGSO("laplacian", learn=learn)
    with torch.no_grad():
        for name in NAMES:
            getattr(gso, name).fill_(7.0)
    gso.reset_parameters()
    assert gso.parameters_tuple() == PRESETS["laplacian"]
    assert all(parameter.requires_grad for parameter in gso.parameters())


def test_the_tuple_is_plain_floats():
    S = PGSO("gcn").parameters_tuple()
    assert isinstance(S, PGSOParameters)
    assert all(type(value) is float for value in S)


@given(edges=edge_lists(), S=parameters())
def test_the_sparse_matrix_is_the_dense_operator(edges, S):
    gso = PGSO(S).double()
    graph = edges.graph.to(torch.float64)
    matrix = gso.on(graph).to_torch_sparse()
    assert matrix.is_coalesced()
    assert torch.equal(matrix.clone().detach().coalesce().indices(), matrix.detach().indices())
    torch.testing.assert_close(
        matrix.to_dense(), dense_pgso(edges.adjacency, gso.parameters_tuple())
    )


def test_the_sparse_matrix_passes_gradients_to_S_and_weights():
    gso, weight = PGSO("gcn"), torch.ones(5, requires_grad=True)
    gso.on(EDGES, weight).to_torch_sparse().to_dense().square().sum().backward()
    assert gso.e2.grad != 0
    assert weight.grad[:4].abs().min() > 0  # a lone self-loop is 1, with any weight


def test_starting_values_may_be_tensors_and_are_not_shared():
    start = torch.tensor([0.0, 1, 0, 0, -0.5, -0.5, 1], requires_grad=True)
    gso = PGSO(start)
    with torch.no_grad():
        start.zero_()
    assert gso.parameters_tuple() == PRESETS["gcn"]
    assert all(parameter.is_leaf for parameter in gso.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("module_dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_types_of_module_and_features_need_not_agree(dtype, module_dtype):
    gso = PGSO("gcn").to(module_dtype)
    out = gso(X.to(dtype), EDGES)
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), PGSO("gcn")(X, EDGES), rtol=1e-2, atol=1e-2)
    out.float().sum().backward()
    assert gso.m2.grad.dtype == module_dtype


def test_an_operator_keeps_the_S_it_was_made_with():
    gso = PGSO("gcn")
    before = gso.on(EDGES)
    wanted = before @ X
    with torch.no_grad():
        gso.m2.fill_(3.0)
    torch.testing.assert_close(before @ X, wanted)
    torch.testing.assert_close(gso.on(EDGES) @ X, 3 * wanted)


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4)])
def test_an_explainer_may_look_at_features_of_any_shape(shape):
    gso, x = PGSO("gcn"), torch.randn(shape)
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    expected = gso(x, edges)
    gso.explain, gso._edge_mask, gso._apply_sigmoid = True, torch.ones(4), False
    torch.testing.assert_close(gso(x, edges), expected)


def test_an_explainer_may_look_at_an_operator_per_channel():
    gso, x = PGSO("gcn", shape=("channel", 2)), torch.randn(3, 2)
    edges, mask = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([1.0, 0.5, 0.0, 2.0])
    gso.explain, gso._edge_mask, gso._apply_sigmoid = True, mask, False
    same = PGSO("gcn")
    same.explain, same._edge_mask, same._apply_sigmoid = True, mask, False
    torch.testing.assert_close(gso(x, edges), same(x, edges))


@pytest.mark.parametrize(("num_nodes", "sources"), [(3, 3), ((3, 4), 4)])
def test_an_explainer_may_look_at_a_pair(num_nodes, sources):
    gso = PGSO((0.3, -0.8, 0.5, 0.7, -0.4, -0.9, 1.2))
    graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=num_nodes)
    x = torch.randn(sources, 2)
    for pair in ((x, torch.randn(3, 2)), (x, None)):
        expected = gso(pair, graph)
        gso.explain, gso._edge_mask, gso._apply_sigmoid = True, torch.ones(4), False
        torch.testing.assert_close(gso(pair, graph), expected)
        gso.explain = None
