"""Curves over the seeds, and what was learned: S beside its start, its nearest named operator."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgso.evaluation.statistics import Interval
from pgso.gso.parameters import NAMES
from pgso.records import RunRecord
from pgso.report.words import LABELS, places


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


_ORDER = {name: rank for rank, name in enumerate(LABELS)}


@dataclass(frozen=True)
class LearnedOperator:
    """One operator of a model, over its seeds; ``place`` is empty where it is the only one."""

    operator: str
    chosen: str | None  # under auto, the operator that validation chose on these seeds
    rung: str | None  # the rung of pgso.find whose network it was learned in
    place: str  # its layer, counted from 1, and in a bank its term
    n: int
    start: tuple[float, ...]  # (7,) mean over the seeds
    mean: tuple[float, ...]  # (7,)
    sd: tuple[float, ...] | None  # (7,) none for one seed
    nearest: str  # the preset that most seeds are nearest to
    nearest_count: int  # how many seeds
    nearest_distance: float  # their mean distance, in [0, 1]
    interval_start: Interval | None  # certified; the mean of each end over the seeds
    interval_learned: Interval | None

    @property
    def name(self) -> str:
        """The operator as a reader knows it, with its place."""
        label = network_name(self.operator, self.chosen, self.rung)
        return f"{label}, {self.place}" if self.place else label


def learned_operators(records: Iterable[RunRecord]) -> list[LearnedOperator]:
    """Every learned operator of every mode, in layer order, over the runs that have a score."""
    runs = [record for record in records if record.parameters and record.test is not None]
    learned = [run for run in runs if (run.chosen or run.spec.operator) != "fixed"]
    return [
        _over_seeds(group, layer)
        for group in by_network(learned).values()
        for layer in range(len(group[0].parameters))
    ]


def learned_runs(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs whose operators can be looked at epoch by epoch, by operator and seed."""
    learned = [name for name in LABELS if name != "fixed"]
    groups = by_operator(records, learned).values()
    moves = [run for group in groups for run in group if run.curves.get("parameters")]
    return [run for run in moves if run.spec.operator != "found" or run.chosen != "fixed"]


def by_network(records: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """The runs whose operators stand in the same places, by name, each by seed.

    Seeds are kept apart if ``auto`` or ``found`` took the networks of different rungs.
    """
    groups: dict[str, list[RunRecord]] = {}
    for run in sorted(records, key=lambda run: (_ORDER[run.spec.operator], run.spec.seed)):
        name = network_name(run.spec.operator, run.chosen, run.rung)
        groups.setdefault(name, []).append(run)
    return groups


def network_name(operator: str, chosen: str | None, rung: str | None) -> str:
    """An operator, what validation chose for it, and the rung whose network it is in.

    Example:
        >>> network_name("auto", "pgso", None), network_name("found", "pgso", "gcn, 2 hops")
        ('auto (PGSO)', 'found (PGSO) in gcn, 2 hops')
    """
    label = LABELS[operator] if chosen is None else f"{LABELS[operator]} ({LABELS[chosen]})"
    return label if rung is None else f"{label} in {rung}"


def _over_seeds(group: Sequence[RunRecord], layer: int) -> LearnedOperator:
    S = np.array([record.parameters[layer] for record in group])
    names = [record.nearest[layer] for record in group if layer < len(record.nearest)]
    nearest, count = Counter(name for name, _ in names).most_common(1)[0] if names else ("-", 0)
    distances = [distance for name, distance in names if name == nearest]
    spec = group[0].spec.model_copy(update={"terms": terms_of(group[0])})
    return LearnedOperator(
        operator=group[0].spec.operator,
        chosen=group[0].chosen,
        rung=group[0].rung,
        place=places(spec, len(group[0].parameters))[layer],
        n=len(group),
        start=tuple(np.mean([record.start[layer] for record in group], axis=0).tolist()),
        mean=tuple(S.mean(axis=0).tolist()),
        sd=tuple(S.std(axis=0, ddof=1).tolist()) if len(group) > 1 else None,
        nearest=nearest,
        nearest_count=count,
        nearest_distance=float(np.mean(distances)) if distances else float("nan"),
        interval_start=_mean([interval_at_start(run, layer) for run in group]),
        interval_learned=_mean([interval_at_epoch(run, layer, run.epoch) for run in group]),
    )


def terms_of(record: RunRecord) -> tuple[str, ...] | None:
    """The terms of a run's network: those of its rung, where it has one with terms."""
    terms = record.network.get("terms", record.spec.terms)
    return None if terms is None else tuple(terms)


def interval_at_epoch(record: RunRecord, layer: int, epoch: int | None) -> Interval | None:
    """The certified interval after an epoch; none for directed graphs."""
    if epoch is None:
        return None
    bounds = dict(points_of(record, "interval")).get(epoch + 1)
    if bounds is None or not all(map(is_number, bounds[layer])):
        return None
    return Interval(*bounds[layer])


def interval_at_start(record: RunRecord, layer: int) -> Interval | None:
    """The certified interval before training; none for directed graphs."""
    bounds = record.start_interval[layer : layer + 1]
    return Interval(*bounds[0]) if bounds and all(map(is_number, bounds[0])) else None


def _mean(intervals: Sequence[Interval | None]) -> Interval | None:
    certified = [interval for interval in intervals if interval is not None]
    return Interval(*np.mean(certified, axis=0).tolist()) if certified else None
