"""Columns beside the features: the structure of the graph, and the labels of neighbours.

Both are blocks of a rung like γx. Neither needs features.
"""

import math

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pgso.data.arrays import Array
from pgso.finding.propagation import Letter, Propagation
from pgso.graph import Graph

MOST_PATHS = 50_000_000  # of two edges, up to which triangles are counted
DAMPING, STEPS = 0.85, 30  # of PageRank
CALM = 1.0  # labels of an average neighbour that every mean over neighbours' labels starts from
GRAIN = 1 / (20 * math.pi)  # of labels for trees: no share of a few labels lies between two grains
LABEL_PATHS = {  # operators whose product says how much a label counts: A, and A D⁻¹ A
    1: ("adjacency",),
    2: ("adjacency", "mean"),
}


def coordinates(graph: Graph, number: int) -> Tensor:  # (n, number)
    """The leading directions of GCN's γ, both signs, which stand for the identity where n is large.

    With γ ≈ U Σ Vᵀ, what γ and its powers make of the identity lies in few directions: γV = UΣ.
    """
    from sklearn.utils.extmath import randomized_svd  # slow to import, and rarely needed

    gamma = Propagation(graph).operator(Letter.of("gcn")).to_scipy().tocsr()
    _, _, Vt = randomized_svd(gamma, number, n_iter=4, random_state=0)
    directions = torch.from_numpy(np.ascontiguousarray(Vt.T)).float()
    return directions * math.sqrt(graph.num_nodes)


def structural_columns(graph: Graph) -> Tensor:  # (n, columns)
    """Log degree, mean log degree of neighbours, core number, clustering and PageRank.

    Of a directed graph the log degrees of both directions come first; the others see every edge
    with its reverse. Edge weights do not count.
    """
    targets, sources = (side.numpy() for side in graph.edge_index.flip(0))
    ones, shape = np.ones(len(targets)), (graph.num_nodes, graph.num_nodes)
    A = sp.csr_array((ones, (targets, sources)), shape=shape)
    A.data[:] = 1.0
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
    columns += [_core_numbers(both, degree), clustering, np.log(len(degree) * rank)]
    return torch.from_numpy(np.stack(columns, axis=1)).float()


def structural_names(graph: Graph) -> tuple[str, ...]:
    """The names of these columns."""
    ways = () if graph.is_undirected else ("log in-degree", "log out-degree")
    names = ("log degree", "log degree of neighbours", "core number", "clustering", "PageRank")
    return (*ways, *names)


def _core_numbers(A: sp.csr_array, degree: Array) -> Array:
    """The log of the largest k with the node in a subgraph of degrees k or more, by peeling."""
    left, alive, core = degree.copy(), np.ones(len(degree), dtype=bool), np.zeros(len(degree))
    while alive.any():
        k = left[alive].min()
        peeled = np.flatnonzero(alive & (left <= k))
        while len(peeled):
            core[peeled], alive[peeled] = k, False
            neighbours = A[peeled].indices
            np.subtract.at(left, neighbours, 1)
            peeled = np.unique(neighbours[alive[neighbours] & (left[neighbours] <= k)])
    return np.log1p(core)


def neighbour_labels(
    propagation: Propagation,
    letters: tuple[Letter, ...],
    targets: Tensor,  # (l, C)
    train: Tensor,  # (l,) the nodes that have them
    for_trees: bool = False,
) -> Tensor:  # (n, C)
    r"""The mean of the labels that a product of operators leads to, without the node's own.

    With W the product, Y the centred targets and M the mask of labelled nodes, row i is

    .. math::
        \sum_{j \neq i} W_{ij} Y_j \, / \, (1 + \sum_{j \neq i} W_{ij} M_j):

    the diagonal of W is removed exactly, so that no node sees its own label, and Y is centred by
    the mean of the other labels: where a hub is near all of them, what differs from the mean of
    all would be minus its own. The one in the denominator is a label of an average node.

    The mean of the other labels differs by a trifle with the class of the node itself. Trees would
    read the label off it. So ``for_trees`` Y is centred by the mean of all labels, and values are
    rounded: by more than one label in some hundred, and by more than floating point.
    """
    n = propagation.graph.num_nodes
    Y = torch.zeros(n, targets.size(1) + 1)
    centred = (targets - targets.mean(dim=0)).float()
    Y[train] = torch.cat([centred, torch.ones(len(train), 1)], dim=1)
    paths = Y
    for letter in reversed(letters):
        paths = propagation.times(paths, letter)
    first, *rest = [propagation.operator(letter).to_scipy().tocsr() for letter in letters]
    diagonal = first.diagonal()
    if rest:  # of a product of two
        diagonal = np.asarray(first.multiply(rest[0].T).sum(axis=1)).ravel()
    paths = paths - torch.from_numpy(diagonal).float().unsqueeze(1) * Y
    sums, counts = paths[:, :-1], paths[:, -1:].clamp(min=0)
    if for_trees:
        return (sums / (CALM + counts) / GRAIN).round() * GRAIN
    sums[train] += counts[train] * centred / max(len(train) - 1, 1)
    return sums / (CALM + counts)
