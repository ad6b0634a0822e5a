"""Generated graphs whose truth is known: what the labels follow is planted."""

from collections.abc import Callable
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgso.data.arrays import Array
from pgso.data.dataset import DATASETS, Dataset
from pgso.data.splits import split_each_class
from pgso.data.task import Task
from pgso.errors import InputError, UnknownNameError

# One entry point makes all datasets of the studies known.
from pgso_studies import archives as archives
from pgso_studies import moleculenet as moleculenet
from pgso_studies import public_data as public_data

FEATURES = 8
DEGREE = 10  # of a node, on average
Random = np.random.Generator
Matrix = Any  # scipy.sparse.csr_array
Drawn = tuple[Matrix, Array, Array]  # A with A[i, j] the edge j -> i, x, y


class World(NamedTuple):
    """A kind of graph, and what its labels follow.

    The truth is ``features`` (the graph adds nothing), ``neighbours`` (they are alike),
    ``separate`` (a node and its neighbours need weights of their own), ``degrees`` (sums, not
    means) or ``direction``.
    """

    truth: str
    draw: Callable[[Random, int], Drawn]


def blocks(rng: Random, n: int, *, classes: int, alike: float, signal: float = 0.5) -> Drawn:
    """A block model: this share of the edges stays within a class; x is the class, and noise."""
    y = rng.integers(classes, size=n)
    source = rng.integers(n, size=n * DEGREE // 2)
    within = rng.random(len(source)) < alike
    target = np.empty_like(source)
    for c in range(classes):
        members, others = np.flatnonzero(y == c), np.flatnonzero(y != c)
        here = y[source] == c
        target[here & within] = rng.choice(members, int((here & within).sum()))
        target[here & ~within] = rng.choice(others, int((here & ~within).sum()))
    return _undirected(source, target, n), _of_class(rng, y, classes, signal), y


def core_periphery(rng: Random, n: int, *, contrast: float) -> Drawn:
    """A core whose nodes have this many times the edges of the periphery's; x is noise."""
    y = (rng.random(n) < 0.3).astype(np.int64)
    weight = np.where(y == 1, contrast, 1.0)
    ends = rng.choice(n, size=(2, n * DEGREE // 2), p=weight / weight.sum())
    x = np.concatenate([np.ones((n, 1)), rng.normal(size=(n, FEATURES - 1))], axis=1)
    return _undirected(ends[0], ends[1], n), x, y


def bipartite(rng: Random, n: int, *, of_side: bool) -> Drawn:
    """Two sides with edges between them only; y is the side, or a class that neighbours share."""
    side, group = rng.integers(2, size=n), rng.integers(2, size=n)
    source = rng.integers(n, size=n * DEGREE // 2)
    same_group = (rng.random(len(source)) < 0.8) | of_side
    target = np.empty_like(source)
    for s in (0, 1):
        for g in (0, 1):
            from_here = (side[source] == s) & (group[source] == g)
            across = side != s
            to_same = across if of_side else across & (group == g)
            for chosen, allowed in ((same_group, to_same), (~same_group, across & (group != g))):
                count = int((from_here & chosen).sum())
                target[from_here & chosen] = rng.choice(np.flatnonzero(allowed), count)
    y = side if of_side else group
    return _undirected(source, target, n), _of_class(rng, y, 2, 0.5), y


def nearest(rng: Random, n: int, *, k: int) -> Drawn:
    """A k-nearest-neighbour graph of points in four clusters; x are their noisy coordinates."""
    from scipy.spatial import cKDTree

    y = rng.integers(4, size=n)
    points = rng.normal(size=(4, 3))[y] * 1.5 + rng.normal(size=(n, 3)) * 0.7
    _, near = cKDTree(points).query(points, k=k + 1)
    source, target = near[:, 1:].ravel(), np.repeat(np.arange(n), k)
    x = points @ rng.normal(size=(3, FEATURES)) + rng.normal(size=(n, FEATURES)) * 4
    return _undirected(source, target, n), x, y


def follow(
    rng: Random, n: int, *, edges: str, operator: Callable[[Matrix, Array], Array] | None
) -> Drawn:
    """Labels are the largest of three random sums of what an operator makes of x; None: chance."""
    A, x = _drawn(rng, n, edges)
    if operator is None:
        return A, x, rng.integers(3, size=n)
    signal = operator(A, x)
    signal = signal / signal.std(axis=0)
    return A, x, (signal @ rng.normal(size=(FEATURES, 3))).argmax(axis=1)


def sums(rng: Random, n: int, *, edges: str) -> Drawn:
    """Labels are the thirds of a sum over neighbours; the largest sum is also the largest mean."""
    A, x = _drawn(rng, n, edges)
    values = A @ (x @ rng.normal(size=FEATURES))
    return A, x, np.searchsorted(np.quantile(values, (1 / 3, 2 / 3)), values)


def _drawn(rng: Random, n: int, edges: str) -> tuple[Matrix, Array]:
    return EDGES[edges](rng, n), rng.normal(size=(n, FEATURES))


def _random_edges(rng: Random, n: int) -> Matrix:
    ends = rng.integers(n, size=(2, n * DEGREE // 2))
    return _undirected(ends[0], ends[1], n)


def _heavy_tailed(rng: Random, n: int) -> Matrix:
    weight = rng.random(n) ** -0.5
    ends = rng.choice(n, size=(2, n * DEGREE // 2), p=weight / weight.sum())
    return _undirected(ends[0], ends[1], n)


def _citations(rng: Random, n: int) -> Matrix:
    """Each node cites earlier ones, popular ones more often; the edge goes to who is cited."""
    source = np.repeat(np.arange(1, n), DEGREE // 2)
    popularity = rng.random(n) ** -0.4
    target = (rng.random(len(source)) ** 0.8 * source).astype(np.int64)
    other = (rng.random(len(source)) * source).astype(np.int64)
    target = np.where(popularity[other] > popularity[target], other, target)
    return _matrix(source, target, n)


EDGES: dict[str, Callable[[Random, int], Matrix]] = {
    "random": _random_edges,
    "heavy-tailed": _heavy_tailed,
    "citations": _citations,
}


def _itself(A: Matrix, x: Array) -> Array:
    del A
    return x


def _gcn_twice(A: Matrix, x: Array) -> Array:
    n = A.shape[0]
    A_1 = A + _csr((np.ones(n), (np.arange(n), np.arange(n))), (n, n))
    d = np.asarray(A_1.sum(axis=1)).ravel() ** -0.5
    once: Array = d[:, None] * (A_1 @ (d[:, None] * x))
    twice: Array = d[:, None] * (A_1 @ (d[:, None] * once))
    return twice


def _mean(A: Matrix, x: Array) -> Array:
    mean: Array = (A @ x) / np.maximum(np.asarray(A.sum(axis=1)), 1).reshape(-1, 1)
    return mean


def _against_the_mean(A: Matrix, x: Array) -> Array:
    mean = _mean(A, x)
    difference: Array = x / x.std(axis=0) - mean / mean.std(axis=0)
    return difference


def _of_those_cited(A: Matrix, x: Array) -> Array:
    return _mean(_csr(A.T), x)


WORLDS: dict[str, World] = {
    **{
        f"blocks-{classes}-{alike:g}": World(
            "features" if alike == chance else "neighbours" if alike > chance else "separate",
            partial(blocks, classes=classes, alike=alike),
        )
        for classes, chance, shares in (
            (4, 0.25, (0.9, 0.7, 0.5, 0.25, 0.1, 0.0)),
            (2, 0.5, (0.9, 0.7, 0.5, 0.3, 0.1)),
        )
        for alike in shares
    },
    "core-periphery-3": World("degrees", partial(core_periphery, contrast=3.0)),
    "core-periphery-6": World("degrees", partial(core_periphery, contrast=6.0)),
    "bipartite-sides": World("separate", partial(bipartite, of_side=True)),
    "bipartite-groups": World("neighbours", partial(bipartite, of_side=False)),
    "nearest-5": World("neighbours", partial(nearest, k=5)),
    "nearest-15": World("neighbours", partial(nearest, k=15)),
    **{
        f"{edges}-{name}": World(truth, partial(follow, edges=edges, operator=operator))
        for edges in ("random", "heavy-tailed")
        for name, truth, operator in (
            ("nothing", "features", None),
            ("features", "features", _itself),
            ("gcn", "neighbours", _gcn_twice),
            ("contrast", "separate", _against_the_mean),
        )
    },
    "heavy-tailed-sums": World("degrees", partial(sums, edges="heavy-tailed")),
    "citations-features": World("features", partial(follow, edges="citations", operator=_itself)),
    "citations-cited": World(
        "direction", partial(follow, edges="citations", operator=_of_those_cited)
    ),
    "citations-citing": World("direction", partial(follow, edges="citations", operator=_mean)),
}


def load(root: Path, seed: int, *, world: str = "blocks-4-0.9", nodes: int = 1000) -> Task:
    """A graph that was generated so that labels follow what is known.

    Args:
        root: Not used.
        seed: Of the graph, the features and the split (40/20/40 of each class).
        world: What kind of graph, and what labels follow.
        nodes: How many.
    """
    if world not in WORLDS:
        raise UnknownNameError("world", world, WORLDS)
    if not isinstance(nodes, Integral) or not 20 <= nodes <= 1_000_000:
        raise InputError(f"nodes must be a whole number between 20 and a million, got {nodes}")
    A, x, y = WORLDS[world].draw(np.random.default_rng(seed), nodes)
    entries = A.tocoo()
    return Task.from_arrays(
        "planted",
        edge_index=np.stack([entries.col, entries.row]).astype(np.int64),
        x=x.astype(np.float32),
        y=y.astype(np.int64),
        split=split_each_class(y, seed, train=0.4, val=0.2),
        classes=tuple(str(c) for c in range(int(y.max()) + 1)),
    )


def _of_class(rng: Random, y: Array, classes: int, signal: float) -> Array:
    means = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0][:classes]
    return signal * 2 * means[y] + rng.normal(size=(len(y), FEATURES))


def _undirected(source: Array, target: Array, n: int) -> Matrix:
    return _matrix(np.concatenate([source, target]), np.concatenate([target, source]), n)


def _matrix(source: Array, target: Array, n: int) -> Matrix:
    """Every edge once, with weight 1, and no loops."""
    apart = source != target
    pairs: Any = np.unique(np.stack([target[apart], source[apart]]), axis=1)
    return _csr((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), (n, n))


DATASETS.add(Dataset(name="planted", load=load))


def _csr(*parts: Any) -> Matrix:
    from scipy.sparse import csr_array  # listing datasets does not wait for scipy

    return csr_array(*parts)
