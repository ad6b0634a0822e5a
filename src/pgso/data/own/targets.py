"""A user's targets.csv: numbers to be predicted, in one column or several, some of them missing."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pgso.data.arrays import Array
from pgso.data.own.kinds import ID
from pgso.data.own.table import Row, alike, check_widths, is_number, read_rows
from pgso.errors import InputError

NODE = ("node", "id", "node_id")  # how the column of names is recognised
ITEM = (*NODE, "graph", "graph_id")


class Targets(NamedTuple):
    """What is to be predicted of some nodes."""

    nodes: list[str]
    names: tuple[str, ...]  # of the columns
    y: Array  # (nodes, columns), NaN where it is missing

    @property
    def are_labels(self) -> bool:
        """Several columns of 0 and 1: labels rather than numbers."""
        return len(self.names) > 1 and bool(np.isin(self.y[~np.isnan(self.y)], (0, 1)).all())


def read_targets(path: Path, target: str | None = None, ends: Collection[str] = ()) -> Targets:
    """Numbers under a header: a column ``node``, then one per target; or one number a line.

    The column of nodes may have another name if edges name most of what is in it. Without one, the
    nodes are called 0, 1, ... A first line of a node and a number is no header.

    Args:
        path: The file.
        target: The one column to take; by default all of them.
        ends: The nodes that edges name.
    """
    rows = read_rows(path)
    check_widths(rows, len(rows[0].cells))
    starts = _is_answer(rows[0], ends)  # without a header
    header = None if starts or _is_numeric(rows[0]) else rows[0]
    body = rows if header is None else rows[1:]
    key = 0 if starts else None  # the column of nodes
    if header is not None:
        key = _key(header, body, ends)
    if header is None and len(rows[0].cells) > 1 + starts:
        raise rows[0].error(
            "several columns need a header: node, and the name of each target, "
            "such as node,price,rent"
        )
    # A column without a name holds the numbers of rows, as pandas writes them.
    cells = ["target"] * len(rows[0].cells) if header is None else header.cells
    columns = [c for c, cell in enumerate(cells) if c != key and (cell or key is None)]
    names = tuple(cells[c] for c in columns)
    if not names:
        raise rows[0].error("there is no column of numbers beside the nodes' names")
    nodes = [str(i) if key is None else row.cells[key] for i, row in enumerate(body)]
    lines: dict[str, int] = {}
    for name, row in zip(nodes, body, strict=True):
        if name in lines:
            raise row.error(
                f"node {name!r} was described in line {lines[name]} already; remove one of them"
            )
        lines[name] = row.line
    y = np.array([[row.optional_number(c, cells[c]) for c in columns] for row in body]).reshape(
        len(body), len(names)
    )
    if target is not None:
        if target not in names:
            raise InputError(f"{path} has no column {target!r}; it has {', '.join(names)}")
        y, names = y[:, [names.index(target)]], (target,)
    if not np.isfinite(y).any():
        raise InputError(f"{path} holds no number to learn from; write some")
    if all(len(np.unique(column[np.isfinite(column)])) < 2 for column in y.T):
        listed = ", ".join(map(repr, names))
        raise InputError(
            f"{path}: column {listed} holds the same number everywhere, so that there is nothing "
            "to learn; check the file"
        )
    return Targets(nodes, names, y)


def _key(header: Row, body: list[Row], ends: Collection[str]) -> int | None:
    """The column of nodes: called so, or the first, or one of words, that names most of them."""
    places = range(len(header.cells))
    called = [c for c in places if header.cells[c].lower() in ITEM]
    if called or len(header.cells) == 1:
        return called[0] if called else None
    known = {alike(name) for name in ends}
    for c in places:
        cells = [row.cells[c] for row in body]
        named = len(known & {alike(cell) for cell in cells})
        if len(set(cells)) < len(cells) or (c and all(map(is_number, cells))):
            continue  # numbers beside others are rather a target
        is_id = ID.search(header.cells[c]) and not any("." in cell for cell in cells)
        if 2 * named > len(cells) or (c == 0 and (is_id or 0 < named == len(known))):
            return c
    return None


def _is_answer(row: Row, ends: Collection[str]) -> bool:
    """Whether a line holds a node and numbers, be they finite or not."""
    name, *cells = row.cells
    if not cells or name not in ends:
        return False
    try:
        return bool([float(cell) for cell in row.with_points.cells[1:]])
    except ValueError:
        return False


def _is_numeric(row: Row) -> bool:
    try:
        return bool([row.optional_number(column) for column in range(len(row.cells))])
    except InputError:
        return False
