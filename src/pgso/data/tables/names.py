"""Names of nodes in several tables: which look alike, and how they could be made to agree."""

import re
import unicodedata
from collections.abc import Collection

WITHIN = "\x1f"  # between the name of a graph and the name of one of its nodes


def shown(name: str) -> str:
    """The name of a node for errors, maybe with that of its graph."""
    parts = (part if len(part) < 60 else part[:57] + "..." for part in name.rpartition(WITHIN))
    graph, _, node = parts
    return f"{node!r} of graph {graph!r}" if graph else repr(node)


def alike(name: str) -> str:
    """The same for names that people, spreadsheets and pandas take for each other: 07 and 7.0."""
    number = re.fullmatch(r"0*(\d+)(\.0+)?", name)
    if number is not None:
        return number[1]
    if name.isascii():
        return name.lower()
    seen = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return "".join(seen).casefold()


def repair_of(cells: Collection[str], nodes: Collection[str]) -> str:
    """What to change in ``cells`` so that they are names of nodes, if some change would do."""
    wanted, given = set(nodes), list(dict.fromkeys(cells))
    if not given or not wanted:
        return ""
    if counts_from_1(given, wanted):
        return "; they count from 1 and other tables from 0: count from 0 everywhere"
    known = {alike(name): name for name in wanted}
    other = next((cell for cell in given if cell not in wanted and alike(cell) in known), None)
    if other is not None:
        return f"; write {known[alike(other)]!r} instead of {other!r}, and so on"
    example = next(iter(nodes))
    for cell in filter(None, given[:100]):
        before = example.removesuffix(cell) if example.endswith(cell) else ""
        after = cell.removesuffix(example) if cell.endswith(example) else ""
        if before or after:
            moved = {before + other.removeprefix(after) for other in given}
            if 2 * len(moved & wanted) > min(len(moved), len(wanted)):
                return f"; {'put' if before else 'remove'} {before or after!r} before each name"
    return ""


def counts_from_1(given: Collection[str], nodes: Collection[str]) -> bool:
    """Whether names count 1, 2, ... n where nodes are called 0, 1, ... n - 1."""
    return (
        "0" not in given
        and str(len(nodes)) in given
        and all(name.isdecimal() for name in given)
        and set(nodes) == set(map(str, range(len(nodes))))
    )
