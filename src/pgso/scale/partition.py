"""A graph in blocks of rows: the nodes that a process owns, and those it needs from others."""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph, Memo
from pgso.graph.memo import version_of
from pgso.gso.module import PGSO
from pgso.gso.operator import ShiftOperator
from pgso.scale.sampler import ALL, NeighborSampler


@dataclass(frozen=True, eq=False)
class Partition:
    """A block of rows of A, with the halo: the nodes of other blocks that it has edges from.

    Operators take it in the place of a graph once :func:`pgso.scale.exchange.distribute` has
    prepared their model. Features, labels and outputs then belong to the block's own nodes.
    """

    graph: Graph  # own nodes, then the halo, whose rows hold the diagonal alone
    bounds: tuple[int, ...]  # (blocks + 1,) where the blocks of all processes start
    rank: int
    wanted: tuple[int, ...]  # (blocks,) how many halo nodes each process owns
    sent: tuple[int, ...]  # (blocks,) how many of our nodes are in each process's halo
    to_send: Tensor  # (sum of sent,) which they are, by process, counted from our first node
    fetched: Memo[Tensor] = (
        field(  # rows with their halo; a checksum would cost as much as fetching
            default_factory=lambda: Memo(version_of), init=False, repr=False
        )
    )

    def operator_of(self, gso: PGSO) -> ShiftOperator:
        """γ on the block, which fetches the halo's rows before it multiplies."""
        from pgso.scale.exchange import BlockShift

        return BlockShift(gso.on(self.graph), self)

    @property
    def start(self) -> int:
        """The first node of the block."""
        return self.bounds[self.rank]

    @property
    def num_own(self) -> int:
        """How many nodes the block has."""
        return self.bounds[self.rank + 1] - self.start

    @property
    def sizes(self) -> list[int]:
        """How many nodes each block has."""
        return [end - start for start, end in pairwise(self.bounds)]

    def among_own(self, nodes: Tensor) -> Tensor:
        """The given nodes that are in the block, counted from its first node."""
        mine = (nodes >= self.start) & (nodes < self.bounds[self.rank + 1])
        return nodes[mine] - self.start

    def to(self, device: torch.device | str | None) -> "Partition":
        """The same block on another device."""
        return replace(self, graph=self.graph.to(device), to_send=self.to_send.to(device))

    @classmethod
    def of(cls, graph: Graph, rank: int, num_ranks: int) -> "Partition":
        """The block of one process; all blocks have about as many edges.

        What others need from it follows from the graph, so that no process has to ask.
        """
        bounds = balanced_bounds(graph, num_ranks)
        halos = [_halo(graph, start, end) for start, end in pairwise(bounds)]
        to_send = [_between(halo, bounds[rank], bounds[rank + 1]) for halo in halos]
        mine = halos[rank]
        own_nodes = torch.arange(bounds[rank], bounds[rank + 1])
        local = NeighborSampler(graph).sample(own_nodes, [ALL], np.random.default_rng(0))
        assert local.sample is not None
        assert torch.equal(local.sample.nodes[own_nodes.numel() :], mine)  # both are ascending
        weight = None if graph.weight is None else local.weight
        return cls(
            graph=replace(local, sample=None, weight=weight),
            bounds=bounds,
            rank=rank,
            wanted=tuple(_between(mine, *block).numel() for block in pairwise(bounds)),
            sent=tuple(part.numel() for part in to_send),
            to_send=torch.cat(to_send) - bounds[rank],
        )


def balanced_bounds(graph: Graph, blocks: int) -> tuple[int, ...]:
    """Where to cut the rows so that each block has about as many entries.

    Example:
        >>> star = Graph.from_edge_index(torch.tensor([[1, 2, 3], [0, 0, 0]]))
        >>> balanced_bounds(star, 2)
        (0, 1, 4)
    """
    n = graph.num_nodes
    if n < blocks:
        raise InputError(f"{n} nodes cannot be shared by {blocks} processes; start {n} at most")
    assert graph.pattern.rowptr is not None
    entries = graph.pattern.rowptr[1:].long()
    goals = entries[-1] * torch.arange(1, blocks) // blocks
    bounds = [0]
    for block, cut in enumerate((torch.searchsorted(entries, goals) + 1).tolist(), 1):
        bounds.append(min(max(cut, bounds[-1] + 1), n - (blocks - block)))  # none is empty
    return (*bounds, n)


def _halo(graph: Graph, start: int, end: int) -> Tensor:
    """The nodes outside of rows [start, end) that these have edges from, ascending."""
    assert graph.pattern.rowptr is not None
    first, last = graph.pattern.rowptr[[start, end]].tolist()
    seen = torch.zeros(graph.num_nodes, dtype=torch.bool)
    seen[graph.pattern.col[first:last].long()] = True
    seen[start:end] = False
    return seen.nonzero().flatten()


def _between(nodes: Tensor, start: int, end: int) -> Tensor:
    return nodes[(nodes >= start) & (nodes < end)]
