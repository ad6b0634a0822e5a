"""A user's edges.csv as arrays: read in whole columns, and line by line to say what is wrong."""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from hashlib import sha256
from itertools import chain
from itertools import count as number
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pgso.data.arrays import Array
from pgso.data.edge_lists import TwoWeightsError, merged
from pgso.data.own.table import (
    LARGEST,
    SEPARATED,
    Row,
    decimal_points,
    is_number,
    read_columns,
    read_rows,
)
from pgso.data.processed import Named, cached
from pgso.errors import InputError

SOURCE, TARGET = ("source", "src", "from"), ("target", "dst", "to")
GRAPH, RELATION = "graph", "relation"  # columns that are found by their names
RESERVED = ("in", "out", "self")  # words of terms
LARGE = 2**20  # bytes of a file of which a processed copy is kept
WITHIN = "\x1f"  # between the name of a graph and the name of one of its nodes


class Edges(NamedTuple):
    """Edges as they are listed: nothing is merged, and none has a reverse yet."""

    path: Path
    names: tuple[str, ...]  # of the nodes, as they come
    ends: Array  # (2, E) source and target, places in ``names``
    weight: Array | None = None  # (E,)
    kinds: Array | None = None  # (E,) places in ``relations``
    relations: tuple[str, ...] = ()
    has_graphs: bool = False  # whether names are a graph's and a node's, with WITHIN between them

    def on(self, nodes: dict[str, int]) -> Array:  # (2, E)
        """The edges by the places of the nodes. A node that is not there is named with its line."""
        try:
            places = np.fromiter(map(nodes.__getitem__, self.names), np.int64, len(self.names))
        except KeyError as error:
            raise self._unknown(str(error.args[0]), nodes) from None
        return places[self.ends] if len(places) else self.ends

    def merged(
        self, pairs: Array, nodes: dict[str, int], undirected: bool, chosen: Array | None = None
    ) -> tuple[Array, Array | None]:
        """The edges without repetitions, with reverses if they are undirected.

        Args:
            pairs: What :meth:`on` gave.
            nodes: The place of each node.
            undirected: Whether an edge goes both ways.
            chosen: Which edges (a mask); by default all.
        """
        weight = self.weight
        if chosen is not None:
            pairs, weight = pairs[:, chosen], None if weight is None else weight[chosen]
        try:
            return merged(pairs, weight, len(nodes), undirected, self.path)
        except TwoWeightsError as error:
            names = list(nodes)
            j, i = (names[end].rpartition(WITHIN)[2] for end in error.ends)  # type: ignore[call-overload]
            lines = [row.line for row in read_rows(self.path) if {j, i} <= set(row.cells)]
            listed = " and ".join(map(str, lines[:3]))
            where = f"{self.path}, lines {listed}"
            raise TwoWeightsError(where, (j, i), error.weights) from None

    def _unknown(self, name: str, nodes: dict[str, int]) -> InputError:
        graph, _, shown = name.rpartition(WITHIN)
        example = next(iter(nodes)).rpartition(WITHIN)[2]
        header, *rows = read_rows(self.path)
        words = [cell.lower() for cell in header.cells]
        of_graph = words.index(GRAPH) if self.has_graphs else -1
        for row in rows if self.has_graphs else [header, *rows]:
            places = [c for c, cell in enumerate(row.cells) if cell == shown and c != of_graph]
            if places and (not self.has_graphs or row.cells[of_graph] == graph):
                return row.error(
                    f"column {places[0] + 1}: node {shown!r} is in no other file; known are "
                    f"{len(nodes)} nodes such as {example!r}; add it there, or remove the edge"
                )
        raise AssertionError(name)


class EdgeTable(NamedTuple):
    """edges.csv without its first line, which may be a header or an edge."""

    first: Row
    is_header: bool  # whether the first line is a header beyond doubt
    edges: Edges

    def with_first(self, nodes_elsewhere: Collection[str]) -> Edges:
        """All edges. The first line is one of them unless its words can only be column names."""
        edges = self.edges
        if self.is_header or self._looks_like_a_header(nodes_elsewhere):
            return edges
        first = self.first
        if len(first.cells) not in (2, 3) or (
            edges.ends.shape[1] and (len(first.cells) == 3) != (edges.weight is not None)
        ):
            raise _wrong_width(first)
        names = tuple(dict.fromkeys([*first.cells[:2], *edges.names]))
        number = {name: i for i, name in enumerate(names)}
        moved = np.array([number[name] for name in edges.names], dtype=np.int64)
        ends = np.array([[number[name]] for name in first.cells[:2]], dtype=np.int64)
        if edges.ends.shape[1]:
            ends = np.concatenate([ends, moved[edges.ends]], axis=1)
        weight = None
        if len(first.cells) == 3:
            rest = np.empty(0) if edges.weight is None else edges.weight
            weight = np.concatenate([[first.number(2, "weight")], rest])
        return edges._replace(names=names, ends=ends, weight=weight)

    def _looks_like_a_header(self, nodes_elsewhere: Collection[str]) -> bool:
        first, edges = self.first.with_points.cells, self.edges
        if not edges.names or len(first) < 2:
            return False
        if len(first) == 3 and edges.weight is not None:
            known = {*edges.names, *nodes_elsewhere}
            return not is_number(first[2]) and not known.issuperset(first[:2])
        return bool(nodes_elsewhere and self.words) and not self.words & set(nodes_elsewhere)

    @property
    def words(self) -> set[str]:
        """What the first line calls its columns; none if it may well be an edge."""
        first = set(self.first.cells[:2])
        strange = all(name[:1].isalpha() for name in first) and first.isdisjoint(self.edges.names)
        weighs = is_number(self.first.with_points.cells[-1])
        return first if self.is_header or (strange and not weighs) else set()


def read_edges(path: Path, weight: str | None = None) -> EdgeTable:
    """Read edges.csv: source, target and, if there are more columns, weight, relation and graph.

    Columns called ``relation`` and ``graph``, or ``source`` and ``target``, may stand anywhere. A
    first column without a name is left out: pandas writes the numbers of rows there. Of a
    large file a processed copy is kept, so that the runs of a command do not parse it again.

    Args:
        path: The file.
        weight: The column to take the weights from; by default the one left beside the ends.
    """
    if not path.is_file() or path.stat().st_size < LARGE:
        return _parse(path, weight)
    name = f"own-edges-{sha256(repr(weight).encode()).hexdigest()[:16]}"
    return _unpacked(path, cached(name, [path], lambda: _packed(_parse(path, weight))))


def _parse(path: Path, weight: str | None) -> EdgeTable:
    first, columns = read_columns(path)
    cells = [cell.lower() for cell in first.cells]
    named = {name: cells.index(name) for name in (GRAPH, RELATION) if name in cells}
    is_header = bool(named) or cells[0] in SOURCE or weight is not None
    left = [c for c in range(len(cells)) if c not in named.values()]
    if not cells[0] and len(left) > 2 and not any(map(is_number, cells)):
        is_header, left = True, left[1:]  # a column without a name, as pandas writes its index
    ends = [c for words in (SOURCE, TARGET) for c in left if cells[c] in words]
    if len(ends) == 2:
        is_header, left = True, [*ends, *(c for c in left if c not in ends)]
    if weight is not None:
        if weight not in first.cells:
            listed = ", ".join(first.cells)
            raise first.error(
                f"there is no column {weight!r} to take weights from; it has {listed}"
            )
        chosen = first.cells.index(weight)
        left = [*[c for c in left if c != chosen][:2], chosen]
    if len(left) not in (2, 3):
        raise _wrong_width(first)
    edges = Edges(path, (), np.empty((2, 0), dtype=np.int64))
    if columns:
        try:
            edges = _fast(first, columns, left, named)
        except (ValueError, IndexError, KeyError):
            header = first.cells if is_header else ["source", "target", "weight"]
            edges = _slow(first, header, left, named)
    return EdgeTable(first, is_header, edges)


def _fast(
    first: Row, columns: Sequence[Sequence[str]], left: list[int], named: dict[str, int]
) -> Edges:
    """Whole columns at once; anything unusual is a ValueError, for :func:`_slow` to name."""
    source, target = (columns[c] for c in left[:2])
    if GRAPH in named:
        graphs = columns[named[GRAPH]]
        source, target = (
            [f"{graph}{WITHIN}{node}" for graph, node in zip(graphs, side, strict=True)]
            for side in (source, target)
        )
    count = len(source)
    names: dict[str, int] = defaultdict(number().__next__)  # a new name gets the next number
    both = chain.from_iterable(zip(source, target, strict=True))
    ends = np.fromiter(map(names.__getitem__, both), np.int64, 2 * count).reshape(-1, 2).T.copy()
    if any(not name or name[0] == WITHIN or name[-1] == WITHIN for name in names):
        raise ValueError("a node without a name")
    weight = None
    if len(left) == 3:
        numbers = columns[left[2]]
        numbers = decimal_points(numbers) if first.decimal_comma else numbers
        weight = np.fromiter(map(float, numbers), np.float64, count)
        if not (np.abs(weight) <= LARGEST).all():
            raise ValueError("a weight that is no number, or too large")
    kinds, relations = None, {}
    if RELATION in named:
        cells = columns[named[RELATION]]
        relations = {name: i for i, name in enumerate(dict.fromkeys(cells))}
        if not relations.keys().isdisjoint(("", *RESERVED)):
            raise ValueError("a relation without a name of its own")
        kinds = np.fromiter(map(relations.__getitem__, cells), np.int64, count)
    return Edges(first.path, tuple(names), ends, weight, kinds, tuple(relations), GRAPH in named)


def _slow(first: Row, header: list[str], left: list[int], named: dict[str, int]) -> Edges:
    """Line by line: the first line that is wrong is refused; a table without any is read."""
    rows = read_rows(first.path)[1:]
    for row in rows:
        for column in left[:2]:
            if not row.cells[column]:
                raise row.cell_error(column, header[column], "the name of a node", "or remove it")
        if len(left) == 3:
            row.number(left[2], header[left[2]])  # refuses what is no finite number
        if RELATION in named and row.cells[named[RELATION]] in ("", *RESERVED):
            name = row.cells[named[RELATION]]
            raise row.error(
                f"column {RELATION!r}: a relation cannot be called {name!r}; choose another word"
            )
        if GRAPH in named and not row.cells[named[GRAPH]]:
            raise row.cell_error(named[GRAPH], GRAPH, "the name of a graph", "or remove the line")
    columns = [list(column) for column in zip(*(row.cells for row in rows), strict=True)]
    return _fast(first, columns, left, named)


def _wrong_width(first: Row) -> InputError:
    count = len(first.cells)
    if count < 2:
        return first.error(
            f"expected 2 or 3 cells, got {count} ({','.join(first.cells)[:60]!r}); an edge is "
            f"source,target or source,target,weight; {SEPARATED}"
        )
    return first.error(
        f"expected 2 or 3 cells, got {count} ({','.join(first.cells)[:60]!r}): an edge has one "
        "number at most, its weight, and no other features; remove columns, or choose the weight "
        "with --option weight=COLUMN"
    )


def _packed(table: EdgeTable) -> Named:
    edges = table.edges
    facts = [table.first[1:], table.is_header, edges.names, edges.relations, edges.has_graphs]
    text = json.dumps(facts).encode()
    arrays = {"facts": np.frombuffer(text, dtype=np.uint8), "ends": edges.ends}
    for name in ("weight", "kinds"):
        if getattr(edges, name) is not None:
            arrays[name] = getattr(edges, name)
    return arrays


def _unpacked(path: Path, arrays: Named) -> EdgeTable:
    first, is_header, names, relations, has_graphs = json.loads(arrays["facts"].tobytes())
    edges = Edges(
        path,
        tuple(names),
        arrays["ends"],
        arrays.get("weight"),
        arrays.get("kinds"),
        tuple(relations),
        has_graphs,
    )
    return EdgeTable(Row(path, *first), is_header, edges)
