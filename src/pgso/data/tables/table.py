"""One table of a user: cells of text with the line of each row, and whether there is a header.

**Header**: the first line is a header if it holds a known column name, or if it stands out from
the lines below it, which hold numbers or nodes where it holds other words. **Key**: nodes are named
by the column called node, node_id or id, otherwise by the first column whose cells are the names
that other tables use. What can be read in two ways is refused.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgso.data.arrays import Array
from pgso.data.tables.names import WITHIN, alike, shown
from pgso.errors import InputError, RowError

NODE, GRAPH = ("node", "node_id", "id"), ("graph", "graph_id")  # names of columns, best first
ITEM = (*NODE, *GRAPH)
ID = re.compile(  # customer_id, UUID, customerId; not paid
    r"(?i:(^|[_\- ])(id|uuid|guid)$|^(id|uuid)([_\- ]|$))|[a-z](Id|ID)$|^(index|level_0)$"
)
COUNTED = ("", "index", "level_0")  # columns that pandas makes of the numbers of rows
_WORDS = ("nan", "na", "n/a", "none", "null")
MISSING = frozenset(  # what stands for a gap
    form for word in _WORDS for form in (word, word.upper(), word.capitalize(), "NaN")
) | {"", "?", "-", "--", ".", "#N/A", "#NA", "<NA>", "NaT", "-nan", "-NaN"}
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")  # 1.200, which may be 1200
LARGEST = 3.4e38  # what 32 bits hold, in which networks compute
UNNAMED = re.compile(r"Unnamed: \d+")  # an index that pandas wrote and read again
SEPARATED = "separate cells by commas, semicolons or tabs, by the same in all lines"


class Parsed(NamedTuple):
    """A column: its distinct cells, with decimal points, and each row as a number."""

    distinct: Array  # in the order in which they come
    missing: Array  # which of them say nothing
    codes: Array  # (rows,) places in ``distinct``
    values: Array  # (rows,) NaN where a cell is not a number
    gaps: Array  # (rows,) where a cell says nothing


@dataclass(frozen=True, eq=False)
class Table:
    """Cells of text in rows, with the line of each row."""

    path: Path  # the file, or a word for a frame in memory; named in errors
    frame: pd.DataFrame  # of text, stripped; a first column without a name is called ""
    lines: Array  # of the file, or rows of a frame, counted from 1
    has_header: bool = False  # False: no header was recognised yet, or there is none
    decimal_comma: bool = False  # whether 1,5 is 1.5, as where semicolons separate the cells
    names: tuple[str, ...] = field(init=False)  # of columns; ``column 3`` without a header
    top: tuple[str, ...] = field(init=False)  # the cells of the first line: the header, or a row
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        names, first = tuple(self.frame.columns), self.frame.iloc[:1].to_numpy().reshape(-1)
        vars(self).update(names=names, top=names if self.has_header else tuple(first))

    def cells(self, name: str) -> Array:  # (rows,) of text
        """One column."""
        return np.asarray(self.frame[name].to_numpy())

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

    def error(self, problem: str, row: int | None = None, name: str | None = None) -> InputError:
        """An error that says in which line it is, by default in the header, and in which column."""
        line = 1 if row is None else int(self.lines[row])
        if name is not None:
            place = f"column {name!r}" if self.has_header and name else name
            problem = f"{place or 'column 1'}: {problem}"
        message = f"{self.path}, line {line}: {problem}"
        return InputError(message) if row is None else RowError(message, str(self.path), line)

    def cell_error(self, wrong: Array, name: str, wanted: str, advice: str) -> InputError:
        """An error about the first wrong cell of a column, and what to write in its place."""
        row = int(wrong.argmax())
        cell = self.cells(name)[row]
        shown = cell if len(cell) < 60 else cell[:57] + "..."
        what_to_do = f"; write one, {advice}" if advice else "; write one of them"
        return self.error(f"expected {wanted}, got {shown!r}{what_to_do}", row, name)

    def check_filled(self, name: str, what: str) -> None:
        """Refuse an empty cell."""
        empty = self.cells(name) == ""
        if empty.any():
            raise self.cell_error(empty, name, what, "or remove the line")

    def check_names(self, key: str, done: str, label: str | None = None) -> None:
        """Refuse a line about no node, and a second one about a node that was ``done`` already."""
        self.check_filled(key, "the name of a node")
        names = self.frame[key]
        twice = names.duplicated().to_numpy()
        if twice.any():
            row = int(twice.argmax())
            first = self.lines[int((names == names.iloc[row]).to_numpy().argmax())]
            several = "" if label is None else f", or write both as {self.cells(label)[row]}|..."
            problem = f"node {shown(names.iloc[row])} was {done} in line {first} already"
            raise self.error(f"{problem}; remove one of them{several}", row)

    def parsed(self, name: str) -> Parsed:
        """A column as numbers. Decimal commas become points; beside points they are refused."""
        if name not in self._memo:
            codes, distinct = pd.factorize(self.cells(name))
            commas = list(filter(DECIMAL_COMMA.fullmatch, distinct)) if self.decimal_comma else []
            if commas:
                pointed = {cell: cell.replace(",", ".") for cell in commas}
                read = np.array([pointed.get(cell, cell) for cell in distinct], dtype=object)
                same, distinct = pd.factorize(read)  # 1,5 beside 1.5 is one number
                codes = same[codes]
            numbers, missing = parse_numbers(distinct)
            self._memo[name] = Parsed(distinct, missing, codes, numbers[codes], missing[codes])
        parsed: Parsed = self._memo[name]
        return parsed

    def _check_points(self, name: str) -> None:
        """Refuse points beside decimal commas, and those that may stand between thousands."""
        cells, wanted, advice = self.cells(name), "", ""
        some = [*cells, *self.frame.iloc[:1000].to_numpy().reshape(-1)]
        if any(DECIMAL_COMMA.fullmatch(cell) for cell in some if "," in cell):
            wanted, advice = "a number with a decimal comma, as in other cells", "such as 1200,5"
        elif all(THOUSANDS.fullmatch(cell) for cell in some if "." in cell and is_number(cell)):
            wanted, advice = "a number that reads in one way", "such as 1200 or 1,2"
        points = np.array([bool(wanted) and "." in cell and is_number(cell) for cell in cells])
        if points.any():
            raise self.cell_error(points, name, wanted, advice)

    def coded(self, *names: str) -> tuple[Array, Array]:  # (columns, rows), (distinct cells,)
        """The places of cells among the distinct ones, which come as they are read."""
        if names not in self._memo:
            codes, distinct = pd.factorize(self.frame[list(names)].to_numpy().reshape(-1))
            self._memo[names] = codes.reshape(-1, len(names)).T, distinct
        coded: tuple[Array, Array] = self._memo[names]
        return coded

    def numbers(self, name: str, optional: bool = False) -> Array:  # (rows,)
        """A column of finite numbers; with ``optional``, NaN where a cell says nothing."""
        _, _, _, values, gaps = self.parsed(name)
        if self.decimal_comma:
            self._check_points(name)
        wrong = np.isnan(values) & ~gaps if optional else np.isnan(values)
        if wrong.any():
            raise self.cell_error(wrong, name, "a finite number", "such as 0.5")
        large = np.abs(values) > LARGEST
        if large.any():
            raise self.cell_error(large, name, f"a number up to {LARGEST:g}", "in another unit")
        return values

    def called(self, *names: str) -> "Table":
        """The same with names for its columns."""
        return replace(self, frame=self.frame.set_axis(names, axis=1), has_header=True)

    def without(self, *names: str | None) -> "Table":
        """The same without some columns, if they are there."""
        return replace(self, frame=self.frame.drop(columns=[*{*names} & {*self.names}]))

    def within(self, graph: str, *names: str) -> "Table":
        """The same with the names of nodes behind the name of their graph."""
        self.check_filled(graph, "the name of a graph")
        joined = {name: self.frame[graph] + WITHIN + self.frame[name] for name in names}
        return replace(self, frame=self.frame.assign(**joined))

    def take(self, rows: Array | slice) -> "Table":
        """Some rows, in some order."""
        return replace(self, frame=self.frame.iloc[rows], lines=self.lines[rows])

    def with_header(
        self, words: Collection[str], nodes: Collection[str], form: str, wide: bool = False
    ) -> "Table":
        """The same with its first line as header, if it is one; a ``wide`` one may count."""
        if self.has_header:
            return self
        top = self.top
        is_header = _is_header(self, words, nodes, wide)
        if is_header is None:
            problem = f"is {','.join(top)[:60]!r} a header, or a line like the others?"
            raise self.error(f"{problem} write a header such as {form} above the first line")
        if not is_header:
            return self
        twice = next((name for name, k in Counter(top).items() if name and k > 1), None)
        if twice is not None:
            raise self.error(f"two columns are called {twice!r}; give each its own name")
        names = [name or self.names[c] * (c > 0) for c, name in enumerate(top)]
        frame = self.frame.iloc[1:].set_axis(names, axis=1)
        kept = [not c or bool(cell) or (frame.iloc[:, c] != "").any() for c, cell in enumerate(top)]
        frame = without_indices(frame.loc[:, kept])
        return replace(self, frame=frame, lines=self.lines[1:], has_header=True)


def _is_header(
    table: Table, words: Collection[str], nodes: Collection[str], wide: bool
) -> bool | None:
    """Whether the first line of a table is a header; None: it can be read in two ways."""
    first, width = table.top, len(table.names)

    def is_numeric(cell: str) -> bool:
        return is_number(cell.replace(",", ".", 1) if table.decimal_comma else cell)

    counted = tuple(map(str, range(width)))
    if wide and width > 1 and first[1:] == counted[:-1]:  # below a name of the column of nodes
        if first[0] not in nodes and not is_numeric(first[0]):
            return True
    elif wide and first == counted:
        second = table.frame.iloc[1:2].to_numpy().reshape(-1)
        if width > 3 or (len(second) > 0 and all("." in cell for cell in second)):
            return True
    below = [table.cells(name)[1:] for name in table.names]
    named = [cell.lower() in words for cell in first]
    if all(named) and (below[0] == first[0]).any() and width > 1:
        return True  # a node called node: nodes are named once, so that this line is none
    if first[0] in nodes:
        return False
    repeats = (bool(cell) and (below[c] == cell).any() for c, cell in enumerate(first))
    others = (again for c, again in enumerate(repeats) if not named[c])
    is_counted = width > 1 and first == counted and len(below[0]) > 0
    if is_counted and not (below[0] == first[0]).any():
        # pandas calls columns so; or is it an edge, or a label, of node 0?
        if not any(map(is_numeric, below[0])):
            return True
        if nodes:
            return None if any(repeats) else True
    if any(named):  # looked at until one does not repeat, for it takes long
        return True if all(named) or not all(others) else None
    repeated = sum(others)
    has_number = any(map(is_numeric, first))
    if not first[0] and width > 1 and not has_number:
        return True  # a column without a name holds the numbers of rows, as pandas writes them
    if any(cell in nodes for cell in first):
        return False
    # The first line stands out where a column holds nodes below it,
    some = [cells[:1000] for cells in below[:3]]
    stands_out = any(2 * sum(cell in nodes for cell in cells) > len(cells) for cells in some)
    if has_number:
        return None if stands_out and not repeated and not is_numeric(first[0]) else False
    for cell, cells in zip(first, below, strict=True):  # or numbers,
        filled = [other for other in cells[:100] if other not in MISSING]
        if cell and filled and all(map(is_numeric, filled)):
            return True
    if 2 * repeated > max(width - 1, 1):
        return False
    for cell, cells in zip(first, below, strict=True):  # or cells that all occur several times.
        counts = Counter(cells) if width > 1 and cell and not stands_out else {}
        stands_out |= cell not in counts and min(counts.values(), default=0) > 1
    return True if stands_out else False if repeated else None


def without_indices(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame without the numbers of rows that pandas wrote; in the first column they are ""."""
    if len(frame.columns) and UNNAMED.fullmatch(frame.columns[0]):
        frame = frame.set_axis(["", *frame.columns[1:]], axis=1)
    return frame.drop(columns=[name for name in frame if UNNAMED.fullmatch(name)])


def key_of(
    table: Table, nodes: Collection[str], words: Sequence[str] = ITEM, others: Collection[Any] = ()
) -> str | None:
    """The column, none of ``others``, that names other tables' nodes, or None; two are refused."""
    called, known = table.named(words), set(nodes)
    called = None if called in others else called
    if called is not None and known <= set(table.cells(called)):
        return called
    first = table.names[: 2 if "" in table.names else 1]
    ends = (min(known), max(known)) if known else ()  # in a column of numbers that may be names
    found: dict[str, int] = {}  # how many names there are in each column that may name nodes
    for name in (name for name in table.names if name not in others):
        is_id = ID.search(name) and name not in COUNTED
        may_be_numbers = name in first or name == called or is_id
        if found or not (table.has_header or name in first):
            cells = table.cells(name)
            if not (found and ends and all((cells == end).any() for end in ends)):
                continue
            may_be_numbers = True
        distinct = set(table.cells(name))
        if len(distinct) < len(table.lines):
            continue
        if not may_be_numbers and all(map(is_number, distinct)):
            continue
        common = _common(known, distinct)
        found |= {name: common} if common else {}
    most = max(found.values(), default=0)
    if called is not None and _common(known, set(table.cells(called))) >= most:
        return called
    least = max((found[name] for name in found if name in COUNTED), default=0)
    names = [name for name in found if name not in COUNTED and found[name] >= least]
    names = names or [name for name in found if found[name] == least]
    for other_name in names[1:]:
        if not table.frame[names[0]].equals(table.frame[other_name]):
            both = f"{names[0]!r} and {other_name!r} both hold names of nodes"
            raise table.error(f"{both}; call the one that names them node")
    return names[0] if names else None


def _common(names: set[str], cells: set[str]) -> int:
    """How many names of nodes are among cells, if they are more than half of either; else 0."""
    least = min(len(names), len(cells)) / 2
    common = len(names & cells)
    if common <= least:
        common = len(set(map(alike, names)) & set(map(alike, cells)))
    return common if common > least else 0


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number. Python would read 1_2 as 12."""
    try:
        return "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def parse_numbers(cells: Array) -> tuple[Array, Array]:  # (rows,) and (rows,) of booleans
    """Cells as numbers, NaN where one is not a number; and which cells say nothing."""
    with suppress(ValueError):
        values: Array = cells.astype(float)
        if np.isfinite(values).all() and "_" not in "".join(cells):
            return values, np.zeros(len(cells), dtype=bool)
    numbers = np.array([float(cell) if is_number(cell) else np.nan for cell in cells])
    return numbers, np.array([cell in MISSING for cell in cells], dtype=bool)
