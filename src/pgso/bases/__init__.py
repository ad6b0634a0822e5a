"""End of Section 3.2: γ on other matrices than A, each turned into a graph of its own.

``BASES`` are those that a run may ask for by name.
"""

from collections.abc import Callable
from functools import partial

import torch

from pgso.bases.diffusion import diffusion
from pgso.bases.non_backtracking import NonBacktracking, ihara_bass, non_backtracking, two_steps
from pgso.graph import Graph
from pgso.registry import Registry

__all__ = [
    "BASES",
    "NonBacktracking",
    "diffusion",
    "ihara_bass",
    "non_backtracking",
    "two_steps",
    "undirected",
]

NEIGHBOURS = 64  # of a node, as many as Gasteiger et al. keep


def undirected(graph: Graph) -> Graph:
    """Every edge with its reverse; two weights of one pair become their mean.

    Example:
        >>> undirected(Graph.from_edge_index(torch.tensor([[0, 1], [1, 2]]))).num_edges
        4
    """
    if graph.is_undirected:
        return graph
    n, weight = graph.num_nodes, graph.edge_weight
    source, target = torch.cat([graph.edge_index, graph.edge_index.flip(0)], dim=1)
    pairs, pair_of, count = torch.unique(
        source * n + target, return_inverse=True, return_counts=True
    )
    if weight is not None:
        weight = weight.new_zeros(len(pairs)).index_add(0, pair_of, weight.repeat(2)) / count
    return Graph.from_edge_index(torch.stack([pairs // n, pairs % n]), weight, n)


BASES: Registry[Callable[[Graph], Graph]] = Registry(
    "base",
    {
        "ppr": partial(diffusion, kind="ppr", top_k=NEIGHBOURS),
        "heat": partial(diffusion, kind="heat", top_k=NEIGHBOURS),
        "non-backtracking": two_steps,
        "undirected": undirected,
    },
)
