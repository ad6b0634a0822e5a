"""US counties: seven numbers of each, and who borders on whom (Jia & Benson, KDD 2020)."""

import csv
from numbers import Integral
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Arrays
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice
from pgso.data.edge_lists import both_directions, without_loops
from pgso.data.splits import split_at_random
from pgso.data.text import read_lines
from pgso.errors import InputError

FOLDER = "us_county"
COLUMNS = {  # file and column of each number; {} is the year
    "election": ("election", "gop_{}"),  # and dem_{}: (gop - dem) / (gop + dem)
    "income": ("income", "MedianIncome{}"),
    "education": ("education", "BachelorRate{}"),
    "unemployment": ("unemployment", "Unemployment_rate_{}"),
    "migration": ("population", "R_NET_MIG_{}"),
    "birth": ("population", "R_birth_{}"),
    "death": ("population", "R_death_{}"),
}
FILES = (
    f"{FOLDER}/adjacency.txt",
    *(f"{FOLDER}/{file}.csv" for file in dict.fromkeys(file for file, _ in COLUMNS.values())),
)
SIZES = Sizes(1, 3_234, 18_966, 6, 0)


def load(root: Path, seed: int, *, target: str = "income", year: int = 2016) -> Arrays:
    """One number of every county from the six others, and from its neighbours.

    Features have zero mean and unit variance; what is missing is the mean. Counties without the
    target are in no part of the split.

    Args:
        root: The data root.
        seed: Of the split, 60/20/20.
        target: ``"election"``, ``"income"``, ``"education"``, ``"unemployment"``,
            ``"migration"``, ``"birth"`` or ``"death"``.
        year: 2012 or 2016.
    """
    check_choice("target", target, tuple(COLUMNS))
    if not isinstance(year, Integral) or year not in (2012, 2016):
        raise InputError(f"year must be 2012 or 2016, got {year!r}")
    folder = root / FOLDER
    pairs = _borders(folder / "adjacency.txt")
    counties, edge_index = np.unique(pairs, return_inverse=True)
    edge_index = edge_index.reshape(2, -1)
    table = np.stack([_column(folder, name, year, counties) for name in COLUMNS], axis=1)
    wanted = list(COLUMNS).index(target)
    others = np.delete(table, wanted, axis=1)
    sd = np.nanstd(others, axis=0)
    x = (others - np.nanmean(others, axis=0)) / np.where(sd > 0, sd, 1)
    y = table[:, [wanted]]
    arrays = Arrays(
        edge_index=both_directions(without_loops(edge_index), len(counties)),
        x=np.nan_to_num(x).astype(np.float32),
        y=y,
        split=split_at_random(np.isfinite(y[:, 0]), seed),
        targets=(target,),
        metric="r2",
        ids=tuple(f"{county:05d}" for county in counties),
        columns=tuple(name for name in COLUMNS if name != target),
    )
    SIZES.check(arrays, "US-counties", folder)
    return arrays


def _borders(path: Path) -> Array:  # (2, pairs) of FIPS codes
    pairs, head = [], None
    rows = csv.reader(read_lines(path, "latin-1"), delimiter="\t")
    for line, row in enumerate(rows, start=1):
        try:
            head = int(row[1]) if row[1] else head  # a blank head repeats the last one
            pairs.append((head, int(row[3])))
        except (IndexError, ValueError):
            raise InputError(f"{path}, line {line}: expected four fields, got {row}") from None
    return np.array(pairs, dtype=np.int64).T


def _column(folder: Path, name: str, year: int, counties: Array) -> Array:  # (n,)
    """A number of each county, NaN where there is none."""
    file, column = COLUMNS[name]
    path = folder / f"{file}.csv"
    rows = list(csv.DictReader(read_lines(path)))
    column = column.format(year)
    code = "fips_code" if name == "election" else "FIPS"
    if not rows or column not in rows[0] or code not in rows[0]:
        raise InputError(f"{path} needs the columns {code} and {column}; fetch it again")
    values = {int(row[code]): _value(row, name, column) for row in rows if row[code]}
    return np.array([values.get(int(county), np.nan) for county in counties])


def _value(row: dict[str, str], name: str, column: str) -> float:
    if name != "election":
        return _number(row[column])
    gop, dem = _number(row[column]), _number(row[column.replace("gop", "dem")])
    return (gop - dem) / (gop + dem) if gop + dem > 0 else np.nan


def _number(text: str) -> float:
    """A number with thousands separators; NaN where there is none."""
    try:
        return float(text.replace(",", "").strip())
    except ValueError:
        return np.nan


DATASETS.add(
    Dataset(
        name="US-counties",
        load=load,
        metric="r2",
        sizes=SIZES,
        files=FILES,
        model={"norm": "batch", "residual": True, "dropout": 0.1},
    )
)
