"""A user's table of edges: which columns are the ends, and which, if any, is the weight."""

import re
from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from pgso.data.arrays import Array
from pgso.data.edge_lists import TwoWeightsError, merged
from pgso.data.tables.table import ID, SEPARATED, Table, alike, is_number, repair_of
from pgso.errors import InputError

_END = r"[_ \-]?(id|node|name|idx|index)?"
SOURCE = re.compile(rf"(source|src|from|sender|start|(node|id|user)?[_ ]?(1|a)|u){_END}", re.I)
TARGET = re.compile(
    rf"(target|dst|dest|destination|to|receiver|end|(node|id|user)?[_ ]?(2|b)|v){_END}", re.I
)
WEIGHT = ("weight", "w", "value", "count", "strength", "amount")
GRAPH, RELATION = ("graph", "graph_id"), ("relation",)  # columns that are found by their names
HEADER = ("source", "src", "from", "target", "dst", "to", *GRAPH, *RELATION, "weight")
FORM = "source,target"
RESERVED = ("", "in", "out", "self")  # words of terms
WITHIN = "\x1f"  # between the name of a graph and the name of one of its nodes


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges as they are listed: nothing is merged, and none has a reverse yet."""

    table: Table
    columns: tuple[str, str]  # of source and target
    names: "pd.Index[str]"  # of the nodes, as they come
    ends: Array  # (2, E) source and target, places in ``names``
    rows: Array  # (E,) of the table
    weight: Array | None = None  # (E,)
    kinds: Array | None = None  # (E,) places in ``relations``
    relations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def on(self, nodes: "pd.Index[str]", unknown: str, where: str) -> "tuple[Edges, Array]":
        """The edges, and their ends by the places of the nodes.

        Args:
            nodes: All nodes.
            unknown: What to do with an edge to another node: ``"refuse"`` or ``"drop"`` it.
            where: The table that names the nodes.
        """
        places = nodes.get_indexer(self.names)
        ends = places[self.ends]
        strange = (ends < 0).any(axis=0)
        if not strange.any():
            return self, ends
        others = int((places < 0).sum())
        if unknown == "drop":
            kept = ~strange
            note = (
                f"{self.table.path.name}: {strange.sum():,} edges to {others:,} nodes that {where} "
                "does not name are left out"
            )
            edges = replace(
                self,
                ends=self.ends[:, kept],
                rows=self.rows[kept],
                weight=None if self.weight is None else self.weight[kept],
                kinds=None if self.kinds is None else self.kinds[kept],
                notes=(*self.notes, note),
            )
            return edges, ends[:, kept]
        edge = int(strange.argmax())
        side = int((ends[:, edge] >= 0).argmin())
        name = _own(self.names[self.ends[side, edge]])
        more = f", as are {others - 1:,} others" if others > 1 else ""
        repair = "" if WITHIN in nodes[0] else repair_of(self.names, nodes)
        raise self.table.line_error(
            int(self.rows[edge]),
            f"{self.table.place(self.columns[side])}: node {name!r} is in no other file{more}; "
            f"known are {len(nodes)} nodes such as {_own(nodes[0])!r}{repair}; add it to {where}, "
            "or leave out such edges with --option unknown=drop",
        )

    def merged(
        self, ends: Array, num_nodes: int, undirected: bool
    ) -> tuple[list[tuple[Array, Array | None]], tuple[str, ...]]:
        """Edges and weights without repetitions, one graph per relation, and notes about them.

        An edge that is listed in both directions with different weights has a direction, and
        then all of them have.
        """
        parts = [np.ones(ends.shape[1], dtype=bool)]
        if self.kinds is not None:
            parts = [self.kinds == kind for kind in range(len(self.relations))]
        path, weight, notes = self.table.path, self.weight, []

        def merge(both: bool) -> list[tuple[Array, Array | None]]:
            weights = [None if weight is None else weight[part] for part in parts]
            return [
                merged(ends[:, part], some, num_nodes, both, path)
                for part, some in zip(parts, weights, strict=True)
            ]

        try:
            graphs = merge(undirected)
        except TwoWeightsError as error:
            j, i = (_own(self.names[self.ends[ends == end][0]]) for end in error.ends)
            notes.append(
                f"{path.name}: edges keep their direction, since the edge between {j!r} and {i!r} "
                f"has the weight {error.weights[0]:g} in one and {error.weights[1]:g} in the other"
            )
            graphs = merge(False)
        keys = (np.sort(ends[0, part] * num_nodes + ends[1, part]) for part in parts)
        for count, what in (
            (
                sum(int((np.diff(key) == 0).sum()) for key in keys),
                "lines repeat an edge, and their weights are added up",
            ),
            ((ends[0] == ends[1]).sum(), "edges join a node with itself"),
            (0 if weight is None else (weight < 0).sum(), "weights are negative"),
            (0 if weight is None else (weight == 0).sum(), "weights are 0"),
        ):
            if count:
                notes.append(f"{path.name}: {count:,} {what}")
        return graphs, tuple(notes)


def _own(name: str) -> str:
    """The name of a node without that of its graph."""
    return name.rpartition(WITHIN)[2]


def no_edges(where: str) -> Edges:
    """The edges of nodes that have none."""
    ends = ("source", "target")
    table = Table(Path(where), pd.DataFrame(columns=ends), [], has_header=True)
    none = np.zeros((2, 0), dtype=np.int64)
    return Edges(table, ends, pd.Index([], dtype=object), none, none[0])


def nodes_of(table: Table) -> tuple[Table, set[str], set[str]]:
    """A table of edges, the names in it before its columns are known, and those that are in doubt.

    In doubt are the words of a first line that may be a header, or an edge of which neither end
    has another.
    """
    if any(cell.lower() in HEADER for cell in table.top):
        table = table.with_header(HEADER, (), FORM)
    top = table.top
    found = [c for form in (SOURCE, TARGET) for c, name in enumerate(top) if form.fullmatch(name)]
    columns = found if len(found) == 2 else [c for c, name in enumerate(top[:4]) if name]
    below = table if table.has_header else table.take(slice(1, None))
    names = set(below.coded(*(table.names[c] for c in columns))[1]) - {""}
    if table.has_header:
        return table, names, set()
    if names & set(top[:2]) or any(map(is_number, top)):
        return table, {*names, *top[:2]}, set()
    return table, names, set(top[:2])


def read_edges(table: Table, nodes: AbstractSet[str], weight: str | None = None) -> Edges:
    """Edges of a table: source, target and maybe weight, relation and graph.

    Under a header columns are found by their names, and the ends may also be the two that hold
    nodes. The weight is a column called by one of :data:`WEIGHT`, or the third one without
    a header. Others are left out, and a note names them.

    Args:
        table: The cells.
        nodes: The nodes that other tables name.
        weight: The column to take the weights from.
    """
    table = _with_header(table, nodes, weight)
    is_plain = not table.has_header
    if is_plain:
        table = table.called(*("source", "target", "weight")[: len(table.names)])
    graph, relation = table.named(GRAPH), table.named(RELATION)
    ends = _ends(table, nodes, {graph, relation, weight, ""})
    weight = weight or _weight(table, ends)
    notes: list[str] = []
    left = [name for name in table.names if name and name not in {*ends, graph, relation, weight}]
    if left:
        notes.append(
            f"{table.path.name}: {', '.join(map(repr, left[:8]))}{' ...' * (len(left) > 8)} left "
            f"out; the weight of an edge is a column called {', '.join(WEIGHT)}, or --option "
            "weight=COLUMN"
        )
    if is_plain and weight is not None:
        if len(table) > 2 and (np.diff(table.numbers(weight)) == 1).all():
            raise table.line_error(
                0,
                "the third column counts the lines; if it is a weight, write a header "
                "source,target,weight, otherwise remove it",
            )
        notes.append(f"{table.path.name}: the third column is taken as the weight")
    for name in ends:
        table.check_filled(name, "the name of a node")
    if graph is not None:
        table.check_filled(graph, "the name of a graph", "or remove the line")
        within = {name: table.frame[graph] + WITHIN + table.frame[name] for name in ends}
        table = replace(table, frame=table.frame.assign(**within))
    codes, names = table.coded(*ends)
    kinds, relations = None, ()
    if relation is not None:
        wrong = np.isin(table.cells(relation), RESERVED)
        if wrong.any():
            row = int(wrong.argmax())
            raise table.line_error(
                row,
                "column 'relation': a relation cannot be called "
                f"{table.cells(relation)[row]!r}; choose another word",
            )
        kinds, found = pd.factorize(table.cells(relation))
        relations = tuple(found)
    return Edges(
        table,
        ends,
        pd.Index(names, dtype=object),
        codes.T.astype(np.int64),
        np.arange(len(table)),
        None if weight is None else table.numbers(weight),
        kinds,
        relations,
        tuple(notes),
    )


def _with_header(table: Table, nodes: AbstractSet[str], weight: str | None) -> Table:
    """The table with its header, if it has one; it has enough columns, and at least one edge."""
    top, width = table.top, len(table.names)
    shown = ",".join(top)[:60]
    if width < 2:
        raise table.line_error(
            0,
            f"expected 2 or 3 cells, got {width} ({shown!r}); an edge is source,target or "
            f"source,target,weight; {SEPARATED}",
        )
    words = HEADER if weight is None else (*HEADER, weight.lower())
    known = set(nodes)
    if not table.has_header and not any(cell.lower() in words for cell in top):
        _, names, in_doubt = nodes_of(table)
        known |= names & set(top[:2])
        if in_doubt and width < 4 and not nodes & in_doubt and _has_no_lone_edge(table):
            known |= names  # so that the first line stands out: neither end has another edge
    table = table.with_header(words, known, FORM)
    if not table.has_header and width > 3:
        raise table.line_error(
            0,
            f"expected 2 or 3 cells, got {width} ({shown!r}); write a header "
            "that names the columns, such as source,target,weight",
        )
    if weight is not None and weight not in table.names:
        raise table.header_error(
            f"there is no column {weight!r} to take weights from; it has {', '.join(table.top)}"
        )
    if not len(table):
        raise InputError(f"{table.path} has a header and no edges; write at least one line")
    return table


def _has_no_lone_edge(table: Table) -> bool:
    """Whether no line below the first is the only one with its two nodes."""
    below = table.frame.iloc[1:, :2].to_numpy()
    counts = Counter(below.reshape(-1))
    return len(below) >= 10 and not any(counts[j] == counts[i] == 1 for j, i in below)


def _ends(table: Table, nodes: AbstractSet[str], taken: set[str | None]) -> tuple[str, str]:
    """The columns of source and target: by their names, by their cells, or the first two."""
    left = [name for name in table.names if name not in taken]
    source = next((name for name in left if SOURCE.fullmatch(name)), None)
    target = next((name for name in left if TARGET.fullmatch(name)), None)
    if source is not None and target is not None:
        return source, target
    others = [name for name in left if name.lower() not in WEIGHT]
    if nodes and len(others) > 2:
        known = {alike(name) for name in nodes}
        full = [
            name
            for name in others
            if np.mean([alike(cell) in known for cell in table.cells(name)[:1000]]) > 0.5
        ]
        if len(full) == 2:
            return full[0], full[1]
    if len(others) < 2 or (len(others) > 2 and ID.fullmatch(others[0])):
        raise table.header_error(
            f"which columns hold the two ends of an edge? it has {', '.join(table.names)}; call "
            "them source and target"
        )
    return others[0], others[1]


def _weight(table: Table, ends: tuple[str, str]) -> str | None:
    called = [name for name in table.names if name.lower() in WEIGHT and name not in ends]
    if len(called) > 1:
        raise table.header_error(
            f"both {' and '.join(map(repr, called))} may be the weight; choose one with --option "
            f"weight={called[0]}"
        )
    return called[0] if called else None
