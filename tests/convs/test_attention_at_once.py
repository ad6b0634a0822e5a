"""Attention of all heads at once has the digits of its plain steps, one head after another."""

from importlib import import_module

import pytest
import torch
from hypothesis import given
from torch.autograd import gradcheck, gradgradcheck

from pgso import GNN, Graph
from pgso.convs import attention as dispatch
from pgso.convs.attention import Scales, attend_at_once, attention, modulated, with_diagonal
from tests.convs.test_attention import CYCLE, WEIGHTS, inputs
from tests.graph.test_head_products import one_by_one
from tests.strategies import edge_lists

PRODUCTS = import_module("pgso.graph.product")  # the file: pgso.graph.product is its function


def plain(x, t, s, scales, graph, slope, kept=None):
    """The slow truth: the steps, differentiated by autograd."""
    coefficients = attention(t, s, graph, slope)
    if kept is not None:
        coefficients = coefficients * kept
    return modulated(x, coefficients * with_diagonal(graph, scales.a), scales, graph)


def drawn(graph, heads=4, width=3):
    """Single-precision inputs that ask for gradients, and what dropout leaves."""
    torch.manual_seed(0)
    values = [
        part.detach().float().requires_grad_() for part in inputs(graph.num_nodes, heads, width)
    ]
    kept = torch.randint(2, (graph.pattern.row.numel(), heads)) * 2.0
    return values, kept


@pytest.mark.parametrize("dropped", [False, True])
@given(edges=edge_lists())
def test_values_and_gradients_have_the_digits_of_the_steps(dropped, edges):
    graph = edges.graph.to(torch.float32)
    values, kept = drawn(graph)
    g, (x, t, s, *scales) = torch.randn_like(values[0]), values
    results = []
    with pytest.MonkeyPatch.context() as patch:
        for call in (attend_at_once, plain):
            out = call(x, t, s, Scales(*scales), graph, 0.2, kept if dropped else None)
            results.append((out, *torch.autograd.grad(out, values, g)))
            patch.setattr(PRODUCTS, "products", one_by_one)  # head by head in the plain steps
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(*results, strict=True))


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["unweighted", "weighted"])
def test_gradients_and_their_gradients_are_exact(weight, dropped):
    graph = Graph.from_edge_index(CYCLE, weight)
    kept = torch.tensor([2.0, 0.0], dtype=torch.float64).repeat(graph.pattern.row.numel(), 1)

    def call(x, t, s, *scales):
        return attend_at_once(x, t, s, Scales(*scales), graph, 0.2, kept if dropped else None)

    assert gradcheck(call, inputs(4))
    assert gradgradcheck(call, inputs(4))


def test_a_fixed_operator_has_second_derivatives_too():
    graph = Graph.from_edge_index(CYCLE)
    x, t, s, *scales = inputs(4)
    constants = Scales(*(part.detach() for part in scales))
    assert gradgradcheck(lambda *v: attend_at_once(*v, constants, graph, 0.2), (x, t, s))


@pytest.mark.parametrize("operator", ["fixed", "pgso", "mpgso"])
def test_a_network_is_trained_to_the_same_digits(operator, monkeypatch):
    torch.manual_seed(0)
    blocks = torch.arange(0, 120, 6).repeat_interleave(20)
    graph = Graph.from_edge_index(blocks + torch.randint(6, (2, 400)), num_nodes=120)
    x, y = torch.randn(120, 5), torch.randint(3, (120,))

    def trained():
        torch.manual_seed(1)
        options = {"num_layers": 3, "heads": 4, "attention_dropout": 0.5, "norm": "batch"}
        model = GNN("gat", 5, 16, 3, operator=operator, **options)
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
        losses = []
        for _ in range(5):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x, graph), y)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        return losses, list(model.state_dict().values())

    losses, weights = trained()
    monkeypatch.setattr(dispatch, "attend_at_once", plain)
    monkeypatch.setattr(PRODUCTS, "products", one_by_one)
    slow_losses, slow_weights = trained()
    assert losses == slow_losses
    assert all(torch.equal(ours, slow) for ours, slow in zip(weights, slow_weights, strict=True))
