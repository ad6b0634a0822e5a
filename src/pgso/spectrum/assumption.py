"""The assumption of Section 4: an undirected graph, that is a symmetric A."""

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph, as_graph

REMEDY = "pgso.bases.undirected(graph) gives every edge its reverse"


def undirected(graph: Graph | Tensor, remedy: str = REMEDY) -> Graph:
    """The prepared graph, refused in one sentence if A is not symmetric or has no rows."""
    graph = as_graph(graph)
    if graph.num_nodes == 0:
        raise InputError("a graph without nodes has no spectrum")
    if graph.is_bipartite:
        targets, sources = graph.shape
        raise InputError(
            "the spectral theory needs an undirected graph on one set of nodes: this one is "
            f"between {sources} sources and {targets} targets"
        )
    if not graph.is_undirected:
        raise InputError(
            f"the spectral theory needs an undirected graph: {_offending_edge(graph)}; {remedy}"
        )
    return graph


def _offending_edge(graph: Graph) -> str:
    pattern, transposed = graph.pattern, graph.transposed
    if pattern is transposed:  # then it is a weight that differs
        assert graph.weight is not None
        weight = graph.weight.detach()
        reverse = weight.index_select(0, graph.transposition)
        entry = int((weight - reverse).abs().argmax())
        i, j = int(pattern.row[entry]), int(pattern.col[entry])
        return (
            f"the edge {j} → {i} weighs {float(weight[entry]):.6g}, "
            f"its reverse {float(reverse[entry]):.6g}"
        )
    # Both lists are sorted: where they first differ, the smaller entry is in one of them only.
    differs = (pattern.row != transposed.row) | (pattern.col != transposed.col)
    entry = int(differs.to(torch.int8).argmax())
    here = (int(pattern.row[entry]), int(pattern.col[entry]))
    there = (int(transposed.row[entry]), int(transposed.col[entry]))
    target, source = here if here < there else (there[1], there[0])
    return f"the edge {source} → {target} has no reverse"
