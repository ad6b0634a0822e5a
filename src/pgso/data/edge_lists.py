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
) -> tuple[Array, Array | None, int]:
    """A user's edges: those listed more than once are summed, then given a reverse if undirected.

    An undirected edge may be listed once or in both directions, but then with one weight. Without
    weights an edge weighs how often it is listed, in the direction that has more. None stands for
    weights that are all 1. The last number says how many lines repeat an edge.
    """
    n = max(num_nodes, 1)
    key = edge_index[1].astype(np.int64) * n + edge_index[0]
    if weight is None:
        key = np.sort(key)
    else:  # the lines of an edge stay in order: sums differ by it in the last digit
        order = np.argsort(key, kind="stable")
        key, weight = key[order], weight[order]
    is_first = np.diff(key, prepend=-1) > 0
    starts, group, repeated = np.flatnonzero(is_first), np.cumsum(is_first) - 1, len(key)
    key = key[starts]
    repeated -= len(key)
    if weight is None:
        total = np.diff(starts, append=len(group)).astype(np.float64)
    else:
        total = np.bincount(group, weight, minlength=len(key)).astype(np.float64)
    if undirected:
        listed, sums = key, total
        turned = listed % n * n + listed // n
        back = np.argsort(turned)
        # Two sorted lists of edges, the listed ones and the reverses, merged into one: where an
        # edge is in both, the listed one comes first, and its reverse is listed, too.
        key = np.concatenate([listed, turned[back]])
        order = np.argsort(key, kind="stable")
        key = key[order]
        is_first = np.diff(key, prepend=-1) > 0
        is_both = np.append(~is_first[1:], False)[is_first] if len(key) else is_first
        total = np.concatenate([sums, sums[back]])[order]
        other = np.append(total[1:], 0.0)[is_first]  # the reverse's sum, where both are listed
        key, total = key[is_first], total[is_first]
        if weight is None:
            total = np.where(is_both, np.maximum(total, other), total)
        else:  # an edge's two sums may differ by the order of its parts: one of them counts
            total = np.where(is_both & (key > key % n * n + key // n), other, total)
            sizes = np.bincount(group, np.abs(weight))
            one_sum = total[(np.cumsum(is_first) - 1)[order < len(listed)]]  # of each listed edge
            with np.errstate(invalid="ignore"):  # infinite weights are refused later
                wrong = np.flatnonzero(np.abs(one_sum - sums) > ROUNDING * sizes)
            if len(wrong):
                j, i = (called(int(end)) for end in divmod(listed[wrong[0]], n)[::-1])
                one, other_sum = sorted((float(sums[wrong[0]]), float(one_sum[wrong[0]])))
                weights = f"the weight {one:g} in one direction and {other_sum:g} in the other"
                keep = "keep directions with undirected=False (--option undirected=false)"
                problem = f"the edge between {j} and {i} has {weights}"
                raise InputError(f"{path}: {problem}; make them equal, or {keep}")
    return np.stack([key % n, key // n]), None if (total == 1).all() else total, repeated
