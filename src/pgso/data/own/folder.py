"""A user's folder: edges.csv, labels.csv or targets.csv, maybe features.csv or .npy, splits.csv."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Arrays, Split, check_finite, identity, is_on_disk, is_unknown
from pgso.data.edges import merged
from pgso.data.own.table import Row, check_widths, encode_labels, part_of, read_rows
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
) -> Arrays:
    """A node task from CSV files. Ids and labels may be any words; header lines may be missing.

    ``edges.csv``: source, target and, if edges are weighted, weight; a last column ``relation``
    under a header says of which kind an edge is. ``labels.csv``: node and label
    (empty: unknown); with labels alone, the nodes are called 0, 1, ... In its place,
    ``targets.csv``: node and numbers (empty: missing) under a header. ``features.csv``: node and
    numbers under a header whose first word is ``node``, or numbers alone in the order of the
    labels; ``features.npy`` likewise; without either, x is the identity. ``splits.csv``: node and
    train, val, test or nothing.

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
    if has_targets:
        targets = read_targets(path / "targets.csv", target)
        names = targets.nodes
    elif has_labels:
        names, labels = _labels(path / "labels.csv")
    nodes = {name: i for i, name in enumerate(names)}
    described, columns = _features(path, nodes)  # may add nodes without a label
    edges, kinds = _edges(path / "edges.csv")
    _check_first_line(edges, nodes)
    if described is None:
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
    weight = np.array([row.number(2) for row in edges]) if weighted else None
    none = np.empty(0, dtype=np.int64)
    pairs, source = pairs.reshape(2, -1), path / "edges.csv"
    relations = None
    if kinds is None:
        edge_index, total = merged(pairs, weight, n, undirected, source)
    else:
        relations = {}
        for kind in dict.fromkeys(kinds):
            own = np.array([other == kind for other in kinds])
            of_kind = None if weight is None else weight[own]
            relations[kind] = merged(pairs[:, own], of_kind, n, undirected, source)
        # Together they are the sum of their parts, in which an edge may be of several kinds.
        edge_index, total = _summed(relations.values(), n)
    return Arrays(
        edge_index=edge_index,
        edge_weight=total,
        relations=relations,
        x=identity(n) if described is None else described,
        y=y,
        split=(none, none, none)
        if unlabelled
        else _split(path / "splits.csv", nodes, y)
        or (split_each_class(y, seed) if y.ndim == 1 else split_at_random(~is_unknown(y), seed)),
        classes=classes,
        targets=numbers,
        metric=metric,
        ids=tuple(nodes),
        columns=tuple(nodes) if described is None else columns,
    )


def _body(path: Path) -> list[Row]:
    """The rows below the header, if there is one."""
    rows = read_rows(path)
    return rows[1:] if rows[0].cells[0].lower() in HEADERS[path.name] else rows


def _edges(path: Path) -> tuple[list[Row], list[str] | None]:
    """The edges with their weights, if any, and the relation of each, if the header has one."""
    rows = read_rows(path)
    has_header = rows[0].cells[0].lower() in HEADERS[path.name]
    related = has_header and rows[0].cells[-1].lower() == "relation"
    rows = rows[1:] if has_header else rows
    if not related:
        check_widths(rows, 2, 3)
        return rows, None
    check_widths(rows, 3, 4)
    for row in rows:
        if row.cells[-1] in ("", *RESERVED):
            raise row.error(f"a relation cannot be called {row.cells[-1]!r}; choose another word")
    return [replace(row, cells=row.cells[:-1]) for row in rows], [row.cells[-1] for row in rows]


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


def _check_first_line(edges: list[Row], nodes: dict[str, int]) -> None:
    """Refuse column names that are not known as such: they would become two more nodes."""
    if len(edges) < 2:
        return
    first = edges[0].cells[:2]
    others = {name for row in edges[1:] for name in row.cells[:2]}
    if nodes and all(
        name[:1].isalpha() and name not in nodes and name not in others for name in first
    ):
        raise edges[0].error(
            f"{first[0]!r} and {first[1]!r} are in no other line or file; if they are column "
            "names, call them source and target"
        )


def _labels(path: Path) -> tuple[list[str], list[str]]:
    rows = _body(path)
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
    folder: Path, nodes: dict[str, int]
) -> tuple[Array | None, tuple[str, ...] | None]:  # x, and the names of its columns
    table, array = folder / "features.csv", folder / "features.npy"
    if table.is_file() and array.is_file():
        raise InputError(f"{folder} has features.csv and features.npy; remove one of them")
    if array.is_file():
        try:
            # Rows stay on disk until they are used; copy-on-write, for torch wants writable memory.
            x = np.load(array, mmap_mode="c", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{array} is no readable array of numbers ({error})") from None
        if not isinstance(x, np.ndarray) or x.ndim != 2 or x.dtype.kind not in "biuf":
            raise InputError(f"{array} must hold numbers in two dimensions, a row per node")
        if not nodes:
            nodes.update({str(i): i for i in range(len(x))})
        if len(x) != len(nodes):
            raise InputError(f"{array} has {len(x)} rows, but labels.csv names {len(nodes)} nodes")
        if not is_on_disk(x):
            check_finite(x, f"{array}: features")
        return (x if x.dtype == np.float32 else x.astype(np.float32)), None
    return _feature_table(table, nodes) if table.is_file() else (None, None)


def _feature_table(path: Path, nodes: dict[str, int]) -> tuple[Array, tuple[str, ...] | None]:
    rows = read_rows(path)
    named = rows[0].cells[0].lower() in HEADERS["features.csv"]
    check_widths(rows, len(rows[0].cells))
    columns = None
    if named or not _is_numeric(rows[0]):
        columns, rows = tuple(rows[0].cells[int(named) :]), rows[1:]
    if not named:
        if not nodes:
            nodes.update({str(i): i for i in range(len(rows))})
        if len(rows) != len(nodes):
            raise InputError(
                f"{path} has {len(rows)} rows of numbers, but labels.csv names {len(nodes)} nodes; "
                "give one row per node, or a first column under the header 'node'"
            )
        table = [[row.number(c) for c in range(len(row.cells))] for row in rows]
        return np.array(table, dtype=np.float32), columns
    found: dict[int, list[float]] = {}
    for row in rows:
        node = nodes.setdefault(row.cells[0], len(nodes))
        if node in found:
            raise row.error(f"node {row.cells[0]!r} is described twice")
        found[node] = [row.number(c) for c in range(1, len(row.cells))]
    for name, node in nodes.items():
        if node not in found:
            raise InputError(f"{path} has no row for node {name!r} of labels.csv; add one")
    return np.array([found[node] for node in range(len(nodes))], dtype=np.float32), columns


def _is_numeric(row: Row) -> bool:
    try:
        return bool([row.number(c) for c in range(len(row.cells))])
    except InputError:
        return False


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
    rows = _body(path)
    check_widths(rows, 1, 2)
    part, unknown = np.full(len(nodes), -1), is_unknown(y)
    for i, row in enumerate(rows):
        alone = len(row.cells) == 1
        if alone and i >= len(nodes):
            raise row.error(f"there are more lines than the {len(nodes)} nodes")
        node = i if alone else _node(row, 0, nodes)
        part[node] = part_of(row, len(row.cells) - 1)
        if part[node] >= 0 and unknown[node]:
            raise row.error("a node without a label cannot be part of the split")
    return np.flatnonzero(part == 0), np.flatnonzero(part == 1), np.flatnonzero(part == 2)
