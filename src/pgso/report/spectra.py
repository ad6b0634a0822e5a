"""What a report may be given besides records: spectra and a sub-graph, computed elsewhere."""

from typing import NotRequired, TypedDict


class Density(TypedDict):
    """A spectral density on a grid, with the error of each value if it is known."""

    grid: list[float]
    density: list[float]
    error: NotRequired[list[float]]


class DensityAtEpoch(Density):
    """The density after an epoch, counted from 0 as in a record."""

    epoch: int
    operator: NotRequired[int]  # which one of a model that has several; 0 unless said


class Subgraph(TypedDict):
    """A few nodes to show the operator's entries on; at most 60."""

    adjacency: list[list[float]]
    degree: list[float]  # in the whole graph, without a


class Spectra(TypedDict, total=False):
    """Everything about one run; every part may be missing."""

    start: list[Density]  # one per operator, before training
    learned: list[Density]  # one per operator, at the chosen epoch
    by_epoch: list[DensityAtEpoch]
    subgraph: Subgraph
