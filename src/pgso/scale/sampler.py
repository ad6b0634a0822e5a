"""Some neighbours of some nodes as a graph of their own, with the degrees of the whole graph."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph, Pattern, Sample

Array = NDArray[np.int64]
ALL = -1


class NeighborSampler:
    r"""Draws neighbours without replacement, so that γ's rows are right on average.

    Of the :math:`k_i` neighbours of node i, :math:`s_i = \min(s, k_i)` are drawn, each with weight
    :math:`A_{ij} k_i / s_i`; the diagonal is exact. With the degrees of the whole graph,

    .. math::
        \mathbb{E}\big[(\hat\gamma x)_i\big] = (\gamma(A, \mathcal{S}) x)_i

    and the two are equal where all neighbours are drawn. Rows are drawn independently and once a
    batch. All is index arithmetic on the graph's arrays, which may be memory-mapped: O(edges
    drawn) time, and 4 bytes per node of the whole graph kept between batches.

    Args:
        graph: The whole graph, on the CPU.

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
        self.rowptr = graph.pattern.rowptr.numpy()
        self.col = graph.pattern.col.numpy()
        self.diagonal = graph.pattern.diagonal.numpy()
        self.place = np.full(graph.num_nodes, -1, dtype=np.int32)  # of a node in the batch

    def sample(
        self,
        seeds: Tensor,  # (b,) distinct nodes, int64
        num_neighbors: Iterable[int],  # of each hop; -1 for all
        rng: np.random.Generator,
    ) -> Graph:
        """The seeds, which come first, and those they hear from, hop by hop.

        Nodes of the last hop have no neighbours in the result: with as many layers as hops, only
        what is computed for the seeds is meant to be used.
        """
        nodes = [_checked(seeds, self.graph.num_nodes)]
        count = nodes[0].size
        self.place[nodes[0]] = np.arange(count, dtype=np.int32)
        taken: list[Array] = []
        entries: list[Array] = []
        importance: list[NDArray[np.float32]] = []
        try:
            for size in num_neighbors:
                counts, drawn, share = self._draw(nodes[-1], size, rng)
                taken.append(counts)
                entries.append(drawn)
                importance.append(share)
                fresh = self._fresh(self.col[drawn])
                self.place[fresh] = np.arange(count, count + fresh.size, dtype=np.int32)
                count += fresh.size
                nodes.append(fresh)
            taken.append(np.zeros(nodes[-1].size, dtype=np.int64))
            every = np.concatenate(nodes)
            return self._graph(
                every,
                np.concatenate(taken),
                np.concatenate([np.empty(0, np.int64), *entries]),
                np.concatenate([np.empty(0, np.float32), *importance]),
            )
        finally:
            for hop in nodes:
                self.place[hop] = -1

    def _draw(
        self, nodes: Array, size: int, rng: np.random.Generator
    ) -> tuple[Array, Array, NDArray[np.float32]]:
        """How many entries of each node's row are taken, which, and how many each stands for."""
        start, diagonal = self.rowptr[nodes].astype(np.int64), self.diagonal[nodes]
        degree = self.rowptr[nodes + 1] - start - 1
        taken = degree if size == ALL else np.minimum(degree, size)
        first = taken.cumsum() - taken
        within = np.arange(int(taken.sum())) - first.repeat(taken)
        long = np.flatnonzero(degree > taken)
        if long.size and size:
            slots = first[long] + np.arange(size)[:, None]
            within[slots] = _subsets(degree[long], size, rng)
        entries = within + start.repeat(taken)
        entries += entries >= diagonal.repeat(taken)  # the diagonal is no neighbour
        share = (degree / np.maximum(taken, 1)).astype(np.float32)
        return taken, entries, share.repeat(taken)

    def _fresh(self, found: Array) -> Array:
        """Those that are not in the batch yet, each once, in the order in which they are stored."""
        found = found[self.place[found] < 0]
        order = np.arange(found.size, dtype=np.int32)
        self.place[found] = order  # of equal ones the last stays
        return np.sort(found[self.place[found] == order]).astype(np.int64)

    def _graph(
        self, nodes: Array, taken: Array, entries: Array, importance: NDArray[np.float32]
    ) -> Graph:
        """The drawn entries and the diagonal, sorted, with the transpose."""
        n, whole = nodes.size, self.graph
        begin = np.zeros(n + 1, dtype=np.int32)
        begin[1:] = (taken + 1).cumsum()
        off_diagonal = np.ones(begin[-1], dtype=bool)
        off_diagonal[begin[:-1]] = False
        col = np.empty(begin[-1], dtype=np.int32)
        col[begin[:-1]] = np.arange(n, dtype=np.int32)
        col[off_diagonal] = self.place[self.col[entries]]

        # Two conversions sort by counting: by column, then by row with ascending columns.
        slots = np.arange(col.size, dtype=np.int32)
        by_col = scipy.sparse.csr_array((slots, col, begin), shape=(n, n)).tocsc()
        by_row = by_col.tocsr()
        position = np.empty_like(slots)
        position[by_row.data] = slots
        pattern = Pattern(
            rowptr=torch.from_numpy(by_row.indptr),
            row=torch.from_numpy(np.arange(n, dtype=np.int32).repeat(taken + 1)),
            col=torch.from_numpy(by_row.indices),
            diagonal=torch.from_numpy(position[begin[:-1]].astype(np.int64)),
        )
        transposition = position[by_col.data]
        place = np.empty_like(slots)
        place[transposition] = slots
        transposed = Pattern(
            rowptr=torch.from_numpy(by_col.indptr),
            row=torch.from_numpy(np.arange(n, dtype=np.int32).repeat(np.diff(by_col.indptr))),
            col=torch.from_numpy(by_col.indices),
            diagonal=torch.from_numpy(place[pattern.diagonal.numpy()].astype(np.int64)),
        )

        counts = np.ones(col.size, dtype=np.float32)
        counts[position[off_diagonal]] = importance
        weight = counts.copy()
        if whole.weight is not None:
            weight[position[off_diagonal]] *= whole.weight.detach().numpy()[entries]
        ids = torch.from_numpy(nodes)
        loops = None if whole.loops is None else whole.loops.index_select(0, ids)
        entry_weight = torch.from_numpy(weight).to(whole.dtype)
        own = torch.zeros(n, dtype=whole.dtype) if loops is None else loops
        return Graph(
            pattern=pattern,
            transposed=transposed,
            transposition=torch.from_numpy(transposition),
            is_undirected=False,
            weight=entry_weight.index_copy(0, pattern.diagonal, own),
            loops=loops,
            degree=whole.degree.index_select(0, ids),
            num_edges=entries.size + int(torch.count_nonzero(own)),
            sample=Sample(whole, ids, torch.from_numpy(counts)),
        )


def _subsets(degree: Array, size: int, rng: np.random.Generator) -> Array:  # (size, rows)
    """A uniformly random subset of ``range(degree)`` for every row, by Floyd's algorithm.

    Step t draws from the first ``degree - size + t + 1`` numbers, and takes the last of them
    instead where the draw is in the subset already.
    """
    chosen = np.empty((size, degree.size), dtype=np.int64)
    for step in range(size):
        last = degree - size + step
        draw = (rng.random(degree.size) * (last + 1)).astype(np.int64)
        again = (chosen[:step] == draw).any(axis=0)
        chosen[step] = np.where(again, last, draw)
    return chosen


def _checked(seeds: Tensor, num_nodes: int) -> Array:
    """Refuse nodes that are not there, or are there twice."""
    nodes: Array = np.asarray(seeds, dtype=np.int64).ravel()
    if nodes.size and (nodes.min() < 0 or nodes.max() >= num_nodes):
        raise InputError(f"a batch needs nodes between 0 and {num_nodes - 1}, got {nodes}")
    if np.unique(nodes).size < nodes.size:
        raise InputError("a batch needs distinct nodes; take torch.unique of them")
    return nodes
