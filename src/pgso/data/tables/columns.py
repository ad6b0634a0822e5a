"""What becomes of each column of a table: recognised by its cells, fitted on the training rows.

The result is plain data (:class:`Preparation`), kept with a model as JSON and applied to other
tables. ``columns.json`` overrules what the cells say.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from pgso.data.arrays import Array
from pgso.data.raw import check_dense
from pgso.data.tables.table import DECIMAL_COMMA, ID, Table, is_number, parse_numbers, points_of
from pgso.errors import InputError

Kind = Literal["number", "as is", "boolean", "category", "date", "leave out"]
KINDS: tuple[str, ...] = get_args(Kind)
PAIRS = (("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("1", "0"))
TRUTH = {word: value for pair in PAIRS for word, value in zip(pair, (1.0, 0.0), strict=True)}
ISO = "ISO"
_DAYS = (  # tried in this order: day first where both would do
    *("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y"),
    *("%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y"),
)
DATES = (ISO, *(day + time for time in ("", " %H:%M", " %H:%M:%S") for day in _DAYS), "%Y%m%d")
LOOKS_LIKE_A_DATE = re.compile(
    r"(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{4}|\d\d[./]\d\d[./]\d\d)([T ].*)?"
    r"|(19|20)\d{6}|(19|20)\d\d-(0[1-9]|1[0-2])"
    r"|(\d\d?[- ][A-Z][a-z]{2,8}[- ]|[A-Z][a-z]{2,8} \d\d?, )\d{4}( .*)?"
)
TYPE = "type"  # the column that says what a node is
MOST_CATEGORIES = 50  # that get a column of their own, the most frequent ones first
FEWEST_ROWS = 20  # below which no column looks like an id
MOSTLY = 0.9  # of the cells: a column of numbers with a typing error, or an id
WIDE, SPARSE = 64, 0.1  # more columns, and fewer cells that are not 0: a bag of words
PERCENT = re.compile(r"[-+]?\d+([.,]\d+)?\s?%")
AMOUNT = re.compile(  # 1,200.50 or 200 € or $5 or 12%
    r"[€$£¥]?\s?[-+]?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)?\s?(%|€|\$|£|¥|[A-Z]{3})?"
)
MOST_JSON = 2**24  # bytes of columns.json
_FORM = 'write it as {"column": "kind"}'


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
    unit: Literal["", "%"] = ""  # behind each number
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
        unit, form = " in per cent" * bool(self.unit), _written(self.date_format)
        text = {
            "number": f"standardised (mean {self.mean:.4g}, sd {self.sd:.4g}{unit})",
            "date": f"days{form}, standardised (mean {_day(self.mean)}, sd {self.sd:.4g} days)",
            "boolean": "0 and 1",
            "category": f"{len(self.categories) + self.has_others} columns of 0 and 1",
            "as is": f"as it is{self.reason and ': ' + self.reason}",
        }[self.kind]
        return text + (", missing cells marked" if self.has_missing else "")

    def values(self, table: Table) -> Array:  # (rows, len(outputs))
        """The columns of x."""
        missing = table.gaps(self.name)
        if self.kind == "category":
            codes = pd.Index(self.categories, dtype=object).get_indexer(table.cells(self.name))
            columns = np.zeros((len(codes), len(self.categories) + 1))
            columns[np.arange(len(codes)), codes] = 1  # -1, the last column, for all others
            columns[missing] = 0
            columns = columns if self.has_others else columns[:, :-1]
        else:
            if self.fill is None and missing.any():
                advice = 'or say "number" in columns.json to fill it'
                row = int(missing.argmax())
                raise table.cell_error(row, self.name, "a finite number", advice)
            plain = np.where(missing, self.fill or 0.0, self._numbers(table))
            scaled = self.kind in ("number", "date")
            columns = ((plain - self.mean) / self.sd if scaled else plain)[:, None]
        return np.hstack([columns, missing[:, None]]) if self.has_missing else columns

    def _numbers(self, table: Table) -> Array:  # (rows,)
        """The cells as numbers, anything where one is missing."""
        cells = table.cells(self.name)
        if self.kind == "date":
            values, wanted, advice = days_of(cells, self.date_format), "a date", self.date_format
        elif self.kind == "boolean":
            values = table.frame[self.name].str.lower().map(TRUTH).to_numpy(dtype=float)
            wanted, advice = "yes or no, true or false, 1 or 0", ""
        elif self.unit:
            plain = table.frame[self.name].str.removesuffix("%").str.strip().to_numpy()
            values, _ = parse_numbers(points_of(plain))
            wanted, advice = "a number of per cent", "such as 5%"
        else:
            return table.numbers(self.name, optional=True)
        wrong = np.isnan(values) & ~table.gaps(self.name)
        if wrong.any():
            raise table.cell_error(int(wrong.argmax()), self.name, wanted, advice)
        return values


def _written(date_format: str) -> str:
    """How days are written, for people; nothing where there is no doubt."""
    if date_format == ISO or date_format.startswith("%Y/"):
        return ""
    words = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year"}
    text = date_format.partition(" %H")[0]
    for mark, word in words.items():
        text = text.replace(mark, word)
    return f" (written as {text})"


class Preparation(BaseModel):
    """A table's columns in order, and what becomes of each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[Column, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns of x."""
        return tuple(name for column in self.columns for name in column.outputs)

    def apply(self, table: Table) -> Array:  # (rows, F), 32 bits
        """The features of a table, which may have other columns too, in another order."""
        table = with_points(table)
        columns = [column for column in self.columns if column.kind != "leave out"]
        for column in columns:
            if column.name not in table.names:
                raise InputError(
                    f"{table.path} has no column {column.name!r}, which the model was trained "
                    "with; add it (cells may be empty)"
                )
        width = sum(len(column.outputs) for column in columns)
        check_dense(len(table), width, f"{table.path}: features")
        x = np.empty((len(table), width), np.float32)
        end = 0
        for column in columns:
            start, end = end, end + len(column.outputs)
            x[:, start:end] = column.values(table)
        return x


def fit_preparation(
    table: Table, train: Array, kinds: Mapping[str, str], where: object = "columns.json"
) -> Preparation:
    """What to do with each column: recognised by all cells, fitted on the training rows only.

    Args:
        table: The features.
        train: The training rows; none: every row is one.
        kinds: What ``columns.json`` says.
        where: The file that says it, for errors.
    """
    _check_kinds(kinds, table, where)
    table = with_points(table)
    train = train if len(train) else np.arange(len(table))
    found = {name: kinds.get(name) or _kind_of(table, name) for name in table.names}
    kinds_found = set() if kinds else set(found.values())
    is_bag = len(found) > WIDE and kinds_found and kinds_found <= {"number", "boolean"}
    if is_bag and table.frame.isin(("0", "0.0", "0.")).to_numpy().mean() > 1 - SPARSE:
        return _as_is(table, train, "mostly zeros")  # 0 is the median of such a column
    if kinds_found == {"number"} and (table.frame == table.frame.iloc[0]).to_numpy().all():
        # Networks on degrees alone are given the same number everywhere.
        return _as_is(table, train, "it is the same in every training row")
    everyone = np.arange(len(table))  # types without a label are types, too
    columns = [
        _fitted(table, name, kind, everyone if name == TYPE else train, name in kinds)
        for name, kind in found.items()
    ]
    return Preparation(columns=tuple(columns))


def _as_is(table: Table, train: Array, reason: str) -> Preparation:
    gaps = {name: bool(table.gaps(name)[train].any()) for name in table.names}
    return Preparation(
        columns=tuple(
            Column(name=name, kind="as is", reason=reason, has_missing=has_missing)
            for name, has_missing in gaps.items()
        )
    )


def with_points(table: Table) -> Table:
    """The same table with decimal points; a column that has both commas and points is refused."""
    if not table.decimal_comma:
        return table
    frame = table.frame.copy()
    for name in table.names:
        commas = frame[name].str.fullmatch(DECIMAL_COMMA.pattern)
        if not commas.any():
            continue
        points = frame[name].str.contains(".", regex=False) & frame[name].map(is_number)
        if points.any():
            row = int(points.to_numpy().argmax())
            wanted = "a number with a decimal comma, as in other lines"
            raise table.cell_error(row, name, wanted, "such as 1200,5")
        frame[name] = points_of(table.cells(name))
    return Table(table.path, frame, table.lines, table.has_header)


def gaps_of(table: Table) -> dict[str, int]:
    """How many cells of each column say nothing."""
    return {name: int(table.gaps(name).sum()) for name in table.names}


def read_kinds(path: Path) -> dict[str, str]:
    """What ``columns.json`` says: a kind for each column that it names.

    Example: ``{"postcode": "category", "comment": "leave out"}``.
    """
    if path.stat().st_size > MOST_JSON:
        raise InputError(f"{path} is larger than {MOST_JSON:,} bytes; {_FORM}")
    try:
        kinds = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not readable as JSON ({str(error)[:100]}); {_FORM}") from None
    if not isinstance(kinds, dict):
        raise InputError(f"{path} holds no object; {_FORM}")
    return kinds


def _check_kinds(kinds: Mapping[str, str], table: Table, where: object) -> None:
    """Refuse kinds of columns that there are not, and kinds that there are not."""
    for name, kind in kinds.items():
        if name not in table.names:
            raise InputError(
                f"{where}: features.csv has no column {name!r} of features; it has "
                f"{', '.join(table.names[:20])}"
            )
        if kind not in KINDS:
            raise InputError(
                f"{where}: a column is one of {', '.join(KINDS)}; got {kind!r:.60} for {name!r}"
            )


def _kind_of(table: Table, name: str) -> str:
    present = np.flatnonzero(~table.gaps(name))
    cells = table.cells(name)[present]
    if not len(cells):
        return "leave out"
    if len(set(cells[:100])) <= 4:
        words = {cell.lower() for cell in set(cells)}
        if any(words == set(pair) for pair in PAIRS):
            return "boolean"
    is_num = np.isfinite(table.values(name)[present])
    date_format = _date_format(cells)
    if is_num.all():
        is_date = date_format == "%Y%m%d" and (cells != cells[0]).any()
        return "date" if is_date else "number"
    if date_format is not None:
        return "date"
    distinct = set(cells)
    if all(map(PERCENT.fullmatch, distinct)):
        return "number"
    wrong = int(present[(~is_num).argmax()])
    if len(cells) >= FEWEST_ROWS and is_num.mean() >= MOSTLY:
        others = "category" if len(distinct) <= MOST_CATEGORIES else "leave out"
        raise table.cell_error(
            wrong,
            name,
            "a finite number",
            f"as in {is_num.sum():,} other lines; or leave the cell empty; or say "
            f'{{"{name}": "{others}"}} in columns.json',
        )
    like = [cell for cell in distinct if AMOUNT.fullmatch(cell)]
    amounts = np.isin(cells, like).mean() if like else 0
    if amounts == 1 or (amounts >= MOSTLY and len(cells) >= FEWEST_ROWS):
        raise table.cell_error(
            wrong,
            name,
            "a number",
            "without unit and with a point, such as 1200.5, in the whole column; or say "
            f'{{"{name}": "leave out"}} or "category" in columns.json',
        )
    return "category"


def _fitted(table: Table, name: str, kind: str, train: Array, chosen: bool) -> Column:
    """One column, fitted on the training rows; ``chosen``: columns.json says what it is."""

    def left_out(reason: str) -> Column:
        return Column(name=name, kind="leave out", reason=reason)

    if kind == "leave out":
        return left_out("columns.json says so" if chosen else "all of its cells are empty")
    missing, cells = table.gaps(name), table.cells(name)
    learned = train[~missing[train]]
    if not len(learned):
        return left_out("its cells are empty in every training row")
    looks = None if chosen else _id_like(table, name, kind)
    if looks is not None:
        return left_out(f"{looks} looks like an id; overrule it in columns.json")
    has_missing = len(learned) < len(train)
    if kind == "category":
        # Of equally frequent ones those that come first, whatever pandas sorts by.
        counts = pd.Series(cells[learned], dtype=object).value_counts(sort=False)
        frequent = counts.sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES]
        if len(frequent) == 1 and not has_missing:
            return left_out("it is the same in every training row")
        return Column(
            name=name,
            kind="category",
            categories=tuple(sorted(frequent)),
            has_others=len(counts) > len(frequent),
            has_missing=has_missing,
        )
    date_format = _date_format(cells[~missing]) if kind == "date" else ISO
    if date_format is None:
        fits = np.any([np.isfinite(days_of(cells, form)) for form in DATES], axis=0)
        wrong = int((~fits & ~missing).argmax())
        raise table.cell_error(wrong, name, "a date", "such as 2024-12-31, all cells alike")
    unit = "%" if kind == "number" and PERCENT.fullmatch(cells[learned[0]]) else ""
    plain = Column.model_validate(
        {"name": name, "kind": kind, "date_format": date_format, "unit": unit}
    )
    if kind == "as is":
        return plain.model_copy(update={"fill": None})
    raw = plain.values(table)[learned, 0]
    if kind == "boolean":
        fill = float(raw.mean() > 0.5)
        return plain.model_copy(update={"fill": fill, "has_missing": has_missing})
    fill = float(np.median(raw))
    whole = np.concatenate([raw, np.full(len(train) - len(raw), fill)])
    sd = float(whole.std())
    if not sd > 1e-9 * max(float(np.abs(whole).max()), 1e-30):
        if not has_missing:
            return left_out("it is the same in every training row")
        sd = 1.0
    fitted = {"fill": fill, "mean": float(whole.mean()), "sd": sd, "has_missing": has_missing}
    return plain.model_copy(update=fitted)


def _id_like(table: Table, name: str, kind: str) -> str | None:
    """Why a column looks like an id; None: it does not."""
    cells = table.cells(name)[~table.gaps(name)]
    may_be = kind == "category" or (kind == "number" and ID.search(name))
    if len(cells) < FEWEST_ROWS or not may_be:
        return None
    distinct = len(set(cells))
    many = distinct > MOSTLY * len(cells)
    if kind == "category" and (many or distinct > max(MOST_CATEGORIES, len(cells) / 2)):
        return f"{distinct:,} distinct values in {len(cells):,} rows"
    whole = kind == "number" and (table.values(name)[~table.gaps(name)] % 1 == 0).all()
    return f"{distinct:,} distinct whole numbers" if many and whole else None


def _date_format(cells: Array) -> str | None:
    """The first format that all cells are written in."""
    if not LOOKS_LIKE_A_DATE.fullmatch(cells[0]):
        return None
    distinct = pd.unique(cells)
    some = (form for form in DATES if np.isfinite(days_of(distinct[:20], form)).all())
    return next((form for form in some if np.isfinite(days_of(distinct, form)).all()), None)


def days_of(cells: Array, date_format: str) -> Array:  # (rows,)
    """Days since 1970, NaN where a cell is not such a date.

    Example:
        >>> days_of(np.array(["1970-01-02", "2"], dtype=object), "ISO")
        array([ 1., nan])
    """
    codes, distinct = pd.factorize(cells)
    looks = np.array(
        [
            LOOKS_LIKE_A_DATE.fullmatch(cell) is not None
            and cell.isdigit() == (date_format == "%Y%m%d")
            for cell in distinct
        ],
        dtype=bool,
    )
    form = "ISO8601" if date_format == ISO else date_format
    some = pd.Series(distinct[looks], dtype=object)
    moments = pd.to_datetime(some, format=form, errors="coerce", utc=True)
    stamps = moments.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    known = ~np.isnat(stamps)
    days = np.full(len(distinct), np.nan)
    days[np.flatnonzero(looks)[known]] = stamps[known].astype(np.int64) / 1e6 / 86400
    out: Array = days[codes]
    return out


def _day(days: float) -> str:
    try:
        return f"{datetime.fromtimestamp(86400 * days, UTC):%Y-%m-%d}"
    except (OverflowError, OSError, ValueError):
        return f"{days:.4g}"
