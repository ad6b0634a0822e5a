"""What is to be learned about a user's nodes or graphs, which nodes there are, and their rows."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pgso.data.arrays import Array, Split, check_finite, is_unknown
from pgso.data.raw import BROKEN, check_count
from pgso.data.splits import masks_to_split
from pgso.data.tables.columns import TYPE
from pgso.data.tables.edges import Edges
from pgso.data.tables.names import alike, counts_from_1, repair_of, shown
from pgso.data.tables.table import COUNTED, GRAPH, ID, ITEM, NODE, Table, is_number, key_of
from pgso.errors import InputError

if TYPE_CHECKING:
    from pgso.data.tables.folder import Tables

LABEL, SPLIT = ("label", "labels", "class"), ("split", "part", "set")
PARTS = {"train": 0, "training": 0, "val": 1, "valid": 1, "validation": 1, "dev": 1}
PARTS |= {"test": 2, "testing": 2, "": -1, "none": -1, "nan": -1}
UNKNOWN = ("", "nan", "NaN", "NAN")  # labels
SEVERAL = "|"  # between the labels of one node
FEWEST_LABELS = 20  # below which classes of one example each are taken as they are
Learned = tuple[Array, tuple[str, ...], tuple[str, ...]]  # y, classes, names of numbers


@dataclass(frozen=True, eq=False)
class Answers:
    """The rows of a table of answers, by the name of each node or graph."""

    table: Table
    key: str | None  # the column of names; None: nodes are called 0, 1, ...
    columns: tuple[str, ...]  # of the answers
    are_numbers: bool

    @property
    def names(self) -> list[str]:
        """The nodes or graphs."""
        cells = range(len(self.table.lines)) if self.key is None else self.table.cells(self.key)
        return list(map(str, cells))

    def numbers(self) -> Learned:
        """Answers that are numbers; several columns of 0 and 1 are labels."""
        path, names = self.table.path, self.columns
        known = np.stack([self.table.numbers(name, optional=True) for name in names], axis=1)
        numbers = known[~np.isnan(known)]
        if not len(numbers):
            raise InputError(f"{path} holds no number to learn from; write some")
        if all(len(np.unique(column[~np.isnan(column)])) < 2 for column in known.T):
            problem = f"column {', '.join(map(repr, names))} holds the same number everywhere"
            raise InputError(f"{path}: {problem}, so that there is nothing to learn; check it")
        are_labels = len(names) > 1 and bool(np.isin(numbers, (0, 1)).all())
        return (known, names, ()) if are_labels else (known, (), names)

    def labels(self, separator: str, missing: str | None) -> Learned:
        """Answers that are words: a class each, or several labels."""
        path, labels = self.table.path, self.table.cells(self.columns[0])
        labels = np.where(np.isin(labels, UNKNOWN), "", labels)
        distinct = set(labels) - {""}
        if missing is None and {"-1", "0", "1"} <= distinct and all(map(is_number, distinct)):
            say = "say --option missing=-1 if it is unknown, and --option missing=none if a class"
            raise InputError(f"{path}: is the label -1 a class beside 0 and 1, or unknown? {say}")
        labels = np.where(labels == missing, "", labels)
        if separator and any(separator in label for label in distinct):
            from sklearn.preprocessing import MultiLabelBinarizer

            parts = [{part.strip() for part in label.split(separator)} - {""} for label in labels]
            classes = tuple(sorted(set().union(*parts)))  # a separator alone is no label
            check_count(len(classes), "labels", "the column")
            several = MultiLabelBinarizer(classes=classes).fit_transform(parts).astype(float)
            several[labels == ""] = np.nan
            return several, classes, ()
        # In the order of their names, or of their numbers; pandas writes 1 as 1.0 beside gaps.
        present = [name for name in pd.unique(labels) if name]
        if all(name.endswith(".0") and is_number(name) for name in present):
            labels = pd.Series(labels, dtype=object).str.removesuffix(".0").to_numpy()
            present = [name.removesuffix(".0") for name in present]
        try:
            classes = tuple(sorted(present, key=int))
        except ValueError:
            classes = tuple(sorted(present))
        y: Array = pd.Index(classes, dtype=object).get_indexer(labels).astype(np.int64)
        labelled = int((y >= 0).sum())
        if len(classes) < 2:
            advice = "label more of them, or give numbers in targets.csv"
            raise InputError(f"{path} needs two classes or more, got {len(classes)}; {advice}")
        if labelled >= FEWEST_LABELS and len(classes) > labelled / 2:
            what, advice = "labels", "a class needs several examples: is it the right column?"
            if all(map(is_number, classes)):
                what, advice = "numbers", "call the file targets.csv to predict numbers"
            problem = f"{len(classes):,} different {what} in {labelled:,} lines are no classes"
            raise InputError(f"{path}: {problem}; {advice}")
        check_count(len(classes), "classes", path)
        for name in classes if separator else ():
            for some in ([part.strip() for part in name.split(mark)] for mark in ",;/+ "):
                if len(some) > 1 and set(some) <= set(classes):
                    node, words = self.names[int((labels == name).argmax())], map(repr, some)
                    problem = f"the label {name!r} of {node!r} is made of {' and '.join(words)}"
                    all_of_them = f"write {SEVERAL.join(some)} if it has them all"
                    one = "say --option label_separator= (empty) if it is a class of its own"
                    raise InputError(f"{path}: {problem}; {all_of_them}, or {one}")
        return y, classes, ()


def read_answers(
    table: Table,
    nodes: Collection[str],
    target: str | None,
    numbers: bool,
    in_doubt: Collection[str],
    learn: bool,
) -> Answers:
    """The answers of a table, by node or graph; without ``learn`` it only names the nodes."""
    form = "node,price" if numbers else "node,label"
    table = table.with_header((*ITEM, *LABEL, *SPLIT), nodes, form)
    first, width = table.top[0], len(table.names)
    if not table.has_header and first in in_doubt and width > 1:
        advice = f"write a header {form} (and source,target in edges.csv)"
        raise table.error(f"is {first!r} a node or the name of the column? {advice}")
    if not len(table.lines):
        raise InputError(f"{table.path} has a header and nothing below it; write a line per node")
    if numbers and learn and target is None:
        check_count(width - 1, "targets", table.path)
    if width == 1:
        key = table.named(ITEM)
    elif not table.has_header:
        key = None if numbers and first not in nodes else table.names[0]
    else:
        is_counted = target is None and width == 2 and first in COUNTED
        learned = table.names[1:] if is_counted else (target,)
        key, cells = key_of(table, nodes, others=learned if learn else ()), table.cells(first)
        are_ids = ID.search(first) and len(set(cells)) == len(cells) and "." not in "".join(cells)
        key = first if key is None and (are_ids or not numbers) else key
    if numbers and not table.has_header and width == 1 + (key is not None):
        key = key and "node"
        table = table.called(*filter(None, (key, "target")))
    columns = table.names[:1]
    if learn and target is not None and table.has_header:
        columns = (target,)
        table.check_has(target)
    elif learn:
        # Numbers of rows, as pandas writes them, are not learned.
        rows = [str(i) for i in range(len(table.lines))]
        others = [name for name in table.names if name and name != key]
        others = [n for n in others if n not in COUNTED or [*table.cells(n)] != rows]
        others = [name for name in others if name.lower() not in SPLIT] or others
        columns = tuple(others)
        if not others:
            what = "numbers" if numbers else "labels"
            raise table.error(f"there is no column of {what} beside {table.names[0]!r}; add one")
        if len(others) > 1 and not table.has_header:
            form = "node,price,rent" if numbers else "node,label"
            raise table.error(f"several columns need a header; write one such as {form}", 0)
        if len(others) > 1 and not numbers:
            columns = tuple(name for name in others if name.lower() in LABEL)
            if len(columns) != 1:
                advice = f"choose one with --option target={others[0]}"
                form = f"write several labels of a node as red{SEVERAL}blue"
                problem = f"there are several columns of labels ({', '.join(others)})"
                raise table.error(f"{problem}; {advice}, or {form}")
    if key is not None:
        done, label = ("described", None) if numbers else ("labelled", columns[0])
        table.check_names(key, done, label)
    elif not numbers:
        cells = table.cells(columns[0])
        if 1 < len(cells) == len(set(cells)) and set(cells) <= set(nodes):
            problem = f"column 1: {cells[0]!r} and all others are names of nodes, and there is no"
            raise table.error(f"{problem} column of labels; add one, such as {cells[0]},red", 0)
    return Answers(table, key, columns, numbers)


def split_column(table: Table) -> str | None:
    """The column of a table of nodes that says which part of the split each belongs to."""
    column = table.named(SPLIT)
    parts = {PARTS.get(cell.lower()) for cell in set(table.cells(column))} if column else {None}
    return column if None not in parts and parts != {-1} else None


def read_split(
    table: Table, items: "pd.Index[str]", y: Array, named: int, column: str | None = None
) -> Split:
    """The user's split, by a column of the answers, or of a table with names or a line per node."""
    places, key = np.arange(named), None
    if column is None:
        table = table.with_header((*ITEM, *SPLIT), set(items), "node,split")
        is_plain = not table.has_header and len(table.names) > 1
        key = table.names[0] if is_plain else key_of(table, items)
        others = [name for name in table.names if name != key]
        column = table.named(SPLIT) or (others[0] if len(others) == 1 else None)
        if column is None:
            form = "a split has the columns node and split, with train, val or test in each line"
            raise table.error(f"{form}; it has {', '.join(table.names)}")
    if key is not None:
        table.check_names(key, "given a part")
        names = table.cells(key)
        places = items.get_indexer(names)
        if (places < 0).any():
            row = int((places < 0).argmax())
            like = f"known are {len(items)} such as {shown(items[0])}{repair_of(names, items)}"
            problem = f"{shown(names[row])} is in no other file; {like}; correct or remove the line"
            raise table.error(problem, row, key)
    elif len(table.lines) != named:
        counts = f"has {len(table.lines)} lines and {named} nodes have answers"
        raise InputError(f"{table.path} {counts}; name the node in each, as in {items[0]},train")
    words = table.frame[column].str.lower()
    parts: Array = words.map(PARTS).to_numpy(dtype=float)
    if np.isnan(parts).any():
        row = int(np.isnan(parts).argmax())
        problem = f"a part of the split is called train, val or test; got {words.iloc[row]!r}"
        raise table.error(problem, row, column)
    part = np.full(len(y), -1)
    part[places] = parts
    wrong = (parts >= 0) & is_unknown(y)[places]
    if wrong.any():
        row = int(wrong.argmax())
        problem = f"{shown(items[places[row]])} has no label and cannot be part of the split"
        raise table.error(f"{problem}; leave its part empty, or label it", row)
    if not (part == 0).any():
        advice = "give it to some, and val and test"
        raise InputError(f"{table.path} gives the part train to none; {advice}")
    return masks_to_split(part == 0, part == 1, part == 2)


def feature_key(
    given: "Tables", table: Table, nodes: Collection[str], learned: Collection[str] = ()
) -> str | None:
    """The column of features that names the nodes; None if rows come in order."""
    table.check_has(given.key)
    if given.key is not None or given.rows == "in_order":
        return given.key
    if "" in table.names and table.named(NODE) is not None:
        return table.named(NODE)  # beside the numbers of rows that pandas writes
    preparation = given.preparation
    features = set() if preparation is None else {column.name for column in preparation.columns}
    key = key_of(table, nodes, NODE, {*features, *learned})
    if key is None and given.known and preparation is not None:
        # What the model's table had beside features; the numbers of a frame's rows come last.
        others = [name for name in table.names if name not in features]
        named = [name for name in others if 2 * table.frame[name].nunique() > len(table.lines)]
        key = min(named, key=lambda name: name == "", default=None)
    return key


def described_nodes(
    given: "Tables", answers: Answers | None, ends: set[str], graph: str | None, notes: list[str]
) -> tuple[list[str], Table]:
    """All names of nodes, and the features in their order, without the column of names."""
    table = given.features
    assert table is not None
    names = [] if answers is None else answers.names
    known = names or sorted(ends)
    words = (*NODE, TYPE) if graph is None else (*NODE, *GRAPH)
    table = table.with_header(words, set(known), "node,...", wide=True)
    if graph is not None:
        graph, key = table.named(GRAPH), table.named(NODE)
        if graph is None or key is None:
            problem = "the features of several graphs need the columns graph and node"
            raise table.error(f"{problem}; got {','.join(table.top)[:60]!r}")
        table = table.within(graph, key).without(graph)
    else:
        key = feature_key(given, table, known)
    if key is None:
        # Not where answers have names, or where a column may be the names.
        by_row = answers.key is None if answers is not None else all(map(is_number, ends))
        looks = next((name for name in table.names if _looks_like_ids(table, name)), None)
        if given.rows != "in_order" and not (looks is None and by_row):
            for name in table.names:  # of which one may name them, some twice
                if set(known) <= set(table.cells(name)):
                    table.check_names(name, "described")
            looks = table.names[0] if looks is None else looks
            cells = table.cells(looks)
            both = f"they are called {shown(known[0])}, and its {looks!r} holds {shown(cells[0])}"
            in_order = f"--option rows=in_order if its rows are in the order of {given.source}"
            advice = (
                f"{repair_of(cells, known)}; name them in a column called node, or say {in_order}"
            )
            raise InputError(f"{table.path} has no column that names the nodes: {both}{advice}")
        names = names or [str(i) for i in range(len(table.lines))]
        if len(table.lines) != len(names):
            counts = f"has {len(table.lines)} rows, but {given.source} names {len(names)} nodes"
            advice = "give one row per node, or a first column called node that names them"
            raise InputError(f"{table.path} {counts}; {advice}")
        notes.append(f"{table.path.name}: rows taken in the order of {given.source}")
        return names, table
    table.check_names(key, "described")
    cells = table.cells(key)
    rows = pd.Index(cells, dtype=object).get_indexer(pd.Index(names, dtype=object))
    if (rows < 0).any():
        lost, listed = int((rows < 0).argmax()), set(names)
        name = names[lost]
        if answers is not None and any(str(table.path) in note for note in given.notes):
            raise answers.table.error(f"node {shown(name)} has no row in {table.path.name}", lost)
        other = next((cell for cell in cells if cell not in listed), None)
        like = "" if other is None else f", and names {shown(other)}"
        problem = f"{table.path} has no row for node {shown(name)} of {given.source}{like}"
        advice = f"{repair_of(cells, names)}; add one, or write names alike in all files"
        raise InputError(problem + advice)
    extra = ~np.isin(np.arange(len(cells)), rows)
    order = np.concatenate([rows, np.flatnonzero(extra)]).astype(np.int64)
    return [*names, *cells[extra]], table.without(key, "").take(order)


def _looks_like_ids(table: Table, name: str) -> bool:
    cells = table.cells(name)
    if len(set(cells)) < len(cells) or len(cells) < 3:
        return False
    if name != table.names[0] or (table.has_header and ID.search(name)):
        return table.has_header and ID.search(name) is not None
    if not table.has_header and all(map(is_number, cells)):
        return all(cell.isdecimal() for cell in cells)
    return not any(map(is_number, cells))


def with_ends(
    given: "Tables", answers: Answers | None, edges: Edges, notes: list[str]
) -> list[str]:
    """All nodes where there are no features: those with an answer, then those edges add."""
    names = [] if answers is None else answers.names
    listed, where, known = set(names), edges.table.path.name, set(given.known)
    extra = [name for name in edges.names if name not in listed]
    fresh = [name for name in extra if name not in known]
    if answers is None or not extra:
        return [*names, *(fresh if names or fresh else extra)]
    path = answers.table.path
    if len(extra) == len(edges.names):
        both = f"one names {shown(names[0])}, the other {shown(edges.names[0])}"
        repair = f"{repair_of(edges.names, names)}; write names alike in both"
        raise InputError(f"{path} and {where} have no node in common: {both}{repair}")
    n = len(names)
    if answers.key is not None and extra == ["0"] and counts_from_1(names, edges.names):
        problem = f"{where} names the nodes 0 to {n - 1} and {path.name} the nodes 1 to {n}"
        raise InputError(f"{problem}; count from 0 everywhere, or from 1")
    if (answers.key is None or extra == [str(n)]) and counts_from_1(edges.names, names):
        lines = f"{path.name} has {n} lines, which are the nodes 0 to {n - 1}"
        advice = f"count from 0, or name the nodes in {path.name} as there"
        raise InputError(f"{where} names the nodes 1 to {n} and {lines}; {advice}")
    if given.unknown == "drop":
        return names
    written = {alike(name): name for name in names}
    for name in extra:
        other = written.setdefault(alike(name), name)
        if other != name:
            first = path if other in listed else edges.table.path
            both = f"{first} names {shown(other)} and {where} {shown(name)}"
            raise InputError(f"{both}, which look like the same node; write names alike everywhere")
    count = f"{len(extra):,} of {n + len(extra):,} nodes are named by {where} only"
    notes.append(f"{count}, such as {extra[0]!r}; they have no label")
    return [*names, *fresh]


def read_array(path: Path, count: int) -> Array:  # (n, F)
    """``features.npy``: numbers, prepared already; rows stay on disk until they are used."""
    try:
        # Copy-on-write, for torch wants writable memory.
        x: Array = np.lib.format.open_memmap(path, mode="c")
    except BROKEN as error:
        reason = "it holds Python objects" if "objects" in str(error) else str(error)[:100]
        problem = f"{path} is no readable array of numbers ({reason})"
        raise InputError(f"{problem}; write it with numpy.save") from None
    if x.ndim != 2 or not x.shape[1] or x.dtype.kind not in "biuf":
        raise InputError(f"{path} must hold numbers, a row per node and one column or more")
    check_count(x.shape[1], "columns of numbers", path)
    if count and len(x) != count:
        raise InputError(f"{path} has {len(x)} rows, but labels.csv names {count} nodes")
    check_finite(x, f"{path}: features")
    return x if x.dtype == np.float32 else x.astype(np.float32)
