"""What layers share within a pass changes the time of a step, and nothing else."""

import torch
from torch.autograd import gradgradcheck

from pgso import PGSO, Graph, PGSOParameters, apply_pgso, dense_pgso
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
    for _ in range(2):
        vector.grad = None
        with one_pass():
            apply_pgso(x, graph, vector).square().sum().backward()
        within = vector.grad
        vector.grad = None
        apply_pgso(x, graph, vector).square().sum().backward()
        torch.testing.assert_close(within, vector.grad)
