"""One table of a user: cells of text with the line of each row, and whether there is a header.

**Header**: the first line is a header if it holds a known column name, or if it stands out from
the lines below it, which hold numbers or nodes where it holds other words. **Key**: the nodes are
named by the column called node, node_id or id, otherwise by the first column whose cells are the
names that other tables use. Where a line can be read in two ways, the table is refused with a
sentence that says what to write.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from pgso.data.arrays import Array
from pgso.errors import InputError, RowError

NODE = ("node", "node_id", "id")  # what a column of node names is called, best first
ITEM = (*NODE, "graph", "graph_id")
ID = re.compile(  # customer_id, UUID, customerId; not paid
    r"(?i:(^|[_\- ])(id|uuid|guid)$|^(id|uuid)([_\- ]|$))|[a-z](Id|ID)$"
)
_WORDS = ("nan", "na", "n/a", "none", "null")
MISSING = frozenset(  # what stands for a gap
    form for word in _WORDS for form in (word, word.upper(), word.capitalize(), "NaN")
) | {"", "?", "-", "--", ".", "#N/A", "#NA", "<NA>", "-nan", "-NaN"}
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
LARGEST = 3.4e38  # what 32 bits hold, in which networks compute
UNNAMED = re.compile(r"Unnamed: \d+")  # an index that pandas wrote and read again
SEPARATED = "separate cells by commas, semicolons or tabs, by the same in all lines"


@dataclass(frozen=True, eq=False)
class Table:
    """Cells of text in rows, with the line of each row."""

    path: Path  # the file, or a word for a frame in memory; named in errors
    frame: pd.DataFrame  # of text, stripped; a first column without a name is called ""
    lines: Sequence[int] | Array  # of the file, or rows of a frame, counted from 1
    has_header: bool = False  # False: no header was recognised yet, or there is none
    decimal_comma: bool = False  # whether 1,5 is 1.5, as where semicolons separate the cells

    @property
    def names(self) -> tuple[str, ...]:
        """What each column is called; ``column 3`` where a table has no header."""
        return tuple(self.frame.columns)

    @cached_property
    def _columns(self) -> dict[Hashable, tuple[Array, Array]]:
        return {}  # what was made of them

    def __len__(self) -> int:
        return len(self.frame)

    def cells(self, name: str) -> Array:  # (rows,) of text
        """One column."""
        out: Array = self.frame[name].to_numpy()
        return out

    def named(self, words: Sequence[str]) -> str | None:
        """The column that is called by the first of some words that is there, in any case."""
        lower = {name.lower(): name for name in reversed(self.names)} if self.has_header else {}
        return next((lower[word] for word in words if word in lower), None)

    def check_has(self, *names: str | None) -> None:
        """Refuse the name of a column that is not there."""
        for name in names:
            if name is not None and name not in self.names:
                listed = ", ".join(filter(None, self.names[:20]))
                raise InputError(f"{self.path} has no column {name!r}; it has {listed}")

    def place(self, name: str) -> str:
        """A column for errors: by its name, or by its number where there is no header."""
        return f"column {name!r}" if self.has_header and name else name or "column 1"

    def line_error(self, row: int, problem: str) -> InputError:
        """An error that says in which line it is."""
        message = f"{self.path}, line {self.lines[row]}: {problem}"
        return RowError(message, str(self.path), int(self.lines[row]))

    def header_error(self, problem: str) -> InputError:
        """An error in the names of the columns, which stand in line 1 of a file."""
        return InputError(f"{self.path}, line 1: {problem}")

    def cell_error(self, row: int, name: str, wanted: str, advice: str) -> InputError:
        """An error that says which cell is wrong, and what to write in its place."""
        given = str(self.cells(name)[row])
        shown = given if len(given) < 60 else given[:57] + "..."
        what_to_do = f"; write one, {advice}" if advice else "; write one of them"
        return self.line_error(
            row, f"{self.place(name)}: expected {wanted}, got {shown!r}{what_to_do}"
        )

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number, maybe with a decimal comma."""
        return is_number(cell.replace(",", ".", 1) if self.decimal_comma else cell)

    def check_filled(self, name: str, what: str, advice: str = "or remove it") -> None:
        """Refuse an empty cell."""
        empty = self.cells(name) == ""
        if empty.any():
            raise self.cell_error(int(empty.argmax()), name, what, advice)

    def gaps(self, name: str) -> Array:  # (rows,) of booleans
        """Which cells of a column say nothing."""
        return self._parsed(name)[1]

    def values(self, name: str) -> Array:  # (rows,)
        """A column as numbers, NaN where a cell is not a number."""
        return self._parsed(name)[0]

    def _parsed(self, name: str) -> tuple[Array, Array]:
        if name not in self._columns:
            cells = self.cells(name)
            self._columns[name] = parse_numbers(points_of(cells) if self.decimal_comma else cells)
        return self._columns[name]

    def coded(self, *names: str) -> tuple[Array, Array]:  # (rows, columns), (distinct cells,)
        """The places of cells among the distinct ones, which come as they are read."""
        if names not in self._columns:
            codes, distinct = pd.factorize(self.frame[list(names)].to_numpy().reshape(-1))
            self._columns[names] = codes.reshape(-1, len(names)), distinct
        return self._columns[names]

    def numbers(self, name: str, optional: bool = False) -> Array:  # (rows,)
        """A column of finite numbers; with ``optional``, NaN where a cell says nothing."""
        values = self.values(name)
        wrong = ~np.isfinite(values)
        if optional:
            wrong &= ~self.gaps(name)
        if wrong.any():
            raise self.cell_error(int(wrong.argmax()), name, "a finite number", "such as 0.5")
        large = np.abs(values) > LARGEST
        if large.any():
            wanted = f"a number up to {LARGEST:g}"
            raise self.cell_error(int(large.argmax()), name, wanted, "in another unit")
        return values

    def called(self, *names: str) -> "Table":
        """The same with names for its columns."""
        return replace(self, frame=self.frame.set_axis(names, axis=1), has_header=True)

    def without(self, *names: str | None) -> "Table":
        """The same without some columns, if they are there."""
        return replace(self, frame=self.frame.drop(columns=[*{*names} & {*self.names}]))

    def take(self, rows: Array | slice) -> "Table":
        """Some rows, in some order."""
        return replace(self, frame=self.frame.iloc[rows], lines=np.asarray(self.lines)[rows])

    @cached_property
    def first(self) -> tuple[str, ...]:
        """The cells of the first row."""
        return tuple(self.frame.iloc[0])

    @property
    def top(self) -> tuple[str, ...]:
        """The cells of the first line: the header, or those of the first row."""
        return self.names if self.has_header else self.first

    def with_header(
        self, words: Collection[str], nodes: Collection[str], form: str, wide: bool = False
    ) -> "Table":
        """The same table with its first line as a header, if it is one.

        Args:
            words: Column names that are known for this table.
            nodes: The names of nodes that are known from other tables, or from lines below.
            form: What to write as a header where it is in doubt.
            wide: Whether columns may be called 0, 1, ..., as pandas calls those of a matrix.
        """
        if self.has_header:
            return self
        is_header = (wide and _counts(self, nodes)) or _is_header(self, words, nodes)
        if is_header is None:
            raise self.header_error(
                f"is {','.join(self.first)[:60]!r} a header, or a line like the others? write a "
                f"header such as {form} above the first line"
            )
        if not is_header:
            return self
        twice = next((name for name, k in Counter(self.first).items() if name and k > 1), None)
        if twice is not None:
            raise self.header_error(f"two columns are called {twice!r}; give each its own name")
        names = [name or self.names[c] * (c > 0) for c, name in enumerate(self.first)]
        frame = without_indices(self.frame.iloc[1:].set_axis(names, axis=1))
        nameless = {name for c, name in enumerate(names) if c and not self.first[c]}
        empty = [name for name in frame if name in nameless and (frame[name] == "").all()]
        return replace(self, frame=frame.drop(columns=empty), lines=self.lines[1:], has_header=True)


def _is_header(table: Table, words: Collection[str], nodes: Collection[str]) -> bool | None:
    """Whether the first line of a table is a header; None: it can be read in two ways."""
    first, width = table.first, len(table.names)
    below = [table.cells(name)[1:] for name in table.names]
    named = [c for c, cell in enumerate(first) if cell.lower() in words]
    others = [c for c in range(width) if c not in named]
    repeated = [c for c in others if first[c] and (below[c] == first[c]).any()]
    if first[0] in nodes:
        return False
    if named:
        return True if len(repeated) < len(others) or not others else None
    has_number = any(map(table.is_number, first))
    if not first[0] and width > 1 and not has_number:
        return True  # a column without a name holds the numbers of rows, as pandas writes them
    if any(cell in nodes for cell in first):
        return False
    # The first line stands out where a column holds nodes below it.
    stands_out = any(
        2 * sum(cell in nodes for cell in cells[:1000]) > len(cells[:1000]) for cells in below[:3]
    )
    if has_number:
        in_doubt = stands_out and not repeated and not table.is_number(first[0])
        return None if in_doubt else False
    if any(first[c] and _are_numbers(table, below[c][:100]) for c in range(width)):
        return True
    if 2 * len(repeated) > width - 1 and repeated:
        return False
    if stands_out or (width > 1 and any(map(_is_odd, below, first))):
        return True
    return False if repeated else None


def _counts(table: Table, nodes: Collection[str]) -> bool:
    """Whether the first line is 0, 1, 2, ..., maybe below a name of the column of nodes."""
    first = list(table.first)
    if first[1:] == list(map(str, range(len(first) - 1))) and len(first) > 1:
        return first[0] not in nodes and not table.is_number(first[0])
    below = table.frame.iloc[1:2].to_numpy().reshape(-1)
    is_matrix = len(first) > 3 or (len(below) > 0 and all("." in cell for cell in below))
    return is_matrix and first == list(map(str, range(len(first))))


def without_indices(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame without the numbers of rows that pandas wrote; in the first column they are ""."""
    if len(frame.columns) and UNNAMED.fullmatch(frame.columns[0]):
        frame = frame.set_axis(["", *frame.columns[1:]], axis=1)
    return frame.drop(columns=[name for name in frame if UNNAMED.fullmatch(name)])


def _is_odd(below: Array, first: str) -> bool:
    """Whether every cell of a column occurs several times, but for the first one."""
    counts = Counter(below)
    return bool(first) and first not in counts and min(counts.values(), default=0) > 1


def _are_numbers(table: Table, cells: Array) -> bool:
    present = [cell for cell in cells if cell not in MISSING]
    return len(present) > 0 and all(map(table.is_number, present))


def key_of(table: Table, nodes: Collection[str], words: Sequence[str] = ITEM) -> str | None:
    """The column that names the nodes; None if no column does.

    Names that are numbers count in the first column only, or under a name like ``customer_id``:
    elsewhere they may be anything.

    Args:
        table: The cells.
        nodes: The names that other tables use.
        words: What the column may be called.
    """
    called, known = table.named(words), set(nodes)
    if called is not None and known <= set(table.cells(called)):
        return called
    first = table.names[: 2 if "" in table.names else 1]
    for name in table.names if table.has_header else first:
        cells = table.cells(name)
        distinct = set(cells)
        if len(distinct) < len(cells):
            continue
        may_be_numbers = name in first or name == called or ID.search(name)
        if not may_be_numbers and all(map(is_number, distinct)):
            continue
        common = _common(known, distinct)
        if common and called is not None and _common(known, set(table.cells(called))) >= common:
            return called
        if common:
            return name
    return called


def _common(names: set[str], cells: set[str]) -> int:
    """How many names of nodes are among cells, if they are more than half of either; else 0."""
    least = min(len(names), len(cells)) / 2
    common = len(names & cells)
    if common <= least:
        common = len({alike(name) for name in names} & {alike(cell) for cell in cells})
    return common if common > least else 0


def check_distinct(table: Table, key: str, done: str, label: str | None = None) -> None:
    """Refuse a node that two lines are about, or a line about none.

    Args:
        table: The cells.
        key: The column of names.
        done: What a line does to a node, such as ``"labelled"``.
        label: The column of labels, of which a node may have several.
    """
    table.check_filled(key, "the name of a node")
    names = table.frame[key]
    twice = names.duplicated().to_numpy()
    if not twice.any():
        return
    row = int(twice.argmax())
    name = names.iloc[row]
    first = table.lines[int((names == name).to_numpy().argmax())]
    advice = "" if label is None else f", or write several labels as {table.cells(label)[row]}|..."
    raise table.line_error(
        row, f"node {name!r} was {done} in line {first} already; remove one of them{advice}"
    )


def alike(name: str) -> str:
    """The same for names that people, spreadsheets and pandas take for each other.

    Example:
        >>> alike("07"), alike("7.0"), alike("N3")
        ('7', '7', 'n3')
    """
    number = re.fullmatch(r"0*(\d+)(\.0+)?", name)
    if number is not None:
        return number[1]
    if name.isascii():
        return name.lower()
    seen = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return "".join(seen).casefold()


def repair_of(cells: Collection[str], nodes: Collection[str]) -> str:
    """What to change in ``cells`` so that they are names of nodes; nothing if no change would do.

    Example:
        >>> repair_of(["1", "2"], ["C-1", "C-2"])
        "; put 'C-' before each name"
    """
    wanted, given = set(nodes), list(dict.fromkeys(cells))
    if not given or not wanted:
        return ""
    if counts_from_1(given, wanted):
        return "; they count from 1 and other tables from 0: count from 0 everywhere"
    known = {alike(name): name for name in wanted}
    other = next((cell for cell in given if cell not in wanted and alike(cell) in known), None)
    if other is not None:
        return f"; write {known[alike(other)]!r} instead of {other!r}, and so on"
    example = next(iter(nodes))
    for cell in given[:100]:
        for inner, outer, what in (
            (cell, example, "put {!r} before each name"),
            (example, cell, "remove {!r} before each name"),
        ):
            before = outer.removesuffix(inner) if inner and outer.endswith(inner) else ""
            if before:
                moved = {before + c if inner == cell else c.removeprefix(before) for c in given}
                if 2 * len(moved & wanted) > min(len(moved), len(wanted)):
                    return f"; {what.format(before)}"
    return ""


def counts_from_1(given: Collection[str], nodes: Collection[str]) -> bool:
    """Whether names count 1, 2, ... n where nodes are called 0, 1, ... n - 1."""
    return (
        "0" not in given
        and str(len(nodes)) in given
        and all(name.isdecimal() for name in given)
        and set(nodes) == set(map(str, range(len(nodes))))
    )


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number. Python would read 1_2 as 12."""
    try:
        return "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def parse_numbers(cells: Array) -> tuple[Array, Array]:  # (rows,) and (rows,) of booleans
    """Cells as numbers, NaN where one is not a number; and which cells say nothing.

    pandas says which cells are numbers; Python, which rounds exactly, what they are.

    Example:
        >>> parse_numbers(np.array(["1", "", "2.5", "1_000"], dtype=object))
        (array([1. , nan, 2.5, nan]), array([False,  True, False, False]))
    """
    try:
        values: Array = cells.astype(float)
        if np.isfinite(values).all() and "_" not in "".join(cells):
            return values, np.zeros(len(cells), dtype=bool)
    except ValueError:
        pass
    codes, distinct = pd.factorize(cells)
    found = pd.to_numeric(pd.Series(distinct, dtype=object), errors="coerce").to_numpy(dtype=float)
    known = np.isfinite(found)
    values = np.full(len(distinct), np.nan)
    values[known] = distinct[known].astype(float)
    gaps = np.array([cell in MISSING for cell in distinct], dtype=bool)
    return values[codes], gaps[codes]


def points_of(cells: Array) -> Array:
    """Numbers such as 1,5 as 1.5; other cells as they are."""
    changed = np.empty(len(cells), dtype=object)
    changed[:] = [
        cell.replace(",", ".") if "," in cell and DECIMAL_COMMA.fullmatch(cell) else cell
        for cell in cells
    ]
    return changed
