"""What layers share within a pass changes the time of a step, and nothing else."""

from functools import partial

import pytest
import torch
from torch.autograd import forward_ad, gradgradcheck
from torch.utils.checkpoint import checkpoint

from pgso import GNN, PGSO, Graph, PGSOParameters, dense_pgso
from pgso.gso.message_passing import propagate
from pgso.gso.one_pass import one_pass, shared

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 4], [1, 2, 0, 2, 1, 3, 3]])
S = PGSOParameters(0.3, -0.8, 0.5, 0.7, -0.4, -0.9, 1.2)


def adjacency(edges):
    source, target = edges
    ones = torch.ones(source.numel(), dtype=torch.float64)
    return torch.zeros(5, 5).double().index_put((target, source), ones, accumulate=True)


def test_within_a_pass_things_are_made_once_for_each_grad_mode():
    made = []
    with one_pass():
        for _ in range(2):
            shared("key", lambda: made.append("with"))
        with torch.no_grad():
            shared("key", lambda: made.append("without"))
    shared("key", lambda: made.append("after"))
    assert made == ["with", "without", "after"]


def test_a_pass_within_a_pass_shares_nothing_with_it():
    with one_pass():
        assert shared("key", lambda: 1) == 1
        with one_pass():
            assert shared("key", lambda: 2) == 2
        assert shared("key", lambda: 3) == 1


def test_the_gradients_of_layers_that_share_S_are_those_of_the_dense_operator():
    x = torch.randn(5, 3, dtype=torch.float64)
    gso, others = PGSO(S).double(), torch.tensor([[0, 1], [1, 0]])
    graph, other = (Graph.from_edge_index(edges, num_nodes=5) for edges in (EDGES, others))
    with one_pass():
        out = gso(gso(gso(x, graph).tanh(), other).tanh(), graph)
    found = torch.autograd.grad(out.sin().sum(), list(gso.parameters()))

    vector = torch.tensor(S, dtype=torch.float64, requires_grad=True)
    first, second = (dense_pgso(adjacency(edges), vector) for edges in (EDGES, others))
    expected = first @ (second @ (first @ x).tanh()).tanh()
    (wanted,) = torch.autograd.grad(expected.sin().sum(), vector)
    torch.testing.assert_close(torch.stack(found), wanted)


def test_gradients_of_gradients_of_layers_that_share_S_are_exact():
    graph = Graph.from_edge_index(EDGES)

    def two_layers(x, S):
        S = 2 * S - S  # not a leaf, as in a network
        with one_pass():
            return propagate(propagate(x, graph, S).tanh(), graph, S)

    x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(two_layers, (x, torch.tensor(S, dtype=torch.float64, requires_grad=True)))


def test_a_leaf_can_be_used_in_pass_after_pass():
    graph, x = Graph.from_edge_index(EDGES), torch.randn(5, 2)
    vector = torch.tensor(S, requires_grad=True)

    def gradient():
        out = propagate(propagate(x, graph, vector), graph, vector)
        return torch.autograd.grad(out.square().sum(), vector)[0]

    outside = gradient()
    for _ in range(2):
        with one_pass():
            torch.testing.assert_close(gradient(), outside)


def test_layers_may_be_computed_again_outside_the_pass():
    edges, x = EDGES, torch.randn(5, 3)
    model = GNN("gcn", 3, 8, 2, num_layers=3, dropout=0.0)
    wanted = torch.autograd.grad(model(x, edges).sum(), list(model.parameters()))
    for layer in model.layers:
        plain = layer.forward
        layer.forward = partial(checkpoint, plain, use_reentrant=False)
    found = torch.autograd.grad(model(x, edges).sum(), list(model.parameters()))
    torch.testing.assert_close(found, wanted)


def test_forward_mode_derivatives_are_refused_rather_than_left_out():
    graph, x = Graph.from_edge_index(EDGES), torch.randn(5, 2)
    with forward_ad.dual_level():
        vector = forward_ad.make_dual(torch.tensor(S), torch.ones(7))
        with pytest.raises(NotImplementedError, match="jvp"):
            propagate(x, graph, vector)
