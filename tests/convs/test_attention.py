"""Attention head by head against its plain form, and its derivatives."""

import pytest
import torch
from hypothesis import given
from torch.autograd import gradcheck, gradgradcheck

from pgso import PGSO, GATConv, Graph
from pgso.convs import gat as attention
from tests.strategies import edge_lists

CYCLE = torch.tensor([[0, 1, 2, 3, 0, 2, 2], [1, 2, 3, 0, 2, 0, 2]])  # and a self-loop
WEIGHTS = torch.tensor([1.0, 0.5, 2.0, 1.5, 0.3, 0.4, 0.7], dtype=torch.float64)


def inputs(n, heads=2, width=3, seed=0):
    """X, t, s, left, right, own and a."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*size):
        return torch.randn(*size, generator=generator, dtype=torch.float64).requires_grad_()

    return draw(n, heads, width), *(draw(heads, n) for _ in range(6))


def fast(graph):
    return lambda x, t, s, *scales: attention.attend(x, t, s, attention.Scales(*scales), graph, 0.2)


def plain(graph):
    """α as a matrix per head."""
    A = graph.to_torch_sparse().to_dense().double()
    near = (A != 0) | torch.eye(len(A)).bool()

    def call(x, t, s, left, right, own, a):
        parts = []
        for h in range(x.size(1)):
            logits = torch.nn.functional.leaky_relu(t[h].unsqueeze(1) + s[h], 0.2)
            alpha = logits.masked_fill(~near, -torch.inf).softmax(dim=1)
            matrix = own[h].diag() + left[h].diag() @ (alpha * (A + a[h].diag())) @ right[h].diag()
            parts.append(matrix @ x[:, h])
        return torch.stack(parts, dim=1)

    return call


@given(edges=edge_lists(weights="positive"))
def test_values_and_gradients_are_those_of_the_dense_matrices(edges):
    values = inputs(edges.num_nodes)
    g = torch.ones_like(values[0]).cumsum(0)
    actual, wanted = fast(edges.graph)(*values), plain(edges.graph)(*values)
    torch.testing.assert_close(actual, wanted)
    for ours, theirs in zip(
        torch.autograd.grad(actual, values, g), torch.autograd.grad(wanted, values, g), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_gradients_and_their_gradients_are_exact(weight):
    graph = Graph.from_edge_index(CYCLE, weight)
    assert gradcheck(fast(graph), inputs(4))
    assert gradgradcheck(fast(graph), inputs(4))


def test_large_logits_neither_overflow_nor_vanish():
    graph = Graph.from_edge_index(CYCLE)
    x, _, _, *scales = inputs(4)
    t = torch.tensor([[1e4, -1e4, 0.0, 500.0]], dtype=torch.float64).repeat(2, 1).requires_grad_()
    s = t.detach().flip(1).clone().requires_grad_()
    out = fast(graph)(x, t, s, *scales)
    torch.testing.assert_close(out, plain(graph)(x, t, s, *scales))
    assert all(part.isfinite().all() for part in torch.autograd.grad(out.sum(), (x, t, s)))


@pytest.mark.parametrize("shape", ["scalar", ("node", 4), ("head", 2), "structural"])
def test_a_layer_that_may_drop_attention_agrees_when_it_drops_nothing(shape, monkeypatch):
    monkeypatch.setattr(attention, "IN_CACHE", 0)
    torch.manual_seed(0)
    layer = GATConv(3, 2, PGSO("gat", shape=shape), heads=2)
    layer.gso.a.data.fill_(0.3)
    layer.gso.m1.data.fill_(0.2)
    x, graph = torch.randn(4, 3), Graph.from_edge_index(CYCLE)
    quick = layer(x, graph)
    layer.dropout = 1e-12  # drops nothing, and takes the plain way
    plain_way = layer(x, graph)
    torch.testing.assert_close(quick, plain_way)
    weights = [p for p in layer.parameters() if p.requires_grad]
    for ours, theirs in zip(
        torch.autograd.grad(quick.square().sum(), weights),
        torch.autograd.grad(plain_way.square().sum(), weights),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("in_cache", [0, attention.IN_CACHE])
@pytest.mark.parametrize("fixed", ["gso", "lin", ""])
def test_gradients_that_may_be_differentiated_again_are_the_same(in_cache, fixed, monkeypatch):
    monkeypatch.setattr(attention, "IN_CACHE", in_cache)
    torch.manual_seed(0)
    layer = GATConv(3, 2, PGSO("gat"), heads=2).double()
    for name, parameter in layer.named_parameters():
        parameter.requires_grad_(not fixed or not name.startswith(fixed))
    learned = [parameter for parameter in layer.parameters() if parameter.requires_grad]
    x, graph = torch.randn(4, 3, dtype=torch.float64), Graph.from_edge_index(CYCLE)

    def slopes(create_graph):
        loss = layer(x, graph).square().sum()
        return torch.autograd.grad(loss, learned, create_graph=create_graph)

    for once, again in zip(slopes(False), slopes(True), strict=True):
        torch.testing.assert_close(once, again)
