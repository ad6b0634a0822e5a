"""Mini-batches of graphs by index arithmetic on concatenated arrays: no lists, no sorting."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pgso.data.arrays import Array
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

    def to(self, device: torch.device | str | None) -> "Batch":
        """The same batch on another device; itself if it is there: its graph remembers things."""
        if device is None or torch.device(device) == self.graph.device:
            return self
        return Batch(
            self.x.to(device),
            self.graph.to(device),
            self.batch.to(device),
            self.y.to(device),
            self.num_graphs,
        )


class Slices:
    """All graphs of a dataset, ready to be cut out of their union.

    The union's matrices are block-diagonal and sorted by row, so that the nodes of a graph, its
    entries and its transpose's entries are contiguous runs. A batch gathers those runs and shifts
    what they point to, by how far the graph's nodes or its entries have moved.

    Small graphs cost as many microseconds as there are operations, and numpy's are cheaper than
    torch's: batches are cut on the CPU (in half the time) and then moved to the task's device.
    """

    def __init__(self, graph: Graph, x: Tensor, y: Tensor, nodes_per_graph: Tensor) -> None:
        self.device = graph.device
        self.x, self.y, self.graph = x.cpu(), y.cpu(), graph.to("cpu")
        self.pattern = _PatternArrays(self.graph.pattern)
        self.transposed = _PatternArrays(self.graph.transposed)
        self.transposition = self.graph.transposition.numpy()

        nodes_per_graph = nodes_per_graph.cpu()
        bounds = torch.cat([nodes_per_graph.new_zeros(1), nodes_per_graph.cumsum(0)])
        cuts = torch.cat([bounds.new_zeros(1), torch.from_numpy(self.pattern.end).long()])[bounds]
        # Of each graph: how many nodes and entries it has, and where they start.
        self.runs = torch.stack([nodes_per_graph, cuts.diff(), bounds[:-1], cuts[:-1]])

        owner = torch.repeat_interleave(nodes_per_graph)
        self.irregular = _irregular(self.graph, owner, len(nodes_per_graph))

    def batch(self, indices: Tensor) -> Batch:
        """The graphs at these indices, in this order."""
        indices = indices.cpu()
        try:
            runs = self.runs.index_select(1, indices).numpy()
        except (IndexError, RuntimeError) as error:
            raise InputError(
                f"a batch needs int64 indices between 0 and {self.runs.size(1) - 1} ({error})"
            ) from None
        if indices.numel() == 0:
            raise InputError("a batch needs at least one graph, got no indices")
        counts = runs[:2]
        ends = counts.cumsum(1)
        shifts = ends - counts - runs[2:]  # by how far nodes and entries move; (2, B)
        n, nnz = ends[:, -1].tolist()
        num_loops = one_way_edges = one_way_weights = 0
        if self.irregular is not None:
            irregularities = self.irregular.index_select(1, indices).sum(1).tolist()
            num_loops, one_way_edges, one_way_weights = irregularities

        graph, places = self.graph, _Places(counts, shifts, n, nnz)
        pattern = transposed = self.pattern.at(places)
        if one_way_edges:
            transposed = self.transposed.at(places)
        nodes, entries = torch.from_numpy(places.nodes), torch.from_numpy(places.entries)
        loops = graph.loops if num_loops else None
        transposition = self.transposition.take(places.entries)
        transposition += places.entry_shift.astype(transposition.dtype)
        batch = Batch(
            x=self.x.index_select(0, nodes),
            graph=Graph(
                pattern=pattern,
                transposed=transposed,
                transposition=torch.from_numpy(transposition),
                is_undirected=one_way_edges == one_way_weights == 0,
                weight=None if graph.weight is None else graph.weight.index_select(0, entries),
                loops=None if loops is None else loops.index_select(0, nodes),
                row_sums=graph.row_sums.index_select(0, nodes),
                num_edges=nnz - n + num_loops,
                dtype=graph.dtype,
            ),
            batch=torch.from_numpy(np.arange(len(indices)).repeat(counts[0])),
            y=self.y.index_select(0, indices),
            num_graphs=len(indices),
        )
        return batch if self.device.type == "cpu" else batch.to(self.device)


class _Places:
    """Where a batch's nodes and entries stand in the union, and by how far they move."""

    def __init__(self, counts: Array, shifts: Array, n: int, nnz: int) -> None:
        num_nodes, num_entries = counts
        node_shift, entry_shift = shifts
        self.nodes = np.arange(n) - node_shift.repeat(num_nodes)  # (n,)
        self.row_shift = entry_shift.repeat(num_nodes)  # (n,) of the row of each node
        self.entry_shift = entry_shift.repeat(num_entries)  # (nnz,)
        self.entries = np.arange(nnz) - self.entry_shift  # (nnz,)
        # In 32 bits, as what it is added to mostly is: numpy is slow where types are mixed.
        self.end_shift = node_shift.astype(np.int32).repeat(num_entries)  # (nnz,) of both ends


class _PatternArrays:
    """A pattern's arrays, for numpy."""

    def __init__(self, pattern: Pattern) -> None:
        assert pattern.rowptr is not None
        self.end = pattern.rowptr[1:].numpy()
        self.row, self.col = pattern.row.numpy(), pattern.col.numpy()
        self.diagonal = pattern.diagonal.numpy()

    def at(self, places: _Places) -> Pattern:
        rowptr = np.zeros(len(places.nodes) + 1, self.end.dtype)
        np.add(self.end.take(places.nodes), places.row_shift, rowptr[1:], casting="same_kind")
        row, col = self.row.take(places.entries), self.col.take(places.entries)
        row += places.end_shift
        col += places.end_shift
        diagonal = self.diagonal.take(places.nodes)
        diagonal += places.row_shift
        n = len(places.nodes)
        arrays = [torch.from_numpy(part) for part in (rowptr, row, col, diagonal)]
        return Pattern(arrays[0], arrays[1], arrays[2], arrays[3], (n, n))


def _irregular(graph: Graph, owner: Tensor, num_graphs: int) -> Tensor | None:  # (3, num_graphs)
    """How many self-loops, one-way edges and one-way weights each graph has; None if none do."""
    if graph.is_undirected and graph.loops is None:
        return None
    p, t = graph.pattern, graph.transposed
    loops = torch.zeros_like(owner, dtype=torch.bool) if graph.loops is None else graph.loops != 0
    edges = (p.row != t.row) | (p.col != t.col)
    weights = torch.zeros_like(edges)
    if graph.weight is not None and not graph.is_undirected:
        reverse = graph.weight[graph.transposition.long()]
        tolerance = 8 * torch.finfo(reverse.dtype).eps  # the graph's own, for sums in another order
        weights = ~torch.isclose(graph.weight, reverse, rtol=tolerance, atol=0.0)
    of_entry = owner[p.row.long()]
    places = (owner[loops], of_entry[edges], of_entry[weights])
    return torch.stack([torch.bincount(numbers, minlength=num_graphs) for numbers in places])
