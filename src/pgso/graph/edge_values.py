"""Values on edges: copied from nodes to their edges, and summed over edges to nodes."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from pgso.graph.graph import Graph
from pgso.graph.inputs import weight_type
from pgso.graph.pattern import Pattern


@dataclass(frozen=True, eq=False)
class EdgeList:
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
    def num_nodes(self) -> int:
        """The number n of nodes; between two sets of them, of targets."""
        return self.row_sums.size(0)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of A: (targets, sources)."""
        return self.pattern.shape

    @property
    def is_bipartite(self) -> bool:
        """Whether targets and sources are two sets of nodes."""
        return not self.pattern.is_square

    @property
    def device(self) -> torch.device:
        """Where the edges live."""
        return self.row_sums.device

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
    if not isinstance(graph, Graph):
        return values.index_select(0, graph.pattern.row)
    out: Tensor = _Spread.apply(values, graph, False)
    return out


def source_values(
    graph: Graph | EdgeList,
    values: Tensor,  # (n, H)
) -> Tensor:  # (nnz, H)
    """The value of each entry's column, that is of its edge's source."""
    if not isinstance(graph, Graph):
        return values.index_select(0, graph.pattern.col)
    out: Tensor = _Spread.apply(values, graph, True)
    return out


def sum_over_edges(
    graph: Graph | EdgeList,
    values: Tensor,  # (nnz, H)
) -> Tensor:  # (n, H)
    """The sum of the values of each row's entries."""
    if not isinstance(graph, Graph):
        zeros = values.new_zeros(graph.num_nodes, values.size(1))
        return zeros.index_add(0, graph.pattern.row, values)
    out: Tensor = _Collect.apply(values, graph, False)
    return out


def softmax_over_edges(
    graph: Graph | EdgeList,
    logits: Tensor,  # (nnz, H)
) -> Tensor:  # (nnz, H)
    """The softmax over each row's entries, that is over N(i) ∪ {i}.

    In a sampled graph the sum below the line is the estimate of that over all neighbours.
    """
    if isinstance(graph, Graph):
        sample = graph.sample
        importance = None if sample is None else sample.importance.to(logits.dtype).unsqueeze(1)
        alpha: Tensor = _Softmax.apply(logits, importance, graph)
        return alpha
    row = graph.pattern.row.unsqueeze(1).expand_as(logits)
    low = logits.new_zeros(graph.num_nodes, logits.size(1))
    largest = low.scatter_reduce(0, row, logits.detach(), "amax", include_self=False)
    exponentials = (logits - target_values(graph, largest)).exp()
    return exponentials / target_values(graph, sum_over_edges(graph, exponentials))


class _Softmax(torch.autograd.Function):
    """The softmax over each row's entries; it keeps nothing but its result for the gradient."""

    @staticmethod
    def forward(logits: Tensor, importance: Tensor | None, graph: Graph) -> Tensor:
        return row_softmax(graph, logits, importance)

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


class _Spread(torch.autograd.Function):
    """Copy node values to entries. The gradient is a sum over the entries of each node."""

    @staticmethod
    def forward(values: Tensor, graph: Graph, sources: bool) -> Tensor:
        # Rows that do not lie in one piece are copied number by number: ten times slower.
        index = graph.pattern.col if sources else graph.pattern.row
        return values.contiguous().index_select(0, index)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.graph, ctx.sources = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _Collect.apply(grads[0], ctx.graph, ctx.sources), None, None


class _Collect(torch.autograd.Function):
    """Entries to the sum of each row, or with ``sources`` of each column."""

    @staticmethod
    def forward(values: Tensor, graph: Graph, sources: bool) -> Tensor:
        return collected(graph, values, sources)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.graph, ctx.sources = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _Spread.apply(grads[0], ctx.graph, ctx.sources), None, None


def row_softmax(
    graph: Graph,
    logits: Tensor,  # (nnz, H)
    importance: Tensor | None = None,  # (nnz, 1) of each entry in the sum below the line
) -> Tensor:  # (nnz, H)
    """The softmax over each row's entries, without gradients."""
    row, rowptr = graph.pattern.row, graph.pattern.rowptr
    assert rowptr is not None
    offsets = graph.memo("offsets", rowptr.long)
    largest = torch.segment_reduce(logits, "max", offsets=offsets, axis=0)
    alpha = torch.sub(logits, largest.index_select(0, row)).exp_()
    total = collected(graph, alpha if importance is None else alpha * importance)
    return alpha.div_(total.index_select(0, row))


def collected(
    graph: Graph,
    values: Tensor,  # (nnz, H)
    sources: bool = False,
) -> Tensor:  # (n, H)
    """The sum of each row's entries, or with ``sources`` of each column's, without gradients."""
    pattern = graph.transposed if sources else graph.pattern
    assert pattern.rowptr is not None
    if values.numel() == 0:
        return values.new_zeros(pattern.num_nodes, values.size(1))
    order = graph.transposition if sources else graph.memo("in_order", lambda: _in_order(graph))
    out: Tensor = embedding_bag(
        order, values.contiguous(), pattern.rowptr, mode="sum", include_last_offset=True
    )
    return out


def _in_order(graph: Graph) -> Tensor:  # (nnz,)
    return torch.arange(
        graph.transposition.numel(), dtype=graph.transposition.dtype, device=graph.device
    )
