"""What is to be learned about a user's nodes or graphs: labels, several labels, or numbers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pgso.data.arrays import Array, Split, is_unknown
from pgso.data.raw import check_outputs
from pgso.data.splits import split_at_random, split_each_class
from pgso.data.tables.table import ID, ITEM, Table, is_number, key_of, numbers_of, repair_of
from pgso.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

LABEL, SPLIT = ("label", "labels", "class"), ("split", "part", "set")
PARTS = {"train": 0, "training": 0, "val": 1, "valid": 1, "validation": 1, "test": 2, "testing": 2}
SEVERAL = "|"  # between the labels of one node
FEWEST_LABELS = 20  # below which classes of one example each are taken as they are
MOST_CLASSES, FEW_CLASSES = (
    50,
    3,
)  # numbers with more values, or more than half as many, are numbers


@dataclass(frozen=True, eq=False)
class Answers:
    """The rows of a table of answers, by the name of each node or graph."""

    table: Table
    names: list[str]
    columns: tuple[int, ...]  # of the answers
    are_numbers: bool
    by_row: bool  # whether nothing names the nodes, so that they are called 0, 1, ...

    def on(self, count: int, separator: str, missing: str | None) -> "Learned":
        """What is learned about ``count`` items, of which the named ones come first.

        Args:
            count: How many items there are.
            separator: Between several labels of one item.
            missing: The label of an unknown one.
        """
        if self.are_numbers:
            return self._targets(count)
        labels = self.table.cells(self.columns[0])
        labels = np.where(np.isin(labels, ("nan", "NaN", "NAN")), "", labels)
        distinct = set(labels) - {""}
        if missing is None and {"-1", "0", "1"} <= distinct and all(map(is_number, distinct)):
            raise InputError(
                f"{self.table.path}: is the label -1 a class beside 0 and 1, or unknown? say "
                "--option missing=-1 if it is unknown, and --option missing=none if it is a class"
            )
        labels = np.where(labels == missing, "", labels)
        if separator and any(separator in label for label in labels):
            some, classes = _several(labels, separator)
            nothing: float = np.nan
        else:
            some, classes = encode_labels(labels)
            self._check_classes(labels, classes, bool(separator))
            nothing = -1
        y: Array = np.full((count, *some.shape[1:]), nothing, dtype=some.dtype)
        y[: len(some)] = some
        return Learned(y, classes, ())

    def _targets(self, count: int) -> "Learned":
        names = tuple(self.table.header[c] if self.table.header else "target" for c in self.columns)
        check_outputs(len(names), "targets", self.table.path)
        some = np.stack([self.table.numbers(c, optional=True) for c in self.columns], axis=1)
        if not np.isfinite(some).any():
            raise InputError(f"{self.table.path} holds no number to learn from; write some")
        if all(len(np.unique(column[np.isfinite(column)])) < 2 for column in some.T):
            listed = ", ".join(map(repr, names))
            raise InputError(
                f"{self.table.path}: column {listed} holds the same number everywhere, so that "
                "there is nothing to learn; check the file"
            )
        y = np.full((count, len(names)), np.nan)
        y[: len(some)] = some
        are_labels = len(names) > 1 and bool(np.isin(some[~np.isnan(some)], (0, 1)).all())
        return Learned(y, names, ()) if are_labels else Learned(y, (), names)

    def _check_classes(self, labels: Array, classes: tuple[str, ...], several: bool) -> None:
        """Refuse what is no column of classes, and say what it looks like."""
        path = self.table.path
        if len(classes) < 2:
            raise InputError(
                f"{path} needs two classes or more, got {len(classes)}; label more of them, "
                "or give numbers in targets.csv"
            )
        labelled = int((labels != "").sum())
        if labelled >= FEWEST_LABELS and len(classes) > labelled / 2:
            numbers = all(map(is_number, classes))
            raise InputError(
                f"{path}: {len(classes):,} different {'numbers' if numbers else 'labels'} in "
                f"{labelled:,} lines are no classes; "
                + ("call the file targets.csv to predict numbers" * numbers)
                + ("a class needs several examples: is it the right column?" * (not numbers))
            )
        check_outputs(len(classes), "classes", path)
        for name in classes if several else ():
            for mark in ",;/+ ":
                parts = [part.strip() for part in name.split(mark)]
                if len(parts) > 1 and set(parts) <= set(classes):
                    node = self.names[int((labels == name).argmax())]
                    raise InputError(
                        f"{path}: the label {name!r} of {node!r} is made of the labels "
                        f"{' and '.join(map(repr, parts))}; write {SEVERAL.join(parts)} if it has "
                        "them all, or say --option label_separator= (empty) if it is a class of "
                        "its own"
                    )


@dataclass(frozen=True, eq=False)
class Learned:
    """Answers as arrays."""

    y: Array  # (items,) classes, -1: unknown; or (items, columns), NaN: unknown
    classes: tuple[str, ...]
    numbers: tuple[str, ...]  # the names of numbers, where y holds numbers

    def metric(self, name: str) -> str:
        """The objective that was asked for, or the one that suits."""
        if name != "auto":
            return name
        return "rmse" if self.numbers else "accuracy" if self.y.ndim == 1 else "multilabel_roc_auc"

    def split_at_random(self, seed: int) -> Split:
        """A split by the seed: 60/20/20, of each class if there are classes."""
        if self.y.ndim == 1:
            return split_each_class(self.y, seed)
        return split_at_random(~is_unknown(self.y), seed)


def unlabelled(count: int) -> Learned:
    """Nothing to learn: data to predict on."""
    return Learned(np.full(count, -1), (), ())


def read_answers(
    table: Table,
    nodes: Collection[str],
    target: str | None,
    numbers: bool | None = None,
    in_doubt: Collection[str] = (),
    learn: bool = True,
) -> Answers:
    """The answers of a table: a column that names nodes or graphs, and columns of answers.

    Args:
        table: The cells.
        nodes: The nodes that edges name, or the graphs.
        target: The one column to learn.
        numbers: Whether answers are numbers; None: as the cells look.
        in_doubt: Words of edges' first line that may be nodes or column names.
        learn: Whether answers are read, or only which nodes there are.
    """
    form = "node,price" if numbers else "node,label"
    headed = table.with_header((*ITEM, *LABEL, *SPLIT), nodes, form)
    if headed.header is None and headed.first[0] in in_doubt and headed.width > 1:
        raise headed.header_error(
            f"is {headed.first[0]!r} a node or the name of the column? write a header {form} (and "
            "source,target in edges.csv)"
        )
    table = headed
    key = _key(table, nodes, numbers)
    columns = _answer_columns(table, key, target, bool(numbers)) if learn else (0,)
    if numbers is None:
        numbers = look_like_numbers(table.cells(columns[0]), table.decimal_comma)
    if not len(table):
        raise InputError(f"{table.path} has a header and nothing below it; write a line per node")
    if table.header is None and numbers:
        table = replace(table, header=("node", "target")[-table.width :])
    if key is None:
        cells = table.cells(columns[0])
        if len(cells) > 1 and len(set(cells)) == len(cells) and set(cells) <= set(nodes):
            raise table.line_error(
                0,
                f"column 1: {cells[0]!r} and all others are names of nodes, and there is no column "
                f"of labels; add one, such as {cells[0]},red",
            )
        return Answers(table, list(map(str, range(len(table)))), columns, numbers, True)
    names = table.cells(key)
    check_distinct(table, key, "described" if numbers else "labelled", columns[0])
    return Answers(table, names.tolist(), columns, numbers, False)


def check_distinct(table: Table, key: int, done: str, label: int | None = None) -> None:
    """Refuse a node that two lines are about, or a line about none."""
    import pandas as pd

    names = table.cells(key)
    if (names == "").any():
        raise table.cell_error(
            int((names == "").argmax()), key, "the name of a node", "or remove it"
        )
    twice = pd.Series(names, dtype=object).duplicated().to_numpy()
    if not twice.any():
        return
    row = int(twice.argmax())
    first = table.lines[int((names == names[row]).argmax())]
    advice = ""
    if done == "labelled" and label is not None:
        advice = f", or write several labels as {table.cells(label)[row]}{SEVERAL}..."
    raise table.line_error(
        row,
        f"node {names[row]!r} was {done} in line {first} already; remove one of them{advice}",
    )


def split_column(table: Table) -> int | None:
    """The column of a table of nodes that says which part of the split each belongs to."""
    column = table.place(SPLIT)
    if column is None:
        return None
    words = {cell.lower() for cell in set(table.cells(column))}
    return column if words <= {*PARTS, "", "none", "nan"} and words & set(PARTS) else None


def _key(table: Table, nodes: Collection[str], numbers: bool | None) -> int | None:
    if table.header is None:
        if numbers and not (table.width > 1 and table.first[0] in nodes):
            return None
        return 0 if table.width > 1 else None
    if table.width == 1:
        return table.place(ITEM)
    key = key_of(table, nodes)
    if key is None and not numbers:
        return 0
    if key is None and ID.search(table.names[0]):
        cells = table.cells(0)
        if len(set(cells)) == len(cells) and not any("." in cell for cell in cells):
            return 0
    return key


def _answer_columns(
    table: Table, key: int | None, target: str | None, numbers: bool
) -> tuple[int, ...]:
    if table.header is None:
        columns = [c for c in range(table.width) if c != key]
        if len(columns) > 1 and numbers:
            raise table.line_error(
                0,
                "several columns need a header: node, and the name of each target, "
                "such as node,price,rent",
            )
        if len(columns) > 1:
            raise table.line_error(
                0, f"expected 2 cells, got {table.width}; write a header such as node,label"
            )
        return tuple(columns)
    # A column without a name holds the numbers of rows, as pandas writes them.
    others = [
        c for c, name in enumerate(table.header) if c != key and name and name.lower() not in SPLIT
    ]
    others = others or [c for c, name in enumerate(table.header) if c != key and name]
    listed = ", ".join(table.header[c] for c in others)
    if not others:
        raise table.header_error(
            "there is no column of numbers beside the nodes' names"
            if numbers
            else f"there is no column of labels beside {table.names[0]!r}; add one, such as "
            f"{table.names[0]},label"
        )
    if target is not None:
        if target not in table.header:
            problem = f"no column {target!r}; it has {listed}"
            raise table.header_error(f"there is {problem}")
        return (table.header.index(target),)
    if len(others) > 1 and not numbers:
        called = [c for c in others if table.header[c].lower() in LABEL]
        if len(called) == 1:
            return (called[0],)
        raise table.header_error(
            f"there are several columns of labels ({listed}); choose one with --option "
            f"target={table.header[others[0]]}, or write several labels of a node as "
            f"red{SEVERAL}blue"
        )
    return tuple(others)


def look_like_numbers(cells: Array, decimal_comma: bool) -> bool:
    """Whether cells are numbers with fractions, or with too many values for classes."""
    present = cells[~np.isin(cells, ("", "nan", "NaN", "NA"))]
    values = numbers_of(present, decimal_comma)
    if not len(values) or not np.isfinite(values).all():
        return False
    distinct = np.unique(values)
    most = min(MOST_CLASSES, max(FEW_CLASSES, len(values) / 2))
    return bool((distinct % 1).any()) or len(distinct) > most


def encode_labels(names: Sequence[str] | Array) -> tuple[Array, tuple[str, ...]]:
    """Classes 0, 1, ... in the order of their names (of their numbers, if they are numbers).

    No name is no label: -1. Whole numbers that pandas wrote as 1.0 are called 1.

    Example:
        >>> encode_labels(["10", "9", "", "10"])
        (array([ 1,  0, -1,  1]), ('9', '10'))
    """
    import pandas as pd

    labels = pd.Series(names, dtype=object)
    present = [name for name in labels.unique() if name]
    if present and all(name.endswith(".0") and is_number(name) for name in present):
        labels = labels.str.removesuffix(".0")
        present = [name.removesuffix(".0") for name in present]
    try:
        classes = tuple(sorted(present, key=int))
    except ValueError:
        classes = tuple(sorted(present))
    codes: Array = pd.Index(classes, dtype=object).get_indexer(labels).astype(np.int64)
    return codes, classes


def _several(labels: Array, separator: str) -> tuple[Array, tuple[str, ...]]:
    """A column of 0 and 1 for each label; a separator alone is no label."""
    parts = [[part.strip() for part in label.split(separator)] for label in labels]
    classes = tuple(sorted({name for names in parts for name in names if name}))
    check_outputs(len(classes), "labels", "the column")
    column = {name: c for c, name in enumerate(classes)}
    y = np.full((len(labels), len(classes)), np.nan)
    for i, (label, names) in enumerate(zip(labels, parts, strict=True)):
        if label:
            y[i] = 0
            y[i, [column[name] for name in names if name]] = 1
    return y, classes


def parts_of(table: Table, column: int) -> Array:  # (rows,)
    """Which part of the split each cell names: 0, 1, 2 for train, val, test; -1 for none."""
    import pandas as pd

    words = pd.Series(table.cells(column), dtype=object).str.lower()
    parts = words.map(PARTS | dict.fromkeys(("", "none", "nan"), -1))
    if parts.isna().any():
        row = int(parts.isna().to_numpy().argmax())
        raise table.line_error(
            row,
            f"column {column + 1}: a part of the split is called train, val or test; got "
            f"{words[row]!r}",
        )
    out: Array = parts.to_numpy(dtype=np.int64)
    return out


def read_split(
    table: Table, items: "pd.Index[str]", y: Array, named: int, column: int | None = None
) -> Split:
    """The user's split of the items, by a column of a table.

    Args:
        table: Names and parts, or a part in each line, in the order of the items.
        items: The names of nodes or graphs.
        y: The answers; what has none cannot be part of the split.
        named: How many items the table of answers names, which come first.
        column: Where the parts stand, if the table is that of the answers.
    """
    if column is not None:
        places = np.arange(named)
    else:
        table = table.with_header((*ITEM, *SPLIT), set(items), "node,split")
        key = 0 if table.header is None and table.width > 1 else key_of(table, items)
        column = table.place(SPLIT)
        others = [c for c in range(table.width) if c != key]
        if column is None and len(others) != 1:
            raise table.header_error(
                "a split has the columns node and split, with train, val or test in each line; "
                f"it has {', '.join(table.names)}"
            )
        column = others[0] if column is None else column
        places = _places(table, key, items, named)
    part, parts = np.full(len(y), -1), parts_of(table, column)
    part[places] = parts
    wrong = (parts >= 0) & is_unknown(y)[places]
    if wrong.any():
        row = int(wrong.argmax())
        raise table.line_error(
            row,
            f"{items[places[row]]!r} has no label and cannot be part of the split; leave its part "
            "empty, or label it",
        )
    if not (part == 0).any():
        raise InputError(
            f"{table.path} gives the part train to none; give it to some, and val and test"
        )
    return np.flatnonzero(part == 0), np.flatnonzero(part == 1), np.flatnonzero(part == 2)


def _places(table: Table, key: int | None, items: "pd.Index[str]", named: int) -> Array:
    """Which item each row of a split is about."""
    if key is None:
        if len(table) != named:
            raise InputError(
                f"{table.path} has {len(table)} lines and {named} nodes have answers; name the "
                f"node in each, as in {items[0]},train"
            )
        return np.arange(named)
    names = table.cells(key)
    check_distinct(table, key, "given a part")
    places: Array = items.get_indexer(names)
    if (places < 0).any():
        row = int((places < 0).argmax())
        raise table.line_error(
            row,
            f"column {key + 1}: {names[row]!r} is in no other file; known are {len(items)} "
            f"such as {items[0]!r}{repair_of(names, items)}; correct or remove the line",
        )
    return places
