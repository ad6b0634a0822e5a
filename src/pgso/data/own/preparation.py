"""What became of each column of a table: fitted on training rows, kept with the model as JSON."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict

from pgso.data.arrays import Array
from pgso.data.own.table import Row, numbers_of
from pgso.errors import InputError

Kind = Literal["number", "as is", "boolean", "category", "date", "leave out"]
KINDS: tuple[str, ...] = get_args(Kind)
YES, NO = ("yes", "true", "y", "t", "1"), ("no", "false", "n", "f", "0")
ISO = "ISO"
DATES = (
    ISO,
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
)  # day first where both would do
LOOKS_LIKE_A_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?$")


class Column(BaseModel):
    """One column of a table, and the columns of x that it becomes.

    ``number`` and ``date`` (in days): the training rows' median in missing cells, then mean 0 and
    standard deviation 1 over the training rows. ``boolean``: 0 and 1, the more frequent one in
    missing cells. ``category``: a column of 0 and 1 per category, and one for all others.
    A column with missing cells gets a column that says where they are. ``as is``: numbers, as they
    are. ``leave out``: nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind
    fill: float | None = 0.0  # in the place of a missing cell; None: it is refused
    mean: float = 0.0
    sd: float = 1.0
    categories: tuple[str, ...] = ()
    has_others: bool = False  # whether there is a column for all other categories
    has_missing: bool = False  # whether there is a column for missing cells
    date_format: str = ISO
    reason: str = ""  # why it is left out, or scaled in no way

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns of x."""
        if self.kind == "leave out":
            return ()
        missing = (f"{self.name}=(missing)",) * self.has_missing
        if self.kind != "category":
            return (self.name, *missing)
        others = (f"{self.name}=(other)",) * self.has_others
        return (*(f"{self.name}={value}" for value in self.categories), *others, *missing)

    @property
    def became(self) -> str:
        """What became of it, for people."""
        if self.kind == "leave out":
            return f"left out: {self.reason}"
        text = {
            "number": f"standardised (mean {self.mean:.4g}, sd {self.sd:.4g})",
            "date": f"days, standardised (mean {_day(self.mean)}, sd {self.sd:.4g} days)",
            "boolean": "0 and 1",
            "category": f"{len(self.categories) + self.has_others} columns of 0 and 1",
            "as is": f"as it is{self.reason and ': ' + self.reason}",
        }[self.kind]
        return text + (", missing cells marked" if self.has_missing else "")

    def values(self, rows: Sequence[Row], position: int) -> Array:  # (rows, len(outputs))
        """The columns of x.

        Args:
            rows: The table without its header.
            position: Which cell of a row is this column's.
        """
        if self.kind == "leave out":
            return np.empty((len(rows), 0))
        missing = np.array([row.is_missing(position) for row in rows], dtype=bool)
        if self.kind == "category":
            columns = self._one_hot([row.cells[position] for row in rows], missing)
        else:
            scaled = self.kind in ("number", "date")
            plain = self._numbers(rows, position, missing)
            columns = ((plain - self.mean) / self.sd if scaled else plain)[:, None]
        return np.hstack([columns, missing[:, None]]) if self.has_missing else columns

    def _one_hot(self, cells: Sequence[str], missing: Array) -> Array:
        column = {value: c for c, value in enumerate(self.categories)}
        width = len(self.categories)
        codes = np.array([column.get(cell, width) for cell in cells], dtype=np.int64)
        table = np.zeros((len(cells), width + 1))
        table[np.arange(len(cells)), codes] = 1
        table[missing] = 0
        return table if self.has_others else table[:, :width]

    def _numbers(self, rows: Sequence[Row], position: int, missing: Array) -> Array:  # (rows,)
        if self.fill is None and missing.any():
            raise rows[int(missing.argmax())].cell_error(
                position, self.name, "a finite number", 'or say "number" in columns.json to fill it'
            )
        fill = self.fill or 0.0
        if self.kind in ("number", "as is"):
            cells = [row.cells[position] for row in rows]
            values = numbers_of(cells, missing, fill)
            if values is not None:
                return values
        return np.array(
            [
                fill if absent else self._number(row, position)
                for row, absent in zip(rows, missing, strict=True)
            ],
            dtype=float,
        )

    def _number(self, row: Row, position: int) -> float:
        cell = row.cells[position]
        if self.kind == "date":
            days = days_of(cell, self.date_format)
            if days is None:
                raise row.cell_error(position, self.name, "a date", f"as {self.date_format}")
            return days
        if self.kind == "boolean":
            if cell.lower() not in YES + NO:
                raise row.cell_error(position, self.name, "yes or no, true or false, 1 or 0", "")
            return float(cell.lower() in YES)
        return row.number(position, self.name)


class Preparation(BaseModel):
    """A table's columns in order; ``columns`` is None where all numbers stay as they are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[Column, ...] | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns of x."""
        return tuple(name for column in self.columns or () for name in column.outputs)

    def apply(self, names: Sequence[str], rows: Sequence[Row]) -> Array:  # (rows, F), 32 bits
        """The features of a table, which may have other columns too, in another order.

        Args:
            names: Of the table's columns, in the order of the cells.
            rows: The table without its header.
        """
        if self.columns is None:
            columns = [Column(name=name, kind="as is") for name in names]
        else:
            columns = [column for column in self.columns if column.kind != "leave out"]
        position = {name: c for c, name in enumerate(names)}
        for column in columns:
            if column.name not in position and rows:
                raise InputError(
                    f"{rows[0].path} has no column {column.name!r}, which the model was trained "
                    "with; add it (cells may be empty)"
                )
        parts = [column.values(rows, position[column.name]) for column in columns]
        x = np.hstack([np.empty((len(rows), 0)), *parts])
        return x.astype(np.float32)


def days_of(cell: str, date_format: str) -> float | None:
    """Days since 1970, or None where a cell is no such date.

    Example:
        >>> days_of("1970-01-02", "ISO"), days_of("02.01.1970", "%d.%m.%Y"), days_of("2", "ISO")
        (1.0, 1.0, None)
    """
    if not LOOKS_LIKE_A_DATE.match(cell):
        return None
    try:
        if date_format == ISO:
            moment = datetime.fromisoformat(cell)
        else:
            moment = datetime.strptime(cell, date_format)
    except ValueError:
        return None
    return (moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) / 86400


def _day(days: float) -> str:
    try:
        return f"{datetime.fromtimestamp(86400 * days, UTC):%Y-%m-%d}"
    except (OverflowError, OSError, ValueError):
        return f"{days:.4g}"
