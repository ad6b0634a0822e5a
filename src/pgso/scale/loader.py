"""``NeighborLoader``: the training nodes in mini-batches, each with some of its neighbours."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data.data import BaseData

from pgso.data import Task
from pgso.data.inputs import as_scipy
from pgso.errors import InputError
from pgso.graph import Graph, Pattern, Sample

Array = np.ndarray[Any, Any]  # of integers: 32 bits where the graph's are
ALL = -1


@dataclass(frozen=True, eq=False)
class SampledBatch:
    """Some nodes, which come first, and the neighbours that their outputs depend on."""

    x: Tensor  # (n, F) features of the batch's nodes, dense or sparse
    graph: Graph  # sampled edges among them, degrees of the whole graph
    y: Tensor  # (num_seeds,)
    nodes: Tensor  # (n,) their ids in the task
    num_seeds: int
    weight: float = 1.0  # of its mean loss in the average over all processes

    def to(self, device: torch.device | str | None) -> "SampledBatch":
        """The same batch on another device."""
        return replace(self, x=self.x.to(device), graph=self.graph.to(device), y=self.y.to(device))


class NeighborLoader:
    """Mini-batches of nodes for training on graphs of any size.

    A batch's ``graph`` carries the degrees of the whole graph and edges weighed by how many they
    stand for: every conv, model and converted PyG model takes it as it is (see
    :class:`NeighborSampler`), but for terms on outgoing edges, which are not drawn. Use as many
    hops as the network has layers, and the outputs of the first ``num_seeds`` nodes.

    Args:
        task: A node task, or PyG's ``Data`` that :meth:`pgso.Task.from_data` makes one of.
        num_neighbors: How many neighbours a node hears from, hop by hop; -1 for all.
        batch_size: Nodes whose loss is computed together, over all processes.
        seed: Of shuffling and drawing; an epoch of the same number is the same again.
        nodes: Which nodes; by default those to train on.
        shuffle: Whether they come in another order every epoch.
        rank: Which of ``num_ranks`` processes this is, if several share every batch.

    Example:
        >>> from pgso.data import load_task
        >>> loader = NeighborLoader(load_task("karate"), num_neighbors=[3, 2], batch_size=4)
        >>> batch = next(iter(loader))
        >>> batch.num_seeds, batch.y.shape
        (4, torch.Size([4]))
    """

    def __init__(
        self,
        task: Task | BaseData,
        num_neighbors: Sequence[int] = (15, 10),
        batch_size: int = 1024,
        seed: int = 0,
        nodes: Tensor | None = None,
        shuffle: bool = True,
        rank: int = 0,
        num_ranks: int = 1,
    ) -> None:
        task = Task.from_data(task, seed) if isinstance(task, BaseData) else task
        if not isinstance(task, Task):
            raise InputError(
                f"NeighborLoader takes a Task (pgso.load_task) or Data, got {type(task).__name__}"
            )
        if task.kind != "node":
            raise InputError(
                f"neighbours are sampled within one graph, and {task.name} has many: leave out "
                "sample, or take task.batch(indices)"
            )
        sizes = tuple(num_neighbors) if isinstance(num_neighbors, Iterable) else ()
        whole = [isinstance(k, Integral) and not isinstance(k, bool) for k in sizes]
        if not sizes or not all(whole) or not all(k >= 1 or k == ALL for k in sizes):
            raise InputError(
                f"num_neighbors takes a number for every hop, 1 or more, or -1 for all, "
                f"got {num_neighbors!r}"
            )
        self.num_neighbors = tuple(map(int, sizes))
        if not isinstance(batch_size, (int, np.integer)) or batch_size < num_ranks:
            raise InputError(
                f"batch_size must be an integer, {num_ranks} or more, got {batch_size!r}"
            )
        self.task, self.batch_size, self.seed = task, int(batch_size), seed
        self.nodes = task.train if nodes is None else torch.as_tensor(nodes)
        if self.nodes.dtype == torch.bool:
            self.nodes = self.nodes.nonzero().flatten()
        self.shuffle, self.rank, self.num_ranks = shuffle, rank, num_ranks
        self.epoch = 0  # set it to resume there
        self.sampler = NeighborSampler(task.graph)
        self.rows = rows_of(task.x)

    def __len__(self) -> int:
        """The number of batches of an epoch. The last may be small: at least a node per process."""
        whole, rest = divmod(self.nodes.numel(), self.batch_size)
        return whole + (rest >= self.num_ranks)

    def __iter__(self) -> Iterator[SampledBatch]:
        epoch, self.epoch = self.epoch, self.epoch + 1
        order = np.arange(self.nodes.numel())
        if self.shuffle:  # in the same way in every process
            order = np.random.default_rng([self.seed, epoch]).permutation(order)
        nodes = self.nodes[torch.from_numpy(order)]
        rng = np.random.default_rng([self.seed, epoch, 1 + self.rank])
        for together in nodes.split(self.batch_size)[: len(self)]:
            share = together[self.rank :: self.num_ranks]
            weight = share.numel() * self.num_ranks / together.numel()
            yield replace(self.batch(share, rng), weight=weight)

    def batch(self, seeds: Tensor, rng: np.random.Generator) -> SampledBatch:
        """The batch of these nodes; they must be distinct."""
        graph = self.sampler.sample(seeds, self.num_neighbors, rng)
        assert graph.sample is not None
        nodes = graph.sample.nodes
        return SampledBatch(self.rows(nodes), graph, self.task.y[seeds], nodes, seeds.numel())


class NeighborSampler:
    r"""Draws neighbours without replacement, so that γ's rows are right on average.

    Of the :math:`k_i` neighbours of node i, :math:`s_i = \min(s, k_i)` are drawn, each with weight
    :math:`A_{ij} k_i / s_i`; the diagonal is exact. With the degrees of the whole graph,

    .. math::
        \mathbb{E}\big[(\hat\gamma x)_i\big] = (\gamma(A, \mathcal{S}) x)_i

    and the two are equal where all neighbours are drawn. Rows are drawn independently and once a
    batch. All is index arithmetic on the arrays of the whole graph, which is on the CPU and may be
    memory-mapped: O(edges drawn) time, and 4 bytes per node kept between batches.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> part = NeighborSampler(path).sample(torch.tensor([2]), [1], np.random.default_rng(0))
        >>> part.sample.nodes, part.degree
        (tensor([2, 1]), tensor([1., 2.]))
    """

    def __init__(self, graph: Graph) -> None:
        if graph.device.type != "cpu":
            raise InputError(
                f"neighbours are drawn on the CPU, the graph is on {graph.device}: graph.to('cpu')"
            )
        assert graph.pattern.rowptr is not None
        self.graph = graph
        self.rowptr, self.col = graph.pattern.rowptr, graph.pattern.col
        self.place = torch.full((graph.num_nodes,), -1, dtype=torch.int32)  # in the batch

    def sample(
        self,
        seeds: Tensor,  # (b,) distinct nodes, int64
        num_neighbors: Iterable[int],  # of each hop; -1 for all
        rng: np.random.Generator,
    ) -> Graph:
        """The seeds, which come first, and their sampled neighbours, hop by hop.

        Nodes of the last hop have no neighbours in the result: with as many layers as hops, only
        what is computed for the seeds is meant to be used.
        """
        n = self.graph.num_nodes
        nodes = [np.asarray(seeds, dtype=np.int64).ravel()]
        if nodes[0].size and (nodes[0].min() < 0 or nodes[0].max() >= n):
            raise InputError(f"a batch needs nodes between 0 and {n - 1}, got {nodes[0]}")
        try:
            count, place = nodes[0].size, self.place.numpy()
            place[nodes[0]] = np.arange(count)
            if (place[nodes[0]] != np.arange(count)).any():
                raise InputError("a batch needs distinct nodes; take torch.unique of them")
            hops: list[tuple[Array, ...]] = []
            for size in num_neighbors:
                hops.append(self._draw(nodes[-1], size, rng))
                sources = hops[-1][-1]
                unseen = sources[np.flatnonzero(_take(self.place, sources) < 0)]
                nodes.append(torch.unique(torch.from_numpy(unseen)).numpy())  # sorts by counting
                place[nodes[-1]] = np.arange(count, count + nodes[-1].size)
                count += nodes[-1].size
            nothing = np.empty(0, dtype=np.int32)
            silent = np.zeros(nodes[-1].size, dtype=np.int32)
            hops.append((silent, silent + 1.0, nothing, nothing))
            ids = np.concatenate(nodes).astype(np.int64)
            return self._graph(torch.from_numpy(ids), *map(np.concatenate, zip(*hops, strict=True)))
        finally:
            for hop in nodes:
                self.place.numpy()[hop] = -1

    def _draw(self, nodes: Array, size: int, rng: np.random.Generator) -> tuple[Array, ...]:
        """Some entries of the rows of these nodes, as :meth:`_graph` takes them."""
        start = _take(self.rowptr, nodes)
        degree = _take(self.rowptr, nodes + 1) - start - 1
        taken = degree if size == ALL else np.minimum(degree, size)
        first = taken.cumsum(dtype=start.dtype) - taken
        entries = (start - first).repeat(taken)
        entries += np.arange(entries.size, dtype=entries.dtype)
        long = np.flatnonzero(degree > taken)
        if long.size:
            # A uniformly random subset of each row's neighbours, by Floyd's algorithm.
            last = degree[long] - size + np.arange(size, dtype=degree.dtype)[:, None]
            chosen = (rng.random(last.shape) * (last + 1)).astype(degree.dtype)  # (size, rows)
            for step in range(1, size):
                again = (chosen[:step] == chosen[step]).any(axis=0)
                np.copyto(chosen[step], last[step], where=again)
            entries[first[long] + np.arange(size)[:, None]] = start[long] + chosen
        diagonal = _take(self.graph.pattern.diagonal, nodes)
        entries += entries >= diagonal.repeat(taken)  # the diagonal is no neighbour
        return taken, degree / np.maximum(taken, 1), entries, _take(self.col, entries)

    def _graph(
        self,
        ids: Tensor,  # (n,) nodes of the whole graph
        taken: Array,  # (n,) from how many neighbours each hears
        share: Array,  # (n,) how many edges each of them stands for
        entries: Array,  # (sum of taken,) where these stand in the whole graph's pattern
        sources: Array,  # (sum of taken,) which nodes they come from
    ) -> Graph:
        """The drawn entries and the diagonal, sorted, with the transpose."""
        n, whole = ids.numel(), self.graph
        begin = np.zeros(n + 1, dtype=np.int32)
        begin[1:] = (taken + 1).cumsum()
        nodes = np.arange(n, dtype=np.int32)
        row = nodes.repeat(taken + 1)
        # Unsorted, a row begins with the diagonal.
        first, others = begin[:-1], nodes.repeat(taken)
        others += np.arange(1, others.size + 1, dtype=np.int32)
        col = np.empty(row.size, dtype=np.int32)
        col[first], col[others] = nodes, _take(self.place, sources)

        # Two conversions sort by counting: by column, then by row with ascending columns.
        slots = np.arange(col.size)
        by_col = scipy.sparse.csr_array((slots, col, begin), shape=(n, n)).tocsc()
        by_row = by_col.tocsr()
        position = np.empty(col.size, dtype=np.int32)
        position[by_row.data] = slots
        pattern = _pattern(begin, row, by_row.indices)
        transposed = _pattern(by_col.indptr, nodes.repeat(np.diff(by_col.indptr)), by_col.indices)

        importance = torch.from_numpy(share.repeat(taken + 1)).to(whole.dtype)
        importance[pattern.diagonal] = 1
        loops = None if whole.loops is None else whole.loops.index_select(0, ids)
        if whole.weight is None:
            diagonal = torch.zeros(n, dtype=whole.dtype) if loops is None else loops
            weight = importance.index_copy(0, pattern.diagonal, diagonal)
        else:
            origin = np.empty(col.size, dtype=np.int64)
            origin[first], origin[others] = whole.pattern.diagonal[ids], entries
            weight = importance * whole.weight[torch.from_numpy(origin[by_row.data])]
        num_loops = 0 if loops is None else int(torch.count_nonzero(loops.detach()))
        return Graph(
            pattern=pattern,
            transposed=transposed,
            transposition=torch.from_numpy(position[by_col.data]),
            is_undirected=False,
            weight=weight,
            loops=loops,
            row_sums=whole.row_sums.index_select(0, ids),
            num_edges=entries.size + num_loops,
            dtype=whole.dtype,
            sample=Sample(whole, ids, importance),
        )


def _take(values: Tensor, index: Array) -> Array:
    """The values at these places: torch needs half of numpy's time."""
    taken: Array = values.index_select(0, torch.from_numpy(index)).numpy()
    return taken


def _pattern(rowptr: Array, row: Array, col: Array) -> Pattern:
    diagonal = np.flatnonzero(row == col)
    parts = [torch.from_numpy(part) for part in (rowptr, row, col, diagonal)]
    return Pattern(parts[0], parts[1], parts[2], parts[3], (diagonal.size, diagonal.size))


def rows_of(x: Tensor) -> Callable[[Tensor], Tensor]:  # (n, F) -> nodes (b,) -> (b, F)
    """A function that reads the rows of x that a batch asks for, and nothing else of it.

    x is dense (also memory-mapped, also integers) or a torch.sparse CSR matrix.
    """
    if x.layout == torch.strided:
        return lambda nodes: x.index_select(0, nodes)
    matrix = as_scipy(x)

    def sparse_rows(nodes: Tensor) -> Tensor:
        rows = matrix[nodes.numpy()]
        rowptr, col, values = map(torch.from_numpy, (rows.indptr, rows.indices, rows.data))
        return torch.sparse_csr_tensor(rowptr, col, values, size=rows.shape, check_invariants=False)

    return sparse_rows


def mapped_features(path: str | Path) -> Tensor:  # (n, F)
    """A ``.npy`` file of numbers as a tensor that stays on disk: rows are read when they are used.

    Put it in the place of a task's x: ``dataclasses.replace(task, x=mapped_features(path))``.
    """
    try:
        # Copy-on-write: torch wants memory that could be written, the file stays as it is.
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be mapped as an array of numbers ({error})") from None
    if array.ndim != 2 or array.dtype not in (np.float32, np.float64, np.int64):
        raise InputError(
            f"{path} must hold float32, float64 or int64 in two dimensions, a row per node, "
            f"got {array.dtype} of shape {array.shape}; write np.save(path, x.astype('float32'))"
        )
    return torch.from_numpy(array)
