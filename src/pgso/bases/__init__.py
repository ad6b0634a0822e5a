"""End of Section 3.2: γ on other matrices than A, each turned into a graph of its own.

``BASES`` are those that a run may ask for by name.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pgso.bases.diffusion import diffusion
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.registry import Registry

__all__ = ["BASES", "diffusion", "two_steps", "undirected"]

NEIGHBOURS = 64  # of a node, as many as Gasteiger et al. keep


def undirected(graph: Graph) -> Graph:
    """Every edge with its reverse; two weights of one pair become their mean."""
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


def two_steps(graph: Graph | Tensor) -> Graph:
    r"""Walks of two steps that do not turn back, from node to node: :math:`A^2 - D`.

    Its entries count the common neighbours of two nodes, O(Σ d²) of them, and its diagonal is
    empty. The graph is undirected and has no weights; its self-loops are left out.
    """
    graph = Graph.of(graph)
    weight, n = graph.edge_weight, graph.num_nodes
    source, target = graph.edge_index.numpy(force=True)
    apart = source != target
    plain = weight is None or bool((weight.numpy(force=True)[apart] == 1).all())
    if not graph.is_undirected or not plain:
        raise InputError(
            f"walks that do not turn back need an undirected graph without weights, got {graph}"
        )
    A = sp.csr_array((np.ones(apart.sum()), (target[apart], source[apart])), shape=(n, n))
    walks = sp.csr_array(A @ A - sp.diags_array(A.sum(axis=1)))
    walks.eliminate_zeros()
    return Graph.from_scipy(walks.astype(np.float32)).to(graph.device)


BASES: Registry[Callable[[Graph], Graph]] = Registry(
    "base",
    {
        "ppr": partial(diffusion, kind="ppr", top_k=NEIGHBOURS),
        "heat": partial(diffusion, kind="heat", top_k=NEIGHBOURS),
        "non-backtracking": two_steps,
        "undirected": undirected,
    },
)
