"""A rung: one candidate of ``find``, and the families that rungs come in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pgso.finding.blocks import Word
from pgso.finding.problem import Problem
from pgso.registry import Registry


@dataclass(frozen=True)
class Rung:
    """Blocks with weights of their own.

    ``complexity`` orders rungs: of two that are equally good, the smaller one is kept.
    """

    name: str
    family: str
    words: tuple[Word, ...]
    complexity: int


class Search(Protocol):
    """What a family may look at while it names its rungs."""

    problem: Problem

    def loss(self, name: str) -> float:
        """The leave-one-out error of a rung that was already named; infinite if it was skipped."""


class Family(NamedTuple):
    """Rungs of one kind: simple families first.

    ``rungs`` is a generator: a rung it yields is fitted before the next one is asked for, so that
    it may go on with what did well.
    """

    rank: int
    rungs: Callable[[Search], Iterator[Rung]]


FAMILIES: Registry[Family] = Registry("family of rungs", plugins="pgso.rungs")
