"""One table of a user as cells of text, however it came: CSV, TSV, Parquet, gzip, or a frame.

Two rules hold for every table. **Header**: the first line is a header if it holds a known column
name, or if it stands out from the lines below it, which hold numbers or nodes where it holds other
words. **Key**: the nodes are named by the column called node, id or node_id, otherwise by the
first column whose cells are the names that other tables use. Where a line or a column can be read
in two ways, the table is refused with a sentence that says what to write.
"""

import csv
import io
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgso.data.arrays import Array
from pgso.data.raw import check_columns, check_text_size, read_text
from pgso.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

NODE = ("node", "node_id", "id")  # what a column of node names is called, best first
ITEM = (*NODE, "graph", "graph_id")
ID = re.compile(  # customer_id, UUID, customerId; not paid
    r"(?i:(^|[_\- ])(id|uuid|guid)$|^(id|uuid)([_\- ]|$))|[a-z](Id|ID)$"
)
_WORDS = ("nan", "na", "n/a", "none", "null")
MISSING = frozenset(  # what stands for a gap
    form for word in _WORDS for form in (word, word.upper(), word.capitalize(), "NaN")
) | {"", "?", "-"}
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
LARGEST = 3.4e38  # what 32 bits hold, in which networks compute
COMMENTS = ("# ", "%")  # how comments above public edge lists begin
SOME_LINES = 20  # that show what separates cells
SEPARATED = "separate cells by commas, semicolons or tabs, by the same in all lines"
INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff\u00ad"))  # letters nobody sees
BLANKS = dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " ")


@dataclass(frozen=True, eq=False)
class Table:
    """Cells of text in rows, with the line of each row."""

    path: Path  # the file, or a word for a frame in memory; named in errors
    rows: "pd.DataFrame"  # of text, stripped; columns are counted from 0
    lines: Sequence[int]  # of the file, counted from 1; of a frame: rows, counted from 0
    header: tuple[str, ...] | None = None  # None: no header was recognised yet, or there is none
    decimal_comma: bool = False  # whether 1,5 is 1.5, as where semicolons separate the cells

    @property
    def names(self) -> tuple[str, ...]:
        """What each column is called; ``column 3`` where a table has no header."""
        given = self.header or ("",) * self.rows.shape[1]
        return tuple(name or f"column {c + 1}" for c, name in enumerate(given))

    @cached_property
    def _parsed(self) -> dict[tuple[str, int], Array]:
        return {}

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.rows.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    def cells(self, column: int) -> Array:  # (rows,) of text
        """One column."""
        out: Array = self.rows.iloc[:, column].to_numpy()
        return out

    def place(self, words: Collection[str]) -> int | None:
        """The first column that is called by one of some words, in any case."""
        names = [name.lower() for name in self.header or ()]
        return next((names.index(word) for word in words if word in names), None)

    def line_error(self, row: int, problem: str) -> InputError:
        """An error that says in which line it is."""
        return InputError(f"{self.path}, line {self.lines[row]}: {problem}")

    def header_error(self, problem: str) -> InputError:
        """An error in the names of the columns, which stand in line 1 of a file."""
        return InputError(f"{self.path}, line 1: {problem}")

    def cell_error(self, row: int, column: int, wanted: str, advice: str) -> InputError:
        """An error that says which cell is wrong, and what to write in its place."""
        given = str(self.cells(column)[row])
        shown = given if len(given) < 60 else given[:57] + "..."
        what_to_do = f"; write one, {advice}" if advice else "; write one of them"
        where = f"column {self.names[column]!r}" if self.header else f"column {column + 1}"
        return self.line_error(row, f"{where}: expected {wanted}, got {shown!r}{what_to_do}")

    def gaps(self, column: int) -> Array:  # (rows,) of booleans
        """Which cells of a column say nothing."""
        if ("gaps", column) not in self._parsed:
            self._parsed["gaps", column] = is_missing(self.cells(column))
        return self._parsed["gaps", column]

    def values(self, column: int) -> Array:  # (rows,)
        """A column as numbers, NaN where a cell is not a number."""
        if ("values", column) not in self._parsed:
            self._parsed["values", column] = numbers_of(self.cells(column), self.decimal_comma)
        return self._parsed["values", column]

    def numbers(self, column: int, optional: bool = False) -> Array:  # (rows,)
        """A column of finite numbers; with ``optional``, NaN where a cell says nothing."""
        values = self.values(column)
        wrong = ~np.isfinite(values)
        if optional:
            wrong &= ~self.gaps(column)
        if wrong.any():
            raise self.cell_error(int(wrong.argmax()), column, "a finite number", "such as 0.5")
        large = np.abs(values) > LARGEST
        if large.any():
            wanted = f"a number up to {LARGEST:g}"
            raise self.cell_error(int(large.argmax()), column, wanted, "in another unit")
        return values

    def without(self, *columns: int) -> "Table":
        """The same without some columns."""
        left = [c for c in range(self.width) if c not in columns]
        header = None if self.header is None else tuple(self.header[c] for c in left)
        rows = self.rows.iloc[:, left].set_axis(range(len(left)), axis=1)
        return replace(self, rows=rows, header=header)

    def take(self, order: Array) -> "Table":
        """Some rows, in some order."""
        return replace(
            self, rows=self.rows.iloc[order], lines=np.asarray(self.lines)[order].tolist()
        )

    @cached_property
    def first(self) -> tuple[str, ...]:
        """The cells of the first row."""
        return tuple(self.rows.iloc[0])

    def with_header(self, words: Collection[str], nodes: Collection[str], form: str) -> "Table":
        """The same table with its first line as a header, if it is one.

        Args:
            words: Column names that are known for this table.
            nodes: The names of nodes that are known from other tables, or from lines below.
            form: What to write as a header where it is in doubt.
        """
        if self.header is not None or not self._has_header(words, nodes, form):
            return self
        names = self.first
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:
            raise self.header_error(f"two columns are called {twice!r}; give each its own name")
        table = replace(self, rows=self.rows.iloc[1:], lines=self.lines[1:], header=names)
        nameless = [c for c, name in enumerate(names) if not name]
        empty = [c for c in nameless if c and (table.cells(c) == "").all()]
        return table.without(*empty) if empty else table

    def _has_header(self, words: Collection[str], nodes: Collection[str], form: str) -> bool:
        first = self.first
        below = [self.cells(c)[1:] for c in range(self.width)]
        named = [c for c, cell in enumerate(first) if cell.lower() in words]
        others = [c for c in range(self.width) if c not in named]
        repeated = [c for c in others if first[c] and (below[c] == first[c]).any()]
        if named:
            if not others or len(repeated) < len(others):
                return True
            if any(first[c] in nodes for c in named):
                return False
            raise self._doubt(form)
        if not first[0] and self.width > 1 and not any(map(self._is_number, first)):
            return True  # a column without a name holds the numbers of rows, as pandas writes them
        if any(cell in nodes for cell in first):
            return False
        stands_out = any(
            first[c] not in nodes and np.isin(below[c][:1000], list(nodes)).mean() > 0.5
            for c in range(min(self.width, 3))
            if nodes and len(below[c])
        )
        if any(map(self._is_number, first)):
            if stands_out and not self._is_number(first[0]):
                raise self._doubt(form)
            return False
        if any(first[c] and self._are_numbers(below[c][:100]) for c in range(self.width)):
            return True
        if 2 * len(repeated) > self.width - 1 and repeated:
            return False
        if stands_out or (self.width > 1 and any(map(self._is_odd, below, first))):
            return True
        if repeated:
            return False
        raise self._doubt(form)

    @staticmethod
    def _is_odd(below: Array, first: str) -> bool:
        """Whether every cell of a column occurs several times, but for the first one."""
        counts = Counter(below)
        return bool(first) and first not in counts and min(counts.values(), default=0) > 1

    def _doubt(self, form: str) -> InputError:
        shown = ",".join(self.first)[:60]
        return self.header_error(
            f"is {shown!r} a header, or a line like the others? write a header such as {form} "
            "above the first line"
        )

    def _is_number(self, cell: str) -> bool:
        return is_number(cell.replace(",", ".", 1) if self.decimal_comma else cell)

    def _are_numbers(self, cells: Array) -> bool:
        present = cells[~is_missing(cells)]
        return len(present) > 0 and all(map(self._is_number, present))


def read_table(path: Path) -> Table:
    """A file as a table: a line is a row, unless a quoted cell goes over several.

    Parquet has a header; of text :meth:`Table.with_header` decides. In a text of one column, a
    blank line between others is an empty cell.
    """
    if path.suffix.lower() == ".parquet":
        return frame_table(_read_parquet(path), path)
    check_text_size(path)
    import pandas as pd

    text = tidy(read_text(path))
    lines = text.split("\n")
    comments = next((k for k, line in enumerate(lines) if not line.startswith(COMMENTS)), None)
    if comments is None:
        raise InputError(f"{path} has no lines but comments; write at least one")
    del lines[:comments]
    if not all(map(str.strip, lines)):
        lines = [line if line.strip() else "" for line in lines]
    shown = [line for line in lines[: 2 * SOME_LINES] if line][:SOME_LINES] or [text[:1]]
    separator = _separator(shown)
    alone = separator is not None and separator not in shown[0]
    rows: list[list[str]] | None = None
    numbers: Sequence[int] = range(1 + comments, len(lines) + 1 + comments)
    if '"' in text:
        rows, numbers = _quoted(lines, separator, path, comments)
        widths = [len(row) for row in rows]
    else:
        if alone and not lines[0]:
            raise InputError(f'{path}, line 1 is blank; remove it, or write "" for an empty cell')
        kept = lines
        if not alone and not all(lines):
            numbers = [k for k, line in zip(numbers, lines, strict=True) if line]
            kept = [line for line in lines if line]
        widths = [line.count(separator) + 1 if separator else len(line.split()) for line in kept]
    names, width = _check_widths(path, widths, numbers, text.split("\n"))
    check_columns(width, path)
    if rows is not None:
        frame = pd.DataFrame([["", *row] if len(row) < width else row for row in rows])
    else:
        if names < width:  # the names of the columns, without one for the index
            kept[0] = f"{separator or ' '}{kept[0]}"
        frame = pd.read_csv(
            io.StringIO("\n".join([line or " " for line in kept] if alone else kept)),
            sep=separator or r"\s+",
            header=None,
            dtype=object,
            keep_default_na=False,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            skip_blank_lines=False,
        )
    if rows is not None or alone or _has_blanks(text, separator):
        frame = frame.apply(lambda cells: cells.str.strip())
    for c in frame if separator is None else ():  # numpy.savetxt writes 7 as 7.0000e+00
        if frame[c].str.contains("e").all() and (frame[c].astype(float) % 1 == 0).all():
            frame[c] = frame[c].astype(float).astype(np.int64).astype(str).astype(object)
    filled = np.logical_or.reduce([frame[c].to_numpy() != "" for c in frame])
    if not filled.any():
        raise InputError(f"{path} has only empty cells; write at least one line")
    if frame.shape[1] > 1 and not filled.all():
        frame = frame[filled].reset_index(drop=True)
        numbers = [number for number, keep in zip(numbers, filled, strict=True) if keep]
    return Table(path, frame.astype(object), numbers, None, separator == ";")


def _has_blanks(text: str, separator: str | None) -> bool:
    """Whether a cell may begin or end with a blank."""
    ends = (separator or " ", "\n")
    blanks = [blank for blank in " \t\v\f" if blank != separator and blank in text]
    return text[:1] in blanks or any(
        pair in text for end in ends for blank in blanks for pair in (end + blank, blank + end)
    )


def _quoted(
    lines: list[str], separator: str | None, path: Path, comments: int
) -> tuple[list[list[str]], Sequence[int]]:
    """The rows of a text with quotes, and the line where each begins."""
    reader = csv.reader((f"{line}\n" for line in lines), strict=True, delimiter=separator or " ")
    rows: list[list[str]] = []
    numbers: list[int] = []
    begins = 1
    try:
        for cells in reader:
            if cells or (rows and len(rows[0]) == 1):
                rows.append(cells or [""])
                numbers.append(begins + comments)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}, line {begins + comments}: its quotation marks do not fit ({error}); put "
            'whole cells between two of them, and write "" for one within a cell'
        ) from None
    return rows, numbers


def _check_widths(
    path: Path, widths: list[int], numbers: Sequence[int], lines: list[str]
) -> tuple[int, int]:
    """The number of cells of the first line and of all others, which must be the same.

    Only a header may have one cell less: R and pandas write tables whose first column has no name.
    """
    first, usual = widths[0], widths[min(1, len(widths) - 1)]
    distinct = set(widths[1:]) or {first}
    cells = re.split(r"[,;\t ]", lines[numbers[0] - 1])
    if distinct == {first} or (distinct == {first + 1} and not any(map(is_number, cells))):
        return first, usual
    row = next(k for k, width in enumerate(widths) if width != first)
    shown = lines[numbers[row] - 1][:60]
    raise InputError(
        f"{path}, line {numbers[row]}: expected {first} cells, got {widths[row]} ({shown!r}); "
        f"{SEPARATED}"
    )


def _separator(lines: Sequence[str]) -> str | None:
    """What cuts the first line into most cells; a semicolon if all commas are decimal ones.

    None: runs of blanks, in a file of numbers that has no other separator.
    """
    body = lines[1:] or lines
    commas = [cell.strip(' "') for line in body for cell in line.split(";") if "," in cell]
    if ";" in lines[0] and commas and all(map(DECIMAL_COMMA.fullmatch, commas)):
        return ";"
    best = max(",\t;", key=lambda mark: _num_cells(lines[0], mark))
    if best in lines[0]:
        return best
    cut = [line.split() for line in body]
    if len(cut[0]) > 1 and all(len(c) == len(cut[0]) and all(map(is_number, c)) for c in cut):
        return None
    return ","


def _num_cells(line: str, separator: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=separator)))
    except (csv.Error, StopIteration):
        return 0


def frame_table(frame: "pd.DataFrame", path: Path) -> Table:
    """A frame as a table of text, as a CSV file of it would be read.

    An index that is not 0, 1, ... is a first column. Whole numbers that gaps made floating-point
    ones are written as whole numbers again.
    """
    import pandas as pd

    index = frame.index
    is_plain = index.nlevels == 1 and index.name is None and list(index) == list(range(len(index)))
    if not is_plain:
        frame = frame.set_axis(index.set_names([name or "" for name in index.names])).reset_index(
            names=[name or "" for name in index.names]
        )
    check_columns(frame.shape[1], path)
    header = tuple(str(name) for name in frame.columns)
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two columns are called {twice!r}; give each its own name")
    if not len(frame):
        raise InputError(f"{path} has no rows; write at least one")
    cells = {c: _texts(frame.iloc[:, c]) for c in range(frame.shape[1])}
    return Table(path, pd.DataFrame(cells, dtype=object), range(1, len(frame) + 1), header)


def words_of(X: Any) -> Table | None:
    """The table of a frame with words, dates or gaps; None of a frame or matrix of numbers.

    Its index is no column: rows are nodes in order.
    """
    if not hasattr(X, "columns") or not hasattr(X, "iloc"):
        return None
    if all(kind.kind in "biuf" for kind in X.dtypes) and not X.isna().to_numpy().any():
        return None
    return frame_table(X.reset_index(drop=True), Path("X"))


def _texts(values: "pd.Series[Any]") -> list[str]:
    if values.dtype.kind == "f":
        numbers = values.to_numpy(dtype=values.dtype, na_value=np.nan)
        known = numbers[np.isfinite(numbers)]
        if (known % 1 == 0).all() and (np.abs(known) < 2**53).all():
            return [str(int(v)) if math.isfinite(v) else _not_finite(v) for v in numbers.tolist()]
        if numbers.dtype == np.float64:
            return [repr(v) if math.isfinite(v) else _not_finite(v) for v in numbers.tolist()]
        return [str(v) if np.isfinite(v) else _not_finite(float(v)) for v in numbers]
    if values.dtype.kind == "i" or values.dtype.kind == "u":
        return [_text(cell) for cell in values.tolist()]
    return [_text(cell) for cell in values.astype(object).tolist()]


def _not_finite(value: float) -> str:
    return "" if math.isnan(value) else str(value)


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        return tidy(cell).strip()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return ""
    if isinstance(cell, datetime):
        return cell.isoformat() if cell.time().isoformat() != "00:00:00" else f"{cell:%Y-%m-%d}"
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    return str(int(cell)) if isinstance(cell, float) and cell % 1 == 0 else str(cell).strip()


def _read_parquet(path: Path) -> "pd.DataFrame":
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(
            f"{path} needs pyarrow: pip install pyarrow, or write it as {path.stem}.csv"
        ) from None
    try:
        with parquet.ParquetFile(path) as content:
            check_text_size(path, content.metadata.num_rows * content.metadata.num_columns)
            check_columns(content.metadata.num_columns, path)
            table = content.read()
        frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    except (ArrowException, OSError) as error:
        raise InputError(f"{path} is not readable as Parquet ({str(error)[:100]})") from None
    return frame


def tidy(text: str) -> str:
    """The same text in one form: composed letters, plain blanks, no letters that nobody sees."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text).translate(INVISIBLE).translate(BLANKS)


def is_missing(cells: Array) -> Array:
    """Which cells say nothing."""
    import pandas as pd

    out: Array = pd.Series(cells, dtype=object).isin(MISSING).to_numpy()
    return out


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number. Python would read 1_2 as 12."""
    try:
        return "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def numbers_of(cells: Array, decimal_comma: bool = False) -> Array:  # (rows,)
    """Cells as numbers, NaN where one is not a number.

    pandas says which cells are numbers; Python, which rounds exactly, what they are.

    Example:
        >>> numbers_of(np.array(["1", "", "2.5", "1_000"], dtype=object))
        array([1. , nan, 2.5, nan])
    """
    import pandas as pd

    if decimal_comma:
        cells = points_of(cells)
    values = np.full(len(cells), np.nan)
    known = ~is_missing(cells)
    try:
        values[known] = cells[known].astype(float)
        if np.isfinite(values[known]).all() and "_" not in "".join(cells):
            return values
    except ValueError:
        pass
    codes, distinct = pd.factorize(cells)
    found = pd.to_numeric(pd.Series(distinct, dtype=object), errors="coerce").to_numpy(dtype=float)
    out: Array = found[codes]
    known = np.isfinite(out)
    out[known] = cells[known].astype(float)
    return out


def points_of(cells: Array) -> Array:
    """Numbers such as 1,5 as 1.5; other cells as they are."""
    changed = np.empty(len(cells), dtype=object)
    changed[:] = [
        cell.replace(",", ".") if "," in cell and DECIMAL_COMMA.fullmatch(cell) else cell
        for cell in cells
    ]
    return changed


def key_of(table: Table, nodes: Collection[str], words: Collection[str] = ITEM) -> int | None:
    """The column that names the nodes; None if no column does.

    It is called by one of ``words``, or it is the first one whose cells are distinct and mostly
    names that other tables use. Names that are numbers count in the first column only, or
    under a name like ``customer_id``: elsewhere they may be anything.
    """
    called, names = table.place(words), set(nodes)
    for c in range(table.width if table.header is not None else 1):
        cells = table.cells(c)
        distinct = set(cells)
        if len(distinct) < len(cells) or not names:
            continue
        if c and c != called and not ID.search(table.names[c]) and all(map(is_number, distinct)):
            continue
        common = _common(names, distinct)
        if common and called is not None and called != c:
            return called if _common(names, set(table.cells(called))) >= common else c
        if common:
            return c
    return called


def _common(names: set[str], cells: set[str]) -> int:
    """How many names of nodes are among cells, if they are more than half of either; else 0."""
    least = min(len(names), len(cells)) / 2
    common = len(names & cells)
    if common <= least:
        common = len({alike(name) for name in names} & {alike(cell) for cell in cells})
    return common if common > least else 0


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
    alike_ones = [cell for cell in given if cell not in wanted and alike(cell) in known]
    if alike_ones:
        return f"; write {known[alike(alike_ones[0])]!r} instead of {alike_ones[0]!r}, and so on"
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
