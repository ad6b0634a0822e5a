"""What becomes of each column of a table: recognised by its cells, fitted on the training rows.

The result is plain data (:class:`Preparation`), kept with a model as JSON and applied to other
tables. ``columns.json`` overrules what the cells say.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from pgso.data.arrays import Array
from pgso.data.raw import check_dense
from pgso.data.tables.table import ID, Table, parse_numbers
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
EMPTY: Mapping[str, str] = {}


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
        text, _, missing = table.parsed(self.name)
        if self.kind == "category":
            codes = pd.Index(self.categories, dtype=object).get_indexer(text)
            columns = np.zeros((len(codes), len(self.categories) + 1))
            columns[np.arange(len(codes)), codes] = 1  # -1, the last column, for all others
            columns[missing] = 0
            columns = columns if self.has_others else columns[:, :-1]
        else:
            if self.fill is None and missing.any():
                advice = 'or say "number" in columns.json to fill it'
                raise table.cell_error(missing, self.name, "a finite number", advice)
            plain = np.where(missing, self.fill or 0.0, self._numbers(table))
            scaled = self.kind in ("number", "date")
            columns = ((plain - self.mean) / self.sd if scaled else plain)[:, None]
        return np.hstack([columns, missing[:, None]]) if self.has_missing else columns

    def _numbers(self, table: Table) -> Array:  # (rows,)
        """The cells as numbers, anything where one is missing."""
        text, _, missing = table.parsed(self.name)
        words = pd.Series(text, dtype=object)
        if self.kind == "date":
            values, wanted, advice = days_of(text, self.date_format), "a date", self.date_format
        elif self.kind == "boolean":
            values = words.str.lower().map(TRUTH).to_numpy(dtype=float)
            wanted, advice = "yes or no, true or false, 1 or 0", ""
        elif self.unit:
            plain = words.str.removesuffix("%").str.strip().str.replace(",", ".")
            values, wanted, advice = (
                parse_numbers(plain.to_numpy())[0],
                "a number of per cent",
                "such as 5%",
            )
        else:
            return table.numbers(self.name, optional=True)
        wrong = np.isnan(values) & ~missing
        if wrong.any():
            raise table.cell_error(wrong, self.name, wanted, advice)
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


def prepared(
    table: Table, train: Array, kinds: Mapping[str, str] = EMPTY, fitted: Preparation | None = None
) -> dict[str, Any]:
    """The features of a table as :meth:`Task.from_arrays` takes them: x, columns and so on.

    Args:
        table: The features.
        train: The training rows; none: every row is one.
        kinds: What ``columns.json`` says.
        fitted: The preparation of a model; by default one is fitted.
    """
    fitted = fitted or fit_preparation(table, train, kinds)
    gaps = {name: int(table.parsed(name).gaps.sum()) for name in table.names}
    x, columns = fitted.apply(table), fitted.outputs
    return {"x": x, "columns": columns, "preparation": fitted, "gaps": gaps}


def fit_preparation(table: Table, train: Array, kinds: Mapping[str, str]) -> Preparation:
    """What to do with each column: recognised by all cells, fitted on the training rows only."""
    kinds = {name: kind for name, kind in kinds.items() if name in table.names or name != "rows"}
    for name, kind in kinds.items():
        if name not in table.names:
            raise InputError(
                f"columns.json: {table.path} has no column {name!r} of features; it has "
                f"{', '.join(table.names[:20])}"
            )
        if kind not in KINDS:
            raise InputError(
                f"columns.json for {table.path}: a column is one of {', '.join(KINDS)}; got "
                f"{kind!r:.60} for {name!r}"
            )
    train = train if len(train) else np.arange(len(table))
    found = {name: kinds.get(name) or _kind_of(table, name) for name in table.names}
    kinds_found, frame = set() if kinds else set(found.values()), table.frame
    reason = ""
    if len(found) > WIDE and kinds_found and kinds_found <= {"number", "boolean"}:
        zeros = [(table.parsed(name).values == 0).mean() for name in found]
        reason = "mostly zeros" if np.mean(zeros) > 1 - SPARSE else ""
    if kinds_found == {"number"} and all((frame[n] == frame[n].iloc[0]).all() for n in found):
        reason = "it is the same in every training row"  # as where degrees are all there is
    if reason:
        gaps = {name: bool(table.parsed(name).gaps[train].any()) for name in found}
        columns = [
            Column(name=name, kind="as is", reason=reason, has_missing=has_missing)
            for name, has_missing in gaps.items()  # 0, the median of most, is in missing cells
        ]
    else:
        everyone = np.arange(len(table))  # types without a label are types, too
        columns = [
            _fitted(table, name, kind, everyone if name == TYPE else train, name in kinds)
            for name, kind in found.items()
        ]
    return Preparation(columns=tuple(columns))


def read_kinds(path: Path) -> dict[str, str]:
    """What ``columns.json`` says: a kind for each column that it names.

    Example: ``{"postcode": "category", "comment": "leave out"}``.
    """
    form = 'write it as {"column": "kind"}'
    if path.stat().st_size > MOST_JSON:
        raise InputError(f"{path} is larger than {MOST_JSON:,} bytes; {form}")
    try:
        kinds = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not readable as JSON ({str(error)[:100]}); {form}") from None
    if not isinstance(kinds, dict):
        raise InputError(f"{path} holds no object; {form}")
    return kinds


def _kind_of(table: Table, name: str) -> str:
    text, values, gaps = table.parsed(name)
    cells = text[~gaps]
    if not len(cells):
        return "leave out"
    if len(set(cells[:100])) <= 4:
        words = {cell.lower() for cell in set(cells)}
        if any(words == set(pair) for pair in PAIRS):
            return "boolean"
    is_num, date_format = np.isfinite(values), _date_format(cells)
    if is_num[~gaps].all():
        is_date = date_format == "%Y%m%d" and (cells != cells[0]).any()
        return "date" if is_date else "number"
    if date_format is not None:
        return "date"
    distinct = set(cells)
    if all(map(PERCENT.fullmatch, distinct)):
        return "number"
    wrong, are_many = ~is_num & ~gaps, len(cells) >= FEWEST_ROWS
    if are_many and is_num.sum() >= MOSTLY * len(cells):
        others = "category" if len(distinct) <= MOST_CATEGORIES else "leave out"
        advice = (
            f"as in {is_num.sum():,} other lines; or leave the cell empty; or say "
            f'{{"{name}": "{others}"}} in columns.json'
        )
        raise table.cell_error(wrong, name, "a finite number", advice)
    like = [cell for cell in distinct if AMOUNT.fullmatch(cell)]
    amounts = np.isin(cells, like).mean() if like else 0
    if amounts == 1 or (amounts >= MOSTLY and are_many):
        advice = (
            "without unit and with a point, such as 1200.5, in the whole column; or say "
            f'{{"{name}": "leave out"}} or "category" in columns.json'
        )
        raise table.cell_error(wrong, name, "a number", advice)
    return "category"


def _fitted(table: Table, name: str, kind: str, train: Array, chosen: bool) -> Column:
    """One column, fitted on the training rows; ``chosen``: columns.json says what it is."""
    cells, _, gaps = table.parsed(name)
    learned = train[~gaps[train]]
    has_missing = len(learned) < len(train)

    def column(kind: str, **fitted: Any) -> Column:
        return Column.model_validate({"name": name, "kind": kind, **fitted})

    if kind == "leave out":
        reason = "columns.json says so" if chosen else "all of its cells are empty"
        return column("leave out", reason=reason)
    if not len(learned):
        return column("leave out", reason="its cells are empty in every training row")
    looks = None if chosen else _id_like(table, name, kind)
    if looks is not None:
        return column("leave out", reason=f"{looks} looks like an id; overrule it in columns.json")
    same = column("leave out", reason="it is the same in every training row")
    if kind == "category":
        # Of equally frequent ones those that come first, whatever pandas sorts by.
        counts = pd.Series(cells[learned], dtype=object).value_counts(sort=False)
        frequent = counts.sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES]
        if len(frequent) == 1 and not has_missing:
            return same
        categories, has_others = tuple(sorted(frequent)), len(counts) > len(frequent)
        fitted = {"categories": categories, "has_others": has_others, "has_missing": has_missing}
        return column("category", **fitted)
    if kind == "as is":
        return column("as is", fill=None)
    written: dict[str, str] = {}
    if kind == "date":
        date_format = _date_format(cells[~gaps])
        if date_format is None:
            fits = np.any([np.isfinite(days_of(cells, form)) for form in DATES], axis=0)
            wrong, advice = ~fits & ~gaps, "such as 2024-12-31, all cells alike"
            raise table.cell_error(wrong, name, "a date", advice)
        written = {"date_format": date_format}
    elif kind == "number" and PERCENT.fullmatch(cells[learned[0]]):
        written = {"unit": "%"}
    raw = column(kind, **written).values(table)[learned, 0]
    if kind == "boolean":
        return column(kind, fill=float(raw.mean() > 0.5), has_missing=has_missing)
    fill = float(np.median(raw))
    whole = np.concatenate([raw, np.full(len(train) - len(raw), fill)])
    mean, sd = float(whole.mean()), float(whole.std())
    if not sd > 1e-9 * max(float(np.abs(whole).max()), 1e-30):
        if not has_missing:
            return same
        sd = 1.0
    return column(kind, fill=fill, mean=mean, sd=sd, has_missing=has_missing, **written)


def _id_like(table: Table, name: str, kind: str) -> str | None:
    """Why a column looks like an id; None: it does not."""
    text, values, gaps = table.parsed(name)
    count, distinct = int((~gaps).sum()), len(set(text[~gaps]))
    many = distinct > MOSTLY * count
    if count < FEWEST_ROWS:
        return None
    if kind == "category" and (many or distinct > max(MOST_CATEGORIES, count / 2)):
        return f"{distinct:,} distinct values in {count:,} rows"
    is_counted = kind == "number" and many and ID.search(name) and (values[~gaps] % 1 == 0).all()
    return f"{distinct:,} distinct whole numbers" if is_counted else None


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
    digits, form = date_format == "%Y%m%d", "ISO8601" if date_format == ISO else date_format
    looks = [
        LOOKS_LIKE_A_DATE.fullmatch(cell) is not None and cell.isdigit() == digits
        for cell in distinct
    ]
    some = pd.Series(np.where(looks, distinct, None), dtype=object)
    moments = pd.to_datetime(some, format=form, errors="coerce", utc=True)
    stamps = moments.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    days = np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64) / 1e6 / 86400)
    out: Array = days[codes]
    return out


def _day(days: float) -> str:
    try:
        return f"{datetime.fromtimestamp(86400 * days, UTC):%Y-%m-%d}"
    except (OverflowError, OSError, ValueError):
        return f"{days:.4g}"
