"""What datasets suggest about a run: they put it here when they register, and specs read it."""

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

# For tables: each column is a feature of its own, and few of them say something. A node keeps its
# own columns beside what it hears (residual), and one layer of a large rate is a regression that
# is trained to its end; see benchmarks/finding/signals.py.
TABLE: Mapping[str, Any] = {
    "num_layers": 1,
    "residual": True,
    "dropout": 0.0,
    "lr": 0.1,
    "exponent_lr": 0.05,
    "weight_decay": 0.01,
    "s_decay": "none",
}
MOST_COLUMNS = 64  # of a table; more are taken for words of texts

_SUGGESTIONS: dict[str, tuple[str, Mapping[str, Any]]] = {}


_DIRECTED: set[str] = set()


def suggest(name: str, choices: Mapping[str, Any], directed: bool = False) -> None:
    """Make a dataset's proper name and its suggestions known, and if its edges have a direction."""
    _SUGGESTIONS[name.lower()] = name, choices
    if directed:
        _DIRECTED.add(name.lower())


def suggested(dataset: str) -> tuple[str, Mapping[str, Any]]:
    """The proper name of a dataset, and the choices of a spec that suit it.

    Datasets lie above records and register themselves when they are imported (which needs no
    torch), so this only makes sure that they have been: a spec must not depend on who was
    imported before.

    Example:
        >>> suggested("MINESWEEPER")
        ('minesweeper', {'num_layers': 3, 'norm': 'batch'})
        >>> suggested("./my_graph")
        ('./my_graph', {})
    """
    import_module("pgso.data")
    if dataset.lower() in _SUGGESTIONS:
        return _SUGGESTIONS[dataset.lower()]
    return dataset, TABLE if _is_table(Path(dataset).expanduser()) else {}


def _is_table(folder: Path) -> bool:
    """Whether a user's folder has a table of features of nodes, by the first line of its files."""
    try:
        with (folder / "features.csv").open(encoding="utf-8-sig") as features:
            columns = features.readline(2**16)
        with (folder / "edges.csv").open(encoding="utf-8-sig") as edges:
            header = edges.readline(2**16)
    except (OSError, ValueError):
        return False
    several = "graph" in re.split(r"[,;\t]", header.strip().lower())
    return not several and max(columns.count(mark) for mark in ",;\t") < MOST_COLUMNS


def has_direction(dataset: str) -> bool:
    """Whether a dataset can be loaded with directed edges, by its option ``undirected=False``.

    Example:
        >>> has_direction("Chameleon"), has_direction("Cora")
        (True, False)
    """
    import_module("pgso.data")
    return dataset.lower() in _DIRECTED
