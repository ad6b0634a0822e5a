"""A user's features: a table of cells of any kind, or an array of numbers."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pgso.data.arrays import Array, check_finite, is_on_disk
from pgso.data.own.kinds import ID, fit_preparation, read_kinds
from pgso.data.own.preparation import Preparation
from pgso.data.own.table import Row, alike, check_widths, is_number, read_rows
from pgso.data.own.targets import NODE
from pgso.errors import InputError


class FeatureTable(NamedTuple):
    """``features.csv`` without the nodes' names, a row per node in the order of the nodes."""

    path: Path
    names: tuple[str, ...]  # of the columns
    rows: list[Row]
    has_header: bool

    def prepare(
        self, train: Array, given: Preparation | None = None
    ) -> tuple[Array, Preparation]:  # (n, F), and how it was made
        """The features as numbers, by a model's own preparation or by one for these data."""
        if not self.names:
            raise InputError(
                f"{self.path} names the nodes and has no other column; add one, or remove the file"
            )
        if given is None:
            kinds = read_kinds(self.path.with_name("columns.json"), self.names)
            given = fit_preparation(self.names, self.rows, train, kinds)
        x = given.apply(self.names, self.rows)
        if x.shape[1] == 0:
            raise InputError(
                f"{self.path}: every column is left out; say in columns.json what they are, such "
                f'as {{"{self.names[0]}": "category"}}'
            )
        return x, given


def read_array(path: Path, nodes: dict[str, int]) -> Array:  # (n, F)
    """``features.npy``: numbers that are prepared already. ``nodes`` are numbered if none is named.

    Rows stay on disk until they are used.
    """
    try:
        # Copy-on-write, for torch wants writable memory.
        x = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else str(error)[:100]
        raise InputError(
            f"{path} is no readable array of numbers ({reason}); write it with numpy.save"
        ) from None
    if not isinstance(x, np.ndarray) or x.ndim != 2 or x.dtype.kind not in "biuf":
        raise InputError(f"{path} must hold numbers in two dimensions, a row per node")
    if x.shape[1] == 0:
        raise InputError(f"{path} has no columns; remove it if the nodes have no features")
    if not nodes:
        nodes.update({str(i): i for i in range(len(x))})
    if len(x) != len(nodes):
        raise InputError(f"{path} has {len(x)} rows, but labels.csv names {len(nodes)} nodes")
    if not is_on_disk(x):
        check_finite(x, f"{path}: features")
    return x if x.dtype == np.float32 else x.astype(np.float32)


def read_table(path: Path, nodes: dict[str, int], ends: Collection[str]) -> FeatureTable:
    """``features.csv``. Nodes that it names and no label does are added to ``nodes``.

    Args:
        path: The file.
        nodes: The place of each node that is known so far.
        ends: The nodes that edges name.
    """
    rows = read_rows(path)
    width = len(rows[0].cells)
    check_widths(rows, width)
    has_header = _has_header(rows)
    header, body = (rows[0].cells, rows[1:]) if has_header else (None, rows)
    key = _key(header, body, nodes or dict.fromkeys(ends, 0))
    names = [name or f"column {c + 1}" for c, name in enumerate(header or [""] * width)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise rows[0].error(f"two columns are called {twice!r}; give each a name of its own")
    if key is None:
        if not nodes:
            nodes.update({str(i): i for i in range(len(body))})
        if len(body) != len(nodes):
            raise InputError(
                f"{path} has {len(body)} rows, but labels.csv names {len(nodes)} nodes; "
                "give one row per node, or a first column under the header 'node' that names them"
            )
        return FeatureTable(path, tuple(names), [row.with_points for row in body], has_header)
    left_out = {key, 0} if header is not None and not header[0] else {key}
    described: dict[int, Row] = {}
    for row in body:
        node = nodes.setdefault(row.cells[key], len(nodes))
        if node in described:
            raise row.error(
                f"column {names[key]!r}: node {row.cells[key]!r} is described twice, first in line "
                f"{described[node].line}; remove one of them"
            )
        cells = [cell for c, cell in enumerate(row.with_points.cells) if c not in left_out]
        described[node] = Row(path, row.line, cells)
    for name, node in nodes.items():
        if node not in described:
            others = next((row for row in body if row.cells[key] not in ends), None)
            like = (
                "" if others is None else f", and names {others.cells[key]!r}, which edges do not"
            )
            raise InputError(
                f"{path} has no row for node {name!r} of labels.csv{like}; add one, or write names "
                "alike in all files"
            )
    ordered = [described[node] for node in range(len(nodes))]
    left = tuple(name for c, name in enumerate(names) if c not in left_out)
    return FeatureTable(path, left, ordered, has_header)


def _has_header(rows: list[Row]) -> bool:
    first = rows[0].with_points
    if first.cells[0].lower() in NODE:
        return True
    if any(is_number(cell) for cell in first.cells) or not any(first.cells[1:] or first.cells):
        return False
    body = rows[1:]
    if any(is_number(cell) for row in body[:20] for cell in row.with_points.cells):
        return True
    return not any(row.cells[c] == first.cells[c] for row in body for c in range(len(first.cells)))


def _key(header: list[str] | None, body: list[Row], nodes: Collection[str]) -> int | None:
    """The column that names the nodes: called ``node`` or ``id``, or one that names them."""
    names = [""] if header is None else header
    called = [c for c, name in enumerate(names) if name.lower() in NODE]
    # A first column without a name holds the numbers of rows, as pandas writes them.
    if called and (called[0] == 0 or not names[0]):
        return called[0]
    if not nodes or not body:
        return None
    # Without a header, a first column of numbers may be a feature like any other.
    if header is None and all(is_number(name) for name in nodes):
        return None
    in_order = list(nodes) == [str(i) for i in range(len(nodes))]  # as labels alone number them
    for c, name in enumerate(names):
        is_likely = c == 0 or c in called or ID.search(name)
        first = body[0].cells[c]
        if is_likely or (first in nodes and not is_number(first)):
            cells = [row.cells[c] for row in body]
            twice = len(set(cells)) < len(cells)
            if not twice and set(nodes) <= set(cells):
                return c
            # What names most nodes are names, some of which are wrong. Numbers may be chance.
            similar = {alike(cell) for cell in cells} & {alike(node) for node in nodes}
            by_chance = all(map(is_number, similar)) and (
                in_order or len(names) == 1 or (twice and not ID.search(name))
            )
            if is_likely and 2 * len(similar) > len(nodes) and not by_chance:
                return c
    return next((c for c in called if names[c].lower() != "id"), None)
