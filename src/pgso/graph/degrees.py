"""What a graph's edges say about its nodes: sums of weights, and which nodes are alike.

Each function computes once for a graph, which remembers the answer.
"""

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
        return (pattern.rowptr.diff() - (1 if pattern.is_square else 0)).double()
    size = graph.weight.double().abs()
    if pattern.is_square:
        size = size.index_fill(0, graph.pattern.diagonal, 0)
    return size.new_zeros(pattern.num_nodes).index_add(0, ends, size)


def receivers(graph: Graph) -> Tensor | None:  # (n,) of booleans
    """Which nodes have an edge to them, self-loops included; None if all have."""
    return graph.memo("receivers", lambda: _has_entries(graph.pattern, graph.loops))


def senders(graph: Graph) -> Tensor | None:  # (n,) of booleans
    """Which nodes have an edge from them, self-loops included; None if all have."""
    return graph.memo("senders", lambda: _has_entries(graph.transposed, graph.loops))


def _has_entries(pattern: Pattern, loops: Tensor | None) -> Tensor | None:  # (rows,)
    assert pattern.rowptr is not None
    present = pattern.rowptr.diff() > (1 if pattern.is_square else 0)
    if loops is not None:
        present |= loops.detach() != 0
    return None if bool(present.all()) else present


def kinds_of_nodes(graph: Graph) -> tuple[Tensor, Tensor, Tensor | None]:  # (k,) each
    """d_i, Σ_{j≠i} |A_ij| and A_ii (None if all are 0), in doubles: once for nodes alike.

    Where more than the number of neighbours tells nodes apart, there is a kind per node.
    """

    def make() -> tuple[Tensor, Tensor, Tensor | None]:
        degree, neighbours = graph.row_sums, received_weight(graph)
        if graph.weight is None and graph.loops is None and torch.equal(degree, neighbours):
            kinds = degree.unique()
            return kinds, kinds, None
        return degree, neighbours, None if graph.loops is None else graph.loops.double()

    return graph.memo("kinds_of_nodes", make)


def are_few(degrees: int, num_nodes: int) -> bool:
    """Whether grouping so many nodes by so many distinct degrees saves more than it costs."""
    return degrees <= num_nodes / 8


def degree_classes(graph: Graph) -> tuple[Tensor, Tensor, Tensor] | None:  # (U,), (n,), (U,)
    """The distinct degrees in double precision, the place of each node's, and their counts.

    There are few in an unweighted graph: a power is taken once for each of them, not for each
    node. None where there are too many.
    """

    def make() -> tuple[Tensor, Tensor, Tensor] | None:
        if graph.num_nodes < MANY_NODES or graph.sample is not None or graph.weight is not None:
            return None
        classes = graph.row_sums.unique(return_inverse=True, return_counts=True)
        return classes if are_few(classes[0].numel(), graph.num_nodes) else None

    return graph.memo("degree_classes", make)
