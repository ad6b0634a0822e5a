"""A user's folder or frames as a task: edges, labels or targets, and maybe features and splits."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgso.data.arrays import are_values, identity
from pgso.data.dataset import check_choice
from pgso.data.raw import read_text
from pgso.data.splits import split_by_seed
from pgso.data.tables import answers as about
from pgso.data.tables.answers import LABEL, SEVERAL, Answers
from pgso.data.tables.columns import TYPE, Preparation, prepared
from pgso.data.tables.edges import Edges, nodes_of, read_edges
from pgso.data.tables.names import WITHIN
from pgso.data.tables.reader import frame_table, read_table
from pgso.data.tables.table import GRAPH, NODE, Table
from pgso.data.task import Task
from pgso.errors import InputError, RowError
from pgso.records.files import file_kind

MOST_DEGREES = 100  # of which each has a column, where nodes have no features
NAMES, OTHER = "(edge|feature|node|label|target|split)", "(xlsx?|ods|jsonl?|np[yz]|pkl|csv.*)"
UNREAD = re.compile(rf"(?i){NAMES}s?\.{OTHER}")  # forms that are not read
NEEDED = "a dataset needs edges.csv and labels.csv (or targets.csv)"
ANSWER = (*LABEL, "target", "y")  # columns of features that may hold the answers


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may say about a folder: ``--option NAME=VALUE``."""

    undirected: bool = True  # whether an edge goes both ways, however often it is listed
    unlabelled: bool = False  # to predict on: labels say no more than which nodes there are
    target: str | tuple[str, ...] | None = None  # the one column of labels or features to learn
    weight: str | None = None  # the column of edges that holds the weights
    label_separator: str = SEVERAL  # of several labels of one node; "": there is one label
    missing: str | None = None  # a label that stands for an unknown one, such as -1; or "none"
    rows: str = "named"  # "in_order": row k of features is node k of labels
    unknown: str = "refuse"  # "drop" leaves out edges to nodes that no other file names
    bad_rows: str = "refuse"  # "skip" leaves out rows with a cell that cannot be read


@dataclass(frozen=True, eq=False, kw_only=True)
class Tables(Options):
    """What a user has, and what was said about it. A folder and frames both become this."""

    where: str  # the folder, for errors
    seed: int
    edges: Table | None = None
    features: Table | None = None
    array: Path | None = None  # features.npy
    labels: Table | None = None
    targets: Table | None = None
    splits: Table | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)  # what columns.json says
    key: str | None = None  # the column that names the nodes
    split_by: str | None = None  # the column of features that splits the nodes
    preparation: Preparation | None = None
    known: Collection[str] = ()  # other nodes that edges may lead to: those of a saved model
    notes: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The table that names the nodes first."""
        tables = (self.labels, self.targets, self.features)
        return next((table.path.name for table in tables if table is not None), "labels.csv")


def load_folder(
    path: Path,
    root: Path,
    seed: int,
    *,
    preparation: Preparation | None = None,
    known: Collection[str] = (),
    **options: Any,
) -> Task:
    """The task of a folder; a saved model brings ``preparation`` and nodes that are ``known``."""
    files: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        kind = file_kind(file.name)
        if kind is None:
            continue
        if not file.is_file():
            raise InputError(f"{file} is not a file; write a file there, or remove it")
        if kind in files:
            raise InputError(f"{path} has {files[kind].name} and {file.name}; remove one of them")
        files[kind] = file
    for file in sorted(path.iterdir()):
        unread = UNREAD.fullmatch(file.name)
        if unread and not file_kind(file.name) and file_kind(f"{unread[1]}.csv") not in files:
            forms = ".csv, .tsv, .txt (maybe .gz) or .parquet"
            raise InputError(f"{file} is not read; save it as {forms}, or remove it")
    if "edges" not in files and not (options.get("unlabelled") and known and "features" in files):
        others = sorted(file.name for file in path.iterdir() if file.is_file())[:8]
        listed = "; it has " + ", ".join(others) if others else ""
        edges = [name for name in others if re.search(r"(?i)edge|link|relation|graph", name)]
        meant = f"; rename {edges[0]} to edges.csv" if len(edges) == 1 else ""
        nodes = "in place of labels.csv --option target=COLUMN may name a column of features.csv"
        raise InputError(f"{path} has no edges.csv{listed}{meant}; {NEEDED}; {nodes}")
    if "array" in files and "features" in files:
        raise InputError(f"{path} has {files['features'].name} and features.npy; remove one")
    given: dict[str, Any] = {"array": files.pop("array", None)}
    if "columns" in files:
        try:
            kinds = json.loads(read_text(files["columns"]))
        except (ValueError, RecursionError) as error:
            kinds = f"not readable as JSON, {str(error)[:200]}"
        if not isinstance(kinds, dict):
            form = f'must be {{"column": "kind", ...}}, got {str(kinds)[:200]!r}'
            raise InputError(f"{files['columns']} {form}")
        given["kinds"] = kinds
        del files["columns"]
    for kind, file in files.items():
        given[kind] = read_table(file, least=2 if kind == "edges" else 1)
    if {*given.get("kinds", ())} - {"rows"} and "features" not in given:
        raise InputError(f"{path} has columns.json and no features.csv, whose columns it names")
    given |= {"preparation": preparation, "known": known, **options}
    return _task(Tables(where=str(path), seed=seed, **given))


def frame_task(
    nodes: pd.DataFrame | None, edges: pd.DataFrame | None, seed: int, **options: Any
) -> Task:
    """The task of two frames by the same rules as files; options are those of :class:`Tables`."""
    features = None if nodes is None else frame_table(nodes, Path("nodes"))
    listed = None if edges is None else frame_table(edges, Path("edges"))
    given = Tables(where="the frames", seed=seed, features=features, edges=listed, **options)
    return _task(given)


def _task(given: Tables) -> Task:
    """The task of tables; rows that cannot be read may be skipped, with edges to their nodes."""
    check_choice("rows", given.rows, ("named", "in_order"))
    check_choice("unknown", given.unknown, ("refuse", "drop"))
    check_choice("bad_rows", given.bad_rows, ("refuse", "skip"))
    if "rows" in given.kinds and (given.features is None or "rows" not in given.features.top):
        check_choice('"rows" in columns.json', given.kinds["rows"], ("in order",))
        given = replace(given, rows="in_order")
    while True:
        try:
            return _read(given)
        except RowError as error:
            changes: dict[str, Any] = {"unknown": "drop"}
            changes["notes"] = (*given.notes, f"left out: {error}")
            for name in ("edges", "features", "labels", "targets", "splits"):
                table = getattr(given, name)
                if table is not None and str(table.path) == error.table:
                    left = table.take(table.lines != error.row)
                    changes |= {name: left} if 0 < len(left.lines) < len(table.lines) else {}
            if given.bad_rows != "skip" or len(changes) < 3:
                raise
        given = replace(given, **changes)


def _read(given: Tables) -> Task:
    """A node task; or a graph task where edges have a column ``graph``, whose nodes are its own."""
    notes, ends, in_doubt = list(given.notes), set[str](), set[str]()
    listed, graph = given.edges, None
    if listed is not None:
        listed, ends, in_doubt = nodes_of(listed)
        graph = listed.named(GRAPH)
    if listed is not None and graph is not None:
        if given.array is not None:
            raise InputError(f"{given.array} names no graphs; write features.csv: graph,node,...")
        answers, _ = _answers(replace(given, features=None), set(listed.cells(graph)))
        about_nodes = None
    else:
        answers, left = _answers(given, ends, in_doubt)
        given, about_nodes = replace(given, features=left), answers
    names = [] if about_nodes is None else about_nodes.names
    table, array = None, None
    if given.features is not None:
        names, table = about.described_nodes(given, about_nodes, ends, graph, notes)
    elif given.array is not None:
        array = about.read_array(given.array, len(names))
        names = names or [str(i) for i in range(len(array))]
    known = {*given.known}
    if listed is not None:
        edges = read_edges(listed, known.union(names), given.weight)
    else:
        columns, none = ("source", "target"), np.zeros((2, 0), dtype=np.int64)
        frame = pd.DataFrame(columns=columns)
        nowhere = Table(Path(given.where), frame, none[0], has_header=True)
        edges = Edges(nowhere, columns, pd.Index([], dtype=object), none)
    if table is None and array is None:
        names = about.with_ends(given, about_nodes, edges, notes)
    described, others = len(names), known.difference(names)
    nodes = pd.Index([*names, *(name for name in edges.names if name in others)], dtype=object)
    items, owner, sizes, where = nodes, np.arange(len(nodes)), None, given.source
    if graph is not None:
        if edges.kinds is not None:
            problem = "has the columns graph and relation, but edges of several graphs are alike"
            raise InputError(f"{edges.table.path} {problem}; remove the column relation")
        where = where if table is None else table.path.name
        names = [] if answers is None else answers.names
        owners = [name.partition(WITHIN)[0] for name in nodes]
        items = pd.Index(dict.fromkeys([*names, *owners]), dtype=object)
        order = np.argsort(items.get_indexer(owners), kind="stable")
        owner = items.get_indexer(owners)[order]
        sizes = np.bincount(owner, minlength=len(items))
        if not sizes.all():
            problem = f"{given.source} has a graph {items[int(sizes.argmin())]!r}"
            nodes_in = (edges.table if table is None else table).path.name
            raise InputError(f"{problem}, of which {nodes_in} has no node; check its name")
        nodes, table = nodes[order], table and table.take(order)
    edges = edges.on(nodes, given.unknown, where)
    learned = learned_of(given, answers, items)
    if graph is None and table and TYPE in table.names and described == len(nodes):
        edges = edges.between(table.cells(TYPE), given.undirected)
    graphs, notes_of_edges = edges.merged(given.undirected)
    features: dict[str, Any]
    if table is not None:
        train = np.flatnonzero(np.isin(owner, learned["split"][0]))
        if not table.names:
            problem = "names the nodes and has no other column"
            raise InputError(f"{table.path} {problem}; add one, or remove the file")
        features = prepared(table, train, given.kinds, given.preparation)
        if not features["columns"]:
            if given.labels is not None or given.targets is not None:
                form = f'{{"{table.names[0]}": "category"}}'
                problem = f"{table.path}: every column is left out"
                raise InputError(f"{problem}; say in columns.json what they are, such as {form}")
            # The table is there for the answers, and its other columns are names.
            features |= {"x": identity(len(table.lines)), "columns": table.names}
        features["columns"] = features["columns"] if table.has_header else None
    elif array is not None:
        features = {"x": array}
    elif graph is None:
        features = {"x": identity(len(nodes)), "columns": tuple(nodes)}
    else:  # the degree of each node, one column a degree
        degree = np.bincount(graphs["edge_index"][1], minlength=len(nodes)).clip(max=MOST_DEGREES)
        features = {"x": np.eye(int(degree.max(initial=0)) + 1, dtype=np.float32)[degree]}
    if described < len(nodes) and (table is not None or array is not None):
        x = features["x"]
        below = np.zeros((len(nodes) - described, x.shape[1]), x.dtype)
        features["x"] = np.concatenate([x, below])
    return Task.from_arrays(
        given.where,
        **graphs,
        **features,
        **learned,
        nodes_per_graph=sizes,
        ids=tuple(items),
        notes=(*notes, *notes_of_edges),
        of_a_model=len(nodes) - described,
    )


def _answers(
    given: Tables, nodes: Collection[str], in_doubt: Collection[str] = ()
) -> tuple[Answers | None, Table | None]:
    """The answers on nodes or graphs, which edges name, and the table of features without them."""
    features, labels, targets = given.features, given.labels, given.targets
    if labels is not None and targets is not None and not given.unlabelled:
        both = f"{labels.path.name} and {targets.path.name}"
        raise InputError(f"{given.where} has {both}; remove one of them")
    table = labels if targets is None else targets
    if table is not None:
        assert not isinstance(given.target, tuple)
        numbers, learn = targets is not None, not given.unlabelled
        return about.read_answers(table, nodes, given.target, numbers, in_doubt, learn), features
    choose = ""
    if features is not None:
        features = features.with_header((*NODE, *ANSWER, TYPE), nodes, "node,...", wide=True)
        columns = (given.target,) if isinstance(given.target, str) else given.target or ()
        features.check_has(*columns, given.split_by)
        called = features.named(ANSWER)
        if not columns and called is not None and not given.unlabelled:
            columns = (called,)
        if columns:  # which are not features
            key = about.feature_key(given, features, nodes, columns)
            left = features.without(*columns, given.split_by or about.split_column(features))
            rest = left if len(left.names) > (key is not None) else None
            if given.unlabelled:
                return None, rest
            if key is not None:
                features.check_names(key, "described")
            # Numbers have fractions, or too many values for classes.
            known = ~np.isin(features.cells(columns[0]), (*about.UNKNOWN, "NA"))
            values = features.parsed(columns[0]).values[known]
            look_so = len(values) > 0 and bool(np.isfinite(values).all()) and are_values(values)
            numbers = columns[0].lower() not in LABEL and (len(columns) > 1 or look_so)
            return Answers(features, key, columns, numbers), rest
        listed = f"{features.path.name} ({', '.join(features.names[:8])})"
        choose = f"choose a column of {listed} with --option target=COLUMN, or write one: "
    if not given.unlabelled:
        raise InputError(f"{given.where} has no labels.csv; {choose}{NEEDED}")
    return None, features


def learned_of(given: Tables, answers: Answers | None, items: "pd.Index[str]") -> dict[str, Any]:
    """The answers on nodes or graphs as :meth:`Task.from_arrays` takes them, with their split."""
    if answers is None or given.unlabelled:
        none = np.empty(0, dtype=np.int64)
        return {"y": np.full(len(items), -1), "split": (none, none, none)}
    if answers.are_numbers:
        known, classes, targets = answers.numbers()
    else:
        known, classes, targets = answers.labels(given.label_separator, given.missing)
    y = np.full((len(items), *known.shape[1:]), -1 if known.ndim == 1 else np.nan, known.dtype)
    y[: len(known)] = known  # items with an answer come first
    column = given.split_by or about.split_column(answers.table)
    if given.splits is not None:
        if column is not None:
            both = f"{answers.table.path} has a column {column!r} beside {given.splits.path.name}"
            raise InputError(f"{both}; remove one of them")
        split = about.read_split(given.splits, items, y, len(answers.table.lines))
    elif column is not None:
        split = about.read_split(answers.table, items, y, len(answers.table.lines), column)
    else:
        split = split_by_seed(y, given.seed)
    metric = "rmse" if targets else "accuracy" if y.ndim == 1 else "multilabel_roc_auc"
    return {"y": y, "classes": classes, "targets": targets, "split": split, "metric": metric}
