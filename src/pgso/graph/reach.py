"""The part of a graph that a loss can see: its nodes, their neighbours, neighbours of those."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pgso.graph.graph import Graph
from pgso.graph.pattern import Pattern, side_by_side


@dataclass(frozen=True, eq=False)
class Level:
    """The entries of A + I from some nodes (columns) to some of them (rows), in R copies.

    Vectors over all nodes, copy after copy, are read at ``pattern.row`` and ``pattern.col``.
    Products go through ``forth`` and ``back``, whose rows and columns are counted within the level.
    """

    pattern: Pattern  # rows and columns among all R n nodes; places: of the diagonal entries
    forth: Pattern  # (R m, R k)
    back: Pattern  # its transpose
    transposition: Tensor  # (nnz,) where the transpose's entries stand
    rows: Tensor  # (R m,) among all R n nodes
    columns: Tensor  # (R k,) among all R n nodes
    among: Tensor  # (R m,) where the rows stand among the columns
    weight: Tensor | None  # (nnz,) as in the graph
    loops: Tensor | None
    entries: Tensor  # (nnz,)

    @classmethod
    def of(cls, graph: Graph, rows: Tensor, columns: Tensor, copies: int) -> "Level":
        """The level of ascending rows and columns; all neighbours of rows are columns."""
        n = graph.num_nodes
        chosen = _flags(rows, n)[graph.pattern.row.long()].nonzero().flatten()
        row, col = (part[chosen] for part in (graph.pattern.row, graph.pattern.col))
        within = torch.searchsorted(rows, row.long()), torch.searchsorted(columns, col.long())
        back_row, transposition = torch.sort(within[1], stable=True)
        size = (rows.numel(), columns.numel())
        diagonal = (row == col).nonzero().flatten()
        forth = Pattern.of(*within, None, size)
        back = Pattern.of(back_row, within[0][transposition], None, size[::-1])

        def in_copies(values: Tensor, number: int) -> Tensor:
            return side_by_side(values, number, copies)

        pattern = Pattern(
            None,
            in_copies(row, n),
            in_copies(col, n),
            in_copies(diagonal, chosen.numel()),
            (copies * n,) * 2,
        )
        entries = graph.entries[chosen].repeat(copies)
        return cls(
            pattern=pattern,
            forth=forth.copies(copies),
            back=back.copies(copies),
            transposition=in_copies(transposition, chosen.numel()),
            rows=in_copies(rows, n),
            columns=in_copies(columns, n),
            among=in_copies(torch.searchsorted(columns, rows), columns.numel()),
            weight=None if graph.weight is None else entries,
            loops=None if graph.loops is None else graph.loops[rows].repeat(copies),
            entries=entries,
        )


@dataclass(frozen=True, eq=False)
class Reach:
    """What some nodes depend on through so many layers: nodes by layer, each set within the last.

    Args:
        graph: The graph of one replica.
        nodes: Ascending nodes of every layer, from the features' to the loss's.
        copies: How many replicas there are.
    """

    graph: Graph
    nodes: tuple[Tensor, ...]
    copies: int

    @classmethod
    def of(cls, graph: Graph, seeds: Tensor, hops: int, copies: int) -> "Reach | None":
        """The reach of these nodes; None unless every hop back adds some nodes."""
        n, pattern = graph.num_nodes, graph.pattern
        layers = [_flags(seeds, n)]
        for _ in range(hops):
            seen = layers[-1].clone()
            seen[pattern.col[layers[-1][pattern.row.long()]].long()] = True
            layers.append(seen)
        nodes = tuple(layer.nonzero().flatten() for layer in reversed(layers))
        sizes = [part.numel() for part in nodes]
        if len(set(sizes)) < len(sizes) or sizes[0] == n:
            return None
        return cls(graph, nodes, copies)

    @cached_property
    def levels(self) -> dict[int, Level]:
        """By the number of nodes of a layer: the way from it to the next."""
        return {
            columns.numel(): Level.of(self.graph, rows, columns, self.copies)
            for columns, rows in zip(self.nodes, self.nodes[1:], strict=False)
        }

    @cached_property
    def _by_size(self) -> dict[int, Tensor]:
        return {part.numel(): part for part in self.nodes}

    @cached_property
    def _buffers(self) -> dict[tuple[int, int, str], Tensor]:
        return {}

    def nodes_of(self, size: int) -> Tensor | None:
        """The nodes of the layer that has so many; None where all are there."""
        return self._by_size.get(size)

    def whole(self, x: Tensor, use: str = "") -> Tensor:  # (R, m, F) -> (R, n, F)
        """The rows of a layer among rows of zeros, so that sums over nodes round as without reach.

        The result is valid until the next call for the same size and use.
        """
        nodes = self.nodes_of(x.size(1))
        if nodes is None:
            return x
        key = (x.size(1), x.size(2), use)
        if key not in self._buffers:
            self._buffers[key] = x.new_zeros(x.size(0), self.graph.num_nodes, x.size(2))
        return self._buffers[key].index_copy_(1, nodes, x)


def _flags(nodes: Tensor, count: int) -> Tensor:  # (n,) of booleans
    flags = torch.zeros(count, dtype=torch.bool)
    flags[nodes] = True
    return flags
