"""What every base architecture owes: a new file in convs/ is tested the moment it exists."""

import pytest
import torch
from torch import nn

from pgso import CONVS, GNN, PGSO, Graph
from pgso.errors import InputError

EDGES = torch.tensor(
    [[0, 1, 1, 2, 2, 3, 3, 0, 1, 3, 0, 4], [1, 0, 2, 1, 3, 2, 0, 3, 3, 1, 4, 0]]
)  # node 5 is isolated
WEIGHT = torch.tensor([1.0, 1.0, 0.5, 0.5, 2.0, 2.0, 1.5, 1.5, 0.7, 0.7, 0.9, 0.9])
X = torch.randn(6, 5, generator=torch.Generator().manual_seed(0))
BATCH = torch.tensor([0, 0, 0, 0, 0, 1])
OPERATORS = ("fixed", "pgso", "mpgso")


@pytest.fixture(params=CONVS)
def conv(request):
    return request.param


@pytest.fixture(params=["node", "graph"])
def task(request):
    return request.param


def network(conv, operator, task="node", seed=0, **options):
    torch.manual_seed(seed)
    options = {"num_layers": 2, "norm": "batch", "task": task} | options
    return GNN(conv, 5, 8, 3, operator=operator, **options)


def answer(model, x=X, edges=EDGES, weight=WEIGHT):
    return model(x, edges, weight, **({"batch": BATCH} if model.task == "graph" else {}))


def weights(model):
    """The parameters that are not of an operator."""
    scalars = {id(p) for gso in model.operators for p in gso.parameters()}
    return [parameter for parameter in model.parameters() if id(parameter) not in scalars]


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_task_gets_its_answer(conv, operator, task):
    out = answer(network(conv, operator, task))
    assert out.shape == ((6, 3) if task == "node" else (2, 3))
    assert out.isfinite().all()


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_are_none_learned_one_shared_or_one_per_layer(conv, operator):
    model = network(conv, operator, num_layers=3)
    assert len(model.operators) == (3 if operator == "mpgso" else 1)
    learned = sum(p.numel() for gso in model.operators for p in gso.parameters())
    scalars = {"filter": 2}.get(conv, 7)  # a filter's P has two
    assert learned == {"fixed": 0, "pgso": scalars, "mpgso": 3 * scalars}[operator]


def test_the_same_seed_gives_the_same_weights_in_all_modes(conv, task):
    fixed, *others = (network(conv, operator, task, seed=3) for operator in OPERATORS)
    for other in others:
        for one, two in zip(weights(fixed), weights(other), strict=True):
            assert torch.equal(one, two)


def test_all_modes_are_the_same_function_at_step_0(conv, task):
    fixed, *others = (answer(network(conv, operator, task).eval()) for operator in OPERATORS)
    for other in others:
        torch.testing.assert_close(other, fixed)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_parameter_gets_a_gradient(conv, operator, task):
    model = network(conv, operator, task, dropout=0.0)
    (answer(model) * torch.linspace(-1, 2, 3)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        before_norm = name.endswith(".bias") and parameter.grad.abs().max() < 1e-4
        waits_for_m1 = name.endswith(".e1")  # m1 = 0 at the start: docs/conventions.md
        assert before_norm or waits_for_m1 or (parameter.grad != 0).any(), name


def test_once_m1_is_not_0_all_seven_scalars_learn(conv):
    model = network(conv, "mpgso", preset=(0.3, 0.8, 0.2, 0.4, -0.3, -0.6, 0.9), dropout=0.0)
    (answer(model) * torch.linspace(-1, 2, 3)).square().sum().backward()
    for gso in model.operators:
        assert all(scalar.grad != 0 for scalar in gso.parameters())


@pytest.mark.parametrize("operator", OPERATORS)
def test_renaming_the_nodes_renames_the_answers(conv, operator):
    model = network(conv, operator).eval()
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    renamed = model(X[order], order.argsort()[EDGES], WEIGHT)
    torch.testing.assert_close(renamed, model(X, EDGES, WEIGHT)[order], atol=1e-5, rtol=1e-4)


def test_the_order_of_the_edges_does_not_matter(conv):
    model, order = network(conv, "pgso").eval(), torch.randperm(EDGES.size(1))
    torch.testing.assert_close(
        model(X, EDGES[:, order], WEIGHT[order]), model(X, EDGES, WEIGHT), atol=1e-5, rtol=1e-4
    )


def test_graphs_of_a_batch_do_not_see_each_other(conv):
    model = network(conv, "pgso", "graph").eval()
    alone = model(X[5:], torch.empty(2, 0, dtype=torch.long))
    torch.testing.assert_close(answer(model)[1:], alone)


def test_a_prepared_graph_is_the_same_as_its_edges(conv):
    model, graph = network(conv, "pgso").eval(), Graph.from_edge_index(EDGES, WEIGHT, 6)
    torch.testing.assert_close(model(X, graph), model(X, EDGES, WEIGHT))


def test_sparse_features_give_the_same_answers_and_gradients(conv):
    sparse = (X * (X > 0.3)).to_sparse_csr()
    model = network(conv, "pgso", dropout=0.0)
    actual, wanted = (
        torch.autograd.grad(model(x, EDGES).square().sum(), list(model.parameters()))
        for x in (sparse, sparse.to_dense())
    )
    torch.testing.assert_close(model(sparse, EDGES), model(sparse.to_dense(), EDGES))
    for one, two in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one, two, atol=1e-4, rtol=1e-4)


def test_lazy_layers_find_their_width_on_first_use(conv):
    lazy, known = CONVS[conv](-1, 4), CONVS[conv](5, 4)
    assert lazy(X, EDGES).shape == (6, 4)
    shapes = [{key: value.shape for key, value in m.state_dict().items()} for m in (lazy, known)]
    assert shapes[0] == shapes[1]


def test_a_lazy_network_finds_its_width_on_first_use(conv, task):
    torch.manual_seed(0)
    model = GNN(conv, -1, 8, 3, task=task)
    assert answer(model).shape[1] == 3


def test_reset_draws_new_weights_and_brings_the_operator_back(conv):
    layer = CONVS[conv](5, 4)
    before = {key: value.clone() for key, value in layer.named_parameters()}
    with torch.no_grad():
        for parameter in layer.gso.parameters():
            parameter.add_(0.5)
    layer.reset_parameters()
    assert layer.gso.parameters_tuple() == layer.gso.start
    changed = [
        key for key, value in layer.named_parameters() if not torch.equal(value, before[key])
    ]
    assert changed
    assert not any(key.startswith("gso.") for key in changed)


def test_the_layer_shows_its_widths_and_its_operator(conv):
    layer = CONVS[conv](5, 4)
    name = type(layer.gso).__name__
    assert repr(layer).startswith(f"{type(layer).__name__}(5, 4, {name}(m1=0, m2=1")


def test_the_operator_may_be_given_by_name_made_or_left_out(conv):
    shared = PGSO("laplacian")
    assert CONVS[conv](5, 4, shared).gso is shared
    assert CONVS[conv](5, 4, "laplacian").gso.start == shared.start
    assert CONVS[conv](5, 4).gso.start == PGSO(CONVS[conv].preset).start


def test_bad_arguments_are_refused_in_words(conv):
    layer = CONVS[conv]
    with pytest.raises(InputError, match="in_channels must be positive"):
        layer(0, 4)
    with pytest.raises(InputError, match="out_channels must be positive"):
        layer(5, 0)
    with pytest.raises(InputError, match="gso must be a PGSO"):
        layer(5, 4, nn.Identity())
    with pytest.raises(InputError, match="no preset is called"):
        layer(5, 4, "gnc")
    with pytest.raises(InputError, match="takes 5 features per node, got 3"):
        layer(5, 6)(X[:, :3], EDGES)
    with pytest.raises(InputError, match="one row per node"):
        layer(5, 4)(X, Graph.from_edge_index(EDGES, num_nodes=9))
    with pytest.raises(InputError, match="names node 9"):
        layer(5, 4)(X, torch.tensor([[0], [9]]))


@pytest.mark.parametrize("operator", OPERATORS)
def test_leading_dimensions_are_kept(conv, operator):
    model = network(conv, operator).eval()
    x = torch.randn(2, 3, 6, 5, generator=torch.Generator().manual_seed(1))
    if conv == "gat":
        with pytest.raises(InputError, match=r"attention takes features of shape \(n, F\)"):
            answer(model, x)
        return
    for norm in (module for module in model.modules() if isinstance(module, nn.BatchNorm1d)):
        norm.running_mean.normal_()  # so that channels differ
    out = answer(model, x)
    assert out.shape == (2, 3, 6, 3)
    torch.testing.assert_close(out[1, 2], answer(model, x[1, 2]))
    layer = CONVS[conv](5, 6).eval()  # as many channels as nodes
    torch.testing.assert_close(layer(x, EDGES, WEIGHT)[1, 2], layer(x[1, 2], EDGES, WEIGHT))
    layer.train()(x, EDGES, WEIGHT)


def test_features_of_one_node_are_refused(conv):
    with pytest.raises(InputError, match="a row per node"):
        CONVS[conv](5, 6)(X[0], EDGES)
