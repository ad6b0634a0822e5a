"""A node task of a user's tables: which nodes there are, and what is known about each."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgso.data.arrays import Array, Split, check_finite, identity, is_on_disk
from pgso.data.edge_lists import merged
from pgso.data.raw import check_count
from pgso.data.tables.answers import (
    LABEL,
    SEVERAL,
    Answers,
    Learned,
    look_like_numbers,
    read_answers,
    read_split,
    split_column,
)
from pgso.data.tables.columns import TYPE, Preparation, fit_preparation, gaps_of, read_kinds
from pgso.data.tables.edges import Edges, no_edges, nodes_of, read_edges
from pgso.data.tables.table import (
    ID,
    NODE,
    Table,
    alike,
    check_distinct,
    counts_from_1,
    is_number,
    key_of,
    repair_of,
)
from pgso.data.task import Task
from pgso.errors import InputError

MOST_TYPES = 10  # above which the column is a feature like any other
NEEDED = "a dataset needs edges.csv and labels.csv (or targets.csv)"
ANSWER = (*LABEL, "target", "y")  # columns of features that may hold the answers


@dataclass(frozen=True, eq=False, kw_only=True)
class Tables:
    """What a user has, and what was said about it. A folder and frames both become this."""

    where: str  # the folder, for errors
    edges: Table | None
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
    known: Collection[str] = ()  # other nodes that edges may lead to: those of a saved model
    bad_rows: str = "refuse"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("rows", self.rows, ("named", "in_order")),
            ("unknown", self.unknown, ("refuse", "drop")),
            ("bad_rows", self.bad_rows, ("refuse", "skip")),
        ):
            if value not in allowed:
                raise InputError(f"{option} must be {' or '.join(allowed)}; got {value!r}")

    @property
    def source(self) -> str:
        """The table that names the nodes first."""
        tables = (self.labels, self.targets, self.features)
        return next((table.path.name for table in tables if table is not None), "labels.csv")

    @property
    def in_order(self) -> bool:
        """Whether rows of features are said to come in the order of the answers."""
        kinds = read_kinds(self.kinds) if isinstance(self.kinds, Path) else self.kinds
        return self.rows == "in_order" or kinds.get("rows") == "in order"

    def key_of(self, table: Table, nodes: Collection[str]) -> str | None:
        """The column of features that names the nodes; None if rows come in order."""
        table.check_has(self.key)
        if self.key is not None or self.in_order:
            return self.key
        if "" in table.names and table.named(NODE) is not None:
            return table.named(NODE)  # beside the numbers of rows that pandas writes
        key = key_of(table, nodes, NODE)
        if key is None and self.known and self.preparation is not None:
            # What the model's table had beside features; the numbers of a frame's rows come last.
            features = {column.name for column in self.preparation.columns}
            others = [name for name in table.names if name not in features]
            distinct = [name for name in others if table.frame[name].is_unique]
            key = min(distinct, key=lambda name: name == "", default=None)
        return key

    def learned(self, answers: Answers | None, count: int) -> Learned:
        """What is to be learned about ``count`` nodes or graphs."""
        if answers is None or self.unlabelled:
            return Learned(np.full(count, -1))
        return answers.on(count, self.label_separator, self.missing)

    def split(self, answers: Answers | None, learned: Learned, items: "pd.Index[str]") -> Split:
        """The user's split, or one by the seed."""
        if answers is None or self.unlabelled:
            none = np.empty(0, dtype=np.int64)
            return none, none, none
        if self.splits is not None:
            return read_split(self.splits, items, learned.y, len(answers.table))
        column = self.split_by or split_column(answers.table)
        if column is not None:
            return read_split(answers.table, items, learned.y, len(answers.table), column)
        return learned.split_at_random(self.seed)

    def prepare(self, table: Table, train: Array) -> tuple[Any, Preparation]:
        """The features as numbers, by a model's own preparation or by one for these data.

        Where the table is there for the answers, and its other columns are names, x is the
        identity.
        """
        if not table.names:
            raise InputError(
                f"{table.path} names the nodes and has no other column; add one, or remove the file"
            )
        fitted = self.preparation
        if fitted is None:
            kinds = read_kinds(self.kinds) if isinstance(self.kinds, Path) else dict(self.kinds)
            if "rows" not in table.names:
                kinds.pop("rows", None)
            where = self.kinds if isinstance(self.kinds, Path) else self.where
            fitted = fit_preparation(table, train, kinds, where)
        x = fitted.apply(table)
        if x.shape[1] == 0 and self.labels is None and self.targets is None:
            return identity(len(table)), fitted
        if x.shape[1] == 0:
            raise InputError(
                f"{table.path}: every column is left out; say in columns.json what they are, such "
                f'as {{"{table.names[0]}": "category"}}'
            )
        return x, fitted


def node_task(given: Tables) -> Task:
    """A node task: one graph."""
    notes = list(given.notes)
    listed: Table | None = None
    ends: set[str] = set()
    in_doubt: set[str] = set()
    if given.edges is not None:
        listed, ends, in_doubt = nodes_of(given.edges)
    answers, table = find_answers(given, ends, in_doubt)
    names = [] if answers is None else answers.names
    array = None if given.array is None else _array(given.array, names)
    if array is not None:
        names = names or [str(i) for i in range(len(array))]
    if table is not None:
        names, table = _described(given, table, answers, names, ends, notes)
    known = set(given.known)
    if listed is None:
        edges = no_edges(given.where)
    else:
        edges = read_edges(listed, known.union(names), given.weight)
    if array is None and table is None:
        answered = set(names)
        names = _with_ends(given, answers, names, edges, notes)
        new = [name for name in names if name in answered or name not in known]
        names = new or names  # nodes that only edges name are not new if a model knows them
    described, others = len(names), known.difference(names)
    names = [*names, *(name for name in edges.names if name in others)]
    nodes = pd.Index(names, dtype=object)
    n = len(nodes)
    edges, pairs = edges.on(nodes, given.unknown, given.source)
    learned = given.learned(answers, n)
    split = given.split(answers, learned, nodes)
    columns = None if array is not None else tuple(names)
    fitted = None
    if table is not None:
        if described == n:
            edges = _between_types(edges, pairs, table, given.undirected)
        array, fitted = given.prepare(table, split[0])
        columns = (fitted.outputs or table.names) if table.has_header else None
    if array is not None and described < n:
        array = np.concatenate([array, np.zeros((n - described, array.shape[1]), array.dtype)])
    check_count(len(edges.relations), "relations", edges.table.path)
    graphs, told = edges.merged(pairs, n, given.undirected)
    relations = None
    edge_index, weight = graphs[0] if graphs else (pairs, None)
    if edges.kinds is not None:
        relations = dict(zip(edges.relations, graphs, strict=True))
        weights = [np.ones(pair.shape[1]) if w is None else w for pair, w in graphs]
        pairs = np.concatenate([pair for pair, _ in graphs], axis=1)
        # Together they are the sum of their parts, in which an edge may be of several kinds.
        edge_index, weight = merged(pairs, np.concatenate(weights), n, False, edges.table.path)
    return Task.from_arrays(
        given.where,
        edge_index=edge_index,
        edge_weight=weight,
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
        of_a_model=n - described,
    )


def find_answers(
    given: Tables, nodes: Collection[str], in_doubt: Collection[str] = ()
) -> tuple[Answers | None, Table | None]:
    """The answers, and the table of features without them.

    Args:
        given: All tables.
        nodes: The nodes that edges name, or the graphs.
        in_doubt: Words of edges' first line that may be nodes or column names.
    """
    features, labels, targets = given.features, given.labels, given.targets
    if labels is not None and targets is not None and not given.unlabelled:
        raise InputError(
            f"{given.where} has {labels.path.name} and {targets.path.name}; remove one of them"
        )
    table = labels if targets is None else targets
    if table is not None:
        assert not isinstance(given.target, tuple)
        numbers, learn = targets is not None, not given.unlabelled
        return read_answers(table, nodes, given.target, numbers, in_doubt, learn), features
    if features is not None:
        features = features.with_header((*NODE, *ANSWER, TYPE), nodes, "node,...", wide=True)
        columns = (given.target,) if isinstance(given.target, str) else given.target or ()
        features.check_has(*columns, given.split_by)
        called = features.named(ANSWER)
        if not columns and called is not None and not given.unlabelled:
            columns = (called,)
        if columns:
            return _answers_within(given, features, columns, nodes)
    if given.unlabelled:
        return None, features
    choose = ""
    if features is not None:
        choose = (
            f"choose the column of {features.path.name} to learn with --option target=COLUMN (it "
            f"has {', '.join(features.names[:8])}), or write one: "
        )
    raise InputError(f"{given.where} has no labels.csv; {choose}{NEEDED}")


def _answers_within(
    given: Tables, features: Table, columns: tuple[str, ...], nodes: Collection[str]
) -> tuple[Answers | None, Table | None]:
    """Answers that are columns of the features, and the features without them."""
    key = given.key_of(features, nodes)
    split = given.split_by or split_column(features)
    left = features.without(*columns, split)
    rest = left if len(left.names) > (key is not None) else None
    if given.unlabelled:
        return None, rest
    if key is not None:
        check_distinct(features, key, "described")
    numbers = columns[0].lower() not in LABEL and (
        len(columns) > 1 or look_like_numbers(features, columns[0])
    )
    return Answers(features, key, columns, numbers), rest


def _described(
    given: Tables,
    table: Table,
    answers: Answers | None,
    names: list[str],
    ends: set[str],
    notes: list[str],
) -> tuple[list[str], Table]:
    """All names of nodes, and the features in their order, without the column of names."""
    known = names or sorted(ends)
    table = table.with_header((*NODE, TYPE), set(known), "node,...", wide=True)
    key = given.key_of(table, known)
    if key is None:
        by_row = answers.key is None if answers is not None else all(map(is_number, ends))
        if not given.in_order:
            _check_in_order(given, table, known, by_row)
        names = names or [str(i) for i in range(len(table))]
        if len(table) != len(names):
            raise InputError(
                f"{table.path} has {len(table)} rows, but {given.source} names {len(names)} nodes; "
                "give one row per node, or a first column under the header 'node' that names them"
            )
        notes.append(f"{table.path.name}: rows taken in the order of {given.source}")
        return names, table
    check_distinct(table, key, "described")
    cells = table.cells(key)
    rows = pd.Index(cells, dtype=object).get_indexer(pd.Index(names, dtype=object))
    if (rows < 0).any():
        name = names[int((rows < 0).argmax())]
        other = next((cell for cell in cells if cell not in set(names)), None)
        like = "" if other is None else f", and names {other!r}"
        raise InputError(
            f"{table.path} has no row for node {name!r} of {given.source}{like}"
            f"{repair_of(cells, names)}; add one, or write names alike in all files"
        )
    extra = ~np.isin(np.arange(len(cells)), rows)
    order = np.concatenate([rows, np.flatnonzero(extra)]).astype(np.int64)
    return [*names, *cells[extra]], table.without(key, "").take(order)


def _check_in_order(given: Tables, table: Table, nodes: list[str], by_row: bool) -> None:
    """Refuse to take rows in order where answers have names, or where a column may be the names."""
    name = next((name for name in table.names if _looks_like_ids(table, name)), None)
    if name is None and by_row:
        return
    name = table.names[0] if name is None else name
    cells = table.cells(name)
    raise InputError(
        f"{table.path} has no column that names the nodes: they are called {nodes[0]!r}, "
        f"and its {name!r} holds {cells[0]!r}{repair_of(cells, nodes)}; name them in a column "
        f"called node, or say --option rows=in_order if its rows are in the order of {given.source}"
    )


def _looks_like_ids(table: Table, name: str) -> bool:
    cells = table.cells(name)
    if len(set(cells)) < len(cells) or len(cells) < 3:
        return False
    if name != table.names[0] or (table.has_header and ID.search(name)):
        return table.has_header and ID.search(name) is not None
    if not table.has_header and all(map(is_number, cells)):
        return all(cell.isdecimal() for cell in cells)
    return not any(map(is_number, cells))


def _with_ends(
    given: Tables, answers: Answers | None, names: list[str], edges: Edges, notes: list[str]
) -> list[str]:
    """All nodes where there are no features: those with an answer, then those edges add."""
    listed, where = set(names), edges.table.path.name
    extra = [name for name in edges.names if name not in listed]
    if answers is None or not extra:
        return [*names, *extra]
    path = answers.table.path
    if len(extra) == len(edges.names):
        raise InputError(
            f"{path} and {where} have no node in common: one names {names[0]!r}, the "
            f"other {edges.names[0]!r}{repair_of(edges.names, names)}; write names alike in both"
        )
    if answers.key is None and counts_from_1(edges.names, names):
        raise InputError(
            f"{where} names the nodes 1 to {len(names)} and {path.name} has {len(names)} lines, "
            f"which are the nodes 0 to {len(names) - 1}; count from 0, or name the nodes in "
            f"{path.name}"
        )
    if given.unknown == "drop":
        return names
    written = {alike(name): name for name in names}
    for name in extra:
        other = written.setdefault(alike(name), name)
        if other != name:
            first = path if other in listed else edges.table.path
            raise InputError(
                f"{first} names {other!r} and {where} {name!r}, which look like the same node; "
                "write names alike everywhere"
            )
    notes.append(
        f"{len(extra):,} of {len(names) + len(extra):,} nodes are named by {where} only, such as "
        f"{extra[0]!r}; they have no label"
    )
    return [*names, *extra]


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
    if edges.kinds is not None or TYPE not in table.names:
        return edges
    codes, types = pd.factorize(table.cells(TYPE))
    count = len(types)
    if not 1 < count <= MOST_TYPES or "" in types:
        return edges
    source, target = codes[pairs]
    key, reverse = source * count + target, target * count + source
    if undirected:
        first = np.full(count * count, len(key))  # where each pair of types is listed first
        np.minimum.at(first, key, np.arange(len(key)))
        key = np.where(first[reverse] < first[key], reverse, key)
    distinct, kinds = np.unique(key, return_inverse=True)
    relations = tuple(f"{types[k // count]}-{types[k % count]}" for k in distinct)
    return replace(edges, kinds=kinds, relations=relations)
