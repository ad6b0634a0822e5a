"""A user's folder or frames: edges, labels or targets, and maybe features and splits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgso.data.arrays import Array, Arrays, Split, check_finite, identity, is_on_disk
from pgso.data.raw import check_relations
from pgso.data.tables.answers import (
    LABEL,
    SEVERAL,
    Answers,
    Learned,
    check_distinct,
    look_like_numbers,
    read_answers,
    read_split,
    split_column,
)
from pgso.data.tables.answers import unlabelled as nothing_to_learn
from pgso.data.tables.columns import (
    TYPE,
    Preparation,
    check_kinds,
    fit_preparation,
    gaps_of,
    read_kinds,
)
from pgso.data.tables.edges import GRAPH, WITHIN, Edges, nodes_of, read_edges
from pgso.data.tables.table import (
    ID,
    NODE,
    Table,
    alike,
    counts_from_1,
    frame_table,
    is_number,
    key_of,
    read_table,
    repair_of,
)
from pgso.errors import InputError
from pgso.records.fingerprint import file_kind

if TYPE_CHECKING:
    import pandas as pd

MOST_TYPES = 10  # above which the column is a feature like any other
MOST_DEGREES = 100  # of which each has a column, where nodes have no features
IN_ORDER = "in_order"
NEEDED = "a dataset needs edges.csv and labels.csv (or targets.csv)"
ANSWER = (*LABEL, "target", "y")  # columns of features that may hold the answers


@dataclass(frozen=True, eq=False, kw_only=True)
class Tables:
    """What a user has, and what was said about it. A folder and frames both become this."""

    where: str  # the folder, for errors
    edges: Table
    features: Table | None = None
    array: Path | None = None  # features.npy
    labels: Table | None = None
    targets: Table | None = None
    splits: Table | None = None
    kinds: Path | Mapping[str, str] = field(default_factory=dict)  # columns.json, or what it says
    seed: int = 0
    undirected: bool = True
    metric: str = "auto"
    unlabelled: bool = False
    target: str | tuple[str, ...] | None = None
    weight: str | None = None
    label_separator: str = SEVERAL
    missing: str | None = None
    rows: str = "named"
    unknown: str = "refuse"
    key: str | None = None  # the column that names the nodes
    split_by: str | None = None  # the column of features that splits the nodes
    preparation: Preparation | None = None

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("rows", self.rows, ("named", IN_ORDER)),
            ("unknown", self.unknown, ("refuse", "drop")),
        ):
            if value not in allowed:
                raise InputError(f"{option} must be {' or '.join(allowed)}; got {value!r}")

    @property
    def source(self) -> str:
        """The table that names the nodes first."""
        tables = (self.labels, self.targets, self.features)
        return next((table.path.name for table in tables if table is not None), "labels.csv")

    def arrays(self) -> Arrays:
        """The task of these tables."""
        if self.edges.place(GRAPH) is not None or (
            self.edges.header is None and set(GRAPH) & set(map(str.lower, self.edges.first))
        ):
            return _collection(self)
        return _nodes(self)


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
    preparation: Preparation | None = None,
) -> Arrays:
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
        preparation: How a saved model prepares features; by default it is learned on these data.
    """
    files = files_of(path)
    if "edges" not in files:
        raise InputError(f"{path} has no edges.csv{_advice(path)}")
    array = files.pop("array", None)
    if array is not None and "features" in files:
        raise InputError(
            f"{path} has {files['features'].name} and features.npy; remove one of them"
        )
    kinds: Any = files.pop("columns", {})
    tables: dict[str, Any] = {kind: read_table(file) for kind, file in files.items()}
    return Tables(
        where=str(path),
        **tables,
        array=array,
        kinds=kinds,
        seed=seed,
        undirected=undirected,
        metric=metric,
        unlabelled=unlabelled,
        target=target,
        weight=weight,
        label_separator=label_separator,
        missing=missing,
        rows=rows,
        unknown=unknown,
        preparation=preparation,
    ).arrays()


def files_of(folder: Path) -> dict[str, Path]:
    """The files of a folder by what they hold: edges, features, array, labels, targets, splits.

    Names count in any case, in the singular too: ``Edges.CSV``, ``label.tsv``, ``edges.csv.gz``.
    """
    files: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        kind = file_kind(file.name)
        if kind is None:
            continue
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


def _nodes(given: Tables) -> Arrays:
    """A node task: one graph."""
    import pandas as pd

    notes: list[str] = []
    ends, in_doubt = nodes_of(given.edges)
    answers, table = _answers(given, ends, in_doubt)
    names = [] if answers is None else answers.names
    array = None
    if given.array is not None:
        array = _array(given.array, names)
        names = names or [str(i) for i in range(len(array))]
    if table is not None:
        names, table = _features(given, table, answers, names, ends, notes)
    edges = read_edges(given.edges, set(names), given.weight)
    if array is None and table is None:
        names = _with_ends(given, answers, names, edges, notes)
    nodes = pd.Index(names, dtype=object)
    n = len(nodes)
    edges, pairs = edges.on(nodes, given.unknown, given.source)
    learned = nothing_to_learn(n)
    if answers is not None and not given.unlabelled:
        learned = answers.on(n, given.label_separator, given.missing)
    split = _split(given, answers, learned, nodes)
    columns = None if array is not None else tuple(names)
    fitted = None
    if table is not None:
        edges = _between_types(edges, pairs, table, given.undirected)
        array, fitted = _prepare(given, table, split[0])
        columns = (fitted.outputs or table.names) if table.header is not None else None
    check_relations(len(edges.relations), edges.table.path)
    graphs, told = edges.merged(pairs, n, given.undirected)
    relations = None
    edge_index, total = graphs[0] if graphs else (pairs, None)
    if edges.kinds is not None:
        relations = dict(zip(edges.relations, graphs, strict=True))
        # Together they are the sum of their parts, in which an edge may be of several kinds.
        edge_index, total = _summed(graphs, n)
    return Arrays(
        edge_index=edge_index,
        edge_weight=total,
        relations=relations,
        x=identity(n) if array is None else array,
        y=learned.y,
        split=split,
        classes=learned.classes,
        targets=learned.numbers,
        metric=learned.metric(given.metric),
        ids=tuple(names),
        columns=columns,
        preparation=fitted,
        gaps={} if table is None else gaps_of(table),
        notes=(*notes, *edges.notes, *told),
    )


def _answers(
    given: Tables, ends: set[str], in_doubt: set[str]
) -> tuple[Answers | None, Table | None]:
    """The answers, and the table of features without them."""
    features = given.features
    if given.labels is not None and given.targets is not None and not given.unlabelled:
        raise InputError(
            f"{given.where} has {given.labels.path.name} and {given.targets.path.name}; remove one "
            "of them"
        )
    table = given.targets if given.labels is None or given.targets is not None else given.labels
    if table is not None:
        assert not isinstance(given.target, tuple)
        numbers = table is given.targets
        learn = not given.unlabelled
        return read_answers(table, ends, given.target, numbers, in_doubt, learn), features
    if features is None:
        if given.unlabelled:
            return None, None
        raise InputError(f"{given.where} has no labels.csv; {NEEDED}")
    features = features.with_header((*NODE, *ANSWER, TYPE), ends, "node,...")
    wanted = (given.target,) if isinstance(given.target, str) else given.target or ()
    for name in (*wanted, given.split_by):
        if name is not None and name not in features.names:
            listed = ", ".join(features.names[:20])
            raise InputError(f"{features.path} has no column {name!r}; it has {listed}")
    columns = tuple(features.names.index(name) for name in wanted)
    called = features.place(ANSWER)
    if not columns and called is not None and not given.unlabelled:
        columns = (called,)
    if columns:
        return _answers_within(given, features, columns, ends)
    if given.unlabelled:
        return None, features
    raise InputError(
        f"{given.where} has no labels.csv; choose the column of {features.path.name} to learn with "
        f"--option target=COLUMN (it has {', '.join(features.names[:8])}), or write one: {NEEDED}"
    )


def _answers_within(
    given: Tables, features: Table, columns: tuple[int, ...], ends: set[str]
) -> tuple[Answers | None, Table | None]:
    """Answers that are columns of the features, and the features without them."""
    key = _key(given, features, ends)
    split = split_column(features)
    if given.split_by is not None:
        split = features.names.index(given.split_by)
    left = features.without(*columns, *(() if split is None else (split,)))
    rest = left if left.width > (key is not None) else None
    if given.unlabelled:
        return None, rest
    first = columns[0]
    numbers = features.names[first].lower() not in LABEL and (
        len(columns) > 1 or look_like_numbers(features.cells(first), features.decimal_comma)
    )
    names = list(map(str, range(len(features))))
    if key is not None:
        check_distinct(features, key, "described")
        names = features.cells(key).tolist()
    return Answers(features, names, columns, numbers, key is None), rest


def _key(given: Tables, table: Table, nodes: Any) -> int | None:
    """The column of features that names the nodes; None if rows come in order."""
    if given.key is not None:
        if given.key not in table.names:
            raise InputError(
                f"{table.path} has no column {given.key!r}; it has {', '.join(table.names[:20])}"
            )
        return table.names.index(given.key)
    if given.rows == IN_ORDER or _says_in_order(given.kinds):
        return None
    if table.header is not None and not table.header[0] and table.place(NODE) is not None:
        return table.place(NODE)  # beside the numbers of rows that pandas writes
    return key_of(table, nodes, NODE)


def _says_in_order(kinds: Path | Mapping[str, str]) -> bool:
    if isinstance(kinds, Path):
        kinds = read_kinds(kinds)
    return kinds.get("rows") == "in order"


def _features(
    given: Tables,
    table: Table,
    answers: Answers | None,
    names: list[str],
    ends: set[str],
    notes: list[str],
) -> tuple[list[str], Table]:
    """All names of nodes, and the features in their order, without the column of names."""
    import pandas as pd

    known = names or sorted(ends)
    table = table.with_header((*NODE, TYPE), set(known), "node,...")
    key = _key(given, table, known)
    if key is None:
        return _in_order(given, table, answers, names, ends, notes), table
    check_distinct(table, key, "described")
    cells = table.cells(key)
    described = pd.Index(cells, dtype=object)
    rows = described.get_indexer(pd.Index(names, dtype=object))
    if (rows < 0).any():
        name = names[int((rows < 0).argmax())]
        others = [cell for cell in cells if cell not in set(names)]
        like = f", and names {others[0]!r}" if others else ""
        raise InputError(
            f"{table.path} has no row for node {name!r} of {given.source}{like}"
            f"{repair_of(cells, names)}; add one, or write names alike in all files"
        )
    extra = ~np.isin(np.arange(len(cells)), rows)
    order = np.concatenate([rows, np.flatnonzero(extra)]).astype(np.int64)
    index = {0} if table.header is not None and not table.header[0] else set()
    return [*names, *cells[extra]], table.without(*{key, *index}).take(order)


def _in_order(
    given: Tables,
    table: Table,
    answers: Answers | None,
    names: list[str],
    ends: set[str],
    notes: list[str],
) -> list[str]:
    """The names of nodes whose rows come in the order of the answers, if they say that they do."""
    said = given.rows == IN_ORDER or _says_in_order(given.kinds)
    by_row = answers.by_row if answers is not None else all(map(is_number, ends))
    say = "or say --option rows=in_order if its rows are in the order of " + given.source
    if not said:
        ids = next((c for c in range(table.width) if _looks_like_ids(table, c)), None)
        if ids is not None or not by_row:
            c = ids or 0
            nodes = names or sorted(ends)
            raise InputError(
                f"{table.path} has no column that names the nodes: they are called {nodes[0]!r}, "
                f"and its {table.names[c]!r} holds {table.cells(c)[0]!r}"
                f"{repair_of(table.cells(c), nodes)}; name them in a column called node, {say}"
            )
    names = names or [str(i) for i in range(len(table))]
    if len(table) != len(names):
        raise InputError(
            f"{table.path} has {len(table)} rows, but {given.source} names {len(names)} nodes; "
            "give one row per node, or a first column under the header 'node' that names them"
        )
    notes.append(f"{table.path.name}: rows taken in the order of {given.source}")
    return names


def _looks_like_ids(table: Table, column: int) -> bool:
    cells = table.cells(column)
    if len(set(cells)) < len(cells) or len(cells) < 3:
        return False
    if table.header is not None and ID.search(table.header[column]):
        return True
    numbers = all(map(is_number, cells))
    if column == 0 and table.header is None and numbers:
        return all(cell.isdecimal() for cell in cells)
    return column == 0 and not any(map(is_number, cells))


def _with_ends(
    given: Tables, answers: Answers | None, names: list[str], edges: Edges, notes: list[str]
) -> list[str]:
    """All nodes where there are no features: those with an answer, then those edges add."""
    listed, where = set(names), given.edges.path.name
    extra = [name for name in edges.names if name not in listed]
    if answers is None or not extra:
        return [*names, *extra]
    if len(extra) == len(edges.names):
        raise InputError(
            f"{answers.table.path} and {where} have no node in common: one names {names[0]!r}, the "
            f"other {edges.names[0]!r}{repair_of(edges.names, names)}; write names alike in both"
        )
    if answers.by_row and counts_from_1(edges.names, names):
        raise InputError(
            f"{where} names the nodes 1 to {len(names)} and {answers.table.path.name} has "
            f"{len(names)} lines, which are the nodes 0 to {len(names) - 1}; count from 0, or name "
            f"the nodes in {answers.table.path.name}"
        )
    if given.unknown == "drop":
        return names
    written = {alike(name): name for name in names}
    for name in extra:
        other = written.setdefault(alike(name), name)
        if other != name:
            first = answers.table.path if other in listed else edges.table.path
            raise InputError(
                f"{first} names {other!r} and {where} {name!r}, which look like the same node; "
                "write names alike everywhere"
            )
    notes.append(
        f"{len(extra):,} of {len(names) + len(extra):,} nodes are named by {where} only, such as "
        f"{extra[0]!r}; they have no label"
    )
    return [*names, *extra]


def _split(
    given: Tables, answers: Answers | None, learned: Learned, items: "pd.Index[str]"
) -> Split:
    """The user's split, or one by the seed."""
    none = np.empty(0, dtype=np.int64)
    if given.unlabelled or answers is None:
        return none, none, none
    if given.splits is not None:
        return read_split(given.splits, items, learned.y, len(answers.names))
    column = split_column(answers.table)
    if given.split_by is not None:
        column = answers.table.names.index(given.split_by)
    if column is not None:
        return read_split(answers.table, items, learned.y, len(answers.names), column)
    return learned.split_at_random(given.seed)


def _prepare(given: Tables, table: Table, train: Array) -> tuple[Any, Preparation]:
    """The features as numbers, by a model's own preparation or by one for these data.

    Where the table is there for the answers, and its other columns are names, x is the identity.
    """
    if not table.width:
        raise InputError(
            f"{table.path} names the nodes and has no other column; add one, or remove the file"
        )
    fitted = given.preparation
    if fitted is None:
        kinds = read_kinds(given.kinds) if isinstance(given.kinds, Path) else given.kinds
        where = given.kinds if isinstance(given.kinds, Path) else given.where
        in_order = {"rows"} & kinds.keys() - set(table.names)
        kinds = {name: kind for name, kind in kinds.items() if name not in in_order}
        fitted = fit_preparation(table, train, check_kinds(kinds, table.names, where))
    x = fitted.apply(table)
    if x.shape[1] == 0 and given.labels is None and given.targets is None:
        return identity(len(table)), fitted
    if x.shape[1] == 0:
        raise InputError(
            f"{table.path}: every column is left out; say in columns.json what they are, such "
            f'as {{"{table.names[0]}": "category"}}'
        )
    return x, fitted


def _array(path: Path, names: list[str]) -> Array:  # (n, F)
    """``features.npy``: numbers, prepared already; rows stay on disk until they are used."""
    try:
        # Copy-on-write, for torch wants writable memory.
        x = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else str(error)[:100]
        raise InputError(
            f"{path} is no readable array of numbers ({reason}); write it with numpy.save"
        ) from None
    if not isinstance(x, np.ndarray) or x.ndim != 2 or x.dtype.kind not in "biuf":
        raise InputError(f"{path} must hold numbers in two dimensions, a row per node")
    if x.shape[1] == 0:
        raise InputError(f"{path} has no columns; remove it if the nodes have no features")
    if names and len(x) != len(names):
        raise InputError(f"{path} has {len(x)} rows, but labels.csv names {len(names)} nodes")
    if not is_on_disk(x):
        check_finite(x, f"{path}: features")
    return x if x.dtype == np.float32 else x.astype(np.float32)


def _between_types(edges: Edges, pairs: Array, table: Table, undirected: bool) -> Edges:
    """Edges whose relation is the pair of their ends' types, such as ``user-film``.

    Only where nodes have types and edges no relation of their own. An undirected edge between the
    same two types has one name, whichever end comes first.
    """
    import pandas as pd

    if edges.kinds is not None or TYPE not in table.names:
        return edges
    codes, types = pd.factorize(table.cells(table.names.index(TYPE)))
    count = len(types)
    if not 1 < count <= MOST_TYPES or "" in types:
        return edges
    source, target = codes[pairs]
    key, reverse = source * count + target, target * count + source
    if undirected:
        listed = list(dict.fromkeys(key.tolist()))
        turned = [k % count * count + k // count for k in listed]
        later = [k for place, k in enumerate(listed) if turned[place] in listed[:place]]
        key = np.where(np.isin(key, later), reverse, key)
    distinct, kinds = np.unique(key, return_inverse=True)
    relations = tuple(f"{types[k // count]}-{types[k % count]}" for k in distinct)
    return replace(edges, kinds=kinds, relations=relations)


def _summed(parts: list[tuple[Array, Array | None]], num_nodes: int) -> tuple[Array, Array | None]:
    """All edges of several graphs; those that several have are summed."""
    edges = np.concatenate([index for index, _ in parts], axis=1)
    weights = [np.ones(index.shape[1]) if w is None else w for index, w in parts]
    n = max(num_nodes, 1)
    key, group = np.unique(edges[1] * n + edges[0], return_inverse=True)
    total = np.bincount(group, weights=np.concatenate(weights), minlength=len(key))
    return np.stack([key % n, key // n]), None if (total == 1).all() else total


def _collection(given: Tables) -> Arrays:
    """A graph task. Labels, targets and splits belong to graphs, features to nodes.

    A node belongs to the graph of its line, so that two graphs may have a node of the same name.
    Without features, the features of a node are its degree, one column a degree.
    """
    import pandas as pd

    edges = read_edges(given.edges, set(), given.weight)
    if edges.kinds is not None:
        raise InputError(
            f"{given.edges.path} has the columns graph and relation, but edges of several graphs "
            "are of one kind; remove the column relation"
        )
    seen = set(edges.table.cells(edges.table.place(GRAPH) or 0))
    answers, _ = _answers(given, seen, set())
    names = [] if answers is None else answers.names
    table = None
    described = edges.names
    if given.features is not None:
        described, table = _features_of_graphs(given.features)
    owners = np.array([name.partition(WITHIN)[0] for name in described], dtype=object)
    graphs = pd.Index(dict.fromkeys([*names, *owners]), dtype=object)
    places = graphs.get_indexer(owners)
    order = np.argsort(places, kind="stable")
    nodes, owner = described[order], places[order]
    sizes = np.bincount(owner, minlength=len(graphs))
    if not sizes.all():
        where = given.edges.path.name if table is None else table.path.name
        raise InputError(
            f"{given.source} has a graph {graphs[int((sizes == 0).argmax())]!r}, of which {where} "
            "has no node; check its name, or leave it out"
        )
    learned = nothing_to_learn(len(graphs))
    if not given.unlabelled and answers is not None:
        learned = answers.on(len(graphs), given.label_separator, given.missing)
    split = _split(given, answers, learned, graphs)
    where = given.source if table is None else table.path.name
    edges, pairs = edges.on(nodes, given.unknown, where)
    merged, told = edges.merged(pairs, len(nodes), given.undirected)
    edge_index, weight = merged[0]
    columns: tuple[str, ...] | None = None
    fitted = None
    if table is None:
        degree = np.minimum(np.bincount(edge_index[1], minlength=len(nodes)), MOST_DEGREES)
        x = np.eye(int(degree.max(initial=0)) + 1, dtype=np.float32)[degree]
    else:
        table = table.take(order)
        x, fitted = _prepare(given, table, np.flatnonzero(np.isin(owner, split[0])))
        columns = fitted.outputs or table.names
    return Arrays(
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
        notes=(*edges.notes, *told),
    )


def _features_of_graphs(table: Table) -> "tuple[pd.Index[str], Table]":
    """The nodes by graph and name, and their features without these two columns."""
    import pandas as pd

    table = table.with_header((*NODE, *GRAPH), (), "graph,node,...")
    graph, key = table.place(GRAPH), table.place(NODE)
    if graph is None or key is None:
        shown = ",".join(table.header or table.first)[:60]
        raise table.header_error(
            "the features of several graphs need the columns graph and node, as edges.csv has "
            f"graph; got {shown!r}"
        )
    names = pd.Index(table.cells(graph) + WITHIN + table.cells(key), dtype=object)
    twice = names.duplicated()
    if twice.any():
        row = int(twice.argmax())
        first = table.lines[int((names == names[row]).argmax())]
        raise table.line_error(
            row,
            f"column {table.names[key]!r}: node {table.cells(key)[row]!r} of graph "
            f"{table.cells(graph)[row]!r} is described twice, first in line {first}",
        )
    index = {0} if table.header is not None and not table.header[0] else set()
    return names, table.without(*{graph, key, *index})


def frame_arrays(
    nodes: "pd.DataFrame | None", edges: "pd.DataFrame", seed: int, **options: Any
) -> Arrays:
    """The task of two frames, by the same rules as files.

    Args:
        nodes: A row per node: names, features of any kind, and the column to learn.
        edges: A row per edge.
        seed: Of the split.
        options: Of :class:`Tables`.
    """
    features = None if nodes is None else frame_table(nodes, Path("nodes"))
    return Tables(
        where="the frames",
        edges=frame_table(edges, Path("edges")),
        features=features,
        seed=seed,
        **options,
    ).arrays()
