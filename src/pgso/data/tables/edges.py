"""A user's table of edges: which columns are the ends, and which, if any, is the weight."""

import re
from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pgso.data.arrays import Array
from pgso.data.edge_lists import TwoWeightsError, merged
from pgso.data.tables.table import ID, SEPARATED, Table, alike, is_number, repair_of
from pgso.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_END = r"[_ \-]?(id|node|name|idx|index)?"
SOURCE = re.compile(rf"(source|src|from|sender|start|(node|id|user)?[_ ]?(1|a)|u){_END}", re.I)
TARGET = re.compile(
    rf"(target|dst|dest|destination|to|receiver|end|(node|id|user)?[_ ]?(2|b)|v){_END}", re.I
)
WEIGHT = ("weight", "w", "value", "count", "strength", "amount")
GRAPH, RELATION = ("graph", "graph_id"), ("relation",)  # columns that are found by their names
HEADER = ("source", "src", "from", "target", "dst", "to", *GRAPH, *RELATION, "weight")
FORM = "source,target"
RESERVED = ("in", "out", "self")  # words of terms
WITHIN = "\x1f"  # between the name of a graph and the name of one of its nodes


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges as they are listed: nothing is merged, and none has a reverse yet."""

    table: Table
    columns: tuple[int, int]  # of source and target
    names: "pd.Index[str]"  # of the nodes, as they come
    ends: Array  # (2, E) source and target, places in ``names``
    rows: Array  # (E,) of the table
    weight: Array | None = None  # (E,)
    kinds: Array | None = None  # (E,) places in ``relations``
    relations: tuple[str, ...] = ()
    has_graphs: bool = False  # whether names are a graph's and a node's, with WITHIN between them
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
        if unknown == "drop":
            count = len(self.names) - int((places >= 0).sum())
            note = (
                f"{self.table.path.name}: {strange.sum():,} edges to {count:,} nodes that {where} "
                "does not name are left out"
            )
            return self._kept(~strange, note), ends[:, ~strange]
        names = [name.rpartition(WITHIN)[2] for name in self.names[places < 0]]
        edge = int(strange.argmax())
        side = int((ends[:, edge] >= 0).argmin())
        name = self.names[self.ends[side, edge]].rpartition(WITHIN)[2]
        example = nodes[0].rpartition(WITHIN)[2]
        repair = "" if self.has_graphs else repair_of(self.names, nodes)
        more = f", as are {len(names) - 1:,} others" if len(names) > 1 else ""
        raise self.table.line_error(
            int(self.rows[edge]),
            f"column {self.columns[side] + 1}: node {name!r} is in no other file{more}; known are "
            f"{len(nodes)} nodes such as {example!r}{repair}; add it to {where}, "
            "or leave out such edges with --option unknown=drop",
        )

    def _kept(self, mask: Array, note: str) -> "Edges":
        def part(values: Array | None) -> Array | None:
            return None if values is None else values[mask]

        return replace(
            self,
            ends=self.ends[:, mask],
            rows=self.rows[mask],
            weight=part(self.weight),
            kinds=part(self.kinds),
            notes=(*self.notes, note),
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
        weights = [None if self.weight is None else self.weight[part] for part in parts]
        notes: tuple[str, ...] = ()

        def merge(both: bool) -> list[tuple[Array, Array | None]]:
            return [
                merged(ends[:, part], weight, num_nodes, both, self.table.path)
                for part, weight in zip(parts, weights, strict=True)
            ]

        try:
            graphs = merge(undirected)
        except TwoWeightsError as error:
            names = self.names.to_numpy()
            place = dict(zip(ends.ravel().tolist(), names[self.ends].ravel(), strict=True))
            j, i = (place[end].rpartition(WITHIN)[2] for end in error.ends)
            notes = (
                f"{self.table.path.name}: edges keep their direction, since the edge between "
                f"{j!r} and {i!r} has the weight {error.weights[0]:g} in one and "
                f"{error.weights[1]:g} in the other",
            )
            graphs = merge(False)
        loops = int((ends[0] == ends[1]).sum())
        listed = [ends[:, part] for part in parts]
        keys = (np.sort(pair[0] * num_nodes + pair[1]) for pair in listed)
        repeated = sum(int((np.diff(key) == 0).sum()) for key in keys)
        negative = 0 if self.weight is None else int((self.weight < 0).sum())
        zero = 0 if self.weight is None else int((self.weight == 0).sum())
        for count, what in (
            (repeated, "lines repeat an edge, and their weights are added up"),
            (loops, "edges join a node with itself"),
            (negative, "weights are negative"),
            (zero, "weights are 0"),
        ):
            if count:
                notes += (f"{self.table.path.name}: {count:,} {what}",)
        return graphs, notes


def nodes_of(table: Table) -> tuple[set[str], set[str]]:
    """The names in a table of edges before its columns are known, and those that are in doubt.

    In doubt are the words of a first line that may be a header, or an edge of which neither end
    has another.
    """
    first = table.header or table.first
    found = [c for form in (SOURCE, TARGET) for c, name in enumerate(first) if form.fullmatch(name)]
    columns = found if len(found) == 2 else [c for c, name in enumerate(first[:4]) if name]
    below = table.rows if table.header is not None else table.rows.iloc[1:]
    names = {name for c in columns for name in below[c].unique() if name}
    if table.header is not None or any(cell.lower() in HEADER for cell in first):
        return names, set()
    if names & set(first[:2]) or any(map(is_number, first)):
        return {*names, *first[:2]}, set()
    return names, set(first[:2])


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
    import pandas as pd

    table = _with_header(table, nodes, weight)
    is_plain = table.header is None
    if is_plain:
        table = replace(table, header=("source", "target", "weight")[: table.width])
    graph, relation = table.place(GRAPH), table.place(RELATION)
    ends = _ends(table, nodes, weight)
    column = _weight(table, ends, weight)
    notes: list[str] = []
    used = {*ends, graph, relation, column}
    left = [name for c, name in enumerate(table.header or ()) if c not in used and name]
    if left:
        notes.append(
            f"{table.path.name}: {', '.join(map(repr, left[:8]))}{' ...' * (len(left) > 8)} left "
            f"out; the weight of an edge is a column called {', '.join(WEIGHT)}, or --option "
            "weight=COLUMN"
        )
    if is_plain and column is not None:
        if len(table) > 2 and (np.diff(table.numbers(column)) == 1).all():
            raise table.line_error(
                0,
                "the third column counts the lines; if it is a weight, write a header "
                "source,target,weight, otherwise remove it",
            )
        notes.append(f"{table.path.name}: the third column is taken as the weight")
    cells = [table.cells(c) for c in ends]
    for c, side in zip(ends, cells, strict=True):
        if (side == "").any():
            row = int((side == "").argmax())
            raise table.cell_error(row, c, "the name of a node", "or remove it")
    if graph is not None:
        owners = table.cells(graph)
        if (owners == "").any():
            row = int((owners == "").argmax())
            raise table.cell_error(row, graph, "the name of a graph", "or remove the line")
        cells = [owners + WITHIN + side for side in cells]
    codes, names = pd.factorize(np.stack(cells, axis=1).reshape(-1))
    kinds, relations = None, ()
    if relation is not None:
        words = table.cells(relation)
        wrong = np.isin(words, ("", *RESERVED))
        if wrong.any():
            row = int(wrong.argmax())
            raise table.line_error(
                row,
                f"column 'relation': a relation cannot be called {words[row]!r}; choose another "
                "word",
            )
        kinds, found = pd.factorize(words)
        relations = tuple(found)
    return Edges(
        table,
        ends,
        pd.Index(names, dtype=object),
        codes.reshape(-1, 2).T.astype(np.int64),
        np.arange(len(table)),
        None if column is None else table.numbers(column),
        kinds,
        relations,
        graph is not None,
        tuple(notes),
    )


def _with_header(table: Table, nodes: AbstractSet[str], weight: str | None) -> Table:
    if table.header is None and table.width < 2:
        shown = ",".join(table.first)[:60]
        raise table.line_error(
            0,
            f"expected 2 or 3 cells, got {table.width} ({shown!r}); an edge is source,target or "
            f"source,target,weight; {SEPARATED}",
        )
    first = table.first
    if table.header is None and weight in first:
        words: tuple[str, ...] = (*HEADER, weight.lower())
    else:
        words = HEADER
    names: set[str] = set()
    in_doubt: set[str] = set()
    if table.header is None and not any(cell.lower() in words for cell in first):
        names, in_doubt = nodes_of(table)
    known = {*nodes, *(names & set(first[:2]))}
    if in_doubt and table.width < 4 and not nodes & in_doubt and _has_no_lone_edge(table):
        known |= names  # so that the first line stands out: neither end has another edge
    table = table.with_header(words, known, FORM)
    if table.header is None and table.width > 3:
        raise table.line_error(
            0,
            f"expected 2 or 3 cells, got {table.width} ({','.join(first)[:60]!r}); write a header "
            "that names the columns, such as source,target,weight",
        )
    if weight is not None and weight not in (table.header or ()):
        listed = ", ".join(table.header or first)
        raise table.header_error(
            f"there is no column {weight!r} to take weights from; it has {listed}"
        )
    if not len(table):
        raise InputError(f"{table.path} has a header and no edges; write at least one line")
    return table


def _has_no_lone_edge(table: Table) -> bool:
    """Whether no line below the first is the only one with its two nodes."""
    below = np.stack([table.cells(c)[1:] for c in (0, 1)])
    counts = Counter(below.reshape(-1))
    return below.shape[1] >= 10 and not any(
        counts[j] == counts[i] == 1 for j, i in zip(*below, strict=True)
    )


def _ends(table: Table, nodes: AbstractSet[str], weight: str | None) -> tuple[int, int]:
    assert table.header is not None
    taken = {table.place(GRAPH), table.place(RELATION)}
    taken |= {c for c, name in enumerate(table.header) if name == weight or not name}
    left = [c for c in range(table.width) if c not in taken]
    found = [
        next((c for c in left if form.fullmatch(table.header[c])), None)
        for form in (SOURCE, TARGET)
    ]
    if found[0] is not None and found[1] is not None:
        return found[0], found[1]
    others = [c for c in left if table.header[c].lower() not in WEIGHT]
    known = {alike(name) for name in nodes}
    if known and len(others) > 2:
        full = [
            c
            for c in others
            if np.mean([alike(cell) in known for cell in table.cells(c)[:1000]]) > 0.5
        ]
        if len(full) == 2:
            return full[0], full[1]
    if len(others) < 2 or (len(others) > 2 and ID.fullmatch(table.header[others[0]])):
        raise table.header_error(
            f"which columns hold the two ends of an edge? it has {', '.join(table.header)}; call "
            "them source and target"
        )
    return others[0], others[1]


def _weight(table: Table, ends: tuple[int, int], weight: str | None) -> int | None:
    assert table.header is not None
    if weight is not None:
        return table.header.index(weight)
    called = [c for c, name in enumerate(table.header) if name.lower() in WEIGHT and c not in ends]
    if len(called) > 1:
        listed = " and ".join(repr(table.header[c]) for c in called)
        raise table.header_error(
            f"both {listed} may be the weight; choose one with --option "
            f"weight={table.header[called[0]]}"
        )
    return called[0] if called else None
