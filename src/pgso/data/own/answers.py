"""What is to be learned about a user's nodes or graphs: labels, several labels, or numbers."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pgso.data.arrays import Array, Split, is_unknown
from pgso.data.own.files import file_of
from pgso.data.own.table import PARTS, Row, check_widths, encode_labels, part_of, read_rows
from pgso.data.own.targets import Targets, read_targets
from pgso.data.splits import split_at_random, split_each_class
from pgso.errors import InputError

HEADERS = {  # how the first cell of a header is recognised
    "labels": ("node", "id", "node_id", "graph", "graph_id", "label", "class"),
    "splits": ("node", "id", "node_id", "graph", "graph_id", "split", "part"),
}
SEVERAL = "|"  # between the labels of one node


class Answers(NamedTuple):
    """``labels.csv`` or ``targets.csv`` as it is written."""

    path: Path | None  # None: there is neither
    names: list[str]  # of the nodes or graphs
    labels: list[str]
    targets: Targets | None

    def on(self, count: int, separator: str) -> "Learned":
        """What is learned about ``count`` items, of which the named ones come first."""
        if self.targets is not None:
            y = np.full((count, len(self.targets.names)), np.nan)
            y[: len(self.names)] = self.targets.y
            names = self.targets.names
            return Learned(y, names, ()) if self.targets.are_labels else Learned(y, (), names)
        labels = self.labels + [""] * (count - len(self.labels))
        if separator and any(separator in label for label in labels):
            return Learned(*_several(labels, separator), ())
        y, classes = encode_labels(labels)
        if len(classes) < 2:
            raise InputError(
                f"{self.path} needs two classes or more, got {len(classes)}; label more of them, "
                "or give numbers in targets.csv"
            )
        return Learned(y, classes, ())


class Learned(NamedTuple):
    """Answers as arrays."""

    y: Array  # (items,) classes, -1: unknown; or (items, columns), NaN: unknown
    classes: tuple[str, ...]
    numbers: tuple[str, ...]  # the names of numbers, where y holds numbers

    def metric(self, name: str) -> str:
        """The objective that was asked for, or the one that suits."""
        if name != "auto":
            return name
        return "rmse" if self.numbers else "accuracy" if self.y.ndim == 1 else "multilabel_roc_auc"

    def split(self, path: Path | None, items: Mapping[str, int], seed: int) -> Split:
        """The user's split, or one by the seed: 60/20/20, of each class if there are classes."""
        if path is not None:
            return _read_split(path, items, self.y)
        if self.y.ndim == 1:
            return split_each_class(self.y, seed)
        return split_at_random(~is_unknown(self.y), seed)


def unlabelled(count: int) -> Learned:
    """Nothing to learn: data to predict on."""
    return Learned(np.full(count, -1), (), ())


def read_answers(
    folder: Path, ends: Collection[str], target: str | None, needed: bool, to_predict: bool
) -> Answers:
    """Read ``labels.csv`` or ``targets.csv``.

    Args:
        folder: The user's folder.
        ends: The nodes that edges name, or the graphs: they tell a header from a line.
        target: The one column of ``targets.csv`` to learn.
        needed: Whether one of the files must be there.
        to_predict: Whether both may be there, since nothing is learned.
    """
    labels, targets = file_of(folder, "labels"), file_of(folder, "targets")
    if labels is None and targets is None and needed:
        raise InputError(
            f"{folder} has no labels.csv; a dataset needs edges.csv and labels.csv (or targets.csv)"
        )
    if labels is not None and targets is not None and not to_predict:
        raise InputError(f"{folder} has labels.csv and targets.csv; remove one of them")
    if target is not None and targets is None:
        raise InputError(f"{folder} has no targets.csv to take {target!r} from")
    if targets is not None:
        read = read_targets(targets, target, ends)
        return Answers(targets, read.nodes, [], read)
    if labels is None:
        return Answers(None, [], [], None)
    return Answers(labels, *_labels(labels, ends), None)


def _several(labels: list[str], separator: str) -> tuple[Array, tuple[str, ...]]:
    """A column of 0 and 1 for each label; a separator alone is no label."""
    parts = [[part.strip() for part in label.split(separator)] for label in labels]
    classes = tuple(sorted({name for names in parts for name in names if name}))
    column = {name: c for c, name in enumerate(classes)}
    y = np.full((len(labels), len(classes)), np.nan)
    for i, (label, names) in enumerate(zip(labels, parts, strict=True)):
        if label:
            y[i] = 0
            y[i, [column[name] for name in names if name]] = 1
    return y, classes


def _labels(path: Path, ends: Collection[str]) -> tuple[list[str], list[str]]:
    rows = _body(path, ends)
    check_widths(rows, 1, 2)
    if rows and len(rows[0].cells) == 1:
        return [str(i) for i in range(len(rows))], [row.cells[0] for row in rows]
    lines: dict[str, int] = {}
    for row in rows:
        if row.cells[0] in lines:
            first = lines[row.cells[0]]
            raise row.error(
                f"node {row.cells[0]!r} was labelled in line {first} already; remove one of them, "
                f"or write several labels as {row.cells[1]}{SEVERAL}..."
            )
        lines[row.cells[0]] = row.line
    return list(lines), [row.cells[1] for row in rows]


def _body(path: Path, nodes: Collection[str]) -> list[Row]:
    """The lines below the header, if there is one: its first cell names no node, others do."""
    rows = read_rows(path)
    first, others = rows[0].cells, rows[1:]
    if first[0].lower() in HEADERS[path.stem]:
        return others
    strange = len(first) == 2 and first[0] not in nodes
    if strange and any(row.cells[0] in nodes for row in others):
        answers = {row.cells[-1] for row in others} | (set(PARTS) & {first[-1].lower()})
        return rows if first[-1] in answers else others
    return rows


def _read_split(path: Path, items: Mapping[str, int], y: Array) -> Split:
    rows = _body(path, items)
    check_widths(rows, 1, 2)
    part, unknown = np.full(len(items), -1), is_unknown(y)
    lines: dict[int, int] = {}
    for i, row in enumerate(rows):
        alone = len(row.cells) == 1
        if alone and i >= len(items):
            raise row.error(f"there are more lines than the {len(items)} nodes")
        if not alone and row.cells[0] not in items:
            raise row.error(
                f"column 1: {row.cells[0]!r} is in no other file; known are {len(items)} such as "
                f"{next(iter(items))!r}"
            )
        item = i if alone else items[row.cells[0]]
        if item in lines:
            raise row.error(f"the item of this line was given a part in line {lines[item]} already")
        lines[item] = row.line
        part[item] = part_of(row, len(row.cells) - 1)
        if part[item] >= 0 and unknown[item]:
            raise row.error(
                f"{next(name for name, k in items.items() if k == item)!r} has no label and cannot "
                "be part of the split; leave its part empty, or label it"
            )
    return np.flatnonzero(part == 0), np.flatnonzero(part == 1), np.flatnonzero(part == 2)
