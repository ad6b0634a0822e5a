"""Synthetic graphs of the shapes we measure on."""

import torch
from torch import Tensor

from pgso.graph import Graph


def power_law_edges(num_nodes: int, num_directed_edges: int, seed: int = 0) -> Tensor:
    """An undirected edge_index with heavy-tailed degrees and no duplicates."""
    generator = torch.Generator().manual_seed(seed)
    propensity = torch.rand(num_nodes, generator=generator).pow(-0.5).clamp(max=100).cumsum(0)

    def endpoints() -> Tensor:
        draws = torch.rand(num_directed_edges // 2, generator=generator) * propensity[-1]
        return torch.searchsorted(propensity, draws).clamp(max=num_nodes - 1)

    source, target = endpoints(), endpoints()
    keep = source != target
    low, high = torch.minimum(source, target)[keep], torch.maximum(source, target)[keep]
    key = torch.unique(low * num_nodes + high)
    low, high = key // num_nodes, key % num_nodes
    return torch.stack([torch.cat([low, high]), torch.cat([high, low])])


def arxiv_shaped() -> tuple[Tensor, int]:
    """As many nodes and symmetrised edges as ogbn-arxiv: 169,343 and about 2.3 million."""
    return power_law_edges(169_343, 2_320_000), 169_343


F = 128
S0 = [0.1, 1.0, 0.1, 0.1, -0.5, -0.5, 1.0]  # all seven count


def arxiv_step() -> tuple[Tensor, Graph, Tensor, Tensor]:
    """Its edges, the graph, features that learn, and the gradient of a step with F columns."""
    torch.manual_seed(0)
    edge_index, n = arxiv_shaped()
    graph = Graph.from_edge_index(edge_index, num_nodes=n)
    return edge_index, graph, torch.randn(n, F, requires_grad=True), torch.randn(n, F)
