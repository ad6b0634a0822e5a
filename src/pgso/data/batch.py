"""Mini-batches of graphs by index arithmetic on concatenated tensors: no lists, no sorting."""

from dataclasses import dataclass

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph, Pattern


@dataclass(frozen=True, eq=False)
class Batch:
    """Some graphs side by side, as one."""

    x: Tensor  # (n, F)
    graph: Graph  # block-diagonal
    batch: Tensor  # (n,) which of the batch's graphs a node belongs to
    y: Tensor  # (num_graphs,)
    num_graphs: int


class Slices:
    """All graphs of a dataset, ready to be cut out of their union.

    The union's matrices are block-diagonal and sorted by row, so that the nodes of a graph, its
    entries and its transpose's entries are three contiguous runs. A batch gathers those runs
    and shifts what they point to: by how far the graph's nodes have moved, or its entries. Small
    graphs cost as many microseconds as there are tensor operations; so whatever is gathered
    alike lies in the rows of one table.
    """

    def __init__(self, graph: Graph, x: Tensor, y: Tensor, nodes_per_graph: Tensor) -> None:
        self.x, self.y, self.degree = x, y, graph.degree
        self.loops, self.weight = graph.loops, graph.weight
        self.symmetric = graph.transposed is graph.pattern

        p, t = graph.pattern, graph.transposed
        assert p.rowptr is not None
        assert t.rowptr is not None
        bounds = torch.cat([nodes_per_graph.new_zeros(1), nodes_per_graph.cumsum(0)])
        node_start, ends = bounds[:-1], p.rowptr.long()[bounds]
        # Rows: where a graph's nodes and its entries start, and how many there are of each.
        self.runs = torch.stack([node_start, ends[:-1], nodes_per_graph, ends.diff()])
        # Entries point to nodes (rows 0, 1, ...) and to entries (the last row).
        tables = [p.row, p.col] if self.symmetric else [p.row, p.col, t.row, t.col]
        self.pointers = torch.stack(tables)
        self.transposition = graph.transposition
        # Nodes point to entries: where their row starts, and where its diagonal is.
        tables = [p.rowptr[:-1].long(), p.diagonal]
        if not self.symmetric:
            tables += [t.rowptr[:-1].long(), t.diagonal]
        self.rows = torch.stack(tables)
        self.index_type = p.row.dtype

        owner = torch.repeat_interleave(nodes_per_graph)
        self.num_loops = _count(owner, graph.loops, len(nodes_per_graph))
        self.lopsided = _lopsided(graph, owner, len(nodes_per_graph))

    def batch(self, indices: Tensor) -> Batch:
        """The graphs at these indices, in this order."""
        try:
            runs = self.runs.index_select(1, indices)
        except (IndexError, RuntimeError, TypeError) as error:
            raise InputError(
                f"a batch needs int64 indices between 0 and {self.runs.size(1) - 1} ({error})"
            ) from None
        if indices.numel() == 0:
            raise InputError("a batch needs at least one graph, got no indices")
        counts = runs[2:]
        ends = counts.cumsum(1)
        shifts = torch.sub(ends, counts).sub_(runs[:2])  # of nodes and entries, (2, B)
        n, nnz = ends[:, -1].tolist()

        owner = torch.repeat_interleave(counts[0], output_size=n)
        node_shift, row_shift = shifts.index_select(1, owner)
        nodes = torch.arange(n, device=owner.device).sub_(node_shift)
        owner_of_entry = torch.repeat_interleave(counts[1], output_size=nnz)
        pointer_shift, entry_shift = shifts.index_select(1, owner_of_entry)
        entries = torch.arange(nnz, device=owner.device).sub_(entry_shift)

        pointers = self.pointers.index_select(1, entries).add_(pointer_shift)
        starts = self.rows.index_select(1, nodes).add_(row_shift)
        rowptrs = torch.full(
            (len(starts) // 2, n + 1), nnz, dtype=self.index_type, device=owner.device
        )
        rowptrs[:, :-1] = starts[::2]
        pattern = Pattern(rowptrs[0], pointers[0], pointers[1], starts[1])
        transposed = pattern
        num_lopsided, lopsided_weights = 0, 0
        if self.lopsided is not None:
            num_lopsided, lopsided_weights = self.lopsided.index_select(1, indices).sum(1).tolist()
        if num_lopsided:
            transposed = Pattern(rowptrs[1], pointers[2], pointers[3], starts[3])
        num_loops = 0
        if self.num_loops is not None:
            num_loops = int(self.num_loops.index_select(0, indices).sum())
        graph = Graph(
            pattern=pattern,
            transposed=transposed,
            transposition=self.transposition.index_select(0, entries).add_(entry_shift),
            is_undirected=num_lopsided == lopsided_weights == 0,
            weight=None if self.weight is None else self.weight.index_select(0, entries),
            loops=self.loops.index_select(0, nodes)
            if self.loops is not None and num_loops
            else None,
            degree=self.degree.index_select(0, nodes),
            num_edges=nnz - n + num_loops,
        )
        y = self.y.index_select(0, indices)
        return Batch(self.x.index_select(0, nodes), graph, owner, y, indices.numel())


def _count(owner: Tensor, loops: Tensor | None, num_graphs: int) -> Tensor | None:
    """How many self-loops each graph has; None if there are none at all."""
    if loops is None:
        return None
    return torch.bincount(owner[loops != 0], minlength=num_graphs)


def _lopsided(graph: Graph, owner: Tensor, num_graphs: int) -> Tensor | None:  # (2, num_graphs)
    """How many edges, and how many weights, differ from their reverse's; None if none do."""
    if graph.is_undirected:
        return None
    p, t = graph.pattern, graph.transposed
    owner = owner[p.row.long()]
    edges = (p.row != t.row) | (p.col != t.col)
    weights = torch.zeros_like(edges)
    if graph.weight is not None:
        reverse = graph.weight[graph.transposition.long()]
        tolerance = 8 * torch.finfo(reverse.dtype).eps  # the graph's own, for sums in another order
        weights = ~torch.isclose(graph.weight, reverse, rtol=tolerance, atol=0.0)
    counts = [torch.bincount(owner[wrong], minlength=num_graphs) for wrong in (edges, weights)]
    return torch.stack(counts)
