"""S per node and per channel against seven scalars: γx forward and backward."""

import torch

from benchmarks.graphs import S0, F, arxiv_step
from benchmarks.measure import Row, at_most, take_turns
from pgso.gso.shift import apply_pgso


def run() -> list[Row]:
    _, graph, x, g = arxiv_step()
    n = graph.num_nodes

    def step(*shape: int):
        S = torch.tensor(S0).view(-1, *[1] * len(shape)).repeat(1, *shape).requires_grad_()

        def call() -> None:
            x.grad = S.grad = None
            apply_pgso(x, graph, S).backward(g)

        return call

    scalar, node, channel = take_turns(step(), step(n, 1), step(1, F), rounds=9)
    return [
        at_most("S per node vs scalars, forward and backward", node, scalar, 1.3),
        # Issue 38: it took 1.5 times scalars on a path of its own, and may take twice that on the
        # general path, which deleted it.
        at_most("S per channel vs scalars, forward and backward", channel, scalar, 3),
    ]
