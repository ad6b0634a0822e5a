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
        j, i = ends
        first, second = weights
        super().__init__(
            f"{where}: the edge between nodes {j!r} and {i!r} has the weight {first:g} in one "
            f"direction and {second:g} in the other; make them equal, or keep directions with "
            "undirected=False (--option undirected=false)"
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

    An undirected edge may be listed once or in both directions, but then with one weight.

    Returns:
        The edges and their weights; None in place of weights that are all 1.
    """
    n = max(num_nodes, 1)
    if weight is None:
        return _counted(edge_index, n, undirected)
    key, group = np.unique(edge_index[1] * n + edge_index[0], return_inverse=True)
    total = np.bincount(group, weights=weight, minlength=len(key)).astype(np.float64)
    sizes = np.bincount(group, weights=np.abs(weight))
    if undirected:
        twice = np.concatenate([key, key % n * n + key // n])
        key, first, group = np.unique(twice, return_index=True, return_inverse=True)
        both = np.concatenate([total, total])
        total = both[first]
        # An edge's two sums may differ by the order of its parts: one of them counts.
        reverse = np.searchsorted(key, key % n * n + key // n)
        one = np.where(key <= key[reverse], total, total[reverse])
        with np.errstate(invalid="ignore"):  # infinite weights are refused later
            wrong = np.abs(one[group] - both) > ROUNDING * np.concatenate([sizes, sizes])
        if wrong.any():
            j, i = (int(end) for end in (twice[wrong][0] % n, twice[wrong][0] // n))
            weights = sorted({float(both[wrong][0]), float(one[group][wrong][0])})
            raise TwoWeightsError(path, (j, i), weights)
        total = one
    return np.stack([key % n, key // n]), None if (total == 1).all() else total


def _counted(edge_index: Array, n: int, undirected: bool) -> tuple[Array, Array | None]:
    """Edges without weights: each weighs how often it is listed, in the direction that has more."""
    key = np.sort(edge_index[1].astype(np.int64) * n + edge_index[0])
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    listed, times = key[starts], np.diff(starts, append=len(key))
    once = np.stack([listed % n, listed // n])
    edges = both_directions(once, n) if undirected else once
    several = times > 1
    if not several.any():
        return edges, None
    total, keys = np.ones(edges.shape[1]), edges[1] * n + edges[0]
    repeated = listed[several]
    for some in (repeated, repeated % n * n + repeated // n) if undirected else (repeated,):
        places = np.searchsorted(keys, some)
        total[places] = np.maximum(total[places], times[several])
    return edges, total
