"""What becomes of each column of a table: recognised by its cells, fitted on the training rows.

The result is plain data (:class:`Preparation`), kept with a model as JSON and applied to other
tables. ``columns.json`` overrules what the cells say.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict

from pgso.data.arrays import Array
from pgso.data.raw import check_dense
from pgso.data.tables.table import DECIMAL_COMMA, ID, Table, is_number, numbers_of, points_of
from pgso.errors import InputError

Kind = Literal["number", "as is", "boolean", "category", "date", "leave out"]
KINDS: tuple[str, ...] = get_args(Kind)
YES, NO = ("yes", "true", "y", "t", "1"), ("no", "false", "n", "f", "0")
ISO = "ISO"
DATES = {  # tried in this order: day first where both would do
    ISO: "",
    "%Y-%m-%d": "",
    "%Y/%m/%d": "",
    "%d.%m.%Y": " (written as day.month.year)",
    "%d/%m/%Y": " (written as day/month/year)",
    "%m/%d/%Y": " (written as month/day/year)",
    "%Y%m%d": " (written as yearmonthday)",
}
LOOKS_LIKE_A_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|(19|20)\d{6}")
TYPE = "type"  # the column that says what a node is
MOST_CATEGORIES = 50  # that get a column of their own, the most frequent ones first
FEWEST_ROWS = 20  # below which no column looks like an id
MOSTLY = 0.9  # of the cells: a column of numbers with a typing error, or an id
WIDE, SPARSE = 64, 0.1  # more columns, and fewer cells that are not 0: a bag of words
PERCENT = re.compile(r"[-+]?\d+([.,]\d+)?\s?%")
AMOUNT = re.compile(  # 1,200.50 or 200 € or $5 or 12%
    r"[€$£¥]?\s?[-+]?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)?\s?(%|€|\$|£|¥|[A-Z]{3})?"
)
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
        unit, form = " in per cent" * bool(self.unit), DATES.get(self.date_format, "")
        text = {
            "number": f"standardised (mean {self.mean:.4g}, sd {self.sd:.4g}{unit})",
            "date": f"days{form}, standardised (mean {_day(self.mean)}, sd {self.sd:.4g} days)",
            "boolean": "0 and 1",
            "category": f"{len(self.categories) + self.has_others} columns of 0 and 1",
            "as is": f"as it is{self.reason and ': ' + self.reason}",
        }[self.kind]
        return text + (", missing cells marked" if self.has_missing else "")

    def values(self, table: Table, position: int) -> Array:  # (rows, len(outputs))
        """The columns of x.

        Args:
            table: The cells.
            position: Which column of the table it is.
        """
        missing = table.gaps(position)
        if self.kind == "category":
            columns = self._one_hot(table.cells(position), missing)
        else:
            plain = self._numbers(table, position, missing)
            scaled = self.kind in ("number", "date")
            columns = ((plain - self.mean) / self.sd if scaled else plain)[:, None]
        return np.hstack([columns, missing[:, None]]) if self.has_missing else columns

    def _one_hot(self, cells: Array, missing: Array) -> Array:
        import pandas as pd

        width = len(self.categories)
        codes = pd.Index(self.categories, dtype=object).get_indexer(cells)
        one_hot = np.zeros((len(cells), width + 1))
        one_hot[np.arange(len(cells)), codes] = 1  # -1, the last column, for all others
        one_hot[missing] = 0
        return one_hot if self.has_others else one_hot[:, :width]

    def _numbers(self, table: Table, position: int, missing: Array) -> Array:  # (rows,)
        if self.fill is None and missing.any():
            raise table.cell_error(
                int(missing.argmax()),
                position,
                "a finite number",
                'or say "number" in columns.json to fill it',
            )
        values, wanted, advice = self._read(table, position)
        wrong = np.isnan(values) & ~missing
        if wrong.any():
            raise table.cell_error(int(wrong.argmax()), position, wanted, advice)
        return np.where(missing, self.fill or 0.0, values)

    def _read(self, table: Table, position: int) -> tuple[Array, str, str]:
        """The cells as numbers, NaN where one is wrong; what was expected, and what to do."""
        cells = table.cells(position)
        if self.kind == "date":
            return days_of(cells, self.date_format), "a date", f"as {self.date_format}"
        if self.kind == "boolean":
            lower = np.array([cell.lower() for cell in cells], dtype=object)
            values = np.where(np.isin(lower, YES), 1.0, np.where(np.isin(lower, NO), 0.0, np.nan))
            return values, "yes or no, true or false, 1 or 0", ""
        if self.unit:
            values = _percentages(cells)
            return values, "a number of per cent", "such as 5%"
        missing = table.gaps(position)
        if not missing.any():
            return table.numbers(position), "", ""
        return table.numbers(position, optional=True), "", ""


class Preparation(BaseModel):
    """A table's columns in order; ``columns`` is None where all numbers stay as they are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[Column, ...] | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the columns of x."""
        return tuple(name for column in self.columns or () for name in column.outputs)

    def apply(self, table: Table) -> Array:  # (rows, F), 32 bits
        """The features of a table, which may have other columns too, in another order."""
        table = with_points(table)
        if self.columns is None:
            columns = [Column(name=name, kind="as is") for name in table.names]
        else:
            columns = [column for column in self.columns if column.kind != "leave out"]
        position = {name: c for c, name in enumerate(table.names)}
        for column in columns:
            if column.name not in position:
                raise InputError(
                    f"{table.path} has no column {column.name!r}, which the model was trained "
                    "with; add it (cells may be empty)"
                )
        check_dense(len(table), sum(len(c.outputs) for c in columns), f"{table.path}: features")
        x = np.empty((len(table), sum(len(column.outputs) for column in columns)), np.float32)
        end = 0
        for column in columns:
            start, end = end, end + len(column.outputs)
            x[:, start:end] = column.values(table, position[column.name])
        return x


def fit_preparation(table: Table, train: Array, kinds: Mapping[str, str]) -> Preparation:
    """What to do with each column: recognised by all cells, fitted on the training rows only.

    Args:
        table: The features.
        train: The training rows; none: every row is one.
        kinds: What ``columns.json`` says.
    """
    table = with_points(table)
    train = train if len(train) else np.arange(len(table))
    found = [kinds.get(name) or _kind_of(table, c) for c, name in enumerate(table.names)]
    wide = table.width > WIDE and not kinds and set(found) <= {"number", "boolean"}
    if wide and table.rows.isin(("0", "0.0", "0.")).to_numpy().mean() > 1 - SPARSE:
        columns = [  # a gap is filled with 0, the median of such a column
            Column(
                name=name,
                kind="as is",
                reason="mostly zeros",
                has_missing=bool(table.gaps(c)[train].any()),
            )
            for c, name in enumerate(table.names)
        ]
        return Preparation(columns=tuple(columns))
    everyone = np.arange(len(table))  # types without a label are types, too
    columns = [
        _fitted(table, c, kind, everyone if name == TYPE else train, name in kinds)
        for c, (name, kind) in enumerate(zip(table.names, found, strict=True))
    ]
    same = all((table.cells(c) == table.cells(c)[0]).all() for c in range(table.width))
    if not kinds and set(found) == {"number"} and same:
        # The same number everywhere: networks on degrees alone are given that.
        columns = [Column(name=c.name, kind="as is", reason=c.reason) for c in columns]
    return Preparation(columns=tuple(columns))


def with_points(table: Table) -> Table:
    """The same table with decimal points; a column that has both commas and points is refused."""
    if not table.decimal_comma:
        return table
    rows = table.rows.copy()
    for c in range(table.width):
        cells = table.cells(c)
        commas = [DECIMAL_COMMA.fullmatch(cell) is not None for cell in cells]
        if not any(commas):
            continue
        for row, cell in enumerate(cells):
            if "." in cell and is_number(cell):
                raise table.cell_error(
                    row, c, "a number with a decimal comma, as in other lines", "such as 1200,5"
                )
        rows[c] = points_of(cells)
    return Table(table.path, rows, table.lines, table.header)


def gaps_of(table: Table) -> dict[str, int]:
    """How many cells of each column say nothing."""
    return {name: int(table.gaps(c).sum()) for c, name in enumerate(table.names)}


def read_kinds(path: Path) -> dict[str, str]:
    """What ``columns.json`` says: a kind for each column that it names.

    Example: ``{"postcode": "category", "comment": "leave out"}``.
    """
    try:
        kinds = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not readable as JSON ({str(error)[:100]}); {_FORM}") from None
    if not isinstance(kinds, dict):
        raise InputError(f"{path} holds no object; {_FORM}")
    return kinds


def check_kinds(kinds: Mapping[str, str], names: Sequence[str], where: object) -> dict[str, str]:
    """Refuse kinds of columns that there are not, and kinds that there are not."""
    for name, kind in kinds.items():
        if name not in names:
            listed = ", ".join(names[:20])
            raise InputError(
                f"{where}: features.csv has no column {name!r} of features; it has {listed}"
            )
        if kind not in KINDS:
            raise InputError(
                f"{where}: a column is one of {', '.join(KINDS)}; got {kind!r:.60} for {name!r}"
            )
    return dict(kinds)


def _kind_of(table: Table, c: int) -> str:
    name, present = table.names[c], np.flatnonzero(~table.gaps(c))
    cells = table.cells(c)[present]
    if not len(cells):
        return "leave out"
    is_num = np.isfinite(table.values(c)[present])
    distinct = set(cells)
    lower = {cell.lower() for cell in distinct} if len(distinct) <= 4 else set()
    if len(lower) == 2 and any(lower <= set(pair) for pair in zip(YES, NO, strict=True)):
        return "boolean"
    if is_num.all():
        is_day = _date_format(cells) == "%Y%m%d"
        return "date" if is_day and len(distinct) > 1 else "number"
    if _date_format(cells) is not None:
        return "date"
    if all(map(PERCENT.fullmatch, distinct)):
        return "number"
    wrong = int(present[(~is_num).argmax()])
    if len(cells) >= FEWEST_ROWS and is_num.mean() >= MOSTLY:
        others = "category" if len(distinct) <= MOST_CATEGORIES else "leave out"
        raise table.cell_error(
            wrong,
            c,
            "a finite number",
            f"as in {is_num.sum():,} other lines; or leave the cell empty; or say "
            f'{{"{name}": "{others}"}} in columns.json',
        )
    like = [cell for cell in distinct if AMOUNT.fullmatch(cell)]
    amounts = np.isin(cells, like).mean() if like else 0
    if amounts == 1 or (amounts >= MOSTLY and len(cells) >= FEWEST_ROWS):
        raise table.cell_error(
            wrong,
            c,
            "a number",
            "without unit and with a point, such as 1200.5, in the whole column; or say "
            f'{{"{name}": "leave out"}} or "category" in columns.json',
        )
    return "category"


def _fitted(table: Table, c: int, kind: str, train: Array, chosen: bool) -> Column:
    name, missing, cells = table.names[c], table.gaps(c), table.cells(c)
    if kind == "leave out":
        reason = "columns.json says so" if chosen else "all of its cells are empty"
        return _left_out(name, reason)
    learned = train[~missing[train]]
    if not len(learned):
        return _left_out(name, "its cells are empty in every training row")
    looks = None if chosen else _id_like(name, kind, cells[~missing])
    if looks is not None:
        return _left_out(name, f"{looks} looks like an id; overrule it in columns.json")
    has_missing = len(learned) < len(train)
    if kind == "category":
        return _category(name, cells[learned], has_missing)
    date_format = ISO
    if kind == "date":
        named = _date_format(cells[~missing])
        if named is None:
            fits = np.any([np.isfinite(days_of(cells, form)) for form in DATES], axis=0)
            wrong = int((~fits & ~missing).argmax())
            raise table.cell_error(wrong, c, "a date", "such as 2024-12-31, all cells alike")
        date_format = named
    unit = "%" if kind == "number" and PERCENT.fullmatch(cells[learned[0]]) else ""
    facts = {"name": name, "kind": kind, "date_format": date_format, "unit": unit}
    plain = Column.model_validate(facts)
    if kind == "as is":
        return plain.model_copy(update={"fill": None})
    raw = plain.values(table, c)[learned, 0]
    if kind == "boolean":
        fill = float(raw.mean() > 0.5)
        return plain.model_copy(update={"fill": fill, "has_missing": has_missing})
    fill = float(np.median(raw))
    whole = np.concatenate([raw, np.full(len(train) - len(raw), fill)])
    sd = float(whole.std())
    if not sd > 1e-9 * max(float(np.abs(whole).max()), 1e-30):
        if not has_missing:
            return _left_out(name, "it is the same in every training row")
        sd = 1.0
    fitted = {"fill": fill, "mean": float(whole.mean()), "sd": sd, "has_missing": has_missing}
    return plain.model_copy(update=fitted)


def _category(name: str, cells: Array, has_missing: bool) -> Column:
    import pandas as pd

    # Of equally frequent ones those that come first, whatever pandas sorts by.
    counts = pd.Series(cells, dtype=object).value_counts(sort=False)
    frequent = counts.sort_values(ascending=False, kind="stable").index[:MOST_CATEGORIES]
    if len(frequent) == 1 and not has_missing:
        return _left_out(name, "it is the same in every training row")
    return Column(
        name=name,
        kind="category",
        categories=tuple(sorted(frequent)),
        has_others=len(counts) > len(frequent),
        has_missing=has_missing,
    )


def _id_like(name: str, kind: str, cells: Array) -> str | None:
    if len(cells) < FEWEST_ROWS:
        return None
    distinct = len(set(cells))
    many = distinct > MOSTLY * len(cells)
    if kind == "category" and (many or distinct > max(MOST_CATEGORIES, len(cells) / 2)):
        return f"{distinct:,} distinct values in {len(cells):,} rows"
    whole = kind == "number" and ID.search(name) and (numbers_of(cells) % 1 == 0).all()
    return f"{distinct:,} distinct whole numbers" if many and whole else None


def _left_out(name: str, reason: str) -> Column:
    return Column(name=name, kind="leave out", reason=reason)


def _percentages(cells: Array) -> Array:
    plain = np.empty(len(cells), dtype=object)
    plain[:] = [cell.removesuffix("%").strip() for cell in cells]
    return numbers_of(plain, decimal_comma=True)


def _date_format(cells: Array) -> str | None:
    """The first format that all cells are written in."""
    if not LOOKS_LIKE_A_DATE.fullmatch(cells[0]):
        return None
    distinct = np.array(list(dict.fromkeys(cells)), dtype=object)
    return next((form for form in DATES if np.isfinite(days_of(distinct, form)).all()), None)


def days_of(cells: Array, date_format: str) -> Array:  # (rows,)
    """Days since 1970, NaN where a cell is not such a date.

    Example:
        >>> days_of(np.array(["1970-01-02", "2"], dtype=object), "ISO")
        array([ 1., nan])
    """
    import pandas as pd

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
