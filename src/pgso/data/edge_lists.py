"""Edge lists in numpy: distinct, in both directions, without loops."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError

ROUNDING = 1e-12  # of a weight: what sums in another order differ by


def distinct(edge_index: Array, num_nodes: int) -> Array:
    """Each directed edge once, sorted by target, then source."""
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
    edge_index: Array,
    weight: Array | None,
    num_nodes: int,
    undirected: bool,
    path: Path,
    called: Callable[[int], str] = "node {}".format,  # in errors
) -> tuple[Array, Array | None]:
    """A user's edges: those listed more than once are summed, then given a reverse if undirected.

    An undirected edge may be listed once or in both directions, but then with one weight. Without
    weights an edge weighs how often it is listed, in the direction that has more. None stands for
    weights that are all 1.
    """
    import pandas as pd

    n = max(num_nodes, 1)
    group, key = pd.factorize(edge_index[1].astype(np.int64) * n + edge_index[0])
    total = np.bincount(group, weight, minlength=len(key)).astype(np.float64)
    order = np.argsort(key)
    key, total = key[order], total[order]
    if undirected:
        listed, sums = key, total
        key = np.sort(np.concatenate([listed, listed % n * n + listed // n]))  # and turned around
        key = key[np.diff(key, prepend=-1) > 0]
        reverse = np.argsort(key % n * n + key // n)  # the reverse of the reverse is the edge
        place = np.searchsorted(key, listed)
        total = np.full(len(key), np.nan)
        total[place] = sums
        total = np.where(np.isnan(total), total[reverse], total)
        if weight is None:
            total = np.maximum(total, total[reverse])
        else:  # an edge's two sums may differ by the order of its parts: one of them counts
            total = np.where(key <= key[reverse], total, total[reverse])
            sizes = np.bincount(group, np.abs(weight))[order]
            with np.errstate(invalid="ignore"):  # infinite weights are refused later
                wrong = np.flatnonzero(np.abs(total[place] - sums) > ROUNDING * sizes)
            if len(wrong):
                j, i = (called(int(end)) for end in divmod(listed[wrong[0]], n)[::-1])
                one, other = sorted((float(sums[wrong[0]]), float(total[place[wrong[0]]])))
                raise InputError(
                    f"{path}: the edge between {j} and {i} has the weight {one:g} in one "
                    f"direction and {other:g} in the other; make them equal, or keep directions "
                    "with undirected=False (--option undirected=false)"
                )
    return np.stack([key % n, key // n]), None if (total == 1).all() else total
