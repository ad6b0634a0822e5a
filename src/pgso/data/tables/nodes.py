"""Which nodes there are, and their features in the same order."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pgso.data.arrays import Array, check_finite, is_on_disk
from pgso.data.raw import check_count
from pgso.data.tables.columns import TYPE
from pgso.data.tables.edges import Edges
from pgso.data.tables.names import alike, counts_from_1, repair_of
from pgso.data.tables.table import GRAPH, ID, NODE, Table, is_number, key_of
from pgso.errors import InputError

if TYPE_CHECKING:
    from pgso.data.tables.answers import Answers
    from pgso.data.tables.folder import Tables


def feature_key(given: "Tables", table: Table, nodes: Collection[str]) -> str | None:
    """The column of features that names the nodes; None if rows come in order."""
    table.check_has(given.key)
    if given.key is not None or given.in_order:
        return given.key
    if "" in table.names and table.named(NODE) is not None:
        return table.named(NODE)  # beside the numbers of rows that pandas writes
    key = key_of(table, nodes, NODE)
    if key is None and given.known and given.preparation is not None:
        # What the model's table had beside features; the numbers of a frame's rows come last.
        features = {column.name for column in given.preparation.columns}
        others = [name for name in table.names if name not in features]
        named = [name for name in others if 2 * table.frame[name].nunique() > len(table)]
        key = min(named, key=lambda name: name == "", default=None)
    return key


def described_nodes(
    given: "Tables", answers: "Answers | None", ends: set[str], graph: str | None, notes: list[str]
) -> tuple[list[str], Table]:
    """All names of nodes, and the features in their order, without the column of names.

    Answers and the ends of edges, which may have a column of graphs, name nodes, too.
    """
    table = given.features
    assert table is not None
    names = [] if answers is None else answers.names
    known = names or sorted(ends)
    words = (*NODE, TYPE) if graph is None else (*NODE, *GRAPH)
    table = table.with_header(words, set(known), "node,...", wide=True)
    if graph is not None:
        graph, key = table.named(GRAPH), table.named(NODE)
        if graph is None or key is None:
            problem = "the features of several graphs need the columns graph and node"
            raise table.error(f"{problem}; got {','.join(table.top)[:60]!r}")
        table = table.within(graph, key).without(graph)
    else:
        key = feature_key(given, table, known)
    if key is None:
        # Not where answers have names, or where a column may be the names.
        by_row = answers.key is None if answers is not None else all(map(is_number, ends))
        looks = next((name for name in table.names if _looks_like_ids(table, name)), None)
        if not given.in_order and not (looks is None and by_row):
            looks = table.names[0] if looks is None else looks
            cells = table.cells(looks)
            raise InputError(
                f"{table.path} has no column that names the nodes: they are called {known[0]!r}, "
                f"and its {looks!r} holds {cells[0]!r}{repair_of(cells, known)}; name them in a "
                "column called node, or say --option rows=in_order if its rows are in the order of "
                f"{given.source}"
            )
        names = names or [str(i) for i in range(len(table))]
        if len(table) != len(names):
            counts = f"has {len(table)} rows, but {given.source} names {len(names)} nodes"
            advice = "give one row per node, or a first column called node that names them"
            raise InputError(f"{table.path} {counts}; {advice}")
        notes.append(f"{table.path.name}: rows taken in the order of {given.source}")
        return names, table
    table.check_names(key, "described")
    cells = table.cells(key)
    rows = pd.Index(cells, dtype=object).get_indexer(pd.Index(names, dtype=object))
    if (rows < 0).any():
        name, listed = names[int((rows < 0).argmax())], set(names)
        other = next((cell for cell in cells if cell not in listed), None)
        like = "" if other is None else f", and names {other!r}"
        problem = f"{table.path} has no row for node {name!r} of {given.source}{like}"
        advice = f"{repair_of(cells, names)}; add one, or write names alike in all files"
        raise InputError(problem + advice)
    extra = ~np.isin(np.arange(len(cells)), rows)
    order = np.concatenate([rows, np.flatnonzero(extra)]).astype(np.int64)
    return [*names, *cells[extra]], table.without(key, "").take(order)


def _looks_like_ids(table: Table, name: str) -> bool:
    cells = table.cells(name)
    if len(set(cells)) < len(cells) or len(cells) < 3:
        return False
    if name != table.names[0] or (table.has_header and ID.search(name)):
        return table.has_header and ID.search(name) is not None
    if not table.has_header and all(map(is_number, cells)):
        return all(cell.isdecimal() for cell in cells)
    return not any(map(is_number, cells))


def with_ends(
    given: "Tables", answers: "Answers | None", edges: Edges, notes: list[str]
) -> list[str]:
    """All nodes where there are no features: those with an answer, then those edges add.

    Those that a model knows are not added.
    """
    names = [] if answers is None else answers.names
    listed, where, known = set(names), edges.table.path.name, set(given.known)
    extra = [name for name in edges.names if name not in listed]
    fresh = [name for name in extra if name not in known]
    if answers is None or not extra:
        return [*names, *(fresh if names or fresh else extra)]
    path = answers.table.path
    if len(extra) == len(edges.names):
        both = f"one names {names[0]!r}, the other {edges.names[0]!r}"
        repair = f"{repair_of(edges.names, names)}; write names alike in both"
        raise InputError(f"{path} and {where} have no node in common: {both}{repair}")
    n = len(names)
    if answers.key is not None and extra == ["0"] and counts_from_1(names, edges.names):
        problem = f"{where} names the nodes 0 to {n - 1} and {path.name} the nodes 1 to {n}"
        raise InputError(f"{problem}; count from 0 everywhere, or from 1")
    if answers.key is None and counts_from_1(edges.names, names):
        lines = f"{path.name} has {n} lines, which are the nodes 0 to {n - 1}"
        advice = f"count from 0, or name the nodes in {path.name}"
        raise InputError(f"{where} names the nodes 1 to {n} and {lines}; {advice}")
    if given.unknown == "drop":
        return names
    written = {alike(name): name for name in names}
    for name in extra:
        other = written.setdefault(alike(name), name)
        if other != name:
            first = path if other in listed else edges.table.path
            problem = f"{first} names {other!r} and {where} {name!r}, which look like the same node"
            raise InputError(f"{problem}; write names alike everywhere")
    count = f"{len(extra):,} of {n + len(extra):,} nodes are named by {where} only"
    notes.append(f"{count}, such as {extra[0]!r}; they have no label")
    return [*names, *fresh]


def read_array(path: Path, count: int) -> Array:  # (n, F)
    """``features.npy``: numbers, prepared already; rows stay on disk until they are used."""
    try:
        # Copy-on-write, for torch wants writable memory.
        x: Array = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else str(error)[:100]
        problem = f"{path} is no readable array of numbers ({reason})"
        raise InputError(f"{problem}; write it with numpy.save") from None
    is_array = isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[1] > 0
    if not is_array or x.dtype.kind not in "biuf":
        raise InputError(f"{path} must hold numbers, a row per node and one column or more")
    check_count(x.shape[1], "columns of numbers", path)
    if count and len(x) != count:
        raise InputError(f"{path} has {len(x)} rows, but labels.csv names {count} nodes")
    if not is_on_disk(x):
        check_finite(x, f"{path}: features")
    return x if x.dtype == np.float32 else x.astype(np.float32)
