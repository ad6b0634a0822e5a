"""What a graph's edges say about its nodes: sums of weights, and which nodes are alike.

Each function computes once for a graph, which remembers the answer.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from pgso.graph.graph import Graph
from pgso.graph.pattern import Pattern

MANY_NODES = 1024  # with fewer nodes, grouping them by degree costs more than it saves


def received_weight(graph: Graph) -> Tensor:  # (n,)
    """Σ_{j≠i} |A_ij|: what a node gets from others, signs aside; in double precision."""
    return graph.memo("received_weight", lambda: _sizes(graph, graph.pattern, graph.pattern.row))


def sent_weight(graph: Graph) -> Tensor:  # (n,)
    """Σ_{i≠j} |A_ij|: what others get from a node."""
    if graph.is_undirected:
        return received_weight(graph)
    return graph.memo("sent_weight", lambda: _sizes(graph, graph.transposed, graph.pattern.col))


def _sizes(graph: Graph, pattern: Pattern, ends: Tensor) -> Tensor:
    if graph.weight is None:
        assert pattern.rowptr is not None
        return (pattern.rowptr.diff() - int(pattern.places is not None)).double()
    size = graph.weight.double().abs()
    if pattern.places is not None:
        size = size.index_fill(0, graph.pattern.diagonal, 0)
    return size.new_zeros(pattern.shape[0]).index_add(0, ends, size)


def with_edges(graph: Graph, pattern: Pattern) -> Tensor | None:  # (rows,) of booleans
    """Which rows of A's pattern, or of its transpose's, have an edge or self-loop; None: all."""

    def make() -> Tensor | None:
        assert pattern.rowptr is not None
        present = pattern.rowptr.diff() > int(pattern.places is not None)
        if graph.loops is not None:
            present |= graph.loops.detach() != 0
        return None if bool(present.all()) else present

    return graph.memo(("with_edges", pattern is graph.pattern), make)


class NodeKinds(NamedTuple):
    """Nodes that no degree tells apart, in double precision; k of them, or a kind per node."""

    degree: Tensor  # (k,) d_i
    received: Tensor  # (k,) Σ_{j≠i} |A_ij|
    loops: Tensor | None  # (k,) A_ii; None if all are 0
    kind: Tensor | None  # (n,) the kind of each node; None: each is its own
    number: Tensor | None  # (k,) how many nodes there are of it


def kinds_of_nodes(graph: Graph) -> NodeKinds:
    """The kinds of a graph's nodes.

    There are few in a large unweighted graph: a power is taken once for each of them, not for each
    node. Where more than the number of neighbours tells nodes apart, there is a kind per node.
    """

    def make() -> NodeKinds:
        degree, received = graph.row_sums, received_weight(graph)
        loops = None if graph.loops is None else graph.loops.double()
        alike = graph.weight is None and loops is None and graph.sample is None
        if alike and graph.num_nodes >= MANY_NODES and torch.equal(degree, received):
            kinds, kind, number = degree.unique(return_inverse=True, return_counts=True)
            if kinds.numel() <= graph.num_nodes / 8:
                return NodeKinds(kinds, kinds, None, kind, number)
        return NodeKinds(degree, received, loops, None, None)

    return graph.memo("kinds_of_nodes", make)
