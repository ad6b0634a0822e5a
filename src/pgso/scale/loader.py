"""``NeighborLoader``: the training nodes in mini-batches, each with some of its neighbours."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data.data import BaseData

from pgso.data import Task
from pgso.data.inputs import as_scipy
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.scale.sampler import ALL, NeighborSampler


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
        sizes = np.array(num_neighbors)
        is_right = sizes.ndim == 1 and sizes.size and np.issubdtype(sizes.dtype, np.integer)
        if not (is_right and ((sizes >= 1) | (sizes == ALL)).all()):
            raise InputError(
                f"num_neighbors takes a number for every hop, 1 or more, or -1 for all, "
                f"got {num_neighbors!r}"
            )
        self.num_neighbors = tuple(sizes.tolist())
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
