"""A rung: one candidate of ``find``, and the families that rungs come in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor

from pgso.finding.blocks import Word
from pgso.finding.problem import Problem
from pgso.finding.ridge import Fit
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


class Kept(Protocol):
    """The rung that is kept so far, with its fit."""

    rung: Rung
    words: tuple[Word, ...]
    fit: Fit


class Search(Protocol):
    """What a family may look at while it names its rungs."""

    problem: Problem

    @property
    def incumbent(self) -> Kept:
        """The rung that is kept; only families that learn may ask."""

    @property
    def learning_rows(self) -> Tensor:
        """The training labels that families may learn S on; they do not judge what is learned."""

    def loss(self, name: str) -> float:
        """The leave-one-out error of a rung that was already named; infinite if it was skipped."""


class Family(NamedTuple):
    """Rungs of one kind: simple families first.

    ``rungs`` is a generator: a rung it yields is fitted before the next one is asked for, so that
    it may go on with what did well. A family that ``learns`` is asked after the climb, and
    challenges the rung that is kept.
    """

    rank: int
    rungs: Callable[[Search], Iterator[Rung]]
    learns: bool = False


FAMILIES: Registry[Family] = Registry("family of rungs", plugins="pgso.rungs")
