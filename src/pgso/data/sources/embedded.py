"""Datasets without files: those of networkx and scikit-learn, and generated graphs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pgso.data.arrays import Array
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice, check_whole
from pgso.data.edge_lists import both_directions
from pgso.data.raw import check_dense
from pgso.data.splits import split_at_random, split_each_class
from pgso.data.task import Task
from pgso.errors import InputError

CLUBS = ("Mr. Hi", "Officer")
MOST = 5  # mines around a cell: counts from here on share a column, as in the public file
MOST_CELLS = 4_000_000  # of a grid; with 32 million edges, about 4 GB
BOARD, DEEPER = Sizes(1, 10_000, 78_804, 7, 2), {"num_layers": 3, "norm": "batch"}
MOST_COMMUNITIES = 10_000
MOST_EDGES = 3e8  # more would not fit into the memory of a common machine


def karate(root: Path, seed: int) -> Task:
    """Whose side does a member of Zachary's karate club (1977) take? 60/20/20 of each club."""
    import networkx

    club = networkx.karate_club_graph()
    y = np.array([CLUBS.index(club.nodes[member]["club"]) for member in club])
    edge_index, x = both_directions(np.array(club.edges).T, len(y)), np.eye(len(y))
    split = split_each_class(y, seed)
    return Task.from_arrays("karate", edge_index=edge_index, x=x, y=y, split=split, classes=CLUBS)


def digits(root: Path, seed: int, *, neighbours: int = 10) -> Task:
    """8 x 8 images, joined with the ``neighbours`` they are closest to; 60/20/20 of each digit."""
    from sklearn.datasets import load_digits

    images, y = load_digits(return_X_y=True)
    edge_index, split, x = _nearest(images, neighbours), split_each_class(y, seed), images / 16
    given: dict[str, Any] = {"edge_index": edge_index, "x": x, "y": y, "split": split}
    return Task.from_arrays("digits", classes=tuple("0123456789"), **given)


def diabetes(root: Path, seed: int, *, neighbours: int = 10) -> Task:
    """How far the disease has progressed after a year; patients are joined with ``neighbours``."""
    from sklearn.datasets import load_diabetes

    table = load_diabetes()
    x = table.data / table.data.std(axis=0)
    split, columns = split_at_random(np.ones(len(x), dtype=bool), seed), tuple(table.feature_names)
    given: dict[str, Any] = {"x": x, "y": table.target[:, None], "split": split, "metric": "rmse"}
    given |= {"edge_index": _nearest(x, neighbours), "columns": columns}
    return Task.from_arrays("diabetes", targets=("progression",), **given)


def _nearest(x: Array, neighbours: int) -> Array:  # (2, E)
    """Each row and those it is closest to, in both directions."""
    from sklearn.neighbors import kneighbors_graph
    from threadpoolctl import threadpool_limits

    check_whole("neighbours", neighbours, 1, len(x) - 1)
    with threadpool_limits(1):  # of equal distances, which comes first depends on the threads
        nearest = kneighbors_graph(x, neighbours).tocoo()
    return both_directions(np.stack([nearest.col, nearest.row]), len(x))


def minesweeper(
    root: Path,
    seed: int,
    *,
    rows: int = 100,
    cols: int = 100,
    mines: float = 0.2,
    hidden: float = 0.5,
) -> Task:
    """Which cells of a grid are mines? A cell knows how many of its eight neighbours are.

    Generated from its public description (Platonov et al., ICLR 2023). Column 0 of x says that the
    count is hidden, the others are the count, one-hot. ``mines`` and ``hidden`` are shares of
    cells; the seed draws both, and the split, 50/25/25 of each class.
    """
    check_whole("rows", rows, 2)
    check_whole("cols", cols, 2)
    n = rows * cols
    if n > MOST_CELLS:
        raise InputError(f"rows x cols may be at most {MOST_CELLS} cells, got {rows} x {cols}")
    num_mines = round(mines * n) if 0 <= mines <= 1 else 0
    if not 3 <= num_mines <= n - 3 or not 0 <= hidden <= 1:
        wanted = "shares between 0 and 1 that leave three cells of each class"
        got = f"mines={mines}, hidden={hidden} on {n} cells"
        raise InputError(f"mines and hidden must be {wanted}; got {got}")
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=np.int64)
    y[rng.permutation(n)[:num_mines]] = 1
    cell = np.arange(n).reshape(rows, cols)
    across, down = (cell[:, :-1], cell[:, 1:]), (cell[:-1], cell[1:])
    diagonals = (cell[:-1, :-1], cell[1:, 1:]), (cell[:-1, 1:], cell[1:, :-1])
    steps = (across, down, *diagonals)
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in steps], axis=1)
    edge_index = both_directions(pairs, n)
    count = np.bincount(edge_index[1], weights=y[edge_index[0]], minlength=n).astype(np.int64)
    column = 1 + np.minimum(count, MOST)
    column[rng.permutation(n)[: round(hidden * n)]] = 0
    x, split = np.eye(MOST + 2, dtype=np.float32)[column], split_each_class(y, seed, 0.5, 0.25)
    given: dict[str, Any] = {"edge_index": edge_index, "x": x, "y": y, "split": split}
    return Task.from_arrays("minesweeper", classes=("free", "mine"), metric="roc_auc", **given)


def sbm(
    root: Path,
    seed: int,
    *,
    communities: int = 3,
    size: int | Sequence[int] = 200,
    p: float = 0.5,
    q: float = 0.25,
    attributes: str = "one",
) -> Task:
    """A stochastic block model, the graphs of Section 5.1, as large as memory allows.

    Nodes of a community are joined with probability p, of two communities with probability q.
    ``size`` is the number of nodes of a community, or one number for each. ``attributes`` are
    one-hot in k + 1 columns, column 0 for "uninformative": with "one", all nodes but one per
    community (Section 5.1); with "labels", none (the paper's code). The seed cuts 80/10/10.
    """
    check_choice("attributes", attributes, ("one", "labels"))
    check_whole("communities", communities, 2, MOST_COMMUNITIES)
    sizes = np.atleast_1d(np.asarray(size))
    sizes = np.repeat(sizes, communities) if len(sizes) == 1 else sizes
    if len(sizes) != communities or sizes.dtype.kind != "i" or sizes.min() < 3:
        wanted = f"a whole number from 3 on, or {communities} of them"
        raise InputError(f"size must be {wanted}; got {size!r}")
    check_dense(sum(sizes.tolist()), communities + 1, "one-hot attributes")
    for letter, probability in (("p", p), ("q", q)):
        if not 0 <= probability <= 1:
            raise InputError(f"{letter} must be a probability between 0 and 1, got {probability}")
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(communities), sizes)
    shown = np.arange(len(y))
    if attributes == "one":
        shown = np.cumsum(sizes) - sizes + rng.integers(sizes)
    column = np.zeros(len(y), dtype=np.int64)
    column[shown] = y[shown] + 1
    x = np.zeros((len(y), communities + 1), dtype=np.float32)
    x[np.arange(len(y)), column] = 1
    pairs = sample_edges(sizes.astype(np.int64), p, q, rng)
    edge_index = np.concatenate([pairs, pairs[::-1]], axis=1)
    given: dict[str, Any] = {"x": x, "y": y, "split": split_each_class(y, seed, train=0.8, val=0.1)}
    classes = tuple(map(str, range(communities)))
    return Task.from_arrays("sbm", edge_index=edge_index, classes=classes, **given)


def sample_edges(sizes: Array, p: float, q: float, rng: np.random.Generator) -> Array:
    """Pairs (i, j), i > j, of a block model, each once: O(n + edges), never n x n."""
    n = int(sizes.sum())
    triangles = sizes * (sizes - 1) // 2
    expected = p * float(triangles.sum()) + q * n * (n - 1) / 2
    if expected > MOST_EDGES:
        pairs = f"about {expected:.1e} pairs joined, more than {MOST_EDGES:.0e}"
        advice = "take smaller probabilities or fewer nodes"
        raise InputError(f"{n} nodes with p={p}, q={q} have {pairs}; {advice}")
    community = np.repeat(np.arange(len(sizes)), sizes)
    between = numbered_pairs(tossed_heads(n * (n - 1) // 2, q, rng))
    between = between[:, community[between[0]] != community[between[1]]]
    heads = tossed_heads(int(triangles.sum()), p, rng)
    ends = np.cumsum(triangles)
    block = np.searchsorted(ends, heads, side="right")
    starts = np.cumsum(sizes) - sizes
    within = numbered_pairs(heads - (ends - triangles)[block]) + starts[block]
    return np.concatenate([within, between], axis=1)


def tossed_heads(tosses: int, probability: float, rng: np.random.Generator) -> Array:
    """Which of many coin tosses show heads, ascending, by the gaps between them: O(heads)."""
    if probability == 0 or tosses == 0:
        return np.zeros(0, dtype=np.int64)
    places, last = [], -1
    while last < tosses - 1:
        left = (tosses - 1 - last) * probability
        gaps = rng.geometric(probability, size=int(left + 4 * np.sqrt(left)) + 10)
        gaps = np.minimum(gaps, tosses + 1)  # so that the sum cannot overflow
        places.append(last + np.cumsum(gaps))
        last = int(places[-1][-1])
    heads = np.concatenate(places)
    return heads[: np.searchsorted(heads, tosses)]


def numbered_pairs(numbers: Array) -> Array:  # (2, len(numbers))
    """Pair number c of the list (1, 0), (2, 0), (2, 1), (3, 0), ... is (i, c - i (i - 1) / 2)."""
    i = ((1 + np.sqrt(1 + 8 * numbers.astype(np.float64))) / 2).astype(np.int64)
    i -= i * (i - 1) // 2 > numbers  # the root may be rounded up to the next whole number,
    i += i * (i + 1) // 2 <= numbers  # or down
    return np.stack([i, numbers - i * (i - 1) // 2])


for _dataset in (
    Dataset("karate", karate, sizes=Sizes(1, 34, 156, 34, 2)),
    Dataset("digits", digits, sizes=Sizes(1, 1_797, 24_680, 64, 10)),
    Dataset("diabetes", diabetes, metric="rmse", sizes=Sizes(1, 442, 6_166, 10, 0)),
    Dataset("minesweeper", minesweeper, metric="roc_auc", sizes=BOARD, model=DEEPER),
    Dataset("sbm", sbm),
):
    DATASETS.add(_dataset)
