"""Decision 7: with a fixed operator every conv is PyG's own layer, values and gradients."""

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given, settings
from torch import nn

from pgso import CONVS, PGSO
from tests.strategies import edge_lists


def fixed(name, *arguments, **options):
    return CONVS[name](*arguments, PGSO(CONVS[name].preset, learn=False), **options)


def perceptron():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


def gin():
    net = perceptron()
    return fixed("gin", 4, 3, nn=net), pyg.GINConv(net)


PAIRS = {
    "gcn": lambda: (fixed("gcn", 4, 3), pyg.GCNConv(4, 3)),
    "gcn, widening": lambda: (fixed("gcn", 4, 9), pyg.GCNConv(4, 9)),
    "gcn without bias": lambda: (fixed("gcn", 4, 3, bias=False), pyg.GCNConv(4, 3, bias=False)),
    "sgc": lambda: (fixed("sgc", 4, 3, K=3), pyg.SGConv(4, 3, K=3)),
    "sgc, widening": lambda: (fixed("sgc", 4, 9, K=2), pyg.SGConv(4, 9, K=2)),
    "gin": gin,
    "gat": lambda: (fixed("gat", 4, 3), pyg.GATConv(4, 3)),
    "gat, heads": lambda: (
        fixed("gat", 4, 3, heads=2, negative_slope=0.1),
        pyg.GATConv(4, 3, heads=2, negative_slope=0.1),
    ),
    "gat, averaged": lambda: (
        fixed("gat", 4, 3, heads=3, concat=False, bias=False),
        pyg.GATConv(4, 3, heads=3, concat=False, bias=False),
    ),
}
TAKES_WEIGHTS = ("gcn", "sgc")


def assert_same(own, other, x, *inputs):
    """Equal values, and equal gradients of features and weights, once the weights are equal."""
    other.load_state_dict(own.state_dict(), strict=False)
    answers = []
    for layer in (own, other):
        x = x.detach().requires_grad_()
        weights = dict(layer.named_parameters())
        out = layer(x, *inputs)
        direction = torch.linspace(-1, 2, out.numel()).reshape(out.shape)
        leaves = [x, *(weights[key] for key in sorted(weights))]
        answers.append((out, *torch.autograd.grad(out, leaves, direction)))
    for actual, wanted in zip(*answers, strict=True):
        torch.testing.assert_close(actual, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "gin"])
@settings(max_examples=20)
@given(edges=edge_lists(loops=False, weights="none"))
def test_the_fixed_layer_is_pygs(name, edges):
    distinct = edges.edge_index.unique(dim=1) if edges.edge_index.numel() else edges.edge_index
    own, other = PAIRS[name]()
    assert_same(own, other, torch.randn(edges.num_nodes, 4), distinct)


@given(edges=edge_lists(undirected=True, weights="none"))
def test_the_fixed_gin_is_pygs_where_every_sender_receives(edges):
    # GIN starts with a = 0. The power of a degree of 0 is 0 (docs/conventions.md): such a node
    # sends nothing.
    assert_same(*gin(), torch.randn(edges.num_nodes, 4), edges.edge_index)


@pytest.mark.parametrize("name", [name for name in PAIRS if name.startswith(TAKES_WEIGHTS)])
@settings(max_examples=20)
@given(edges=edge_lists(loops=False, weights="positive"))
def test_the_fixed_layer_is_pygs_on_weighted_graphs(name, edges):
    own, other = PAIRS[name]()
    x, weight = torch.randn(edges.num_nodes, 4), edges.edge_weight.float()
    assert_same(own, other, x, edges.edge_index, weight)
