"""How far a file is believed: what it claims or unpacks to is checked before memory is taken.

A file of a few kilobytes can claim, or unpack to, any number of gigabytes. The limits leave room
for every public dataset (the most packed one has 30 bytes for one) and keep a hostile file from
filling the memory.
"""

from pathlib import Path

from pgso.errors import InputError

UNPACKED = 2**28  # bytes that any file may unpack to: 256 MB
RATIO = 50  # and that many for each of its bytes, if that is more
DENSE = 2 * 10**8  # numbers in a dense matrix that we make ourselves: 800 MB
NODES = 3 * 10**5  # that an edge list may name, however short it is
NODES_PER_EDGE = 10  # and that many for each edge, if that is more

RELATIONS = 1_000  # kinds of edges: each is a graph of its own
CLASSES = 10_000  # a network has an output for each
TARGETS = 1_000  # numbers that are learned together
COLUMNS = 20_000  # of a table: each has a kind, and may become 50
TEXT = 2**30  # bytes of a table, which takes several times as much in memory
CELLS = 10**8  # of a Parquet table, which may be packed well


def unpacked_limit(path: Path) -> int:
    """How many bytes may come out of a file."""
    return max(UNPACKED, RATIO * path.stat().st_size)


def check_unpacked(path: Path, size: int) -> None:
    """Refuse a file that holds far more than its own size."""
    limit = unpacked_limit(path)
    if size > limit:
        raise InputError(
            f"{path} has {path.stat().st_size} bytes and holds more than {limit}; files may hold "
            f"{UNPACKED >> 20} MB or {RATIO} times their size; unpack it, or check where it is from"
        )


def check_dense(rows: int, columns: int, what: str) -> None:
    """Refuse to spell out a matrix that is too large."""
    if rows * columns > DENSE:
        raise InputError(
            f"{what} would be a matrix of {rows} x {columns} numbers; at most {DENSE} are spelt "
            "out: use fewer categories or nodes"
        )


def check_num_nodes(num_nodes: int, num_edges: int, where: Path) -> None:
    """Refuse node numbers out of all proportion to the edges: every number up to them is a node."""
    limit = max(NODES, NODES_PER_EDGE * num_edges)
    if num_nodes > limit:
        raise InputError(
            f"{where} has {num_edges} edges and would have {num_nodes} nodes, at most {limit} are "
            "allowed; number the nodes 0, 1, 2, ... without gaps"
        )


def check_relations(count: int, where: Path) -> None:
    """Refuse a column of relations that names nearly every edge."""
    if count > RELATIONS:
        raise InputError(
            f"{where} has {count} relations, at most {RELATIONS} are allowed; a relation is a kind "
            "of edges: leave the column out if it names single edges"
        )


def check_text_size(path: Path, cells: int = 0) -> None:
    """Refuse a table that would fill the memory."""
    size = path.stat().st_size
    if size > TEXT or cells > CELLS:
        raise InputError(
            f"{path} has {size:,} bytes{f' and {cells:,} cells' if cells else ''}; a table may "
            f"have {TEXT:,} bytes and {CELLS:,} cells: write features as a matrix to features.npy, "
            "which is not read into memory, or leave out rows"
        )


def check_columns(count: int, where: Path) -> None:
    """Refuse a table of more columns than can be looked at one by one."""
    if count > COLUMNS:
        raise InputError(
            f"{where} has {count:,} columns, at most {COLUMNS:,} are allowed; write a matrix of "
            "numbers to features.npy"
        )


def check_outputs(count: int, what: str, where: object) -> None:
    """Refuse more classes, labels or targets than a network can have outputs."""
    limit = TARGETS if what == "targets" else CLASSES
    if count > limit:
        raise InputError(
            f"{where} has {count:,} {what}, at most {limit:,} are allowed; is it the right column?"
        )
