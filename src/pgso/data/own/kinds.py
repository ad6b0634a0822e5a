"""Which kind of column is this? Cells decide, and ``columns.json`` overrules them."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array
from pgso.data.own.preparation import DATES, KINDS, NO, YES, Column, Preparation, days_of
from pgso.data.own.table import Row, is_missing, is_number, numbers_of
from pgso.errors import InputError

_FORM = 'write it as {"column": "kind"}'
TYPE = "type"  # the column that says what a node is
MOST_CATEGORIES = 50  # that get a column of their own, the most frequent ones first
FEWEST_ROWS = 20  # below which no column looks like an id
MOSTLY = 0.9  # of the cells: a column of numbers with a typing error, or an id
WIDE, SPARSE = 64, 0.1  # more columns, and fewer cells that are not 0: a bag of words
AMOUNT = re.compile(  # 1,200.50 or 200 € or $5 or 12%
    r"[€$£¥]?\s?[-+]?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)?\s?(%|€|\$|£|¥|[A-Z]{3})?"
)
ID = re.compile(  # customer_id, UUID, customerId; not paid
    r"(?i:(^|[_\- ])(id|uuid|guid)$|^(id|uuid)([_\- ]|$))|[a-z](Id|ID)$"
)


def fit_preparation(
    names: Sequence[str],
    rows: Sequence[Row],
    train: Array,
    kinds: Mapping[str, str],
) -> Preparation:
    """What to do with each column: recognised by all cells, fitted on the training rows only.

    Args:
        names: Of the columns, by the place of the cells.
        rows: The table without its header.
        train: The places of the training rows; none: every row is one.
        kinds: What ``columns.json`` says.
    """
    columns = _columns(names, rows, train if len(train) else np.arange(len(rows)), kinds)
    return Preparation(columns=tuple(columns))


def _columns(
    names: Sequence[str], rows: Sequence[Row], train: Array, kinds: Mapping[str, str]
) -> list[Column]:
    column_kinds = [kinds.get(name) or _kind_of(name, rows, c) for c, name in enumerate(names)]
    wide = len(names) > WIDE and not kinds and set(column_kinds) <= {"number", "boolean"}
    if wide and _share_of_numbers(rows, len(names)) < SPARSE:
        gaps = gaps_of(names, [rows[i] for i in train])
        return [  # a gap is filled with 0, the median of such a column
            Column(name=name, kind="as is", reason="mostly zeros", has_missing=gaps[name] > 0)
            for name in names
        ]
    everyone = np.arange(len(rows))  # types without a label are types, too
    columns = [
        _fitted(name, kind, rows, c, everyone if name == TYPE else train, name in kinds)
        for c, (name, kind) in enumerate(zip(names, column_kinds, strict=True))
    ]
    same = all(len({row.cells[c] for row in rows}) == 1 for c in range(len(names)))
    if not kinds and set(column_kinds) == {"number"} and same:
        # The same number everywhere: networks on degrees alone are given that.
        columns = [Column(name=c.name, kind="as is", reason=c.reason) for c in columns]
    return columns


def gaps_of(names: Sequence[str], rows: Sequence[Row]) -> dict[str, int]:
    """How many cells of each column say nothing."""
    counts = {name: Counter(row.cells[c] for row in rows) for c, name in enumerate(names)}
    return {
        name: sum(n for cell, n in count.items() if is_missing(cell))
        for name, count in counts.items()
    }


def read_kinds(path: Path, names: Sequence[str]) -> dict[str, str]:
    """What ``columns.json`` says: a kind for each column that it names; nothing if it is missing.

    Example: ``{"postcode": "category", "comment": "leave out"}``.
    """
    if not path.is_file():
        return {}
    try:
        kinds = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not readable as JSON ({str(error)[:100]}); {_FORM}") from None
    if not isinstance(kinds, dict):
        raise InputError(f"{path} holds no object; {_FORM}")
    for name, kind in kinds.items():
        if name not in names:
            listed = ", ".join(names[:20])
            raise InputError(
                f"{path}: features.csv has no column {name!r} of features; it has {listed}"
            )
        if kind not in KINDS:
            raise InputError(
                f"{path}: a column is one of {', '.join(KINDS)}; got {kind!r:.60} for {name!r}"
            )
    return kinds


def _kind_of(name: str, rows: Sequence[Row], c: int) -> str:
    present = [row for row in rows if not row.is_missing(c)]
    cells = [row.cells[c] for row in present]
    distinct = {cell.lower() for cell in cells}
    if not distinct:
        return "leave out"
    if len(distinct) == 2 and any(distinct <= set(pair) for pair in zip(YES, NO, strict=True)):
        return "boolean"
    if numbers_of(cells, np.zeros(len(cells), dtype=bool), 0.0) is not None:
        return "number"
    wrong = next((row for row in present if not is_number(row.cells[c])), None)
    if wrong is None:  # but a cell is too large, which is refused later
        return "number"
    if _date_format(cells) is not None:
        return "date"
    numbers = sum(is_number(cell) for cell in cells)
    if len(cells) >= FEWEST_ROWS and numbers >= MOSTLY * len(cells):
        others = "category" if len(distinct) <= MOST_CATEGORIES else "leave out"
        raise wrong.cell_error(
            c,
            name,
            "a finite number",
            f"as in {numbers:,} other lines; or leave the cell empty; or say "
            f'{{"{name}": "{others}"}} in columns.json',
        )
    return "category"


def _fitted(
    name: str, kind: str, rows: Sequence[Row], c: int, train: Array, chosen: bool
) -> Column:
    learned = [rows[i] for i in train]
    present = [row for row in learned if not row.is_missing(c)]
    everywhere = [row.cells[c] for row in rows if not row.is_missing(c)]
    if kind == "leave out":
        reason = "columns.json says so" if chosen else "all of its cells are empty"
        return _left_out(name, reason)
    if not present:
        return _left_out(name, "its cells are empty in every training row")
    looks = None if chosen else _id_like(name, kind, everywhere)
    if looks is not None and kind == "category":
        _check_no_amounts(name, rows, c)
    if looks is not None:
        return _left_out(name, f"{looks} looks like an id; overrule it in columns.json")
    has_missing = len(present) < len(learned)
    if kind == "category":
        return _category(name, present, c, has_missing)
    date_format = DATES[0]
    if kind == "date":
        named = _date_format(everywhere)
        if named is None:
            raise _first_that_is_no_date(rows, c, name)
        date_format = named
    plain = Column.model_validate({"name": name, "kind": kind, "date_format": date_format})
    if kind == "as is":
        return plain.model_copy(update={"fill": None})
    raw = plain.values(present, c)[:, 0]
    if kind == "boolean":
        fill = float(raw.mean() > 0.5)
        return plain.model_copy(update={"fill": fill, "has_missing": has_missing})
    fill = float(np.median(raw))
    whole = np.concatenate([raw, np.full(len(learned) - len(raw), fill)])
    sd = float(whole.std())
    if not sd > 1e-9 * max(float(np.abs(whole).max()), 1e-30):
        if not has_missing:
            return _left_out(name, "it is the same in every training row")
        sd = 1.0
    fitted = {"fill": fill, "mean": float(whole.mean()), "sd": sd, "has_missing": has_missing}
    return plain.model_copy(update=fitted)


def _category(name: str, present: Sequence[Row], c: int, has_missing: bool) -> Column:
    counts = Counter(row.cells[c] for row in present)
    categories = sorted(value for value, _ in counts.most_common(MOST_CATEGORIES))
    if len(categories) == 1 and not has_missing:
        return _left_out(name, "it is the same in every training row")
    return Column(
        name=name,
        kind="category",
        categories=tuple(categories),
        has_others=len(counts) > len(categories),
        has_missing=has_missing,
    )


def _id_like(name: str, kind: str, cells: Sequence[str]) -> str | None:
    distinct = len(set(cells))
    if len(cells) < FEWEST_ROWS:
        return None
    many = distinct > MOSTLY * len(cells)
    if kind == "category" and (many or distinct > max(MOST_CATEGORIES, len(cells) / 2)):
        return f"{distinct:,} distinct values in {len(cells):,} rows"
    whole = kind == "number" and ID.search(name) and all(float(cell) % 1 == 0 for cell in cells)
    return f"{distinct:,} distinct whole numbers" if many and whole else None


def _check_no_amounts(name: str, rows: Sequence[Row], c: int) -> None:
    """Refuse numbers with units or separators, which would be taken for names."""
    present = [row for row in rows if not row.is_missing(c)]
    amounts = [row for row in present if AMOUNT.fullmatch(row.cells[c])]
    wrong = next((row for row in amounts if not is_number(row.cells[c])), None)
    if wrong is not None and len(amounts) >= MOSTLY * len(present):
        raise wrong.cell_error(
            c,
            name,
            "a number",
            "without unit and with a point, such as 1200.5, in the whole column; or say "
            f'{{"{name}": "leave out"}} in columns.json',
        )


def _left_out(name: str, reason: str) -> Column:
    return Column(name=name, kind="leave out", reason=reason)


def _date_format(cells: Sequence[str]) -> str | None:
    """The first format that all cells are written in."""
    for date_format in DATES:
        if all(days_of(cell, date_format) is not None for cell in cells):
            return date_format
    return None


def _first_that_is_no_date(rows: Sequence[Row], c: int, name: str) -> InputError:
    def fits(row: Row) -> bool:
        return row.is_missing(c) or any(days_of(row.cells[c], f) is not None for f in DATES)

    wrong = next((row for row in rows if not fits(row)), rows[0])
    return wrong.cell_error(c, name, "a date", "such as 2024-12-31, all cells written alike")


def _share_of_numbers(rows: Sequence[Row], columns: int) -> float:
    zeros = ("0", "0.0", "0.")
    stored = sum(cell not in zeros for row in rows for cell in row.cells[-columns:])
    return stored / max(len(rows) * columns, 1)
