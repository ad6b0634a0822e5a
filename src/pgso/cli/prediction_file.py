"""A table of predictions as CSV, Parquet or JSON."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pgso.errors import InputError
from pgso.records.files import write_beside

TABLES = (".xlsx", ".xls", ".ods", ".tsv", ".html")
NOT_WRITTEN = (*TABLES, ".jsonl", ".feather", ".npy", ".npz", ".pkl")
Rows = list[list[Any]]


def check_format(path: Path) -> None:
    """Refuse, before the work, a format that is not written, and Parquet where nothing can."""
    if path.suffix.lower() in NOT_WRITTEN:
        raise InputError(
            f"--to {path} would not be a {path.suffix}; write a .csv, .json or .parquet"
        )
    if path.suffix.lower() != ".parquet":
        return
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(
            f"--to {path} is Parquet, which needs pyarrow: pip install pyarrow, or write a .csv"
        ) from None


def write_table(path: Path, columns: Sequence[str], rows: Rows) -> Path | None:
    """Write a table, whole or not at all: Parquet by its ending, JSON likewise, else CSV.

    Returns:
        The new name of another table that was there; None if there was none.
    """
    ending = path.suffix.lower()
    if ending == ".parquet":
        return write_beside(path, _parquet(columns, rows))
    if ending == ".json":
        return write_beside(path, json.dumps(as_dicts(columns, rows), ensure_ascii=False) + "\n")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[_written(cell) for cell in row] for row in rows])
    return write_beside(path, text.getvalue())


def as_dicts(columns: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    """One dictionary a row; null where there is no number, since JSON has no NaN."""
    return [
        {name: None if cell != cell else cell for name, cell in zip(columns, row, strict=True)}
        for row in rows
    ]


def ranked(columns: list[str], rows: Rows, by: str) -> tuple[list[str], Rows]:
    """The rows by a column, largest first, with a column ``rank``.

    Args:
        columns: Their names.
        rows: What to sort; rows without a number come last.
        by: A class (then by its probability) or a column of numbers.

    Example:
        >>> ranked(["id", "p(yes)"], [["a", 0.2], ["b", 0.9]], "yes")
        (['rank', 'id', 'p(yes)'], [[1, 'b', 0.9], [2, 'a', 0.2]])
    """
    numbers = [name for c, name in enumerate(columns) if any(_is_number(row[c]) for row in rows)]
    name = next((column_name for column_name in (f"p({by})", by) if column_name in numbers), None)
    if name is None and rows:
        classes = [column_name[2:-1] for column_name in numbers if column_name.startswith("p(")]
        others = [column_name for column_name in numbers if not column_name.startswith("p(")]
        allowed = ", ".join([*classes, *others])
        raise InputError(f"predictions cannot be ranked by {by!r}; choose one of: {allowed}")
    column = columns.index(name) if name is not None else 0

    def last_without(row: list[Any]) -> float:
        return -row[column] if _is_number(row[column]) else float("inf")

    order = sorted(rows, key=last_without)
    return ["rank", *columns], [[k + 1, *row] for k, row in enumerate(order)]


def _is_number(cell: Any) -> bool:
    return isinstance(cell, float) and cell == cell


def _written(cell: Any) -> Any:
    """Numbers with as many digits as they have, in 32 or 64 bits."""
    if not isinstance(cell, float):
        return "" if cell is None else cell
    with np.errstate(over="ignore"):
        short = np.float32(cell)
    return float(str(short)) if float(short) == cell else cell


def _parquet(columns: Sequence[str], rows: Rows) -> bytes:
    import pyarrow
    import pyarrow.parquet

    values = {name: [row[c] for row in rows] for c, name in enumerate(columns)}
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(values), buffer)
    return buffer.getvalue()
