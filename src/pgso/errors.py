"""Errors a user can act on: what was given, what is allowed, what to do."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class PGSOError(Exception):
    """Base of every error that pgso raises on purpose."""


class InputError(PGSOError, ValueError):
    """Something that was passed in is not usable; the message says what would be."""


class RowError(InputError):
    """One row of a table is not usable; a reader may leave it out."""

    def __init__(self, message: str, table: str = "", row: int = -1) -> None:
        super().__init__(message)
        self.table, self.row = table, row


def first_problem(error: Exception) -> str:
    """What is wrong with a file, for a sentence: pydantic's first problem, or the first line."""
    if hasattr(error, "errors"):
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        return f"{where}: {problem['msg']}"[:200] if where else str(problem["msg"])[:200]
    return str(error).splitlines()[0][:200]


class UnknownNameError(InputError, KeyError):
    """No entry has that name; the message suggests the nearest one and lists them all."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        wanted = str(name).lower()
        near = get_close_matches(wanted, names, n=3, cutoff=0.5)
        # Of equally close names, letters that are only out of order are the likelier slip.
        near.sort(key=lambda near_name: sorted(near_name) != sorted(wanted))
        hint = f" Did you mean {near[0]!r}?" if near else ""
        self._given = kind, name, tuple(names)
        self.message = f"no {kind} is called {name!r}.{hint} Known: {', '.join(names)}"
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:  # without it a worker process could not send it back
        return type(self), self._given

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return self.message
