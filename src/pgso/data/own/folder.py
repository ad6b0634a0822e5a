"""A user's folder: edges, labels or targets, and maybe features and splits."""

from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Arrays, identity
from pgso.data.limits import check_relations
from pgso.data.own.answers import SEVERAL, Answers, read_answers
from pgso.data.own.answers import unlabelled as nothing_to_learn
from pgso.data.own.collection import load_collection
from pgso.data.own.edge_file import Edges, read_edges
from pgso.data.own.feature_file import FeatureTable, read_array, read_table
from pgso.data.own.files import file_of
from pgso.data.own.kinds import TYPE, gaps_of
from pgso.data.own.preparation import Preparation
from pgso.data.own.table import alike
from pgso.errors import InputError

MOST_TYPES = 10  # above which the column is a feature like any other


def load_folder(
    path: Path,
    root: Path,
    seed: int,
    *,
    undirected: bool = True,
    metric: str = "auto",
    unlabelled: bool = False,
    target: str | None = None,
    weight: str | None = None,
    label_separator: str = SEVERAL,
    preparation: Preparation | None = None,
) -> Arrays:
    """A node or graph task from files. Ids and labels may be any words; headers may be missing.

    Cells are separated by commas, tabs or semicolons; each file may be Parquet instead of CSV.

    ``edges``: source, target and, if edges are weighted, weight. Under a header, a column
    ``relation`` says of which kind an edge is, and a column ``graph`` to which of several graphs it
    belongs (:func:`load_collection`). ``labels``: node and label (empty: unknown; ``red|blue``:
    two labels of one node); with labels alone, the nodes are called 0, 1, ... In its place,
    ``targets``: node and numbers (empty: missing) under a header. ``features``: node and
    numbers, words, dates, yes or no, or nothing, under a header; or without the nodes' names, in
    the order of the labels. Its columns are prepared (:class:`Preparation`) on the training rows,
    and ``columns.json`` may say how. A column ``type`` says what a node is; edges between two types
    are a relation then. ``features.npy``: numbers, taken as they are; without either,
    x is the identity. ``splits``: node and train, val, test or nothing.

    Args:
        path: The folder.
        root: Not used.
        seed: Of the split, 60/20/20 (of each class), where there is no ``splits.csv``.
        undirected: Whether an edge goes both ways, however often it is listed.
        metric: The objective; ``"auto"``: accuracy of classes, RMSE of numbers, mean ROC-AUC of
            several labels, or of several columns of 0 and 1.
        unlabelled: To predict on: ``labels.csv`` says no more than which nodes there are, and may
            be missing.
        target: The one column of ``targets.csv`` or ``labels.csv`` to learn.
        weight: The column of ``edges.csv`` that holds the weights, if it has more than one more.
        label_separator: What separates several labels of one node; ``""``: there is one label.
        preparation: How a saved model prepares features; by default it is learned on these data.
    """
    edge_file = file_of(path, "edges")
    if edge_file is None:
        raise InputError(
            f"{path} has no edges.csv; a dataset needs edges.csv and labels.csv (or targets.csv)"
        )
    listed = read_edges(edge_file, weight)
    if listed.edges.has_graphs:
        return load_collection(
            path,
            listed.edges,
            seed,
            undirected=undirected,
            metric=metric,
            to_predict=unlabelled,
            target=target,
            label_separator=label_separator,
            preparation=preparation,
        )
    ends = set(listed.edges.names)
    answers = read_answers(
        path, ends, target, needed=not unlabelled, to_predict=unlabelled, words=listed.words
    )
    nodes = {name: i for i, name in enumerate(answers.names)}
    array, table = _features(path, nodes, ends)  # may add nodes without a label
    edges = listed.with_first(nodes)
    if array is None and table is None:
        if answers.path is not None and edges.names and not set(edges.names) & set(nodes):
            raise InputError(
                f"{answers.path} and {edge_file.name} have no node in common: one names "
                f"{answers.names[0]!r}, the other {edges.names[0]!r}; write names alike in both"
            )
        _check_names(answers, edges)
        for name in edges.names:
            nodes.setdefault(name, len(nodes))
    n = len(nodes)
    learned = nothing_to_learn(n) if unlabelled else answers.on(n, label_separator)
    pairs = edges.on(nodes)
    none = np.empty(0, dtype=np.int64)
    split = (none, none, none)
    if not unlabelled:
        split = learned.split(file_of(path, "splits"), nodes, seed)
    columns = None if array is not None else tuple(nodes)
    fitted = None
    if table is not None:
        edges = _between_types(edges, pairs, table, undirected)
        array, fitted = table.prepare(split[0], preparation)
        columns = (fitted.outputs or table.names) if table.has_header else None
    relations = None
    if edges.kinds is None:
        edge_index, total = edges.merged(pairs, nodes, undirected)
    else:
        relations = {}
        check_relations(len(edges.relations), edge_file)
        for kind, name in enumerate(edges.relations):
            relations[name] = edges.merged(pairs, nodes, undirected, edges.kinds == kind)
        # Together they are the sum of their parts, in which an edge may be of several kinds.
        edge_index, total = _summed(relations.values(), n)
    return Arrays(
        edge_index=edge_index,
        edge_weight=total,
        relations=relations,
        x=identity(n) if array is None else array,
        y=learned.y,
        split=split,
        classes=learned.classes,
        targets=learned.numbers,
        metric=learned.metric(metric),
        ids=tuple(nodes),
        columns=columns,
        preparation=fitted,
        gaps={} if table is None else gaps_of(table.names, table.rows),
    )


def _check_names(answers: Answers, edges: Edges) -> None:
    """Refuse a node that is written in two ways, such as 07 and 7: it would be two nodes."""
    labelled, written = set(answers.names), {alike(name): name for name in answers.names}
    for name in edges.names if answers.path is not None else ():
        if name not in labelled and written.setdefault(alike(name), name) != name:
            other = written[alike(name)]
            where = answers.path if other in labelled else edges.path
            raise InputError(
                f"{where} names {other!r} and {edges.path.name} {name!r}, which look like the same "
                "node; write names alike everywhere"
            )


def _between_types(edges: Edges, pairs: Array, table: FeatureTable, undirected: bool) -> Edges:
    """Edges whose relation is the pair of their ends' types, such as ``user-film``.

    Only where nodes have types and edges no relation of their own. An undirected edge between the
    same two types has one name, whichever end comes first.
    """
    if edges.kinds is not None or TYPE not in table.names:
        return edges
    column = table.names.index(TYPE)
    cells = [row.cells[column] for row in table.rows]
    types = {name: k for k, name in enumerate(dict.fromkeys(cells))}
    if not 1 < len(types) <= MOST_TYPES or "" in types:
        return edges
    code = np.array([types[cell] for cell in cells])[pairs]  # (2, E)
    key = code[0] * len(types) + code[1]
    if undirected:
        reverse = code[1] * len(types) + code[0]
        listed = list(dict.fromkeys(key.tolist()))
        later = {
            listed[b] for b in range(len(listed)) if _reversed(listed[b], len(types)) in listed[:b]
        }
        key = np.where(np.isin(key, list(later)), reverse, key)
    distinct, kinds = np.unique(key, return_inverse=True)
    names = list(types)
    relations = tuple(f"{names[k // len(types)]}-{names[k % len(types)]}" for k in distinct)
    return edges._replace(kinds=kinds, relations=relations)


def _reversed(key: int, count: int) -> int:
    return key % count * count + key // count


def _summed(
    parts: Iterable[tuple[Array, Array | None]], num_nodes: int
) -> tuple[Array, Array | None]:
    """All edges of several graphs; those that several have are summed."""
    given = list(parts)
    edges = np.concatenate([index for index, _ in given], axis=1)
    weights = [np.ones(index.shape[1]) if w is None else w for index, w in given]
    n = max(num_nodes, 1)
    key, group = np.unique(edges[1] * n + edges[0], return_inverse=True)
    total = np.bincount(group, weights=np.concatenate(weights), minlength=len(key))
    return np.stack([key % n, key // n]), None if (total == 1).all() else total


def _features(
    folder: Path, nodes: dict[str, int], ends: Collection[str]
) -> tuple[Array | None, FeatureTable | None]:
    table, array = file_of(folder, "features"), folder / "features.npy"
    if table is not None and array.is_file():
        raise InputError(f"{folder} has {table.name} and features.npy; remove one of them")
    if array.is_file():
        return read_array(array, nodes), None
    return None, read_table(table, nodes, ends) if table is not None else None
