"""Curves over the seeds, and what was learned: S beside its start, its nearest named operator."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgso.evaluation.statistics import Interval
from pgso.records import RunRecord
from pgso.records.record import Spectra
from pgso.report.words import LABELS, places

MOST_EPOCHS = 240  # points of a curve; more cannot be seen, and make the page heavy


def points_of(record: RunRecord, name: str) -> list[tuple[int, Any]]:
    """A curve as (epoch, value), whether every epoch is kept or only some (``curves["epoch"]``).

    Epochs are counted from 1, as "after so many epochs".
    """
    values = record.curves.get(name) or []
    epochs = record.curves.get("epoch", range(len(values)))
    return [(epoch + 1, value) for epoch, value in zip(epochs, values, strict=False)]


def curve_band(
    records: Iterable[RunRecord], name: str, scale: float = 1.0
) -> list[tuple[int, float, float, float]]:
    """Epoch, mean, least and most of a curve over runs of any length: loss, train, val, test.

    An epoch counts the runs that have a number there.
    """
    columns: dict[int, list[float]] = {}
    for record in records:
        for epoch, value in points_of(record, name):
            if is_number(value):
                columns.setdefault(epoch, []).append(scale * value)
    return [
        (epoch, math.fsum(values) / len(values), min(values), max(values))
        for epoch, values in sorted(columns.items())
    ]


def by_operator(records: Iterable[RunRecord], names: Iterable[str]) -> dict[str, list[RunRecord]]:
    """The records of each operator, by seed; operators that were not run are left out."""
    runs = sorted(records, key=lambda record: record.spec.seed)
    groups = {name: [run for run in runs if run.spec.operator == name] for name in names}
    return {name: group for name, group in groups.items() if group}


def thinned(count: int, at_most: int, keep: Iterable[int] = ()) -> list[int]:
    """``at_most`` indices below ``count`` at equal distances, with both ends and those to keep.

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


def learned_runs(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs whose operators can be looked at epoch by epoch, by operator and seed."""
    learned = [name for name in LABELS if name != "fixed"]
    groups = by_operator(records, learned).values()
    moves = [run for group in groups for run in group if run.curves.get("parameters")]
    return [run for run in moves if run.spec.operator != "found" or run.chosen != "fixed"]


def by_epoch(record: RunRecord) -> dict[str, Any]:
    """One run for the explorer, with the start as epoch 0 of every curve."""
    spectra = record.spectra or Spectra()
    points, bounds = dict(points_of(record, "parameters")), dict(points_of(record, "interval"))
    chosen = None if record.epoch is None else record.epoch + 1
    if chosen is not None:
        points[chosen] = record.parameters  # a thinned record may have left this epoch out
    epochs = sorted(points)
    keep = [] if chosen is None else [epochs.index(chosen)]
    shown = [(epochs[k], points[epochs[k]]) for k in thinned(len(epochs), MOST_EPOCHS, keep)]
    intervals = None
    if bounds:
        intervals = [record.start_interval, *(bounds.get(epoch) for epoch, _ in shown)]
    return {
        "operator": record.spec.operator,
        "seed": record.spec.seed,
        "chosen": chosen,
        "epochs": [0, *(epoch for epoch, _ in shown)],
        "parameters": [record.start, *(operators for _, operators in shown)],
        "intervals": intervals,
        "start": spectra.get("start", []),
        "learned": spectra.get("learned", []),
        "byEpoch": spectra.get("by_epoch", []),
        "subgraph": spectra.get("subgraph"),
    }


@dataclass(frozen=True)
class LearnedOperator:
    """One operator of a model, over its seeds."""

    name: str  # the operator as a reader knows it, with its layer, and in a bank its term
    n: int
    start: tuple[float, ...]  # (7,) mean over the seeds
    mean: tuple[float, ...]  # (7,)
    nearest: str  # the preset that most seeds are nearest to
    nearest_count: int  # how many seeds
    nearest_distance: float  # their mean distance, in [0, 1]
    interval_start: Interval | None  # certified; the mean of each end over the seeds
    interval_learned: Interval | None


def learned_operators(records: Iterable[RunRecord]) -> list[LearnedOperator]:
    """Every learned operator of every mode, in layer order, over the runs that have a score.

    Seeds are kept apart if ``auto`` or ``found`` took the networks of different rungs.
    """
    groups: dict[str, list[RunRecord]] = {}
    order = list(LABELS)
    for run in sorted(records, key=lambda run: (order.index(run.spec.operator), run.spec.seed)):
        is_learned = (run.chosen or run.spec.operator) != "fixed"
        if run.parameters and run.test is not None and is_learned:
            name = LABELS[run.spec.operator]
            name += "" if run.chosen is None else f" ({LABELS[run.chosen]})"
            name += "" if run.rung is None else f" in {run.rung}"
            groups.setdefault(name, []).append(run)
    return [
        _over_seeds(name, group, layer)
        for name, group in groups.items()
        for layer in range(len(group[0].parameters))
    ]


def _over_seeds(name: str, group: Sequence[RunRecord], layer: int) -> LearnedOperator:
    named = [record.nearest[layer] for record in group if layer < len(record.nearest)]
    nearest, count = Counter(preset for preset, _ in named).most_common(1)[0] if named else ("-", 0)
    distances = [distance for preset, distance in named if preset == nearest]
    terms = group[0].network.get("terms", group[0].spec.terms)  # of its rung, where it has one
    spec = group[0].spec.model_copy(update={"terms": terms and tuple(terms)})
    place = places(spec, len(group[0].parameters))[layer]
    return LearnedOperator(
        name=f"{name}, {place}" if place else name,
        n=len(group),
        start=tuple(np.mean([record.start[layer] for record in group], axis=0).tolist()),
        mean=tuple(np.mean([record.parameters[layer] for record in group], axis=0).tolist()),
        nearest=nearest,
        nearest_count=count,
        nearest_distance=float(np.mean(distances)) if distances else float("nan"),
        interval_start=_mean_interval(run.start_interval[layer : layer + 1] for run in group),
        interval_learned=_mean_interval(
            [ends[layer]]
            for run in group
            for epoch, ends in points_of(run, "interval")
            if run.epoch is not None and epoch == run.epoch + 1
        ),
    )


def _mean_interval(intervals: Iterable[Sequence[Any]]) -> Interval | None:
    """The mean of each end; None for directed graphs, which have no certified interval."""
    known = [ends for found in intervals for ends in found if all(map(is_number, ends))]
    return Interval(*np.mean(known, axis=0).tolist()) if known else None
