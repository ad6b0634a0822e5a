"""What is to be learned about a user's nodes or graphs: labels, several labels, or numbers."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pgso.data.arrays import Array, Split, is_unknown
from pgso.data.own.files import file_of
from pgso.data.own.table import (
    PARTS,
    Row,
    check_widths,
    encode_labels,
    is_number,
    part_of,
    read_rows,
)
from pgso.data.own.targets import ITEM, Targets, read_targets
from pgso.data.splits import split_at_random, split_each_class
from pgso.errors import InputError

HEADERS = {  # how the first cell of a header is recognised
    "labels": (*ITEM, "label", "class"),
    "splits": (*ITEM, "split", "part"),
}
SEVERAL = "|"  # between the labels of one node
FEWEST_LABELS = 20  # below which classes of one example each are taken as they are


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
        self._check_classes(classes, bool(separator))
        return Learned(y, classes, ())

    def _check_classes(self, classes: tuple[str, ...], may_be_several: bool) -> None:
        """Refuse what is no column of classes, and say what it looks like."""
        if len(classes) < 2:
            raise InputError(
                f"{self.path} needs two classes or more, got {len(classes)}; label more of them, "
                "or give numbers in targets.csv"
            )
        labelled = sum(label != "" for label in self.labels)
        if labelled >= FEWEST_LABELS and len(classes) > labelled / 2:
            numbers = all(map(is_number, classes))
            raise InputError(
                f"{self.path}: {len(classes):,} different {'numbers' if numbers else 'labels'} in "
                f"{labelled:,} lines are no classes; "
                + ("call the file targets.csv to predict numbers" * numbers)
                + ("a class needs several examples: is it the right column?" * (not numbers))
            )
        for name in classes if may_be_several else ():
            for mark in ",;/+ ":
                parts = [part.strip() for part in name.split(mark)]
                if len(parts) > 1 and set(parts) <= set(classes):
                    node = self.names[self.labels.index(name)]
                    raise InputError(
                        f"{self.path}: the label {name!r} of {node!r} is made of the labels "
                        f"{' and '.join(map(repr, parts))}; write {SEVERAL.join(parts)} if it has "
                        "them all, or say --option label_separator= (empty) if it is a class of "
                        "its own"
                    )


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
    folder: Path,
    ends: Collection[str],
    target: str | None,
    needed: bool,
    to_predict: bool,
    words: Collection[str] = (),
) -> Answers:
    """Read ``labels.csv`` or ``targets.csv``.

    Args:
        folder: The user's folder.
        ends: The nodes that edges name, or the graphs: they tell a header from a line.
        target: The one column of ``targets.csv`` or ``labels.csv`` to learn.
        needed: Whether one of the files must be there.
        to_predict: Whether both may be there, since nothing is learned.
        words: What the first line of edges calls its columns, if it has a header.
    """
    labels, targets = file_of(folder, "labels"), file_of(folder, "targets")
    if labels is None and targets is None and needed:
        raise InputError(
            f"{folder} has no labels.csv; a dataset needs edges.csv and labels.csv (or targets.csv)"
        )
    if labels is not None and targets is not None and not to_predict:
        raise InputError(f"{folder} has labels.csv and targets.csv; remove one of them")
    if target is not None and targets is None and labels is None:
        raise InputError(f"{folder} has no targets.csv to take {target!r} from")
    if targets is not None:
        read = read_targets(targets, target, ends)
        return Answers(targets, read.nodes, [], read)
    if labels is None:
        return Answers(None, [], [], None)
    return Answers(labels, *_labels(labels, ends, target, words), None)


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


def _labels(
    path: Path, ends: Collection[str], target: str | None, words: Collection[str]
) -> tuple[list[str], list[str]]:
    header, rows = _cut(path, ends, words)
    if header is None:
        check_widths(rows, 1, 2)
    else:
        check_widths([header, *rows], len(header.cells))
    key, column = _columns(header or rows[0], header is not None, target)
    if key is None:
        _check_no_nodes(rows, ends)
        return [str(i) for i in range(len(rows))], [_label(row, column) for row in rows]
    lines: dict[str, int] = {}
    for row in rows:
        name = row.cells[key]
        if name in lines:
            raise row.error(
                f"node {name!r} was labelled in line {lines[name]} already; remove one of them, "
                f"or write several labels as {row.cells[column]}{SEVERAL}..."
            )
        lines[name] = row.line
    return list(lines), [_label(row, column) for row in rows]


def _columns(first: Row, is_header: bool, target: str | None) -> tuple[int | None, int]:
    """Where nodes and labels stand; None for the nodes if labels stand alone."""
    cells = first.cells
    if not is_header:
        return (None, 0) if len(cells) == 1 else (0, 1)
    named = [c for c, cell in enumerate(cells) if cell.lower() in ITEM]
    key = named[0] if named else 0 if len(cells) > 1 else None
    # A column without a name holds the numbers of rows, as pandas writes them.
    others = [c for c, cell in enumerate(cells) if c != key and cell]
    listed = ", ".join(cells[c] for c in others)
    if not others:
        raise first.error(
            f"there is no column of labels beside {cells[0]!r}; add one, such as {cells[0]},label"
        )
    if target is not None:
        if target not in cells:
            raise first.error(f"there is no column {target!r}; it has {listed}")
        return key, cells.index(target)
    if len(others) > 1:
        raise first.error(
            f"there are several columns of labels ({listed}); choose one with --option "
            f"target={cells[others[0]]}, or write several labels of a node as red{SEVERAL}blue"
        )
    return key, others[0]


def _label(row: Row, column: int) -> str:
    """The cell, empty if nothing is known."""
    return "" if row.cells[column].lower() == "nan" else row.cells[column]


def _check_no_nodes(rows: list[Row], ends: Collection[str]) -> None:
    """Refuse a single column that names nodes rather than labels."""
    cells = [row.cells[0] for row in rows]
    if len(cells) > 1 and len(set(cells)) == len(cells) and set(cells) <= set(ends):
        raise rows[0].error(
            f"column 1: {cells[0]!r} and all others are names of nodes, and there is no column of "
            f"labels; add one, such as {cells[0]},red"
        )


def _cut(
    path: Path, nodes: Collection[str], words: Collection[str] = ()
) -> tuple[Row | None, list[Row]]:
    """The header, if there is one, and the other lines.

    The first cell of a header is a known word, or empty, or names no node where others do. It may
    be both where it is one of the ``words`` of another file's first line.
    """
    rows = read_rows(path)
    first, others = rows[0].cells, rows[1:]
    if first[0].lower() in HEADERS[path.stem] or (not first[0] and len(first) > 2):
        return rows[0], others
    strange = len(first) > 1 and first[0] not in nodes
    if strange and any(row.cells[0] in nodes for row in others):
        answers = {row.cells[-1] for row in others} | (set(PARTS) & {first[-1].lower()})
        if first[-1] in answers and first[0] in words:
            raise rows[0].error(
                f"is {first[0]!r} a node or the name of the column? write a header node,label (and "
                "source,target in edges.csv)"
            )
        return (None, rows) if first[-1] in answers else (rows[0], others)
    return None, rows


def _read_split(path: Path, items: Mapping[str, int], y: Array) -> Split:
    _, rows = _cut(path, items)
    check_widths(rows, 1, 2)
    part, unknown = np.full(len(items), -1), is_unknown(y)
    lines: dict[int, int] = {}
    for i, row in enumerate(rows):
        alone = len(row.cells) == 1
        if alone and i >= len(items):
            raise row.error(
                f"there are more lines than the {len(items)} nodes; name the node in each, as in "
                f"{next(iter(items))},train"
            )
        if not alone and row.cells[0] not in items:
            raise row.error(
                f"column 1: {row.cells[0]!r} is in no other file; known are {len(items)} such as "
                f"{next(iter(items))!r}; correct or remove the line"
            )
        item = i if alone else items[row.cells[0]]
        if item in lines:
            raise row.error(
                f"the item of this line was given a part in line {lines[item]} already; remove one"
            )
        lines[item] = row.line
        part[item] = part_of(row, len(row.cells) - 1)
        if part[item] >= 0 and unknown[item]:
            raise row.error(
                f"{next(name for name, k in items.items() if k == item)!r} has no label and cannot "
                "be part of the split; leave its part empty, or label it"
            )
    if not (part == 0).any():
        raise InputError(f"{path} gives the part train to none; give it to some, and val and test")
    return np.flatnonzero(part == 0), np.flatnonzero(part == 1), np.flatnonzero(part == 2)
