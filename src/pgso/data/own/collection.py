"""A user's collection of graphs: files with a column ``graph``."""

from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, Arrays
from pgso.data.own.answers import Answers, read_answers, unlabelled
from pgso.data.own.edge_file import GRAPH, WITHIN, Edges
from pgso.data.own.feature_file import FeatureTable
from pgso.data.own.files import file_of
from pgso.data.own.kinds import gaps_of
from pgso.data.own.preparation import Preparation
from pgso.data.own.table import Row, check_widths, read_rows
from pgso.data.own.targets import NODE
from pgso.errors import InputError

MOST_DEGREES = 100  # of which each has a column, where nodes have no features


def load_collection(
    folder: Path,
    edges: Edges,
    seed: int,
    *,
    undirected: bool,
    metric: str,
    to_predict: bool,
    target: str | None,
    label_separator: str,
    preparation: Preparation | None,
) -> Arrays:
    """A graph task. Labels, targets and splits belong to graphs, features to nodes.

    A node belongs to the graph of its line, so that two graphs may have a node of the same name.
    Without features, the features of a node are its degree, one column a degree.
    """
    if edges.kinds is not None:
        raise InputError(
            f"{edges.path} has the columns graph and relation, but edges of several graphs are of "
            "one kind; remove the column relation"
        )
    seen = dict.fromkeys(name.partition(WITHIN)[0] for name in edges.names)
    answers = read_answers(folder, seen, target, needed=not to_predict, to_predict=to_predict)
    features = file_of(folder, "features")
    names, table = ((), None) if features is None else _features(features)
    described = edges.names if table is None else tuple(table)
    owners = [name.partition(WITHIN)[0] for name in described]
    graphs = {name: i for i, name in enumerate(dict.fromkeys([*answers.names, *owners]))}
    order = np.argsort([graphs[owner] for owner in owners], kind="stable")
    nodes = {described[old]: new for new, old in enumerate(order)}
    owner = np.array([graphs[owners[old]] for old in order], dtype=np.int64)
    sizes = np.bincount(owner, minlength=len(graphs))
    _check_sizes(answers, graphs, sizes, "edges" if table is None else "features")
    learned = unlabelled(len(graphs)) if to_predict else answers.on(len(graphs), label_separator)
    empty = np.empty(0, dtype=np.int64)
    split = (empty, empty, empty)
    if not to_predict:
        split = learned.split(file_of(folder, "splits"), graphs, seed)
    edge_index, weight = edges.merged(edges.on(nodes), nodes, undirected)
    columns: tuple[str, ...] | None = None
    if table is None:
        x, fitted = _degrees(edge_index, len(nodes)), None
    else:
        rows = [table[described[old]] for old in order]
        cells = FeatureTable(rows[0].path, names, rows, has_header=True)
        x, fitted = cells.prepare(np.flatnonzero(np.isin(owner, split[0])), preparation)
        columns = fitted.outputs or cells.names
    return Arrays(
        edge_index=edge_index,
        edge_weight=weight,
        x=x,
        y=learned.y,
        split=split,
        classes=learned.classes,
        targets=learned.numbers,
        metric=learned.metric(metric),
        nodes_per_graph=sizes,
        ids=tuple(graphs),
        columns=columns,
        preparation=fitted,
        gaps={} if table is None else gaps_of(names, tuple(table.values())),
    )


def _features(path: Path) -> tuple[tuple[str, ...], dict[str, Row]]:
    """The columns' names, and the rows by graph and node, both without these two columns."""
    header, *rows = read_rows(path)
    check_widths(rows, len(header.cells))
    words = [cell.lower() for cell in header.cells]
    key = next((c for c, word in enumerate(words) if word in NODE), None)
    if GRAPH not in words or key is None:
        raise header.error(
            f"the features of several graphs need the columns graph and node, as edges.csv has "
            f"graph; got {','.join(header.cells)[:60]!r}"
        )
    graph = words.index(GRAPH)
    # A first column without a name holds the numbers of rows, as pandas writes them.
    others = [c for c, word in enumerate(words) if c not in (graph, key) and (c or word)]
    table: dict[str, Row] = {}
    for row in rows:
        name = f"{row.cells[graph]}{WITHIN}{row.cells[key]}"
        if name in table:
            raise row.error(
                f"column {header.cells[key]!r}: node {row.cells[key]!r} of graph "
                f"{row.cells[graph]!r} is described twice, first in line {table[name].line}"
            )
        cells = row.with_points.cells
        table[name] = Row(path, row.line, [cells[c] for c in others])
    return tuple(header.cells[c] for c in others), table


def _check_sizes(answers: Answers, graphs: dict[str, int], sizes: Array, where: str) -> None:
    empty = next((name for name, i in graphs.items() if not sizes[i]), None)
    if empty is not None:
        raise InputError(
            f"{answers.path} has a graph {empty!r}, of which {where}.csv has no node; check its "
            "name, or leave it out"
        )


def _degrees(edge_index: Array, num_nodes: int) -> Array:  # (n, degrees)
    degree = np.minimum(np.bincount(edge_index[1], minlength=num_nodes), MOST_DEGREES)
    return np.eye(int(degree.max(initial=0)) + 1, dtype=np.float32)[degree]
