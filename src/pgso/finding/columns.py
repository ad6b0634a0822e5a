"""Columns: features made ready for ridge regression, and the structure of the graph as columns.

Features are prepared as they were on one graph, for any. The structure is a block of a rung like
γx.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pgso.bases import undirected
from pgso.data.inputs import as_scipy
from pgso.graph import Graph
from pgso.gso.shift import shift

EXACT = 1000  # columns up to which principal components are exact
MOST_PATHS = 50_000_000  # of two edges, up to which triangles are counted
DAMPING, STEPS = 0.85, 30  # of PageRank


@dataclass(frozen=True, eq=False)
class Preparation:
    """How features of nodes are prepared.

    Dense columns have zero mean and unit variance on the graph it was learned on; a constant one
    becomes ones. Sparse rows have norm 1, so that a long text does not count more than a short one.
    Either may then be turned into principal components. Dense features get one more column of ones:
    its sums over neighbours are the degrees, which centred features hide.
    """

    mean: Tensor | None  # (F,) subtracted from dense columns; None: features were sparse
    factor: Tensor | None  # (F,) one over the deviation, or over the value of a constant column
    V: Tensor | None = None  # (F, k) principal components
    offset: Tensor | None = None  # (1, k) the components of the mean

    @classmethod
    def of(cls, x: Tensor, components: int | None = None) -> "Preparation":
        """Learn it from features, (n, F); ``components``: how many, None for no reduction."""
        if x.layout != torch.strided:
            first = cls(None, None)
        else:
            # In units of a power of 2, which costs no digits: squares of 1e30 have no float.
            values = x.float()
            unit = torch.exp2(torch.frexp(values.abs().amax(dim=0)).exponent.float())
            values = values / unit
            mean = values.mean(dim=0)
            deviation = (values - mean).square().mean(dim=0).sqrt()
            varies = deviation > 1e-6 * values.abs().amax(dim=0)
            factor = torch.where(varies, deviation, mean)
            factor = torch.where(factor == 0, factor, 1 / factor) / unit
            first = cls(torch.where(varies, mean * unit, 0.0), factor)
        if components is None:
            return first
        columns = first(x)
        if first.mean is not None:
            columns = columns[:, :-1]  # the ones come last, and are added again
        return cls(first.mean, first.factor, *_components(columns, components))

    def __call__(self, x: Tensor) -> Tensor:
        """Features prepared, (n, F) or (n, k); dense where those it was learned on were."""
        if self.mean is None or self.factor is None:
            x = x.to_sparse_csr()
            index, values = (x.crow_indices(), x.col_indices()), x.values().float()
            rows = torch.repeat_interleave(torch.arange(x.size(0)), index[0].diff())
            squares = torch.zeros(x.size(0)).index_add_(0, rows, values.square())
            values = values / squares.sqrt().clamp(min=1e-30)[rows]
            x = torch.sparse_csr_tensor(*index, values, size=x.shape, check_invariants=False)
        else:
            x = (x.to_dense().float() - self.mean) * self.factor
        if self.V is not None and self.offset is not None:
            x = x @ self.V - self.offset
        return x if self.mean is None else torch.cat([x, x.new_ones(len(x), 1)], dim=1)


def _components(x: Tensor, number: int) -> tuple[Tensor, Tensor]:  # (F, k), (1, k)
    """The leading directions V of x, and the mean times V.

    Of few columns they are exact, of many from a randomised decomposition of x as it is stored.
    """
    if x.size(1) <= EXACT:
        dense = x.to_dense()
        mean = dense.mean(dim=0, keepdim=True)
        gram = dense.t() @ dense - len(dense) * mean.t() @ mean
        _, V = torch.linalg.eigh(gram.double())
        V = V[:, -number:].flip(1).float()
        return V, mean @ V
    matrix: Any = x.numpy() if x.layout == torch.strided else as_scipy(x)
    V = _directions(matrix, number)
    mean = torch.from_numpy(np.asarray(matrix.mean(axis=0))).float().reshape(1, -1)
    return V, mean @ V


def _directions(matrix: Any, number: int) -> Tensor:  # (F, number)
    from sklearn.utils.extmath import randomized_svd  # slow to import, and rarely needed

    _, _, Vt = randomized_svd(matrix, number, n_iter=4, random_state=0)
    return torch.from_numpy(np.ascontiguousarray(Vt.T)).float()


def coordinates(graph: Graph, number: int) -> Tensor:  # (n, number)
    """The leading directions of GCN's γ, which stand for the identity: γV = UΣ if γ ≈ U Σ Vᵀ."""
    gamma = shift(undirected(graph), "gcn").to_scipy().tocsr()
    return _directions(gamma, number) * math.sqrt(graph.num_nodes)


def structural_columns(graph: Graph) -> Tensor:  # (n, columns)
    """The columns of :func:`structural_names`; all but in- and out-degrees see edges both ways."""
    targets, sources = (side.numpy() for side in graph.edge_index.flip(0))
    shape = (graph.num_nodes, graph.num_nodes)
    A = sp.csr_array((np.ones(len(targets)), (targets, sources)), shape=shape)
    A.data[:] = 1.0  # weights and edges that are listed twice do not count
    both = A + A.T
    both.setdiag(0)
    both.eliminate_zeros()
    both.data[:] = 1.0
    degree = both.sum(axis=1)
    log_degree = np.log1p(degree)
    columns = [log_degree, both @ log_degree / np.maximum(degree, 1)]
    if not graph.is_undirected:
        columns = [np.log1p(A.sum(axis=1)), np.log1p(A.sum(axis=0)), *columns]
    clustering = np.zeros(len(degree))  # the share of pairs of neighbours that are neighbours
    if float((degree**2).sum()) <= MOST_PATHS:
        triangles = (both @ both).multiply(both).sum(axis=1)
        clustering = np.asarray(triangles / np.maximum(degree * (degree - 1), 1))
    rank = np.full(len(degree), 1 / max(len(degree), 1))
    for _ in range(STEPS):
        flow = both @ (rank / np.maximum(degree, 1))
        rank = DAMPING * flow + (1 - DAMPING * flow.sum()) / len(degree)
    # The largest k with the node in a subgraph of degrees k or more, by peeling.
    left, alive, core = degree.copy(), np.ones(len(degree), dtype=bool), np.zeros(len(degree))
    while alive.any():
        k = left[alive].min()
        peeled = np.flatnonzero(alive & (left <= k))
        while len(peeled):
            core[peeled], alive[peeled] = k, False
            neighbours = both[peeled].indices
            np.subtract.at(left, neighbours, 1)
            peeled = np.unique(neighbours[alive[neighbours] & (left[neighbours] <= k)])
    columns += [np.log1p(core), clustering, np.log(len(degree) * rank)]
    return torch.from_numpy(np.stack(columns, axis=1)).float()


def structural_names(graph: Graph) -> tuple[str, ...]:
    """The names of these columns."""
    ways = () if graph.is_undirected else ("log in-degree", "log out-degree")
    names = ("log degree", "log degree of neighbours", "core number", "clustering", "PageRank")
    return (*ways, *names)
