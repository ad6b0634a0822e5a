"""Generated problems whose truth is known."""

import torch

from pgso.data import Task
from pgso.finding.blocks import Letter, Propagation
from pgso.finding.columns import Preparation
from pgso.finding.problem import Problem
from pgso.graph import Graph


def generated(truth, seed=0, nodes=400, labels=150, val=100, directed=False, metric="accuracy"):
    """Labels that follow x, or γx for the letters in ``truth``; or nothing."""
    generator = torch.Generator().manual_seed(seed)
    propensity = torch.rand(nodes, generator=generator).pow(-0.4)
    chance = propensity[:, None] * propensity
    A = torch.rand(nodes, nodes, generator=generator) < chance * (5 / nodes / chance.mean())
    A = A if directed else torch.triu(A, 1) | torch.triu(A, 1).t()
    graph = Graph.from_edge_index(A.nonzero().t().contiguous(), num_nodes=nodes)
    x = torch.randn(nodes, 8, generator=generator)
    if truth == "nothing":
        y = torch.randint(3, (nodes,), generator=generator)
    else:
        signal, propagation = x, Propagation(graph)
        for letter in truth:
            signal = propagation.operator(letter).times(signal)
        signal = signal / signal.std(dim=0)
        y = (signal @ torch.randn(8, 3, generator=generator)).argmax(dim=1)
    order = torch.randperm(nodes, generator=generator)
    return Problem.prepared(
        Task(
            name="generated",
            kind="node",
            metric=metric,
            graph=graph,
            x=x,
            y=y,
            train=order[:labels],
            val=order[labels : labels + val],
            test=order[labels + val :],
            classes=("a", "b", "c"),
            nodes_per_graph=torch.tensor([nodes]),
        )
    )


GCN, OUT = Letter.of("gcn"), Letter.of("adjacency", "out")


def standardised(x):
    """Dense columns with mean 0 and variance 1."""
    return Preparation.of(x)(x)[:, :-1]


def components_of(x, number):
    """The leading principal components, without the ones that follow those of dense features."""
    return Preparation.of(x, number)(x)[:, :number]
