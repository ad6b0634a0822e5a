"""Mini-batches of graphs by index arithmetic on concatenated arrays: no lists, no sorting."""

from dataclasses import dataclass

import numpy as np
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

    def to(self, device: torch.device | str | None) -> "Batch":
        """The same batch on another device; itself if it is there: its graph remembers things."""
        if device is None or torch.device(device) == self.graph.device:
            return self
        x, batch, y = (part.to(device) for part in (self.x, self.batch, self.y))
        return Batch(x, self.graph.to(device), batch, y, self.num_graphs)


class Slices:
    """All graphs of a dataset, ready to be cut out of their union.

    The union's matrices are block-diagonal and sorted by row: the nodes of a graph, its entries and
    its transpose's entries are contiguous runs. A batch gathers those runs and shifts what they
    point to. It is cut on the CPU, in half the time of torch's operations, and then moved.
    """

    def __init__(self, graph: Graph, x: Tensor, y: Tensor, nodes_per_graph: Tensor) -> None:
        self.device = graph.device
        self.x, self.y, self.graph = x.cpu(), y.cpu(), graph.to("cpu")
        sizes = nodes_per_graph.cpu()
        bounds = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        assert self.graph.pattern.rowptr is not None
        cuts = self.graph.pattern.rowptr.long()[bounds]
        # Of each graph: how many nodes and entries it has, and where they start.
        self.runs = torch.stack([sizes, cuts.diff(), bounds[:-1], cuts[:-1]])

    def batch(self, indices: Tensor) -> Batch:
        """The graphs at these indices, in this order."""
        indices = indices.cpu()
        try:
            runs = self.runs.index_select(1, indices).numpy()
        except (IndexError, RuntimeError) as error:
            wanted = f"int64 indices between 0 and {self.runs.size(1) - 1}"
            raise InputError(f"a batch needs {wanted} ({error})") from None
        if indices.numel() == 0:
            raise InputError("a batch needs at least one graph, got no indices")
        num_nodes, num_entries = counts = runs[:2]
        ends = counts.cumsum(1)
        n, nnz = ends[:, -1].tolist()
        node_shift, entry_shift = ends - counts - runs[2:]  # by how far each graph moves; (B,)
        row_shift, shift = entry_shift.repeat(num_nodes), entry_shift.repeat(num_entries)
        nodes, entries = np.arange(n) - node_shift.repeat(num_nodes), np.arange(nnz) - shift
        # In 32 bits, as what it is added to mostly is: numpy is slow where types are mixed.
        end_shift = node_shift.astype(np.int32).repeat(num_entries)  # (nnz,) of both ends

        def moved(pattern: Pattern) -> Pattern:
            assert pattern.rowptr is not None
            end = pattern.rowptr[1:].numpy()
            rowptr = np.zeros(n + 1, end.dtype)
            np.add(end.take(nodes), row_shift, rowptr[1:], casting="same_kind")
            row, col = (part.numpy().take(entries) for part in (pattern.row, pattern.col))
            row += end_shift
            col += end_shift
            diagonal = pattern.diagonal.numpy().take(nodes)
            diagonal += row_shift
            arrays = [torch.from_numpy(part) for part in (rowptr, row, col, diagonal)]
            return Pattern(arrays[0], arrays[1], arrays[2], arrays[3], (n, n))

        graph, of_nodes, of_entries = self.graph, torch.from_numpy(nodes), torch.from_numpy(entries)
        pattern = moved(graph.pattern)
        shared = graph.transposed is graph.pattern
        transposition = graph.transposition.numpy().take(entries)
        transposition += shift.astype(transposition.dtype)
        loops = None if graph.loops is None else graph.loops.index_select(0, of_nodes)
        num_loops = 0 if loops is None else int(torch.count_nonzero(loops))
        batch = Batch(
            x=self.x.index_select(0, of_nodes),
            graph=Graph(
                pattern=pattern,
                transposed=pattern if shared else moved(graph.transposed),
                transposition=torch.from_numpy(transposition),
                is_undirected=graph.is_undirected,
                weight=None if graph.weight is None else graph.weight.index_select(0, of_entries),
                loops=loops if num_loops else None,
                row_sums=graph.row_sums.index_select(0, of_nodes),
                num_edges=nnz - n + num_loops,
                dtype=graph.dtype,
            ),
            batch=torch.from_numpy(np.arange(len(indices)).repeat(num_nodes)),
            y=self.y.index_select(0, indices),
            num_graphs=len(indices),
        )
        return batch.to(self.device)
