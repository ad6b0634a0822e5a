"""Training, epoch by epoch: curves over the seeds, and one run at a time."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Spectra
from pgso.report.differences import by_operator
from pgso.report.plots import Axis, Plot, Series
from pgso.report.sections import Section, is_number
from pgso.report.words import LABELS

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


def thinned(count: int, at_most: int, keep: Iterable[int] = ()) -> list[int]:
    """``at_most`` indices below ``count`` at equal distances, with both ends and those to keep.

    Example:
        >>> thinned(5, 10), thinned(101, 5, keep=[42])
        ([0, 1, 2, 3, 4], [0, 25, 42, 50, 75, 100])
    """
    evenly = np.linspace(0, count - 1, at_most).round().astype(int).tolist()
    return sorted({*evenly, *keep} & set(range(count)))


def training_section(records: Sequence[RunRecord], objective: Objective) -> Section:
    """Loss and scores against epochs."""
    text = (
        "Mean over the seeds; the band goes from the lowest to the highest seed. Drag to zoom, "
        "double-click or Escape to reset; with the keyboard, arrows read values, + and − zoom. "
        "Thin lines stand at the chosen epochs."
    )
    return Section("Training", text, tuple(curve_plots(records, objective)))


def curve_plots(records: Sequence[RunRecord], objective: Objective) -> list[Plot]:
    """Loss, validation and test score against epochs, mean and range over the seeds."""
    groups = by_operator(records)
    named = [(name, run.epoch) for name, group in groups.items() for run in group]
    chosen = tuple((epoch + 1.0, name) for name, epoch in named if epoch is not None)
    heading, shown = objective.heading, objective.shown(1.0)
    curves = {
        "loss": ("Training loss", "loss", 1.0),
        "val": (f"Validation {heading}", heading, shown),
        "test": (f"Test {heading}", heading, shown),
    }
    plots = []
    for curve, (title, label, scale) in curves.items():
        series = []
        for name, group in groups.items():
            band = curve_band(group, curve, scale)
            band = [band[k] for k in thinned(len(band), MOST_EPOCHS)]
            points = [(epoch, mean) for epoch, mean, _, _ in band]
            reach = [(epoch, low, high) for epoch, _, low, high in band]
            series += [Series(LABELS[name], name, points, reach)] if band else []
        x, title = Axis("epochs", whole=True), f"{title}, by epoch"
        if series:
            plots.append(Plot(f"curve-{curve}", title, x, Axis(label), tuple(series), marks=chosen))
    return plots


def explorer_section(records: Sequence[RunRecord], candidate: str | None) -> Section | None:
    """One learned run, epoch by epoch: what the script moves together."""
    runs = [
        by_epoch(run)
        for group in by_operator(records).values()
        for run in group
        if run.curves.get("parameters") and (run.chosen or run.spec.operator) != "fixed"
    ]
    text = "Move the slider: the values of S and all that follows from them move together."
    title = "One run, epoch by epoch"
    data = {"runs": runs, "labels": LABELS, "candidate": candidate}
    made = Section(title, text, id="explorer", widget="explorer", values=runs, data=data)
    return made if runs else None


def by_epoch(record: RunRecord) -> dict[str, Any]:
    """One run for the explorer, with the start as epoch 0 of every curve."""
    spectra = record.spectra or Spectra()
    points, bounds = dict(points_of(record, "parameters")), dict(points_of(record, "interval"))
    chosen = None if record.epoch is None else record.epoch + 1
    if chosen is not None:
        points[chosen] = record.parameters  # a thinned record may have left this epoch out
    epochs = sorted(points)
    keep = [] if chosen is None else [epochs.index(chosen)]
    shown = [epochs[k] for k in thinned(len(epochs), MOST_EPOCHS, keep)]
    return {
        "operator": record.spec.operator,
        "seed": record.spec.seed,
        "chosen": chosen,
        "epochs": [0, *shown],
        "parameters": [record.start, *(points[epoch] for epoch in shown)],
        "intervals": [record.start_interval, *map(bounds.get, shown)] if bounds else None,
        "start": spectra.get("start", []),
        "learned": spectra.get("learned", []),
        "byEpoch": spectra.get("by_epoch", []),
        "subgraph": spectra.get("subgraph"),
    }
