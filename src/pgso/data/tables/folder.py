"""A user's folder or frames: edges, labels or targets, and maybe features and splits."""

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgso.data.tables.answers import SEVERAL
from pgso.data.tables.columns import Preparation, gaps_of
from pgso.data.tables.edges import GRAPH, WITHIN, read_edges
from pgso.data.tables.nodes import NEEDED, Tables, find_answers, node_task
from pgso.data.tables.reader import frame_table, read_table
from pgso.data.tables.table import NODE, Table
from pgso.data.task import Task
from pgso.errors import InputError, RowError
from pgso.records.fingerprint import file_kind

MOST_DEGREES = 100  # of which each has a column, where nodes have no features


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
    missing: str | None = None,
    rows: str = "named",
    unknown: str = "refuse",
    bad_rows: str = "refuse",
    preparation: Preparation | None = None,
    known: Collection[str] = (),
) -> Task:
    """A node or graph task from files. Ids and labels may be any words; headers may be missing.

    Cells are separated by commas, tabs or semicolons; a file may be Parquet, or gzipped.

    ``edges``: source, target and, if edges are weighted, weight. Under a header, a column
    ``relation`` says of which kind an edge is, and a column ``graph`` to which of several graphs it
    belongs. ``labels``: node and label (empty: unknown; ``red|blue``: two labels of one node); with
    labels alone, the nodes are called 0, 1, ... In its place, ``targets``: node and numbers (empty:
    missing) under a header. ``features``: node and numbers, words, dates, yes or no, or nothing,
    under a header. Its columns are prepared (:class:`Preparation`) on the training rows, and
    ``columns.json`` may say how. A column ``type`` says what a node is; edges between two types
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
        target: The one column of ``targets.csv``, ``labels.csv`` or ``features.csv`` to learn.
        weight: The column of ``edges.csv`` that holds the weights, if it is called otherwise.
        label_separator: What separates several labels of one node; ``""``: there is one label.
        missing: A label that stands for an unknown one, such as -1; ``"none"``: there is none.
        rows: ``"in_order"``: row k of ``features.csv`` is node k of ``labels.csv``.
        unknown: ``"drop"`` leaves out edges to nodes that no other file names.
        bad_rows: ``"skip"`` leaves out rows with a cell that cannot be read; notes list them.
        preparation: How a saved model prepares features; by default it is learned on these data.
        known: Nodes of a saved model, which edges may lead to. Those that do have features of 0.
    """
    options = {name: value for name, value in locals().items() if name not in ("path", "root")}
    files = files_of(path)
    if "edges" not in files and not (unlabelled and known and "features" in files):
        raise InputError(f"{path} has no edges.csv{_advice(path)}")
    if "array" in files and "features" in files:
        raise InputError(
            f"{path} has {files['features'].name} and features.npy; remove one of them"
        )
    given: dict[str, Any] = {"edges": None}
    given |= {kind: files.pop(kind) for kind in ("array", "kinds") if kind in files}
    for kind, file in files.items():
        given[kind] = read_table(file, least=2 if kind == "edges" else 1)
    return _task(Tables(where=str(path), **given, **options))


def frame_task(
    nodes: pd.DataFrame | None, edges: pd.DataFrame | None, seed: int, **options: Any
) -> Task:
    """The task of two frames, by the same rules as files.

    Args:
        nodes: A row per node: names, features of any kind, and the column to learn.
        edges: A row per edge.
        seed: Of the split.
        options: Of :class:`Tables`.
    """
    tables: dict[str, Any] = {
        "features": None if nodes is None else frame_table(nodes, Path("nodes")),
        "edges": None if edges is None else frame_table(edges, Path("edges")),
    }
    return _task(Tables(where="the frames", seed=seed, **tables, **options))


def _task(given: Tables) -> Task:
    """The task of tables, without rows that cannot be read if they are to be skipped."""
    while True:
        edges = given.edges
        try:
            if edges is not None and set(GRAPH) & set(map(str.lower, edges.top)):
                return _collection(given, edges)
            return node_task(given)
        except RowError as error:
            if given.bad_rows != "skip":
                raise
            given = _without_row(given, error)


def _without_row(given: Tables, error: RowError) -> Tables:
    """The same without the row that an error is about, and without edges to its node."""
    for name in ("edges", "features", "labels", "targets"):
        table = getattr(given, name)
        if table is not None and str(table.path) == error.table:
            left = np.flatnonzero(np.asarray(table.lines) != error.row)
            shorter: dict[str, Any] = {name: table.take(left)}
            if 0 < len(left) < len(table):
                notes = (*given.notes, f"left out: {error}")
                return replace(given, **shorter, unknown="drop", notes=notes)
    raise error


def files_of(folder: Path) -> dict[str, Path]:
    """The files of a folder by what they hold: edges, features, labels, targets, splits, ...

    Names count in any case, in the singular too: ``Edges.CSV``, ``label.tsv``, ``edges.csv.gz``.
    """
    files: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        kind = file_kind(file.name)
        if kind is None:
            continue
        kind = "kinds" if kind == "columns" else kind
        if not file.is_file():
            raise InputError(f"{file} is not a file; write a file there, or remove it")
        if kind in files:
            raise InputError(f"{folder} has {files[kind].name} and {file.name}; remove one of them")
        files[kind] = file
    return files


def _advice(folder: Path) -> str:
    """What to do about a folder without edges.csv, by the names of its files."""
    needs = f"; {NEEDED}"
    others = sorted(file.name for file in folder.iterdir() if file.is_file())[:8]
    if not others:
        return needs
    edges = [name for name in others if re.search(r"(?i)edge|link|relation|graph", name)]
    meant = f"; rename {edges[0]} to edges.csv" if len(edges) == 1 else ""
    return (
        f"; it has {', '.join(others)}{meant}{needs}: one folder for each dataset, with the edges "
        "in edges.csv, the table of nodes in features.csv, and --option target=COLUMN for its "
        "column of answers"
    )


def _collection(given: Tables, listed: Table) -> Task:
    """A graph task. Labels, targets and splits belong to graphs, features to nodes.

    A node belongs to the graph of its line, so that two graphs may have a node of the same name.
    Without features, the features of a node are its degree, one column a degree.
    """
    edges = read_edges(listed, set(), given.weight)
    if edges.kinds is not None:
        raise InputError(
            f"{listed.path} has the columns graph and relation, but edges of several graphs "
            "are of one kind; remove the column relation"
        )
    column = edges.table.named(GRAPH)
    assert column is not None
    answers, _ = find_answers(given, set(edges.table.cells(column)))
    names = [] if answers is None else answers.names
    described, table = edges.names, None
    if given.features is not None:
        described, table = _nodes_of_graphs(given.features)
    owners = np.array([name.partition(WITHIN)[0] for name in described], dtype=object)
    graphs = pd.Index(dict.fromkeys([*names, *owners]), dtype=object)
    places = graphs.get_indexer(owners)
    order = np.argsort(places, kind="stable")
    nodes, owner = described[order], places[order]
    sizes = np.bincount(owner, minlength=len(graphs))
    where = listed.path.name if table is None else table.path.name
    if not sizes.all():
        raise InputError(
            f"{given.source} has a graph {graphs[int((sizes == 0).argmax())]!r}, of which {where} "
            "has no node; check its name, or leave it out"
        )
    learned = given.learned(answers, len(graphs))
    split = given.split(answers, learned, graphs)
    edges, pairs = edges.on(nodes, given.unknown, given.source if table is None else where)
    merged, told = edges.merged(pairs, len(nodes), given.undirected)
    edge_index, weight = merged[0]
    columns, fitted = None, None
    if table is None:
        degree = np.minimum(np.bincount(edge_index[1], minlength=len(nodes)), MOST_DEGREES)
        x = np.eye(int(degree.max(initial=0)) + 1, dtype=np.float32)[degree]
    else:
        table = table.take(order)
        x, fitted = given.prepare(table, np.flatnonzero(np.isin(owner, split[0])))
        columns = fitted.outputs or table.names
    return Task.from_arrays(
        given.where,
        edge_index=edge_index,
        edge_weight=weight,
        x=x,
        y=learned.y,
        split=split,
        classes=learned.classes,
        targets=learned.numbers,
        metric=learned.metric(given.metric),
        nodes_per_graph=sizes,
        ids=tuple(graphs),
        columns=columns,
        preparation=fitted,
        gaps={} if table is None else gaps_of(table),
        notes=(*given.notes, *edges.notes, *told),
    )


def _nodes_of_graphs(table: Table) -> "tuple[pd.Index[str], Table]":
    """The nodes by graph and name, and their features without these two columns."""
    table = table.with_header((*NODE, *GRAPH), (), "graph,node,...")
    graph, key = table.named(GRAPH), table.named(NODE)
    if graph is None or key is None:
        raise table.header_error(
            "the features of several graphs need the columns graph and node, as edges.csv has "
            f"graph; got {','.join(table.top)[:60]!r}"
        )
    names = pd.Index(table.cells(graph) + WITHIN + table.cells(key), dtype=object)
    twice = names.duplicated()
    if twice.any():
        row = int(twice.argmax())
        first = table.lines[int((names == names[row]).argmax())]
        raise table.line_error(
            row,
            f"{table.place(key)}: node {table.cells(key)[row]!r} of graph "
            f"{table.cells(graph)[row]!r} is described twice, first in line {first}",
        )
    return names, table.without(graph, key, "")
