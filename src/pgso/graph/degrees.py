"""What edges say about nodes (sums of weights, which nodes are alike), and nodes about edges."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pgso.graph.graph import Graph, once
from pgso.graph.inputs import weight_type
from pgso.graph.pattern import Pattern

MANY_NODES = 1024  # with fewer nodes, grouping them by degree costs more than it saves


@once
def received_weight(graph: Graph, sent: bool = False) -> Tensor:  # (n,)
    """Σ_{j≠i} |A_ij|: what a node gets from others, or gives them, signs aside; in double."""
    if sent and graph.is_undirected:
        return received_weight(graph)
    pattern, ends = graph.pattern, graph.pattern.row
    if sent:
        pattern, ends = graph.transposed, graph.pattern.col
    if graph.weight is None:
        assert pattern.rowptr is not None
        return (pattern.rowptr.diff() - int(not graph.is_bipartite)).double()
    size = graph.weight.double().abs()
    if not graph.is_bipartite:
        size = size.index_fill(0, graph.pattern.diagonal, 0)
    return size.new_zeros(pattern.shape[0]).index_add(0, ends, size)


@once
def without_edges(graph: Graph, by_column: bool) -> Tensor | None:  # (k,)
    """The rows of A, or the columns, without an edge or self-loop; None if there are none."""
    rowptr = (graph.transposed if by_column else graph.pattern).rowptr
    assert rowptr is not None
    is_empty = rowptr.diff() <= int(not graph.is_bipartite)
    if graph.loops is not None:
        is_empty &= graph.loops.detach() == 0
    return is_empty.nonzero().flatten() if bool(is_empty.any()) else None


class NodeKinds(NamedTuple):
    """Nodes that no degree tells apart, in double precision; k of them, or a kind per node."""

    degree: Tensor  # (k,) d_i
    received: Tensor  # (k,) Σ_{j≠i} |A_ij|
    loops: Tensor | None  # (k,) A_ii; None if all are 0
    kind: Tensor | None  # (n,) the kind of each node; None: each is its own
    number: Tensor  # (k,) how many nodes there are of it
    share: Tensor  # (k,) Σ_{j≠i} |A_ji| of all of them together, as a share of that of all nodes


@once
def kinds_of_nodes(graph: Graph, are_alike: bool = True) -> NodeKinds:
    """The kinds of a graph's nodes; ``are_alike=False``: each node is of its own.

    There are few in a large undirected graph without weights: a power is taken once for each of
    them, not for each node. Where more than the number of neighbours tells nodes apart, there is a
    kind per node.
    """
    degree, received = graph.row_sums, received_weight(graph)
    loops = None if graph.loops is None else graph.loops.double()
    are_alike &= graph.is_undirected and graph.weight is None and loops is None
    if are_alike and graph.sample is None and degree.numel() >= MANY_NODES:
        kinds, kind, number = degree.unique(return_inverse=True, return_counts=True)
        if torch.equal(degree, received) and kinds.numel() <= degree.numel() / 8:
            given = kinds * number
            return NodeKinds(kinds, kinds, None, kind, number, given / given.sum().clamp(min=1))
    given = received_weight(graph, True)
    share = given / given.sum().clamp(min=1e-300)
    return NodeKinds(degree, received, loops, None, torch.ones_like(degree), share)


@once
def nodes_alike(graph: Graph, both: bool) -> tuple[Tensor, Tensor] | None:  # (1 or 2, k), (n,)
    """The distinct degrees (row sums, or row and column sums) and the number of each node's.

    None where there are too many of them for it to pay.
    """
    sums = (graph.row_sums, graph.column_sums) if both else (graph.row_sums,)
    degrees, kind = torch.stack(sums).unique(dim=1, return_inverse=True)
    return None if degrees.size(1) > graph.num_nodes / 8 else (degrees, kind)


def times_rows(table: Tensor, x: Tensor, kind: Tensor | None) -> Tensor:  # (k, F), (n, F) -> (n, F)
    """``table[kind] * x``, or ``table * x`` without kinds; differentiable in both."""
    return table * x if kind is None else _TimesRows.apply(table, x, kind)


class _TimesRows(torch.autograd.Function):
    """Block by block, so that the rows of the table are read and written in the cache."""

    @staticmethod
    def forward(table: Tensor, x: Tensor, kind: Tensor) -> Tensor:
        out = torch.empty_like(x)
        for numbers, rows, result in _blocks(kind, x, out):
            torch.mul(table.index_select(0, numbers), rows, out=result)
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.kind = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,), (table, x) = grads, ctx.saved_tensors
        return (
            _KindSums.apply(g, x, ctx.kind, len(table)),
            _TimesRows.apply(table, g, ctx.kind),
            None,
        )


class _KindSums(torch.autograd.Function):
    """Σ_i left_i ∘ right_i over the nodes i of each kind: the gradient of the table."""

    @staticmethod
    def forward(left: Tensor, right: Tensor, kind: Tensor, number: int) -> Tensor:  # (k, F)
        sums = left.new_zeros(number, left.size(1))
        for numbers, one, other in _blocks(kind, left, right):
            sums.index_add_(0, numbers, one * other)
        return sums

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.kind, _ = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,), (left, right) = grads, ctx.saved_tensors
        to_left, to_right = (_TimesRows.apply(g, x, ctx.kind) for x in (right, left))
        return to_left, to_right, None, None


def _blocks(kind: Tensor, *features: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The rows of all in blocks of about a megabyte."""
    rows = max(1, 2**18 // max(features[0].size(1), 1))
    return zip(*(part.split(rows) for part in (kind, *features)), strict=True)


class EdgeList(Graph):
    """Edges in their given order, then one diagonal entry per node; nothing is sorted or merged.

    It needs no look at the data, so this is what ``torch.compile`` and ``torch.export`` see of a
    raw ``edge_index``. Sums over edges are scatters: a message per edge and feature. Between two
    sets of nodes there is no diagonal.
    """

    @classmethod
    def of(  # type: ignore[override]
        cls, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int | tuple[int, int]
    ) -> "EdgeList":
        """Append the diagonal and sum the degrees."""
        source, target = edge_index.unbind()
        row, col, diagonal = target, source, None
        shape = num_nodes if isinstance(num_nodes, tuple) else (num_nodes, num_nodes)
        if not isinstance(num_nodes, tuple):
            nodes = torch.arange(num_nodes, device=edge_index.device)
            row, col = torch.cat([target, nodes]), torch.cat([source, nodes])
            diagonal = nodes + source.size(0)
        if edge_weight is None:
            wide = torch.ones_like(source, dtype=torch.float64)
        else:
            # A column will do, and sums of many small weights need the digits: as in a Graph.
            edge_weight = edge_weight.flatten()
            edge_weight = edge_weight.to(torch.promote_types(edge_weight.dtype, torch.float32))
            wide = edge_weight.double()
        sums = wide.new_zeros(shape[0]).index_add(0, target, wide)
        if edge_weight is not None and diagonal is not None:
            edge_weight = torch.cat([edge_weight, edge_weight.new_zeros(shape[0])])
        pattern = Pattern(None, row, col, diagonal, shape)
        transposed = Pattern(None, col, row, diagonal, shape[::-1])
        same = torch.arange(row.size(0), device=row.device)
        dtype = weight_type() if edge_weight is None else edge_weight.dtype
        count = source.size(0)
        return cls(pattern, transposed, same, False, edge_weight, None, sums, count, dtype)


def on_edges(values: Tensor, ends: Tensor) -> Tensor:  # (n, H), (nnz,) -> (nnz, H)
    """``values[ends]``, whose gradient is a scatter: ten times faster than that of indexing."""
    return values.gather(0, ends.long().unsqueeze(1).expand(-1, values.size(1)))


def sum_over_edges(graph: Graph, values: Tensor) -> Tensor:  # (nnz, H) -> (n, H)
    """The sum of the values of each row's entries."""
    row = graph.pattern.row.long().unsqueeze(1).expand_as(values)
    return values.new_zeros(graph.num_nodes, values.size(1)).scatter_add(0, row, values)


def softmax_over_edges(graph: Graph, logits: Tensor) -> Tensor:  # (nnz, H) -> (nnz, H)
    """The softmax over each row's entries, that is over N(i) ∪ {i}.

    In a sampled graph the sum below the line is the estimate of that over all neighbours.
    """
    if graph.pattern.rowptr is None:
        return _row_softmax(logits, graph)
    alpha: Tensor = _Softmax.apply(logits, graph)
    return alpha


def _row_softmax(logits: Tensor, graph: Graph) -> Tensor:  # (nnz, H) -> (nnz, H)
    sample, importance = graph.sample, None
    if sample is not None:
        importance = sample.importance.to(logits.dtype).unsqueeze(1)
    rowptr, values = graph.pattern.rowptr, logits.detach()
    if rowptr is not None and values.numel():
        largest = torch.segment_reduce(values, "max", offsets=rowptr.long())
    else:
        row = graph.pattern.row.long().unsqueeze(1).expand_as(values)
        low = values.new_zeros(graph.num_nodes, values.size(1))
        largest = low.scatter_reduce(0, row, values, "amax", include_self=False)
    alpha = (logits - largest.index_select(0, graph.pattern.row)).exp_()
    total = sum_over_edges(graph, alpha if importance is None else alpha * importance)
    return alpha / total.index_select(0, graph.pattern.row)


class _Softmax(torch.autograd.Function):
    """:func:`_row_softmax`, which keeps nothing but its result for the gradient."""

    forward = staticmethod(_row_softmax)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.graph = inputs[1]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (alpha,), sample = ctx.saved_tensors, ctx.graph.sample
        weighed = alpha * grads[0]
        total = sum_over_edges(ctx.graph, weighed).index_select(0, ctx.graph.pattern.row)
        shared = alpha if sample is None else alpha * sample.importance.to(alpha.dtype).unsqueeze(1)
        return weighed - shared * total, None
