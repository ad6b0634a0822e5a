"""Spectra of a run's operators and a piece of its graph, as they stand in its record."""

from collections.abc import Iterable
from typing import (
    TYPE_CHECKING,
    NotRequired,  # pydantic needs this one before 3.12
)

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from pgso.records.record import RunRecord


class Density(TypedDict):
    """A spectral density on a grid."""

    grid: list[float]
    density: list[float]


class DensityAtEpoch(Density):
    """The density after an epoch, counted from 0 as in a record."""

    epoch: int
    operator: NotRequired[int]  # which one of a model that has several; 0 unless said


class Subgraph(TypedDict):
    """A few nodes to show the operator's entries on; at most 40."""

    adjacency: list[list[float]]
    degree: list[float]  # in the whole graph, without a


class Spectra(TypedDict, total=False):
    """Everything about one run; every part may be missing."""

    start: list[Density]  # one per operator, before training
    learned: list[Density]  # one per operator, at the chosen epoch
    by_epoch: list[DensityAtEpoch]
    subgraph: Subgraph


def without_spectra(records: "Iterable[RunRecord]") -> "list[RunRecord]":
    """Runs of the first seed that a page would show spectra of, and that have none yet.

    An S that differs from node to node has no spectrum here: a record holds its mean only.
    """
    finished = [run for run in records if run.status == "done" and run.spec.shape == "scalar"]
    first = min((run.spec.seed for run in finished), default=0)
    return [run for run in finished if run.spec.seed == first and run.spectra is None]
