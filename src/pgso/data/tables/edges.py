"""A user's table of edges: which columns are the ends, and which, if any, is the weight."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pgso.data.arrays import Array
from pgso.data.edge_lists import merged
from pgso.data.raw import check_count
from pgso.data.tables.names import WITHIN, alike, repair_of, shown
from pgso.data.tables.table import GRAPH, ID, SEPARATED, Table, is_number
from pgso.errors import InputError

_END = r"[_ \-]?(id|node|name|idx|index)?"
SOURCE = re.compile(rf"(source|src|from|sender|start|(node|id|user)?[_ ]?(1|a)|u){_END}", re.I)
TARGET = re.compile(
    rf"(target|dst|dest|destination|to|receiver|end|(node|id|user)?[_ ]?(2|b)|v){_END}", re.I
)
WEIGHT = ("weight", "w", "value", "count", "strength", "amount")
HEADER = ("source", "src", "from", "target", "dst", "to", *GRAPH, "relation", "weight")
FORM = "source,target"
MOST_TYPES = 10  # of nodes, above which the column is a feature like any other
RESERVED = ("", "in", "out", "self")  # words of terms
FEWEST_EDGES = 10  # from which on a first line stands out if its ends have no other edge


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges as they are listed: nothing is merged, and none has a reverse yet."""

    table: Table
    columns: tuple[str, str]  # of source and target
    names: "pd.Index[str]"  # of the nodes: as they come, or those of all tables
    ends: Array  # (2, E) source and target, places in ``names``
    weight: Array | None = None  # (E,)
    kinds: Array | None = None  # (E,) places in ``relations``
    relations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def on(self, nodes: "pd.Index[str]", unknown: str, where: str) -> "Edges":
        """The same between all nodes, of ``where``; edges to others are refused or dropped."""
        places = nodes.get_indexer(self.names)
        ends, others = places[self.ends], int((places < 0).sum())
        kept = (ends >= 0).all(axis=0)
        if kept.all():
            return replace(self, names=nodes, ends=ends)
        path = self.table.path
        if unknown == "drop" and kept.any():
            count = f"{(~kept).sum():,} edges to {others:,} nodes"
            note = f"{path.name}: {count} that {where} does not name are left out"
            weight, kinds = (None if a is None else a[kept] for a in (self.weight, self.kinds))
            left = replace(self, ends=ends[:, kept], weight=weight, kinds=kinds)
            notes = (*self.notes, note)
            return replace(left, table=self.table.take(kept), names=nodes, notes=notes)
        edge = int(kept.argmin())
        side = int((ends[:, edge] >= 0).argmin())
        more = f", as are {others - 1:,} others" if others > 1 else ""
        repair = "" if WITHIN in nodes[0] else repair_of(self.names, nodes)
        problem = f"node {shown(self.names[self.ends[side, edge]])} is in no other file{more}"
        like = f"known are {len(nodes)} nodes such as {shown(nodes[0])}{repair}"
        drop = "" if unknown == "drop" else ", or leave out such edges with --option unknown=drop"
        advice = f"add it to {where}{drop}"
        error = self.table.error(f"{problem}; {like}; {advice}", edge, self.columns[side])
        raise error if kept.any() else InputError(str(error))  # no other row makes it better

    def between(self, cells: Array, undirected: bool) -> "Edges":
        """Edges without relations get their ends' types, such as ``user-film``."""
        codes, types = pd.factorize(cells)
        count = len(types)
        if self.kinds is not None or not 1 < count <= MOST_TYPES or "" in types:
            return self
        source, target = codes[self.ends]
        key, reverse = source * count + target, target * count + source
        if undirected:
            first = np.full(count * count, len(key))  # where each pair of types is listed first
            np.minimum.at(first, key, np.arange(len(key)))
            key = np.where(first[reverse] < first[key], reverse, key)
        distinct, kinds = np.unique(key, return_inverse=True)
        relations = tuple(f"{types[k // count]}-{types[k % count]}" for k in distinct)
        return replace(self, kinds=kinds, relations=relations)

    def merged(self, undirected: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Edges without repetitions for :meth:`Task.from_arrays`, and notes about them."""
        n, ends, path, weight = len(self.names), self.ends, self.table.path, self.weight
        parts, notes = [np.ones(ends.shape[1], dtype=bool)], list(self.notes)
        if self.kinds is not None:
            check_count(len(self.relations), "relations", path)
            parts = [self.kinds == kind for kind in range(len(self.relations))]
        weights = [None if weight is None else weight[part] for part in parts]
        listed = [(ends[:, part], w) for part, w in zip(parts, weights, strict=True)]
        given: Any = (path, lambda k: shown(self.names[k]))
        try:
            graphs = [merged(*edges, n, undirected, *given) for edges in listed]
        except InputError as error:  # of two weights
            why = str(error).partition("; make them")[0].removeprefix(f"{path}: ")
            notes.append(f"{path.name}: edges keep their direction, since {why}")
            graphs = [merged(*edges, n, False, *given) for edges in listed]
        repeated = sum(count for _, _, count in graphs)
        signs = np.ones(1) if weight is None else np.sign(weight)
        for count, what in (
            (repeated, "lines repeat an edge, and their weights are added up"),
            ((ends[0] == ends[1]).sum(), "edges join a node with itself"),
            ((signs < 0).sum(), "weights are negative"),
            ((signs == 0).sum(), "weights are 0"),
        ):
            if count:
                notes.append(f"{path.name}: {count:,} {what}")
        (edge_index, total, _), relations = graphs[0], None
        if self.kinds is not None:
            relations = {k: g[:2] for k, g in zip(self.relations, graphs, strict=True)}
            # Together they are the sum of their parts, in which an edge may be of several kinds.
            summed = [np.ones(pair.shape[1]) if w is None else w for pair, w, _ in graphs]
            pairs = np.concatenate([pair for pair, _, _ in graphs], axis=1)
            edge_index, total, _ = merged(pairs, np.concatenate(summed), n, False, path)
        edges = {"edge_index": edge_index, "edge_weight": total, "relations": relations}
        return edges, tuple(notes)


def nodes_of(table: Table) -> tuple[Table, set[str], set[str]]:
    """A table of edges, the names in it, and words of its first line that may be a header."""
    top = table.top
    is_counted = not table.has_header and top == tuple(map(str, range(len(top))))
    if is_counted or any(cell.lower() in HEADER for cell in top):
        table = table.with_header(HEADER, (), FORM)
    found = [c for form in (SOURCE, TARGET) for c, name in enumerate(top) if form.fullmatch(name)]
    columns = found if len(found) == 2 else [c for c, name in enumerate(top[:4]) if name]
    codes, distinct = table.coded(*(table.names[c] for c in columns))
    below = codes if table.has_header else codes[:, 1:]
    names = set(distinct[np.bincount(below.reshape(-1), minlength=len(distinct)) > 0]) - {""}
    if table.has_header:
        return table, names, set()
    if is_counted and len(table.lines) > FEWEST_EDGES and not names & set(top[:2]):
        return table, names, set()  # as pandas calls columns; other tables may name these nodes
    if names & set(top[:2]) or any(map(is_number, top)):
        return table, {*names, *top[:2]}, set()
    return table, names, set(top[:2])


def read_edges(table: Table, nodes: AbstractSet[str], weight: str | None = None) -> Edges:
    """Edges of a table: source, target and maybe weight, relation and graph; notes name others."""
    table = _with_header(table, nodes, weight)
    path, is_plain = table.path, not table.has_header
    if is_plain:
        table = table.called(*("source", "target", "weight")[: len(table.names)])
    graph, relation = table.named(GRAPH), table.named(("relation",))
    ends = _ends(table, nodes, {graph, relation, weight, ""})
    called = [name for name in table.names if name.lower() in WEIGHT and name not in ends]
    if weight is None and len(called) > 1:
        both, advice = " and ".join(map(repr, called)), f"--option weight={called[0]}"
        raise table.error(f"both {both} may be the weight; choose one with {advice}")
    weight = weight or (called[0] if called else None)
    notes = []
    left = [name for name in table.names if name and name not in {*ends, graph, relation, weight}]
    if left:
        named = f"{', '.join(map(repr, left[:8]))}{' ...' * (len(left) > 8)}"
        rule = f"a column called {', '.join(WEIGHT)}, or --option weight=COLUMN"
        notes.append(f"{path.name}: {named} left out; the weight of an edge is {rule}")
    if is_plain and weight is not None:
        first, *others = (set(table.cells(name)) for name in table.names)
        numbers = range(len(table.lines))
        counts = {str(k) for k in numbers}, {str(k + 1) for k in numbers}
        if first in counts and not first <= nodes and all(end <= nodes for end in others):
            form = "remove it, or write a header line,source,target"  # as pandas' index
            raise table.error(f"the first column counts the lines; {form}", 0)
        if len(table.lines) > 2 and (np.diff(table.numbers(weight)) == 1).all():
            form = "if it is a weight, write a header source,target,weight, otherwise remove it"
            raise table.error(f"the third column counts the lines; {form}", 0)
        notes.append(f"{path.name}: the third column is taken as the weight")
    codes, names = table.coded(*ends)
    for name in ends if "" in names else ():
        table.check_filled(name, "the name of a node")
    if graph is not None:
        table = table.within(graph, *ends)
        codes, names = table.coded(*ends)
    kinds, relations = None, ()
    if relation is not None:
        wrong = np.isin(table.cells(relation), RESERVED)
        if wrong.any():
            row = int(wrong.argmax())
            problem = f"a relation cannot be called {table.cells(relation)[row]!r}"
            raise table.error(f"{problem}; choose another word", row, relation)
        kinds, found = pd.factorize(table.cells(relation))
        relations = tuple(found)
    weights = None if weight is None else table.numbers(weight)
    index = pd.Index(names, dtype=object)
    return Edges(table, ends, index, codes, weights, kinds, relations, tuple(notes))


def _with_header(table: Table, nodes: AbstractSet[str], weight: str | None) -> Table:
    """The table with its header, if it has one; it has enough columns, and at least one edge."""
    top, width = table.top, len(table.names)
    problem = f"expected 2 or 3 cells, got {width} ({','.join(top)[:60]!r}); "
    if width < 2:
        form = "an edge is source,target or source,target,weight"
        raise table.error(f"{problem}{form}; {SEPARATED}", 0)
    words = HEADER if weight is None else (*HEADER, weight.lower())
    known = set(nodes)
    if not table.has_header and not any(cell.lower() in words for cell in top):
        _, names, in_doubt = nodes_of(table)
        known |= names & set(top[:2])
        if in_doubt and width < 4 and not nodes & in_doubt:
            codes, _ = table.take(slice(1, None)).coded(*table.names[:2])
            is_lone = (np.bincount(codes.reshape(-1))[codes] == 1).all(axis=0)
            if len(table.lines) > FEWEST_EDGES and not is_lone.any():
                known |= names  # so that the first line stands out: neither end has another edge
    table = table.with_header(words, known, FORM)
    if not table.has_header and width > 3:
        form = "write a header that names the columns, such as source,target,weight"
        raise table.error(problem + form, 0)
    if weight is not None and weight not in table.names:
        listed = ", ".join(table.top)
        raise table.error(f"there is no column {weight!r} to take weights from; it has {listed}")
    if not len(table.lines):
        raise InputError(f"{table.path} has a header and no edges; write at least one line")
    return table


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
        some = {name: table.cells(name)[:1000] for name in others}
        full = [n for n in others if np.mean([alike(cell) in known for cell in some[n]]) > 0.5]
        if len(full) == 2:
            return full[0], full[1]
    cells = table.cells(others[0]) if len(others) > 2 else np.array([""])
    counts = len(set(cells)) == len(cells) and all(map(is_number, cells))  # lines, not nodes
    if len(others) < 2 or counts or (len(others) > 2 and ID.fullmatch(others[0])):
        listed = ", ".join(table.names)
        problem = f"which columns hold the two ends of an edge? it has {listed}"
        raise table.error(f"{problem}; call them source and target")
    return others[0], others[1]
