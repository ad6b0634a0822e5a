"""Values on edges: copied from nodes to their edges, and summed over edges to nodes."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pgso.graph.graph import Graph
from pgso.graph.inputs import weight_type
from pgso.graph.pattern import OnNodes, Pattern


@dataclass(frozen=True, eq=False)
class EdgeList(OnNodes):
    """Edges in their given order, then one diagonal entry per node; nothing is sorted or merged.

    It needs no look at the data, so this is what ``torch.compile`` and ``torch.export`` see of a
    raw ``edge_index``. Sums over edges are scatters: a message per edge and feature. Between two
    sets of nodes there is no diagonal.
    """

    pattern: Pattern
    weight: Tensor | None  # (E + n,)
    row_sums: Tensor  # (n,) in double precision
    loops: Tensor | None = None  # on top of the self-loops among the edges
    columns: Tensor | None = None  # the column sums, if they are not A's

    @classmethod
    def of(
        cls,
        edge_index: Tensor,
        edge_weight: Tensor | None,
        num_nodes: int | tuple[int, int],
    ) -> "EdgeList":
        """Append the diagonal and sum the degrees."""
        source, target = edge_index.unbind()
        row, col, diagonal = target, source, None
        if isinstance(num_nodes, tuple):
            shape = num_nodes
        else:
            shape = (num_nodes, num_nodes)
            nodes = torch.arange(num_nodes, device=edge_index.device)
            row, col = torch.cat([target, nodes]), torch.cat([source, nodes])
            diagonal = nodes + source.size(0)
        pattern = Pattern(None, row, col, diagonal, shape)
        if edge_weight is None:
            ones = torch.ones_like(source, dtype=torch.float64)
            sums = ones.new_zeros(shape[0]).index_add(0, target, ones)
            return cls(pattern, None, sums)
        # A column will do, and sums of many small weights need the digits: as in a Graph.
        edge_weight = edge_weight.flatten()
        edge_weight = edge_weight.to(torch.promote_types(edge_weight.dtype, torch.float32))
        wide = edge_weight.double()
        sums = wide.new_zeros(shape[0]).index_add(0, target, wide)
        if diagonal is not None:
            edge_weight = torch.cat([edge_weight, edge_weight.new_zeros(shape[0])])
        return cls(pattern, edge_weight, sums)

    @property
    def T(self) -> "EdgeList":
        """All edges reversed."""
        p = self.pattern
        reverse = Pattern(None, p.col, p.row, p.places, (p.shape[1], p.shape[0]))
        return EdgeList(reverse, self.weight, self.column_sums, self.loops, self.row_sums)

    @property
    def degree(self) -> Tensor:  # (n,)
        """A's row sums: weighted in-degrees, self-loops included."""
        return self.row_sums.to(self.dtype)

    @property
    def dtype(self) -> torch.dtype:
        """The type of weights."""
        return weight_type() if self.weight is None else self.weight.dtype

    @property
    def column_sums(self) -> Tensor:  # (n,)
        """A's column sums in double precision: weighted out-degrees."""
        if self.columns is not None:
            return self.columns
        entries = self.entries.double()
        sums = entries.new_zeros(self.shape[1])
        return sums.index_add(0, self.pattern.col, entries)

    @property
    def entries(self) -> Tensor:  # (E + n,)
        """A's entries: zero on the appended diagonal, but for ``loops``."""
        if self.weight is not None:
            entries = self.weight
        else:
            entries = torch.ones_like(self.pattern.row, dtype=weight_type())
            if self.pattern.is_square:
                entries = entries.index_fill(0, self.pattern.diagonal, 0)
        if self.loops is not None and self.pattern.is_square:
            loops = self.loops.to(entries.dtype)
            entries = entries.index_copy(0, self.pattern.diagonal, loops)
        return entries


def target_values(
    graph: Graph | EdgeList,
    values: Tensor,  # (n, H)
) -> Tensor:  # (nnz, H)
    """The value of each entry's row, that is of its edge's target."""
    return _gather(values, graph.pattern.row)


def source_values(
    graph: Graph | EdgeList,
    values: Tensor,  # (n, H)
) -> Tensor:  # (nnz, H)
    """The value of each entry's column, that is of its edge's source."""
    return _gather(values, graph.pattern.col)


def _gather(values: Tensor, index: Tensor) -> Tensor:
    """``values[index]``, whose gradient is a scatter: ten times faster than that of indexing."""
    return values.gather(0, index.long().unsqueeze(1).expand(-1, values.size(1)))


def sum_over_edges(
    graph: Graph | EdgeList,
    values: Tensor,  # (nnz, H)
) -> Tensor:  # (n, H)
    """The sum of the values of each row's entries."""
    row = graph.pattern.row.long().unsqueeze(1).expand_as(values)
    return values.new_zeros(graph.num_nodes, values.size(1)).scatter_add(0, row, values)


def softmax_over_edges(
    graph: Graph | EdgeList,
    logits: Tensor,  # (nnz, H)
) -> Tensor:  # (nnz, H)
    """The softmax over each row's entries, that is over N(i) ∪ {i}.

    In a sampled graph the sum below the line is the estimate of that over all neighbours.
    """
    if not isinstance(graph, Graph):  # a traced program
        return _row_softmax(logits, None, graph)
    sample = graph.sample
    importance = None if sample is None else sample.importance.to(logits.dtype).unsqueeze(1)
    alpha: Tensor = _Softmax.apply(logits, importance, graph)
    return alpha


def _row_softmax(
    logits: Tensor,  # (nnz, H)
    importance: Tensor | None,  # (nnz, 1) of each entry in the sum below the line
    graph: Graph | EdgeList,
) -> Tensor:  # (nnz, H)
    row = graph.pattern.row.long().unsqueeze(1).expand_as(logits)
    low = logits.new_zeros(graph.num_nodes, logits.size(1))
    largest = low.scatter_reduce(0, row, logits.detach(), "amax", include_self=False)
    alpha = (logits - largest.gather(0, row)).exp()
    total = sum_over_edges(graph, alpha if importance is None else alpha * importance)
    return alpha / total.gather(0, row)


class _Softmax(torch.autograd.Function):
    """:func:`_row_softmax`, which keeps nothing but its result for the gradient."""

    forward = staticmethod(_row_softmax)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, importance, ctx.graph = inputs
        ctx.save_for_backward(output, importance)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        alpha, importance = ctx.saved_tensors
        weighed = alpha * grads[0]
        total = target_values(ctx.graph, sum_over_edges(ctx.graph, weighed))
        shared = alpha * total if importance is None else alpha * importance * total
        return weighed - shared, None, None
