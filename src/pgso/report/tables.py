"""Runs as tables and plots: who scored what, what was learned, and how, epoch by epoch."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from pgso.gso.parameters import NAMES
from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Spectra
from pgso.report.comparison import Comparison, Scores
from pgso.report.differences import by_operator
from pgso.report.grid import Grid
from pgso.report.sections import Axis, Mean, Plot, Section, Series
from pgso.report.words import LABELS, NONE, places, plain, signed

MOST_EPOCHS = 240  # points of a curve; more cannot be seen, and make the page heavy


def scores_section(comparison: Comparison) -> Section:
    """Every seed as a line, means with their intervals, and tables of test and validation."""
    names, objective = comparison.operators, comparison.objective
    by_seed: dict[int, list[tuple[float, float]]] = {}
    for position, name in enumerate(names):
        for run in by_operator(comparison.runs)[name]:
            if run.test is not None:
                points = by_seed.setdefault(run.spec.seed, [])
                points.append((float(position), objective.shown(run.test)))
    lines = [
        Series(f"seed {seed}", "fixed", by_seed[seed], dots="too", quiet=True)
        for seed in sorted(by_seed)
    ]
    means = [
        Mean(k + 0.12, entry.mean, entry.interval, entry.operator)
        for k, entry in enumerate(comparison.test.summaries)
    ]
    x = Axis("", (-0.4, len(names) - 0.6), tuple(enumerate(LABELS[name] for name in names)))
    title, y = "Test score of every seed", Axis(f"test {objective.heading}")
    plot = Plot("scores", title, x, y, tuple(lines), tuple(means), axis="y", height=320)
    tables = (scores_grid(comparison, "test"), scores_grid(comparison, "val"))
    text = (
        "A line joins the runs of one seed. The diamond is the mean, its bar the 95 % interval. "
        "The epoch is chosen on validation; so is the learned operator that the verdict is about."
    )
    return Section("Scores by seed", text, (plot, *tables) if names else (), "pair narrow-left")


def scores_grid(comparison: Comparison, part: Literal["test", "val"]) -> Grid:
    """Scores by operator, and differences to the fixed one and, on test, to a stronger network."""
    scores: Scores = getattr(comparison, part)
    digits, objective = comparison.digits, comparison.objective
    reference = comparison.reference if part == "test" else None
    columns = {"minus fixed": scores.differences and scores, "minus stronger": reference}
    held = {name: against for name, against in columns.items() if against}
    named = [(LABELS[entry.operator], entry) for entry in scores.summaries]
    rows = []
    for label, summary in [*named, *([("stronger", reference.test)] if reference else [])]:
        sd = "" if summary.sd is None else f" ± {summary.sd:.{digits}f}"
        row = [label, str(summary.n), f"{plain(summary.mean, digits)}{sd}"]
        for against in held.values():
            entry = None if label == "stronger" else against.difference(summary.operator)
            cell = signed(entry.mean, digits) if entry else ""
            if entry and entry.holm_interval:
                cell += f" ({' to '.join(plain(end, digits) for end in entry.holm_interval)})"
            row.append(cell)
        rows.append(tuple(row))
    caption = []
    if scores.differences:
        n = len(scores.differences)
        corrected = f", Holm-corrected over {n} comparisons" if n > 1 else ""
        unit = "all in points (100 x the score)" if objective.in_percent else objective.heading
        caption.append(f"Differences are paired by seed, with 95 % intervals{corrected}; {unit}.")
    if reference:
        changed = ", ".join(f"{name}={value!r}" for name, value in reference.changes.items())
        caption.append(f"Stronger: {reference.description}, spec.but({changed}).")
    title = f"{'Test' if part == 'test' else 'Validation'} {objective.heading}"
    header = ("operator", "seeds", "mean ± sd", *held)
    return Grid(title, header, tuple(rows), " ".join(caption))


def operator_grids(records: Iterable[RunRecord]) -> tuple[Grid, Grid]:
    """S at the start and as learned, and the nearest named operator, layer by layer."""
    groups: dict[str, list[RunRecord]] = {}
    for run in (run for runs in by_operator(records).values() for run in runs):
        is_learned = (run.chosen or run.spec.operator) != "fixed"
        if run.parameters and run.test is not None and is_learned:
            name = LABELS[run.spec.operator]
            name += "" if run.chosen is None else f" ({LABELS[run.chosen]})"
            name += "" if run.rung is None else f" in {run.rung}"
            groups.setdefault(name, []).append(run)
    learned: list[tuple[str, ...]] = []
    like: list[tuple[str, ...]] = []
    for name, group in groups.items():
        first, at_start = group[0], [run.start_interval for run in group]
        bounds = [(run.epoch, dict(points_of(run, "interval"))) for run in group]
        at_end = [() if epoch is None else ends.get(epoch + 1, ()) for epoch, ends in bounds]
        terms = first.network.get("terms", first.spec.terms)  # of its rung, where it has one
        for layer, place in enumerate(places(terms, len(first.parameters))):
            label = f"{name}, {place}" if place else name
            start, end = [run.start for run in group], [run.parameters for run in group]
            for named, S, intervals in (
                (f"{label}: start", start, at_start), (label, end, at_end),
            ):  # fmt: skip
                ends = [np.array(one[layer], dtype=float) for one in intervals if one]
                known = [one for one in ends if np.isfinite(one).all()]
                bound = " to ".join(plain(e, 2) for e in np.mean(known, axis=0)) if known else NONE
                means = np.mean([one[layer] for one in S], axis=0)
                learned.append((named, *(plain(value, 2) for value in means), bound))
            nearest = [run.nearest[layer] for run in group if layer < len(run.nearest)]
            for preset, count in Counter(preset for preset, _ in nearest).most_common(1):
                far = np.mean([distance for other, distance in nearest if other == preset])
                like.append((label, preset, f"{count} of {len(group)}", plain(float(far), 2)))
    if len({row[1:8] for row in learned[::2]}) == 1:  # all began at the same S
        learned = [("start", *learned[0][1:]), *learned[1::2]]
    several = any(len(group) > 1 for group in groups.values())
    seeds = ", mean over the seeds" if several else ""
    of_ends = "; shown is the mean of each end over the seeds" if several else ""
    grid = Grid(
        f"The learned operator S{seeds}",
        ("operator", *NAMES, "certified interval"),
        tuple(learned),
        f"A run's certified interval holds all its eigenvalues (Theorem 2){of_ends}.",
    )
    caption = (
        "The distance is between matrices on this graph, up to a factor: 0 is the same, 1 is as "
        "far as can be."
    )
    header = ("operator", "nearest", "seeds", "distance")
    return grid, Grid("The nearest named operator", header, tuple(like), caption)


def points_of(record: RunRecord, name: str) -> list[tuple[int, Any]]:
    """A curve as (epoch, value), counted from 1, also where only some epochs are kept."""
    values = record.curves.get(name) or []
    epochs = record.curves.get("epoch", range(len(values)))
    return [(epoch + 1, value) for epoch, value in zip(epochs, values, strict=False)]


def curve_band(
    records: Iterable[RunRecord], name: str, scale: float = 1.0
) -> list[tuple[int, float, float, float]]:
    """Epoch, mean, least and most of a curve over the runs that have a number there."""
    columns: dict[int, list[float]] = {}
    for record in records:
        for epoch, value in points_of(record, name):
            if value is not None and math.isfinite(value):
                columns.setdefault(epoch, []).append(scale * value)
    return [
        (epoch, math.fsum(values) / len(values), min(values), max(values))
        for epoch, values in sorted(columns.items())
    ]


def thinned(count: int, at_most: int, keep: Iterable[int] = ()) -> list[int]:
    """``at_most`` indices below ``count`` at equal distances, with both ends and those to keep."""
    evenly = np.linspace(0, count - 1, at_most).round().astype(int).tolist()
    return sorted({*evenly, *keep} & set(range(count)))


def training_section(records: Sequence[RunRecord], objective: Objective) -> Section:
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
    text = (
        "Mean over the seeds; the band goes from the lowest to the highest seed. Drag to zoom, "
        "double-click or Escape to reset; with the keyboard, arrows read values, + and − zoom. "
        "Thin lines stand at the chosen epochs."
    )
    return Section("Training", text, tuple(plots))


def explorer_section(records: Sequence[RunRecord], candidate: str | None) -> Section | None:
    """Learned runs, epoch by epoch, the start as epoch 0: what the script moves together."""
    runs = []
    for run in (run for group in by_operator(records).values() for run in group):
        if not run.curves.get("parameters") or (run.chosen or run.spec.operator) == "fixed":
            continue
        spectra = run.spectra or Spectra()
        points, bounds = dict(points_of(run, "parameters")), dict(points_of(run, "interval"))
        chosen = None if run.epoch is None else run.epoch + 1
        if chosen is not None:
            points[chosen] = run.parameters  # a thinned record may have left this epoch out
        epochs = sorted(points)
        keep = [] if chosen is None else [epochs.index(chosen)]
        shown = [epochs[k] for k in thinned(len(epochs), MOST_EPOCHS, keep)]
        entry = {
            "operator": run.spec.operator,
            "seed": run.spec.seed,
            "chosen": chosen,
            "epochs": [0, *shown],
            "parameters": [run.start, *(points[epoch] for epoch in shown)],
            "intervals": [run.start_interval, *map(bounds.get, shown)] if bounds else None,
            "start": spectra.get("start", []),
            "learned": spectra.get("learned", []),
            "byEpoch": spectra.get("by_epoch", []),
            "subgraph": spectra.get("subgraph"),
        }
        runs.append(entry)
    text = "Move the slider: the values of S and all that follows from them move together."
    title = "One run, epoch by epoch"
    data = {"runs": runs, "labels": LABELS, "candidate": candidate}
    made = Section(title, text, id="explorer", widget="explorer", values=runs, data=data)
    return made if runs else None
