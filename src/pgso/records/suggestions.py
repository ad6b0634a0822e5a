"""What datasets suggest about a run: they put it here when they register, and specs read it."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_SUGGESTIONS: dict[str, tuple[str, Mapping[str, Any]]] = {}


def suggest(name: str, choices: Mapping[str, Any]) -> None:
    """Make a dataset's proper name and its suggestions known."""
    _SUGGESTIONS[name.lower()] = name, choices


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
