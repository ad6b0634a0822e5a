"""What datasets suggest about a run: they put it here when they register, and specs read it."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

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
    return _SUGGESTIONS.get(dataset.lower(), (dataset, {}))


def has_direction(dataset: str) -> bool:
    """Whether a dataset can be loaded with directed edges, by its option ``undirected=False``.

    Example:
        >>> has_direction("Chameleon"), has_direction("Cora")
        (True, False)
    """
    import_module("pgso.data")
    return dataset.lower() in _DIRECTED
