"""Attention head by head against its plain form, and its derivatives."""

import pytest
import torch
from hypothesis import given
from torch.autograd import gradcheck, gradgradcheck

from pgso import PGSO, GATConv, Graph
from pgso.convs.gat import attention
from pgso.graph.degrees import sum_over_edges
from tests.strategies import edge_lists

CYCLE = torch.tensor([[0, 1, 2, 3, 0, 2, 2], [1, 2, 3, 0, 2, 0, 2]])  # and a self-loop
WEIGHTS = torch.tensor([1.0, 0.5, 2.0, 1.5, 0.3, 0.4, 0.7], dtype=torch.float64)


def scores(n, heads=2):
    """T and s of every node and head."""
    draw = torch.randn(2, n, heads, generator=torch.Generator().manual_seed(0)).double()
    return tuple(part.requires_grad_() for part in draw.unbind())


def plain(graph, t, s):
    """α of every entry and head, from a matrix per head."""
    A = graph.to_torch_sparse().to_dense().double()
    near = (A != 0) | torch.eye(len(A)).bool()
    logits = torch.nn.functional.leaky_relu(t.unsqueeze(1) + s, 0.2)  # (n, n, H)
    alpha = logits.masked_fill(~near.unsqueeze(2), -torch.inf).softmax(dim=1)
    return alpha[graph.pattern.row.long(), graph.pattern.col.long()]


@given(edges=edge_lists(weights="positive"))
def test_values_and_gradients_are_those_of_the_dense_matrices(edges):
    t, s = scores(edges.num_nodes)
    actual, wanted = attention(t, s, edges.graph, 0.2), plain(edges.graph, t, s)
    torch.testing.assert_close(actual, wanted)
    g = torch.ones_like(actual).cumsum(0)
    for ours, theirs in zip(
        torch.autograd.grad(actual, (t, s), g), torch.autograd.grad(wanted, (t, s), g), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("shape", ["scalar", ("node", 4), ("head", 2)])
def test_gradients_and_their_gradients_are_exact(weight, shape):
    graph = Graph.from_edge_index(CYCLE, weight)
    torch.manual_seed(0)
    layer = GATConv(3, 2, PGSO((0.2, 1, 0.1, 0.3, -0.4, -0.5, 0.3), shape=shape), heads=2).double()
    names = [name for name, _ in layer.named_parameters()]
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)

    def call(x, *values):
        return torch.func.functional_call(
            layer, dict(zip(names, values, strict=True)), (x, graph)
        ).square()

    assert gradcheck(call, (x, *layer.parameters()))
    assert gradgradcheck(call, (x, *layer.parameters()))


def test_large_logits_neither_overflow_nor_vanish():
    graph = Graph.from_edge_index(CYCLE)
    t = torch.tensor([[1e4, -1e4, 0.0, 500.0]], dtype=torch.float64).t().requires_grad_()
    s = t.detach().flip(0).clone().requires_grad_()
    alpha = attention(t, s, graph, 0.2)
    torch.testing.assert_close(alpha, plain(graph, t, s))
    torch.testing.assert_close(sum_over_edges(graph, alpha), torch.ones(4, 1).double())
    assert all(part.isfinite().all() for part in torch.autograd.grad(alpha.square().sum(), (t, s)))
