"""An operator whose S depends on a node's place, learned on one graph and used on another.

The target weighs neighbours by degree in a way no single S can: hubs average, leaves add up.
Run with: python examples/structural_parameters.py
"""

import networkx as nx
import torch

import pgso

torch.manual_seed(0)


def example(seed):
    """Features, a graph, and what is to be learned."""
    graph = pgso.Graph.from_networkx(nx.barabasi_albert_graph(300, 2, seed=seed))
    x = torch.randn(300, 8)
    is_hub = (graph.degree > 4).unsqueeze(1)
    mean, total = (pgso.apply_pgso(x, graph, name) for name in ("mean", "adjacency"))
    return x, graph, torch.where(is_hub, mean, total)


for shape in ("scalar", "structural"):
    gso = pgso.PGSO("mean", shape=shape)
    optimiser = torch.optim.Adam(gso.parameters(), lr=0.01)
    x, graph, target = example(seed=0)
    for _ in range(400):
        optimiser.zero_grad()
        loss = (gso(x, graph) - target).square().mean()
        loss.backward()
        optimiser.step()
    x, unseen, target = example(seed=1)
    error = (gso(x, unseen) - target).square().mean()
    print(f"{shape}: error {loss.item():.3f} on its graph, {error.item():.3f} on an unseen one")
