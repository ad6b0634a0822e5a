"""A user's folder: edges.csv, labels.csv or targets.csv, maybe features.csv or .npy, splits.csv."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Arrays, Split, identity, is_unknown
from pgso.data.edge_lists import merged
from pgso.data.limits import check_relations
from pgso.data.own.feature_file import FeatureTable, read_array, read_table
from pgso.data.own.kinds import is_number
from pgso.data.own.preparation import Preparation
from pgso.data.own.table import PARTS, Row, check_widths, encode_labels, part_of, read_rows
from pgso.data.own.targets import NODE, read_targets
from pgso.data.splits import split_at_random, split_each_class
from pgso.errors import InputError

RESERVED = ("in", "out", "self")  # words of terms
HEADERS = {  # how the first cell of a header is recognised
    "edges.csv": ("source", "src", "from"),
    "labels.csv": ("node", "id", "node_id", "label", "class"),
    "targets.csv": NODE,
    "features.csv": NODE,
    "splits.csv": ("node", "id", "node_id", "split", "part"),
}


def load_folder(
    path: Path,
    root: Path,
    seed: int,
    *,
    undirected: bool = True,
    metric: str = "auto",
    unlabelled: bool = False,
    target: str | None = None,
    preparation: Preparation | None = None,
) -> Arrays:
    """A node task from CSV files. Ids and labels may be any words; header lines may be missing.

    Cells are separated by commas, tabs or semicolons.

    ``edges.csv``: source, target and, if edges are weighted, weight; a last column ``relation``
    under a header says of which kind an edge is. ``labels.csv``: node and label
    (empty: unknown); with labels alone, the nodes are called 0, 1, ... In its place,
    ``targets.csv``: node and numbers (empty: missing) under a header. ``features.csv``: node and
    numbers, words, dates, yes or no, or nothing, under a header; or without the nodes' names, in
    the order of the labels. Its columns are prepared (:class:`Preparation`) on the training rows,
    and ``columns.json`` may say how. ``features.npy``: numbers, taken as they are; without either,
    x is the identity. ``splits.csv``: node and train, val, test or nothing.

    Args:
        path: The folder.
        root: Not used.
        seed: Of the split, 60/20/20 (of each class), where there is no ``splits.csv``.
        undirected: Whether an edge goes both ways, however often it is listed.
        metric: The objective; ``"auto"``: accuracy of classes, RMSE of numbers, mean ROC-AUC of
            several columns of 0 and 1.
        unlabelled: To predict on: ``labels.csv`` says no more than which nodes there are, and may
            be missing.
        target: The one column of ``targets.csv`` to learn.
        preparation: Of the features, that of a saved model; by default one is made for these data.
    """
    has_labels, has_targets = ((path / f"{n}.csv").is_file() for n in ("labels", "targets"))
    if not (path / "edges.csv").is_file() or not (has_labels or has_targets or unlabelled):
        lacking = "edges.csv" if not (path / "edges.csv").is_file() else "labels.csv"
        raise InputError(
            f"{path} has no {lacking}; a dataset needs edges.csv and labels.csv (or targets.csv)"
        )
    if has_labels and has_targets and not unlabelled:
        raise InputError(f"{path} has labels.csv and targets.csv; remove one of them")
    if target is not None and not has_targets:
        raise InputError(f"{path} has no targets.csv to take {target!r} from")
    names: list[str] = []
    labels: list[str] = []
    targets = None
    ends = {name for row in read_rows(path / "edges.csv")[1:] for name in row.cells[:2]}
    if has_targets:
        targets = read_targets(path / "targets.csv", target, ends)
        names = targets.nodes
    elif has_labels:
        names, labels = _labels(path / "labels.csv", ends)
    nodes = {name: i for i, name in enumerate(names)}
    array, table = _features(path, nodes, ends)  # may add nodes without a label
    edges, kinds = _edges(path / "edges.csv", nodes)
    if array is None and table is None:
        for name in (name for row in edges for name in row.cells[:2]):
            nodes.setdefault(name, len(nodes))
    n = len(nodes)
    y, classes = encode_labels([""] * n if unlabelled else labels + [""] * (n - len(labels)))
    numbers: tuple[str, ...] = ()
    if targets is not None and not unlabelled:
        y = np.full((n, len(targets.names)), np.nan)
        y[: len(names)] = targets.y
        classes, numbers = (targets.names, ()) if targets.are_labels else ((), targets.names)
    if metric == "auto":
        metric = "rmse" if numbers else "multilabel_roc_auc" if y.ndim == 2 else "accuracy"
    if len(classes) < 2 and not unlabelled and targets is None:
        raise InputError(f"{path / 'labels.csv'} needs two classes or more, got {len(classes)}")
    pairs = np.array([[_node(row, c, nodes) for row in edges] for c in (0, 1)], dtype=np.int64)
    weighted = bool(edges) and len(edges[0].cells) == 3
    weight = np.array([row.number(2, "weight") for row in edges]) if weighted else None
    none = np.empty(0, dtype=np.int64)
    split = (none, none, none)
    if not unlabelled:
        at_random = split_each_class if y.ndim == 1 else _split_known
        split = _split(path / "splits.csv", nodes, y) or at_random(y, seed)
    columns = None if array is not None else tuple(nodes)
    fitted = None
    if table is not None:
        array, fitted = table.prepare(split[0], preparation)
        columns = (fitted.outputs or table.names) if table.has_header else None
    pairs, source = pairs.reshape(2, -1), path / "edges.csv"
    relations = None
    if kinds is None:
        edge_index, total = merged(pairs, weight, n, undirected, source)
    else:
        relations = {}
        names = list(dict.fromkeys(kinds))
        check_relations(len(names), source)
        places = {name: place for place, name in enumerate(names)}
        kind_of = np.array([places[kind] for kind in kinds])
        for place, name in enumerate(names):
            mask = kind_of == place
            of_kind = None if weight is None else weight[mask]
            relations[name] = merged(pairs[:, mask], of_kind, n, undirected, source)
        # Together they are the sum of their parts, in which an edge may be of several kinds.
        edge_index, total = _summed(relations.values(), n)
    return Arrays(
        edge_index=edge_index,
        edge_weight=total,
        relations=relations,
        x=identity(n) if array is None else array,
        y=y,
        split=split,
        classes=classes,
        targets=numbers,
        metric=metric,
        ids=tuple(nodes),
        columns=columns,
        preparation=fitted,
    )


def _edges(path: Path, ends_elsewhere: Collection[str] = ()) -> tuple[list[Row], list[str] | None]:
    """The edges with their weights, if any, and the relation of each, if the header has one.

    Column names may be any words that name no node.
    """
    rows = read_rows(path)
    header, body = (rows[0].cells, rows[1:]) if _has_header(rows, ends_elsewhere) else ([""], rows)
    if header[-1].lower() != "relation":
        check_widths(body, 2, 3)
        return body, None
    check_widths(body, 3, 4)
    for row in body:
        if row.cells[-1] in ("", *RESERVED):
            raise row.error(f"a relation cannot be called {row.cells[-1]!r}; choose another word")
    return [replace(row, cells=row.cells[:-1]) for row in body], [row.cells[-1] for row in body]


def _has_header(rows: list[Row], ends_elsewhere: Collection[str]) -> bool:
    first, others = rows[0].cells, rows[1:]
    if first[0].lower() in HEADERS["edges.csv"]:
        return True
    if not others or len(first) < 2:
        return False
    has_weight = len(first) == 3 and len(others[0].cells) == 3
    if has_weight and not is_number(first[2]) and is_number(others[0].cells[2]):
        return True
    ends = {name for row in others for name in row.cells[:2]}
    strange = all(name[:1].isalpha() and name not in ends for name in first[:2])
    return strange and bool(ends_elsewhere) and not set(first[:2]) & set(ends_elsewhere)


def _body(path: Path, nodes: Collection[str]) -> list[Row]:
    """The lines below the header, if there is one: its first cell names no node, others do."""
    rows = read_rows(path)
    first, others = rows[0].cells, rows[1:]
    if first[0].lower() in HEADERS[path.name]:
        return others
    strange = len(first) == 2 and first[0] not in nodes
    if strange and any(row.cells[0] in nodes for row in others):
        answers = {row.cells[-1] for row in others} | (set(PARTS) & {first[-1].lower()})
        return rows if first[-1] in answers else others
    return rows


def _summed(
    parts: Iterable[tuple[Array, Array | None]], num_nodes: int
) -> tuple[Array, Array | None]:
    """All edges of several graphs; those that several have are summed."""
    given = list(parts)
    edges = np.concatenate([index for index, _ in given], axis=1)
    weights = [np.ones(index.shape[1]) if w is None else w for index, w in given]
    n = max(num_nodes, 1)
    key, place = np.unique(edges[1] * n + edges[0], return_inverse=True)
    total = np.bincount(place, weights=np.concatenate(weights), minlength=len(key))
    return np.stack([key % n, key // n]), None if (total == 1).all() else total


def _labels(path: Path, ends: Collection[str]) -> tuple[list[str], list[str]]:
    rows = _body(path, ends)
    check_widths(rows, 1, 2)
    if rows and len(rows[0].cells) == 1:
        return [str(i) for i in range(len(rows))], [row.cells[0] for row in rows]
    lines: dict[str, int] = {}
    for row in rows:
        if row.cells[0] in lines:
            first = lines[row.cells[0]]
            raise row.error(f"node {row.cells[0]!r} was labelled in line {first} already")
        lines[row.cells[0]] = row.line
    return list(lines), [row.cells[1] for row in rows]


def _features(
    folder: Path, nodes: dict[str, int], ends: Collection[str]
) -> tuple[Array | None, FeatureTable | None]:
    table, array = folder / "features.csv", folder / "features.npy"
    if table.is_file() and array.is_file():
        raise InputError(f"{folder} has features.csv and features.npy; remove one of them")
    if array.is_file():
        return read_array(array, nodes), None
    return None, read_table(table, nodes, ends) if table.is_file() else None


def _split_known(y: Array, seed: int) -> Split:
    return split_at_random(~is_unknown(y), seed)


def _node(row: Row, column: int, nodes: dict[str, int]) -> int:
    try:
        return nodes[row.cells[column]]
    except KeyError:
        raise row.error(
            f"node {row.cells[column]!r} is in no other file; known are {len(nodes)} nodes such as "
            f"{next(iter(nodes))!r}"
        ) from None


def _split(path: Path, nodes: dict[str, int], y: Array) -> Split | None:
    if not path.is_file():
        return None
    rows = _body(path, nodes)
    check_widths(rows, 1, 2)
    part, unknown = np.full(len(nodes), -1), is_unknown(y)
    lines: dict[int, int] = {}
    for i, row in enumerate(rows):
        alone = len(row.cells) == 1
        if alone and i >= len(nodes):
            raise row.error(f"there are more lines than the {len(nodes)} nodes")
        node = i if alone else _node(row, 0, nodes)
        if node in lines:
            raise row.error(f"the node of this line was given a part in line {lines[node]} already")
        lines[node] = row.line
        part[node] = part_of(row, len(row.cells) - 1)
        if part[node] >= 0 and unknown[node]:
            raise row.error("a node without a label cannot be part of the split")
    return np.flatnonzero(part == 0), np.flatnonzero(part == 1), np.flatnonzero(part == 2)
