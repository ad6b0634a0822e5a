"""Generated datasets: minesweeper, and graphs of a stochastic block model."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice
from pgso.data.edge_lists import both_directions
from pgso.data.raw import check_dense
from pgso.data.splits import split_each_class
from pgso.data.task import Task
from pgso.errors import InputError

# minesweeper, generated from its public description (Platonov et al., ICLR 2023).

MOST = 5  # counts from here on share a column, as in the public file

MAX_CELLS = 4_000_000  # with 32 million edges, about 4 GB


def load_minesweeper(
    root: Path,
    seed: int,
    *,
    rows: int = 100,
    cols: int = 100,
    mines: float = 0.2,
    hidden: float = 0.5,
) -> Task:
    """Which cells of a grid are mines? A cell knows how many of its eight neighbours are.

    Column 0 of x says that the count is hidden, the others are the count, one-hot. The file of the
    original is ``minesweeper-public``.

    Args:
        root: Not used: the grid is generated.
        seed: Of the mines, of what is hidden, and of the split (50/25/25 of each class).
        rows: Height of the grid.
        cols: Its width.
        mines: The share of cells that are mines.
        hidden: The share of cells whose count is hidden.
    """
    for name, value in (("rows", rows), ("cols", cols)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 2:
            raise InputError(f"{name} must be a whole number from 2 on, got {value!r}")
    n = rows * cols
    if n > MAX_CELLS:
        raise InputError(f"rows x cols may be at most {MAX_CELLS} cells, got {rows} x {cols}")
    num_mines = round(mines * n) if 0 <= mines <= 1 else 0
    if not 3 <= num_mines <= n - 3 or not 0 <= hidden <= 1:
        raise InputError(
            f"mines and hidden must be shares between 0 and 1 that leave three cells of each "
            f"class; got mines={mines}, hidden={hidden} on {n} cells"
        )
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=np.int64)
    y[rng.permutation(n)[:num_mines]] = 1
    edge_index = _grid(rows, cols)
    count = np.bincount(edge_index[1], weights=y[edge_index[0]], minlength=n).astype(np.int64)
    column = 1 + np.minimum(count, MOST)
    column[rng.permutation(n)[: round(hidden * n)]] = 0
    x = np.zeros((n, MOST + 2), dtype=np.float32)
    x[np.arange(n), column] = 1
    return Task.from_arrays(
        "minesweeper",
        edge_index=edge_index,
        x=x,
        y=y,
        split=split_each_class(y, seed, train=0.5, val=0.25),
        classes=("free", "mine"),
        metric="roc_auc",
    )


def _grid(rows: int, cols: int) -> Array:  # (2, E)
    """Every cell and its eight neighbours."""
    cell = np.arange(rows * cols).reshape(rows, cols)
    steps = [
        (cell[:, :-1], cell[:, 1:]),
        (cell[:-1], cell[1:]),
        (cell[:-1, :-1], cell[1:, 1:]),
        (cell[:-1, 1:], cell[1:, :-1]),
    ]
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in steps], axis=1)
    return both_directions(pairs, rows * cols)


DATASETS.add(
    Dataset(
        name="minesweeper",
        load=load_minesweeper,
        metric="roc_auc",
        sizes=Sizes(1, 10_000, 78_804, 7, 2),
        model={"num_layers": 3, "norm": "batch"},
    )
)


# Stochastic block models: the graphs of Section 5.1, and as large as memory allows.

MOST_COMMUNITIES = 10_000
MOST_EDGES = 3e8  # more would not fit into the memory of a common machine


def load_sbm(
    root: Path,
    seed: int,
    *,
    communities: int = 3,
    size: int | Sequence[int] = 200,
    p: float = 0.5,
    q: float = 0.25,
    attributes: str = "one",
) -> Task:
    """Nodes of one community are joined with probability p, others with probability q.

    Args:
        root: Not used: the graph is generated.
        seed: Of the graph, the attributes and the split (80/10/10 of each community).
        communities: k.
        size: Nodes of a community, or one number for each.
        p: Probability of an edge within a community.
        q: Probability of an edge between two.
        attributes: One-hot in k + 1 columns, column 0 for "uninformative". ``"one"``: all nodes
            are uninformative but one per community, which carries it (Section 5.1). ``"labels"``:
            every node carries its community, as in the paper's public code.
    """
    check_choice("attributes", attributes, ("one", "labels"))
    sizes = _sizes(communities, size)
    for letter, probability in (("p", p), ("q", q)):
        if not 0 <= probability <= 1:
            raise InputError(f"{letter} must be a probability between 0 and 1, got {probability}")
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    revealed = (
        np.arange(len(y))
        if attributes == "labels"
        else np.cumsum(sizes) - sizes + rng.integers(sizes)
    )
    x = np.zeros((len(y), len(sizes) + 1), dtype=np.float32)
    x[:, 0] = 1
    x[revealed, 0] = 0
    x[revealed, y[revealed] + 1] = 1
    pairs = sample_edges(sizes, p, q, rng)
    return Task.from_arrays(
        "sbm",
        edge_index=np.concatenate([pairs, pairs[::-1]], axis=1),
        x=x,
        y=y,
        split=split_each_class(y, seed, train=0.8, val=0.1),
        classes=tuple(str(c) for c in range(len(sizes))),
    )


def sample_edges(
    sizes: Array,  # (k,)
    p: float,
    q: float,
    rng: np.random.Generator,
) -> Array:  # (2, pairs)
    """Undirected edges, each pair (i, j), i > j, once: O(n + edges), never n x n.

    All pairs of nodes are numbered, and a run of coin tosses is drawn as the gaps between its
    heads. For q that is all pairs of the graph, of which those within a community are dropped; for
    p, the pairs of each community, one community after another.
    """
    n = int(sizes.sum())
    triangles = sizes * (sizes - 1) // 2
    expected = p * float(triangles.sum()) + q * n * (n - 1) / 2
    if expected > MOST_EDGES:
        raise InputError(
            f"{n} nodes with p={p}, q={q} have about {expected:.1e} pairs joined, more than "
            f"{MOST_EDGES:.0e}; take smaller probabilities or fewer nodes"
        )
    starts = np.cumsum(sizes) - sizes
    community = np.repeat(np.arange(len(sizes)), sizes)

    between = numbered_pairs(tossed_heads(n * (n - 1) // 2, q, rng))
    between = between[:, community[between[0]] != community[between[1]]]

    heads = tossed_heads(int(triangles.sum()), p, rng)
    ends = np.cumsum(triangles)
    block = np.searchsorted(ends, heads, side="right")
    within = numbered_pairs(heads - (ends - triangles)[block]) + starts[block]
    return np.concatenate([within, between], axis=1)


def tossed_heads(tosses: int, probability: float, rng: np.random.Generator) -> Array:
    """Which of many independent coin tosses show heads, ascending: O(heads)."""
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


def _sizes(communities: int, size: int | Sequence[int]) -> Array:
    if isinstance(communities, bool) or not isinstance(communities, int) or communities < 2:
        raise InputError(f"communities must be a whole number from 2 on, got {communities!r}")
    if communities > MOST_COMMUNITIES:
        raise InputError(f"communities may be at most {MOST_COMMUNITIES}, got {communities}")
    sizes = np.atleast_1d(np.asarray(size))
    if len(sizes) == 1:
        sizes = np.repeat(sizes, communities)
    if len(sizes) != communities or sizes.dtype.kind != "i" or sizes.min() < 3:
        raise InputError(
            f"size must be a whole number from 3 on, or {communities} of them; got {size!r}"
        )
    check_dense(sum(int(count) for count in sizes), communities + 1, "one-hot attributes")
    return sizes.astype(np.int64)


DATASETS.add(Dataset(name="sbm", load=load_sbm))
