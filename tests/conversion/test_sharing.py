"""Layers of a converted model that share S compute γ once per forward."""

import copy
import pickle

import pytest
import torch
import torch_geometric.nn as pyg
from torch import nn
from torch.utils.checkpoint import checkpoint

import pgso
from pgso import convert
from pgso.conversion.convert import HandDown

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
WEIGHT = torch.tensor([1.0, 1.0, 0.5, 0.5, 2.0, 2.0, 0.3, 0.3])


@pytest.fixture
def made(monkeypatch):
    """The graphs on which an operator is made."""
    graphs, on = [], pgso.PGSO.on

    def counted(gso, graph, *args, **kwargs):
        graphs.append(graph)
        return on(gso, graph, *args, **kwargs)

    monkeypatch.setattr(pgso.PGSO, "on", counted)
    return graphs


class Net(nn.Module):
    """Two layers, the second of which may get other edges or a checkpoint."""

    def __init__(self, change=None, recompute=None):
        super().__init__()
        self.one, self.two = pyg.GCNConv(4, 4), pyg.GCNConv(4, 3)
        self.change, self.recompute = change, recompute

    def forward(self, x, edge_index, edge_weight=None):
        x = self.one(x, edge_index, edge_weight).relu()
        if self.change is not None:
            edge_index = self.change(edge_index)
        if self.recompute is None:
            return self.two(x, edge_index, edge_weight)
        return checkpoint(self.two, x, edge_index, edge_weight, use_reentrant=self.recompute)


def alone(model):
    """The same model, whose layers share nothing."""
    other = copy.deepcopy(model)
    other._forward_pre_hooks.clear()
    other._forward_pre_hooks_with_kwargs.clear()
    return other


def gradients(model, *inputs, **named):
    model.zero_grad()
    out = model(*inputs, **named)
    out.square().sum().backward()
    return [out, *(p.grad for p in model.parameters())]


@pytest.mark.parametrize(
    ("layers", "operator", "count"),
    [(pyg.GCN, "pgso", 1), (pyg.GCN, "mpgso", 3), (pyg.GraphSAGE, "pgso", 1), (pyg.GIN, "pgso", 1)],
)
def test_one_operator_is_made_for_layers_that_share_it(made, layers, operator, count):
    model = convert(layers(4, 8, 3, 2), operator=operator)
    made.clear()
    model(torch.randn(4, 4), EDGES)
    assert len(made) == count


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_values_and_gradients_are_those_of_layers_on_their_own(named, weight):
    model, x = convert(Net()), torch.randn(4, 4)
    given = ({"x": x, "edge_index": EDGES, "edge_weight": weight}) if named else {}
    inputs = () if named else (x, EDGES, weight)
    for one, other in zip(
        gradients(model, *inputs, **given), gradients(alone(model), *inputs, **given), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_the_hops_of_sgc_share_too(made):
    layer = convert(pyg.SGConv(4, 2, K=3))
    made.clear()
    layer(torch.randn(4, 4), EDGES)
    assert len(made) == 1


def test_other_edges_get_an_operator_of_their_own():
    model, x = convert(Net(change=lambda edges: edges[:, :4])), torch.randn(4, 4)
    torch.testing.assert_close(model(x, EDGES), alone(model)(x, EDGES))


def test_edges_changed_in_place_get_an_operator_of_their_own():
    model, x = convert(Net(change=lambda edges: edges.copy_(edges[[0, 0]]))), torch.randn(4, 4)
    torch.testing.assert_close(model(x, EDGES.clone()), alone(model)(x, EDGES.clone()))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_inside_the_model_keep_the_gradients(reentrant):
    model, x = convert(Net(recompute=reentrant)), torch.randn(4, 4, requires_grad=True)
    for one, other in zip(
        gradients(model, x, EDGES), gradients(alone(model), x, EDGES), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_two_passes_before_a_step_do_not_share():
    model, x = convert(Net()), torch.randn(4, 4)
    first = model(x, EDGES).sum()
    first.backward()
    model(x, EDGES).sum().backward()  # would fail on a graph that is freed
    with torch.no_grad():
        next(gso for gso in model.modules() if isinstance(gso, pgso.PGSO)).m2 += 1
    assert not torch.allclose(model(x, EDGES).sum(), first)


def test_a_node_that_the_first_layer_does_not_know_is_left_to_the_layers():
    class Grows(Net):
        def forward(self, x, edge_index):
            return super().forward(torch.cat([x, x[:1]]), edge_index)

    model, x = convert(Grows()), torch.randn(3, 4)
    assert model(x, EDGES).shape == (4, 3)


def test_copies_and_pickles_share_their_own_operators(made):
    model, x = convert(pyg.GCN(4, 8, 3, 2)), torch.randn(4, 4)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        made.clear()
        torch.testing.assert_close(other(x, EDGES), model(x, EDGES))
        assert len(made) == 2


def test_a_model_converted_in_two_steps_shares_all():
    first = convert(Net(), only="one")
    assert not any(isinstance(hook, HandDown) for hook in first._forward_pre_hooks.values())
    both = convert(pyg.GCN(4, 8, 3, 2), only="convs.0")
    assert len(convert(both)._forward_pre_hooks) == 1


def test_a_models_own_hook_and_output_see_an_ordinary_tensor():
    class Returns(Net):
        def forward(self, x, edge_index):
            return super().forward(x, edge_index), edge_index + 0, edge_index.unique()

    _, edges, unique = convert(Returns())(torch.randn(4, 4), EDGES)
    assert type(edges) is type(unique) is torch.Tensor


def test_a_converted_model_compiles_whole_and_is_exported():
    model, x = convert(pyg.GCN(4, 8, 3, 2)).eval(), torch.randn(4, 4)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, EDGES), model(x, EDGES))
    program = torch.export.export(model, (x, EDGES)).module()
    torch.testing.assert_close(program(x, EDGES), model(x, EDGES))
