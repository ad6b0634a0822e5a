"""Curves of a run: loss, scores, S and certified intervals of every epoch."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.graph.degrees import kinds_of_nodes
from pgso.gso.module import PGSO
from pgso.records.spec import SevenNumbers
from pgso.spectrum.interval import gershgorin_interval

NAMES = ("loss", "train", "val", "test", "parameters", "interval")
CERTIFIED_AT_ONCE = 2**20  # discs of Theorem 2 in one go


class Curves:
    """What a record will hold of every epoch that has ended.

    Intervals are computed on demand: many epochs together take as long as one.
    """

    def __init__(self, graph: Graph, values: dict[str, list[Any]] | None = None) -> None:
        self.graph = graph
        self._values: dict[str, list[Any]] = values or {name: [] for name in NAMES}
        self._uncertified: list[list[Tensor]] = []  # by epoch, the S of each operator

    @property
    def epochs(self) -> int:
        """How many have ended."""
        return len(self._values["loss"])

    def add(self, operators: list[Tensor], certifiable: bool, **values: Any) -> None:
        """Put an epoch on the curves, and remember S where an interval can be certified."""
        for name, value in values.items():
            self._values[name].append(value)
        if certifiable and self.graph.is_undirected:
            self._uncertified.append(operators)

    def last(self, name: str) -> Any:
        """The value of the epoch that has just ended."""
        return self._values[name][-1]

    def values(self) -> dict[str, list[Any]]:
        """All of them, the intervals too."""
        if self._uncertified:
            waiting = zip(*self._uncertified, strict=True)
            self._uncertified = []
            by_operator = [certified_ends(self.graph, values) for values in waiting]
            self._values["interval"] += [list(ends) for ends in zip(*by_operator, strict=True)]
        return self._values


def is_certifiable(operators: Iterable[PGSO]) -> bool:
    """Whether Theorem 2 holds for these: with an S per node eigenvalues may be complex."""
    return all(
        gso.kind not in ("node", "structural") and gso.edges in (None, "in", "out")
        for gso in operators
    )


def certified_now(operators: Sequence[PGSO], graph: Graph) -> tuple[tuple[float, float], ...]:
    """The certified interval of each operator as it is now; empty where nothing is certified."""
    if not graph.is_undirected or not is_certifiable(operators):
        return ()
    return tuple(certified_ends(graph, [gso.S.detach().cpu()])[0] for gso in operators)


def seven_numbers(S: Tensor) -> SevenNumbers:
    """S as plain floats: means where it has many values."""
    means: SevenNumbers = tuple((S if S.dim() == 1 else S.flatten(1).mean(1)).tolist())
    return means


def certified_ends(
    graph: Graph, by_epoch: Sequence[Tensor]
) -> list[tuple[float, float]]:  # one per epoch
    """Theorem 2 for an operator's S in several epochs, as if each were a channel of one S."""
    intervals: list[tuple[float, float]] = []
    width = by_epoch[0].numel() // by_epoch[0].size(0)  # how many values S has of each scalar
    at_once = max(1, CERTIFIED_AT_ONCE // (kinds_of_nodes(graph)[0].numel() * width))
    for start in range(0, len(by_epoch), at_once):
        part = torch.stack([*by_epoch[start : start + at_once]], dim=1)
        ends = gershgorin_interval(graph, part.reshape(part.size(0), 1, -1))
        low, high = (end.view(-1, width) for end in ends)
        intervals += zip(low.amin(1).tolist(), high.amax(1).tolist(), strict=True)
    return intervals
