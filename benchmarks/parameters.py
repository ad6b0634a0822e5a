"""S per node and per channel against seven scalars: γx forward and backward."""

import torch

from benchmarks.graphs import arxiv_shaped
from benchmarks.measure import Row, at_most, take_turns
from pgso.graph import Graph
from pgso.gso.message_passing import propagate

F = 128
S0 = [0.1, 1.0, 0.1, 0.1, -0.5, -0.5, 1.0]


def run() -> list[Row]:
    torch.manual_seed(0)
    edge_index, n = arxiv_shaped()
    graph = Graph.from_edge_index(edge_index, num_nodes=n)
    x, g = torch.randn(n, F, requires_grad=True), torch.randn(n, F)

    def step(*shape: int):
        S = torch.tensor(S0).view(-1, *[1] * len(shape)).repeat(1, *shape).requires_grad_()

        def call() -> None:
            x.grad = S.grad = None
            propagate(x, graph, S).backward(g)

        return call

    scalar, node, channel = take_turns(step(), step(n, 1), step(1, F), rounds=9)
    return [
        at_most("S per node vs scalars, forward and backward", node, scalar, 1.3),
        at_most("S per channel vs scalars, forward and backward", channel, scalar, 1.3),
    ]
