"""Edge lists in numpy: distinct, in both directions, without loops."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError

ROUNDING = 1e-12  # of a weight: what sums in another order differ by


class TwoWeightsError(InputError):
    """An undirected edge has another weight in each direction."""

    def __init__(
        self, where: Path | str, ends: tuple[object, object], weights: Sequence[float]
    ) -> None:
        self.ends, self.weights = ends, weights
        super().__init__(
            f"{where}: the edge between nodes {ends[0]!r} and {ends[1]!r} has the weight "
            f"{weights[0]:g} in one direction and {weights[1]:g} in the other; make them equal, or "
            "keep directions with undirected=False (--option undirected=false)"
        )


def distinct(edge_index: Array, num_nodes: int) -> Array:
    """Each directed edge once, sorted by target, then source.

    Example:
        >>> distinct(np.array([[0, 0, 1], [1, 1, 0]]), 2)
        array([[1, 0],
               [0, 1]])
    """
    source, target = edge_index.astype(np.int64)
    key = np.sort(target * num_nodes + source)  # np.unique hashes, ten times slower
    key = key[np.diff(key, prepend=-1) > 0]
    return np.stack([key % max(num_nodes, 1), key // max(num_nodes, 1)])


def both_directions(edge_index: Array, num_nodes: int) -> Array:
    """Each edge and its reverse, once."""
    return distinct(np.concatenate([edge_index, edge_index[::-1]], axis=1), num_nodes)


def without_loops(edge_index: Array) -> Array:
    """The edges between different nodes."""
    return edge_index[:, edge_index[0] != edge_index[1]]


def merged(
    edge_index: Array, weight: Array | None, num_nodes: int, undirected: bool, path: Path
) -> tuple[Array, Array | None]:
    """A user's edges: those listed more than once are summed, then given a reverse if undirected.

    An undirected edge may be listed once or in both directions, but then with one weight. Without
    weights an edge weighs how often it is listed, in the direction that has more.

    Returns:
        The edges and their weights; None in place of weights that are all 1.
    """
    n = max(num_nodes, 1)
    key = edge_index[1].astype(np.int64) * n + edge_index[0]
    key, group = np.unique(key, return_inverse=True)
    total = np.bincount(group, weight, minlength=len(key)).astype(np.float64)
    if undirected:
        twice, both = np.concatenate([key, key % n * n + key // n]), np.concatenate([total, total])
        key, first, where = np.unique(twice, return_index=True, return_inverse=True)
        reverse = np.argsort(key % n * n + key // n)  # the reverse of the reverse is the edge
        total = both[first]
        if weight is None:
            total = np.maximum(total, total[reverse])
        else:  # an edge's two sums may differ by the order of its parts: one of them counts
            total = np.where(key <= key[reverse], total, total[reverse])
            sizes = np.tile(np.bincount(group, np.abs(weight)), 2)
            with np.errstate(invalid="ignore"):  # infinite weights are refused later
                wrong = np.flatnonzero(np.abs(total[where] - both) > ROUNDING * sizes)
            if len(wrong):
                j, i = int(twice[wrong[0]] % n), int(twice[wrong[0]] // n)
                weights = sorted({float(both[wrong[0]]), float(total[where][wrong[0]])})
                raise TwoWeightsError(path, (j, i), weights)
    return np.stack([key % n, key // n]), None if (total == 1).all() else total
