"""Decision 7: with a fixed operator every conv is PyG's own layer, values and gradients."""

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given, settings
from torch import nn

from pgso import CONVS, PGSO, BankConv, GCNConv, Graph, apply_pgso
from pgso.errors import InputError
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


SOURCES = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
TARGETS = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
BETWEEN = torch.tensor([[0, 1, 1, 2, 2], [0, 0, 3, 4, 3]])  # targets 1 and 2 receive nothing


@pytest.mark.parametrize(("targets", "prepared"), [(TARGETS, True), (TARGETS, False), (None, True)])
@pytest.mark.parametrize("width", [3, 9])
def test_pairs_of_features_are_those_of_pyg(targets, prepared, width):
    graph = Graph.from_edge_index(BETWEEN, num_nodes=(5, 3)) if prepared else BETWEEN
    size = (3, 5)
    sage, bank = pyg.SAGEConv(4, width), BankConv(4, width, terms=("self", "mean"))
    with torch.no_grad():
        bank.lins[0].weight.copy_(sage.lin_r.weight)
        bank.lins[1].weight.copy_(sage.lin_l.weight)
        bank.bias.copy_(sage.lin_l.bias)
    wanted = sage((SOURCES, targets), BETWEEN, size=size)
    torch.testing.assert_close(bank((SOURCES, targets), graph), wanted)

    own, other = gin()
    wanted = other((SOURCES, targets), BETWEEN, size=size)
    torch.testing.assert_close(own((SOURCES, targets), graph), wanted)


@pytest.mark.parametrize("preset", ["gcn", "laplacian", "gin"])
def test_a_pair_is_transformed_and_propagated(preset):
    layer = GCNConv(4, 3, preset)
    graph = Graph.from_edge_index(BETWEEN, num_nodes=(5, 3))
    pair = (SOURCES @ layer.lin.weight.t(), TARGETS @ layer.lin.weight.t())
    wanted = apply_pgso(pair, graph, preset) + layer.bias
    torch.testing.assert_close(layer((SOURCES, TARGETS), graph), wanted)
    torch.testing.assert_close(layer((SOURCES, TARGETS), BETWEEN), wanted)
    torch.testing.assert_close(layer((SOURCES.to_sparse(), TARGETS.to_sparse()), graph), wanted)
    square = torch.tensor([[0, 1], [1, 2]])
    torch.testing.assert_close(layer((SOURCES, SOURCES), square), layer(SOURCES, square))


@pytest.mark.parametrize("name", ["sgc", "gat", "filter"])
def test_a_layer_of_one_set_of_nodes_says_so(name):
    layer = CONVS[name](4, 3, **({"K": 2} if name == "sgc" else {}))
    with pytest.raises(InputError, match="one set of nodes"):
        layer((SOURCES, TARGETS), BETWEEN)


def test_a_pair_has_two_parts():
    with pytest.raises(InputError, match="got 3 of them"):
        GCNConv(4, 3)((SOURCES, TARGETS, TARGETS), BETWEEN)
    with pytest.raises(InputError, match="the sources need features"):
        BankConv(4, 3)((None, TARGETS), BETWEEN)
