"""minesweeper, generated from its public description (Platonov et al., ICLR 2023)."""

from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Arrays
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions
from pgso.data.splits import split_each_class
from pgso.errors import InputError

MOST = 5  # counts from here on share a column, as in the public file

MAX_CELLS = 4_000_000  # with 32 million edges, about 4 GB


def load(
    root: Path,
    seed: int,
    *,
    rows: int = 100,
    cols: int = 100,
    mines: float = 0.2,
    hidden: float = 0.5,
) -> Arrays:
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
    return Arrays(
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
        load=load,
        metric="roc_auc",
        sizes=Sizes(1, 10_000, 78_804, 7, 2),
        model={"num_layers": 3, "norm": "batch"},
    )
)
