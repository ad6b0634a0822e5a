"""Nodes laid out for speed: mini-batches of graphs by index arithmetic, and an order of nodes."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from pgso.data.inputs import as_scipy, as_tensor
from pgso.data.task import Task
from pgso.errors import InputError
from pgso.graph import Graph, Pattern
from pgso.graph.pattern import inverse

LARGE = 50_000  # nodes from which on features do not stay in the cache, and the order matters
MOST_BYTES = 2**32  # of features that are copied for it; larger ones may be mapped from a file
RUN = 2048  # neighbouring nodes that stay together
PARTS = 4  # what blocks are dealt out to: so many threads get equal work


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


def fast_order(graph: Graph) -> Tensor:  # (n,)
    """The nodes in reverse Cuthill-McKee order, dealt out to equal parts block by block.

    Neighbours stand near each other, so that a product finds their rows in the cache. The order
    ends with nodes of many edges, while torch gives every thread as many rows: so each part gets
    every fourth block. On ogbn-arxiv's graph γx and 7 gradients were 1.4 times as fast on one
    thread, 1.1 to 1.3 on two; with eight parts one thread gains 1.2 only.
    """
    pattern, n = graph.pattern, graph.num_nodes
    assert pattern.rowptr is not None
    rowptr, col = (part.numpy(force=True) for part in (pattern.rowptr, pattern.col))
    A = csr_array((np.ones(len(col), dtype=np.int8), col, rowptr), shape=(n, n))
    if not graph.is_undirected:
        A = csr_array(A + A.T)
    order = torch.from_numpy(reverse_cuthill_mckee(A, symmetric_mode=True).astype(np.int64))
    blocks = order.split(RUN)
    return torch.cat([block for first in range(PARTS) for block in blocks[first::PARTS]])


def in_fast_order(task: Task) -> Task:
    """The same task in another order of nodes, if it is a large, plain one of less than 4 GiB."""
    is_sparse = task.x.layout == torch.sparse_csr
    size = task.x.values().nbytes if is_sparse else task.x.nbytes
    is_plain = task.kind == "node" and task.relations is None
    if not is_plain or task.num_nodes < LARGE or size > MOST_BYTES:
        return task
    order, graph = fast_order(task.graph), task.graph
    position = inverse(order)
    return replace(
        task,
        graph=Graph.from_edge_index(position[graph.edge_index], graph.edge_weight, task.num_nodes),
        x=as_tensor(as_scipy(task.x)[order.numpy()]) if is_sparse else task.x[order],
        y=task.y[order],
        train=position[task.train],
        val=position[task.val],
        test=position[task.test],
        ids=None if task.ids is None else tuple(task.ids[k] for k in order.tolist()),
    )
