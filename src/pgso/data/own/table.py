"""CSV files that people write: quotes, headers that may be missing, words for numbers."""

import codecs
import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pgso.data.arrays import Array
from pgso.data.own.files import read_parquet
from pgso.data.text import read_lines
from pgso.errors import InputError

MISSING = frozenset(("", "nan", "na", "n/a", "none", "null", "?", "-"))  # stands for no answer
LONGEST_MISSING = max(map(len, MISSING))
DECIMAL_COMMA = re.compile(r"^(-?\d+),(\d+)$")
PARTS = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}

LARGEST = 3.4e38  # what 32 bits hold, in which networks compute
SOME_LINES = 20  # that show what separates cells
SEPARATED = "separate cells by commas, semicolons or tabs, by the same in all lines"


class Row(NamedTuple):
    """One line of a table."""

    path: Path
    line: int  # counted from 1
    cells: list[str]
    decimal_comma: bool = False  # whether 1,5 is 1.5, as where semicolons separate the cells

    @property
    def with_points(self) -> "Row":
        """The same with decimal points: for cells that may be numbers, not for names and labels."""
        if not self.decimal_comma:
            return self
        return Row(self.path, self.line, decimal_points(self.cells))

    def error(self, problem: str) -> InputError:
        """An error that says where it is."""
        return InputError(f"{self.path}, line {self.line}: {problem}")

    def cell_error(self, column: int, name: str | None, wanted: str, advice: str) -> InputError:
        """An error that says which cell is wrong, and what to write in its place."""
        where = f"column {name or column + 1!r}"
        given = self.cells[column]
        shown = given if len(given) < 60 else given[:57] + "..."
        what_to_do = f"; write one, {advice}" if advice else "; write one of them"
        return self.error(f"{where}: expected {wanted}, got {shown!r}{what_to_do}")

    def is_missing(self, column: int) -> bool:
        """Whether a cell says nothing."""
        return is_missing(self.cells[column])

    def number(self, column: int, name: str | None = None) -> float:
        """A cell as a finite number."""
        try:
            value = float_of(self.with_points.cells[column])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.cell_error(column, name, "a finite number", "such as 0.5")
        if abs(value) > LARGEST:
            raise self.cell_error(column, name, f"a number up to {LARGEST:g}", "in another unit")
        return value

    def optional_number(self, column: int, name: str | None = None) -> float:
        """A cell as a finite number; NaN where nothing is known."""
        return math.nan if self.is_missing(column) else self.number(column, name)


def read_columns(path: Path) -> tuple[Row, list[list[str]]]:
    """The first line, and all others as columns of stripped cells, none if there are no others.

    A plain table (no quotes, no blank lines, every line as long as the first) is cut up as a
    whole: half a second for a million lines. Others go through :func:`read_rows`, which refuses
    what is wrong and names the line.
    """
    if path.suffix == ".parquet":
        names, columns = read_parquet(path)
        return Row(path, 1, names), columns
    plain = _plain_cells(path)
    if plain is not None:
        cells, width = plain
        columns = [cells[c::width] for c in range(width)]
        return Row(path, 1, [column[0] for column in columns]), [c[1:] for c in columns if c[1:]]
    first, *rows = read_rows(path)
    check_widths(rows, len(first.cells))
    return first, [list(column) for column in zip(*(row.cells for row in rows), strict=True)]


def _plain_cells(path: Path) -> tuple[list[str], int] | None:
    """All cells of a plain table, and how many a line has; None if it is not plain."""
    try:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n")
        content = content.rstrip(b"\n")
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    first = text.partition("\n")[0]
    separator = _separator(text.split("\n", SOME_LINES)[:SOME_LINES])
    if not text or '"' in text or "\r" in text or (separator == ";" and "," in text):
        return None
    width = first.count(separator) + 1
    letters = np.frombuffer(content + b"\n", dtype=np.uint8)
    newline, mark = ord("\n"), ord(separator)
    marks = letters[(letters == newline) | (letters == mark)]
    if len(marks) % width:
        return None
    table = marks.reshape(-1, width)
    if (table[:, -1] != newline).any() or (table[:, :-1] != mark).any():
        return None
    cells = text.replace("\n", separator).split(separator)
    blanks = (blank for blank in " \t\v\f" if blank != separator)
    if not text.isascii() or any(blank in text for blank in blanks):
        cells = [cell.strip() for cell in cells]
    return (cells, width) if all(cells[0::width]) else None


def read_rows(path: Path) -> list[Row]:
    """The lines of a CSV file that are not blank, their cells stripped.

    Cells are separated by commas, tabs or semicolons, whichever cut the first line into most cells.
    In a table of one column, a blank line between others is an empty cell.
    """
    if path.suffix == ".parquet":
        names, columns = read_parquet(path)
        table = zip(*columns, strict=True)
        return [Row(path, i, list(cells)) for i, cells in enumerate([names, *table], start=1)]
    plain = _plain_cells(path)
    if plain is not None:
        cells, width = plain
        starts = range(0, len(cells), width)
        return [Row(path, k // width + 1, cells[k : k + width]) for k in starts]
    lines = read_lines(path)
    separator = _separator([line for line in lines[: 2 * SOME_LINES] if line][:SOME_LINES])
    reader = csv.reader((line + "\n" for line in lines), strict=True, delimiter=separator)
    rows: list[Row] = []
    begins, alone = 1, False
    try:
        for cells in reader:
            begins = reader.line_num + 1
            if cells and not rows:
                alone = len(cells) == 1
                if alone and not lines[0]:
                    raise InputError(
                        f'{path}, line 1 is blank; remove it, or write "" for an empty cell'
                    )
            stripped = [cell.strip() for cell in cells or [""]]
            if alone or any(stripped):
                rows.append(Row(path, reader.line_num, stripped, separator == ";"))
    except csv.Error as error:
        raise InputError(
            f"{path}, line {begins}: its quotation marks do not fit ({error}); put whole cells "
            'between two of them, and write "" for one within a cell'
        ) from None
    if not any(cell for row in rows for cell in row.cells):
        raise InputError(f"{path} has only empty cells; write at least one line")
    return rows


def alike(name: str) -> str:
    """The same for 7, 07 and 7.0, which spreadsheets make of each other."""
    number = re.fullmatch(r"0*(\d+)(\.0)?", name)
    return name if number is None else number[1]


def decimal_points(cells: Sequence[str]) -> list[str]:
    """Numbers such as 1,5 as 1.5; other cells as they are."""
    return [DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in cells]


def is_missing(cell: str) -> bool:
    """Whether a cell says nothing."""
    return len(cell) <= LONGEST_MISSING and cell.lower() in MISSING


def float_of(cell: str) -> float:
    """A cell as a number. Python would read 1_2 as 12."""
    if "_" in cell:
        raise ValueError(f"{cell} is no number")
    return float(cell)


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number."""
    try:
        return math.isfinite(float_of(cell))
    except ValueError:
        return False


def numbers_of(cells: Sequence[str], missing: Array, fill: float) -> Array | None:
    """Cells as numbers, many at once; None if one is no finite number, or too large.

    Example:
        >>> numbers_of(["1", "", "2.5"], [False, True, False], 0.0)
        array([1. , 0. , 2.5])
    """
    try:
        values = np.array(
            [
                fill if absent else float_of(cell)
                for cell, absent in zip(cells, missing, strict=True)
            ]
        )
    except ValueError:
        return None
    return values if (np.abs(values) <= LARGEST).all() else None


def _separator(lines: Sequence[str]) -> str:
    """What cuts the first line into most cells; a semicolon if all commas are decimal ones."""
    body = lines[1:] or lines
    commas = [cell.strip(' "') for line in body for cell in line.split(";") if "," in cell]
    if ";" in lines[0] and commas and all(map(DECIMAL_COMMA.match, commas)):
        return ";"
    return max(",\t;", key=lambda mark: _num_cells(lines[0], mark))


def _num_cells(line: str, separator: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=separator)))
    except (csv.Error, StopIteration):
        return 0


def check_widths(rows: Sequence[Row], *widths: int) -> None:
    """Refuse lines whose number of cells is not allowed, or differs from the first line."""
    allowed = f"{' or '.join(str(width) for width in widths)} cells"
    for row in rows:
        if len(row.cells) in widths and len(row.cells) == len(rows[0].cells):
            continue
        if len(row.cells) in widths:
            allowed = f"{len(rows[0].cells)} cells as in line {rows[0].line}"
        shown = ",".join(row.cells)[:60]
        raise row.error(f"expected {allowed}, got {len(row.cells)} ({shown!r}); {SEPARATED}")


def encode_labels(names: Sequence[str]) -> tuple[Array, tuple[str, ...]]:
    """Classes 0, 1, ... in the order of their names (of their numbers, if they are numbers).

    No name is no label: -1.

    Example:
        >>> encode_labels(["10", "9", "", "10"])
        (array([ 1,  0, -1,  1]), ('9', '10'))
    """
    present = {name for name in names if name}
    try:
        classes = tuple(sorted(present, key=int))
    except ValueError:
        classes = tuple(sorted(present))
    code = {name: c for c, name in enumerate(classes)} | {"": -1}
    return np.array([code[name] for name in names], dtype=np.int64), classes


def part_of(row: Row, column: int) -> int:
    """Which part of the split a cell names: 0, 1, 2 for train, val, test; -1 for none."""
    name = row.cells[column].lower()
    if name in ("", "none"):
        return -1
    if name not in PARTS:
        raise row.error(
            f"column {column + 1}: a part of the split is called train, val or test; got {name!r}"
        )
    return PARTS[name]
