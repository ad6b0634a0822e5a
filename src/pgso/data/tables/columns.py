"""What becomes of each column of a table: recognised by its cells, fitted on the training rows.

:class:`Preparation` is plain data, kept with a model as JSON and applied to other tables.
"""

import re
from collections.abc import Mapping
from datetime import date
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
ISO, DIGITS = "ISO", "%Y%m%d"
_DAYS = (  # tried in this order: day first where both would do
    *("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y"),
    *("%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y"),
)
DATES = (ISO, *(day + time for time in ("", " %H:%M", " %H:%M:%S") for day in _DAYS), DIGITS)
WRITTEN = {"d": "day", "m": "month", "b": "month", "B": "month", "Y": "year", "y": "year"}
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


class Column(BaseModel):
    """One column of a table, and the columns of x that it becomes, as docs/own_data.md says."""

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
        if self.kind == "number":
            unit = " in per cent" if self.unit else ""
            text = f"standardised (mean {self.mean:.4g}, sd {self.sd:.4g}{unit})"
        elif self.kind == "date":
            mean, form = np.datetime64(int(self.mean // 1), "D"), ""
            if self.date_format != ISO and not self.date_format.startswith("%Y/"):  # is in doubt
                day = self.date_format.partition(" %H")[0]
                form = f" (written as {re.sub('%(.)', lambda mark: WRITTEN[mark[1]], day)})"
            text = f"days{form}, standardised (mean {mean}, sd {self.sd:.4g} days)"
        elif self.kind == "category":
            text = f"{len(self.categories) + self.has_others} columns of 0 and 1"
        else:
            words = {"boolean": "0 and 1", "as is": "as it is", "leave out": "left out"}
            text = words[self.kind] + (self.reason and f": {self.reason}")
        return text + (", missing cells marked" if self.has_missing else "")

    def values(self, table: Table) -> Array:  # (rows, len(outputs))
        """The columns of x."""
        distinct, _, place, _, missing = table.parsed(self.name)
        if self.kind == "category":
            codes = pd.Index(self.categories, dtype=object).get_indexer(distinct)[place]
            columns = np.zeros((len(codes), len(self.categories) + 1))
            columns[np.arange(len(codes)), codes] = 1  # -1, the last column, for all others
            columns[missing] = 0
            columns = columns if self.has_others else columns[:, :-1]
        else:
            if self.fill is None and missing.any():
                advice = 'or say "number" in columns.json to fill it'
                raise table.cell_error(missing, self.name, "a finite number", advice)
            wanted, advice = "", ""
            if self.kind == "date":
                form = "%Y-%m-%d" if self.date_format == ISO else self.date_format
                values, wanted = days_of(distinct, self.date_format)[place], "a date"
                advice = f"such as {date(2024, 12, 31):{form}}"
            elif self.kind == "boolean":
                values = np.array([TRUTH.get(cell.lower(), np.nan) for cell in distinct])[place]
                wanted = "yes or no, true or false, 1 or 0"
            elif self.unit:
                plain = [cell.removesuffix("%").strip().replace(",", ".") for cell in distinct]
                values = parse_numbers(np.array(plain, dtype=object))[0][place]
                wanted, advice = "a number of per cent", "such as 5%"
            else:
                values = table.numbers(self.name, optional=True)
            wrong = np.isnan(values) & ~missing
            if wrong.any():
                raise table.cell_error(wrong, self.name, wanted, advice)
            values = np.where(missing, self.fill or 0.0, values)  # "as is" has sd 1
            columns = ((values - self.mean) / self.sd)[:, None]
        return np.hstack([columns, missing[:, None]]) if self.has_missing else columns


class Preparation(BaseModel):
    """A table's columns in order, and what becomes of each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[Column, ...] = ()

    def apply(self, table: Table) -> Array:  # (rows, F), 32 bits
        """The features of a table, which may have other columns too, in another order."""
        columns = [column for column in self.columns if column.kind != "leave out"]
        lost = next((each.name for each in columns if each.name not in table.names), None)
        if lost is not None:
            problem = f"{table.path} has no column {lost!r}, which the model was trained with"
            raise InputError(f"{problem}; add it (cells may be empty)")
        width = sum(len(column.outputs) for column in columns)
        check_dense(len(table.lines), width, f"{table.path}: features")
        none = np.empty((len(table.lines), 0), np.float32)
        return np.hstack([none, *(each.values(table).astype(np.float32) for each in columns)])


def prepared(
    table: Table, train: Array, kinds: Mapping[str, str], fitted: Preparation | None = None
) -> dict[str, Any]:
    """The features of a table for :meth:`Task.from_arrays`, fitted before or on training rows."""
    if fitted is not None:
        x, names = fitted.apply(table), [name for each in fitted.columns for name in each.outputs]
        gaps = {name: int(table.parsed(name).gaps.sum()) for name in table.names}
        return {"x": x, "columns": tuple(names), "preparation": fitted, "gaps": gaps}
    kinds = {name: kind for name, kind in kinds.items() if name in table.names or name != "rows"}
    for name, kind in kinds.items():
        if name not in table.names:
            problem = f"{table.path} has no column {name!r} of features"
            raise InputError(f"columns.json: {problem}; it has {', '.join(table.names[:20])}")
        if kind not in KINDS:
            problem = f"a column is one of {', '.join(KINDS)}; got {kind!r:.60} for {name!r}"
            raise InputError(f"columns.json for {table.path}: {problem}")
    train = train if len(train) else np.arange(len(table.lines))
    found = {name: kinds.get(name) or _kind_of(table, name) for name in table.names}
    are_numbers = not kinds and {*found.values()} <= {"number", "boolean"} and len(found) > 0
    reason, cells = "", {name: table.parsed(name) for name in found}
    if are_numbers and len(found) > WIDE:
        zeros = np.mean([(column.values == 0).mean() for column in cells.values()])
        reason = "mostly zeros" if zeros > 1 - SPARSE else ""
    if are_numbers and all(len(column.distinct) == 1 for column in cells.values()):
        reason = "it is the same in every training row"  # as where degrees are all there is
    made = []
    for name, kind in found.items():
        if reason:  # 0, the median of most, is in missing cells
            has_gaps = bool(cells[name].gaps[train].any())
            made.append(Column(name=name, kind="as is", reason=reason, has_missing=has_gaps))
        else:  # types without a label are types, too
            rows = np.arange(len(table.lines)) if name == TYPE else train
            made.append(_fitted(table, name, kind, rows, name in kinds))
    return prepared(table, train, {}, Preparation(columns=tuple(made)))


def _kind_of(table: Table, name: str) -> str:
    every, missing, codes, values, gaps = table.parsed(name)
    distinct, count = every[~missing], len(gaps) - np.count_nonzero(gaps)
    if not count:
        return "leave out"
    few = len(set(codes[~gaps][:100])) <= 4
    if few and {cell.lower() for cell in distinct} in map(set, PAIRS):
        return "boolean"
    is_num, date_format = np.isfinite(values), _date_format(distinct)
    if is_num[~gaps].all():
        is_date = date_format == DIGITS and len(distinct) > 1
        return "date" if is_date else "number"
    if date_format is not None:
        return "date"
    if all(map(PERCENT.fullmatch, distinct)):
        return "number"
    wrong, are_many = ~is_num & ~gaps, count >= FEWEST_ROWS
    most = MOSTLY * count if are_many else count
    looks = np.array([LOOKS_LIKE_A_DATE.fullmatch(cell) is not None for cell in every])[codes]
    fits = [np.isfinite(days_of(every, f))[codes] for f in DATES if looks.sum() >= most]
    if fits and np.any(fits, axis=0).sum() >= MOSTLY * count:  # in several forms, or beside words
        advice = f'as in most lines; or say {{"{name}": "category"}} in columns.json'
        raise table.cell_error(~max(fits, key=np.sum) & ~gaps, name, "a date", advice)
    if are_many and is_num.sum() >= MOSTLY * count:
        others = "category" if len(distinct) <= MOST_CATEGORIES else "leave out"
        advice = f"as in {is_num.sum():,} other lines; or leave the cell empty"
        advice += f'; or say {{"{name}": "{others}"}} in columns.json'
        raise table.cell_error(wrong, name, "a finite number", advice)
    like = np.array([AMOUNT.fullmatch(cell) is not None for cell in every]) & ~missing
    amounts = like[codes].sum() / count
    if amounts == 1 or (amounts >= MOSTLY and are_many):
        advice = "without unit and with a point, such as 1200.5, in the whole column"
        advice += f'; or say {{"{name}": "leave out"}} or "category" in columns.json'
        raise table.cell_error(wrong, name, "a number", advice)
    return "category"


def _fitted(table: Table, name: str, kind: str, train: Array, chosen: bool) -> Column:
    """One column, fitted on the training rows; ``chosen``: columns.json says what it is."""
    every, missing, codes, values, gaps = table.parsed(name)
    learned = train[~gaps[train]]
    fitted: dict[str, Any] = {"name": name, "kind": kind, "has_missing": len(learned) < len(train)}
    reason, is_same = "", False
    if kind == "leave out":
        reason = "columns.json says so" if chosen else "all of its cells are empty"
    elif not len(learned):
        reason = "its cells are empty in every training row"
    elif not chosen and np.count_nonzero(~gaps) >= FEWEST_ROWS:
        filled, are_ids = int((~gaps).sum()), bool(ID.search(name))
        distinct, most = int((~missing).sum()), MOSTLY * filled
        what = f"values in {filled:,} rows"
        if kind == "category":
            most, are_ids = min(most, max(MOST_CATEGORIES, filled / 2)), True
        elif kind == "number":
            what, are_ids = "whole numbers", are_ids and bool((values[~gaps] % 1 == 0).all())
        if kind in ("category", "number") and are_ids and distinct > most:
            reason = f"{distinct:,} distinct {what} looks like an id; overrule it in columns.json"
    if reason:
        return Column(name=name, kind="leave out", reason=reason)
    if kind == "as is":
        return Column(name=name, kind="as is", fill=None)
    if kind == "category":
        # Of equally frequent ones those that come first, whatever pandas sorts by.
        counts = pd.Series(codes[learned]).value_counts(sort=False)
        places = counts.sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES]
        frequent = every[places]
        fitted |= {"categories": sorted(frequent), "has_others": len(counts) > len(frequent)}
        is_same = len(frequent) == 1
    else:
        if kind == "date":
            fitted["date_format"] = _date_format(every[~missing])
            if fitted["date_format"] is None:
                fits = np.any([np.isfinite(days_of(every, form)) for form in DATES], axis=0)
                advice = "such as 2024-12-31, all cells alike"
                raise table.cell_error(~fits[codes] & ~gaps, name, "a date", advice)
        if kind == "number" and PERCENT.fullmatch(every[codes[learned[0]]]):
            fitted["unit"] = "%"
        raw = Column.model_validate(fitted).values(table)[learned, 0]
        fitted["fill"] = float(raw.mean() > 0.5) if kind == "boolean" else float(np.median(raw))
        if kind != "boolean":
            whole = np.concatenate([raw, np.full(len(train) - len(raw), fitted["fill"])])
            sd = float(whole.std())
            is_same = not sd > 1e-9 * max(float(np.abs(whole).max()), 1e-30)
            fitted |= {"mean": float(whole.mean()), "sd": 1.0 if is_same else sd}
    if is_same and not fitted["has_missing"]:
        reason = "it is the same in every training row"
        return Column(name=name, kind="leave out", reason=reason)
    return Column.model_validate(fitted)


def _date_format(distinct: Array) -> str | None:
    """The first format that all cells are written in."""
    if not LOOKS_LIKE_A_DATE.fullmatch(distinct[0]):
        return None
    some = (form for form in DATES if np.isfinite(days_of(distinct[:20], form)).all())
    return next((form for form in some if np.isfinite(days_of(distinct, form)).all()), None)


def days_of(cells: Array, date_format: str) -> Array:  # (rows,)
    """Days since 1970, NaN where a cell is not such a date."""
    of_digits, looks = date_format == DIGITS, LOOKS_LIKE_A_DATE.fullmatch
    some = [cell if looks(cell) and cell.isdigit() == of_digits else None for cell in cells]
    form = "ISO8601" if date_format == ISO else date_format
    moments = pd.to_datetime(pd.Series(some, dtype=object), format=form, errors="coerce", utc=True)
    stamps = moments.dt.tz_localize(None).to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64) / 1e6 / 86400)
