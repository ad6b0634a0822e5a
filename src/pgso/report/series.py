"""Curves over the seeds: the mean, and the band from the lowest to the highest run."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pgso.gso.parameters import NAMES
from pgso.records import RunRecord


@dataclass(frozen=True)
class Band:
    """One curve over several runs; ``epochs`` are counted from 1, as "after so many epochs"."""

    epochs: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def points_of(record: RunRecord, name: str) -> list[tuple[int, Any]]:
    """A curve as (epoch, value), whether every epoch is kept or only some (``curves["epoch"]``)."""
    values = record.curves.get(name) or []
    epochs = record.curves.get("epoch", range(len(values)))
    return [(epoch + 1, value) for epoch, value in zip(epochs, values, strict=False)]


def band(curves: Iterable[Iterable[tuple[int, Any]]]) -> Band | None:
    """The band over curves of any length; an epoch counts the runs that have a number there.

    Example:
        >>> band([[(1, 2.0), (2, 4.0)], [(1, 4.0), (2, None), (3, 5.0)]])
        Band(epochs=(1, 2, 3), mean=(3.0, 4.0, 5.0), low=(2.0, 4.0, 5.0), high=(4.0, 4.0, 5.0))
    """
    columns: dict[int, list[float]] = {}
    for curve in curves:
        for epoch, value in curve:
            if is_number(value):
                columns.setdefault(epoch, []).append(float(value))
    epochs = sorted(columns)
    if not epochs:
        return None
    return Band(
        epochs=tuple(epochs),
        mean=tuple(math.fsum(columns[epoch]) / len(columns[epoch]) for epoch in epochs),
        low=tuple(min(columns[epoch]) for epoch in epochs),
        high=tuple(max(columns[epoch]) for epoch in epochs),
    )


def curve_band(records: Iterable[RunRecord], name: str, scale: float = 1.0) -> Band | None:
    """The band of a curve that has one number an epoch: loss, train, val, test."""
    return band(
        [
            (epoch, value * scale if is_number(value) else None)
            for epoch, value in points_of(record, name)
        ]
        for record in records
    )


def parameter_bands(records: Sequence[RunRecord], layer: int) -> dict[str, Band]:
    """The bands of m1, ..., a of one operator."""
    bands = {
        name: band(_entries(record, "parameters", layer, column) for record in records)
        for column, name in enumerate(NAMES)
    }
    return {name: curves for name, curves in bands.items() if curves is not None}


def interval_bands(records: Sequence[RunRecord], layer: int) -> tuple[Band, Band] | None:
    """The bands of the certified interval's two ends; none for directed graphs."""
    low, high = (
        band(_entries(record, "interval", layer, end) for record in records) for end in (0, 1)
    )
    return None if low is None or high is None else (low, high)


def _entries(record: RunRecord, name: str, layer: int, column: int) -> list[tuple[int, Any]]:
    return [(epoch, operators[layer][column]) for epoch, operators in points_of(record, name)]


def by_operator(records: Iterable[RunRecord], names: Iterable[str]) -> dict[str, list[RunRecord]]:
    """The records of each operator, by seed; operators that were not run are left out."""
    runs = sorted(records, key=lambda record: record.spec.seed)
    groups = {name: [run for run in runs if run.spec.operator == name] for name in names}
    return {name: group for name, group in groups.items() if group}


def thinned(count: int, at_most: int, keep: Iterable[int] = ()) -> list[int]:
    """So many indices below ``count`` at equal distances, with both ends and those to keep.

    Example:
        >>> thinned(5, 10), thinned(101, 5, keep=[42])
        ([0, 1, 2, 3, 4], [0, 25, 42, 50, 75, 100])
    """
    if count <= at_most:
        return list(range(count))
    evenly = {round(k * (count - 1) / (at_most - 1)) for k in range(at_most)}
    return sorted(evenly | {index for index in keep if 0 <= index < count})


def is_number(value: Any) -> bool:
    """Whether a recorded value can be drawn."""
    return isinstance(value, int | float) and math.isfinite(value)
