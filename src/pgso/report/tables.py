"""Who scored what, and which operator was learned: tables for the terminal and for pages."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from rich.console import Group

from pgso.evaluation.statistics import Interval
from pgso.gso.parameters import NAMES
from pgso.records import RunRecord
from pgso.report.comparison import Comparison, Scores
from pgso.report.differences import Difference, by_operator
from pgso.report.grid import Grid
from pgso.report.plots import Axis, Mean, Plot, Series
from pgso.report.sections import Section, is_number
from pgso.report.series import points_of
from pgso.report.words import LABELS, NONE, places, plain, signed


def scores_section(comparison: Comparison) -> Section:
    """Every seed as a line, and the tables of test and validation."""
    text = (
        "A line joins the runs of one seed. The diamond is the mean, its bar the 95 % interval. "
        "The epoch is chosen on validation; so is the learned operator that the verdict is about."
    )
    tables = (scores_grid(comparison, "test"), scores_grid(comparison, "val"))
    panels = (score_plot(comparison), *tables) if comparison.operators else ()
    return Section("Scores by seed", text, panels, "pair narrow-left")


def score_plot(comparison: Comparison) -> Plot:
    """Test scores, one line a seed across the operators, with the means and their intervals."""
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
    return Plot("scores", title, x, y, tuple(lines), tuple(means), axis="y", height=320)


def scores_grid(comparison: Comparison, part: Literal["test", "val"]) -> Grid:
    """One row per operator: its scores, and its paired difference to the fixed one.

    On test, a stronger fixed network is the last row, and what it is held against a column.
    """
    scores: Scores = getattr(comparison, part)
    digits, differences, objective = comparison.digits, scores.differences, comparison.objective
    reference = comparison.reference if part == "test" else None
    header = ["operator", "seeds", "mean ± sd"]
    header += ["minus fixed"] if differences else []
    header += ["minus stronger"] if reference else []
    named = [(LABELS[entry.operator], entry) for entry in scores.summaries]
    rows = []
    for label, summary in [*named, *([("stronger", reference.test)] if reference else [])]:
        sd = "" if summary.sd is None else f" ± {summary.sd:.{digits}f}"
        row = [label, str(summary.n), f"{plain(summary.mean, digits)}{sd}"]
        for held, columns in ((differences, scores), (reference, reference)):
            if held and columns:
                own = None if label == "stronger" else columns.difference(summary.operator)
                row.append(_difference(own, digits))
        rows.append(tuple(row))
    caption = []
    if differences:
        n = len(differences)
        corrected = f", Holm-corrected over {n} comparisons" if n > 1 else ""
        unit = "all in points (100 x the score)" if objective.in_percent else objective.heading
        caption.append(f"Differences are paired by seed, with 95 % intervals{corrected}; {unit}.")
    if reference:
        changed = ", ".join(f"{name}={value!r}" for name, value in reference.changes.items())
        caption.append(f"Stronger: {reference.description}, spec.but({changed}).")
    title = f"{'Test' if part == 'test' else 'Validation'} {objective.heading}"
    return Grid(title, tuple(header), tuple(rows), " ".join(caption))


def _difference(entry: Difference | None, digits: int) -> str:
    """A difference with its interval, as a cell; empty where there is none."""
    if entry is None:
        return ""
    ends = entry.holm_interval
    return signed(entry.mean, digits) + (f" ({_words(ends, digits)})" if ends else "")


def _words(ends: Interval, digits: int) -> str:
    return f"{plain(ends.low, digits)} to {plain(ends.high, digits)}"


def operator_section(records: Iterable[RunRecord]) -> Section:
    """S and what it is like."""
    formula = "γ(A, S) = m₁ Dₐ^e₁ + m₂ Dₐ^e₂ Aₐ Dₐ^e₃ + m₃ I, with Aₐ = A + aI and Dₐ its row sums."
    return Section("The learned operator", formula, operator_grids(records), "flow")


def operator_table(records: Iterable[RunRecord]) -> Group:
    """The learned operators for the terminal: S beside its start, and what it is like."""
    grids = [grid for grid in operator_grids(records) if grid.rows]
    return Group(*grids) if grids else Group("No operator was learned.")


def operator_grids(records: Iterable[RunRecord]) -> tuple[Grid, Grid]:
    """S at the start and as it was learned, and the named operator it is nearest to.

    Every learned operator of every mode has a row, in layer order: means over the runs that have a
    score. Seeds are kept apart if ``auto`` or ``found`` took the networks of different rungs.
    """
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
            learned.append(
                (f"{label}: start", *_means(layer, [run.start for run in group], at_start))
            )
            learned.append((label, *_means(layer, [run.parameters for run in group], at_end)))
            nearest = [run.nearest[layer] for run in group if layer < len(run.nearest)]
            cells = (NONE, NONE, NONE)
            for preset, count in Counter(preset for preset, _ in nearest).most_common(1):
                far = np.mean([distance for other, distance in nearest if other == preset])
                cells = (preset, f"{count} of {len(group)}", plain(float(far), 2))
            like.append((label, *cells))
    if len({row[1:8] for row in learned[::2]}) == 1:  # all began at the same S
        learned = [("start", *learned[0][1:]), *learned[1::2]]
    several = any(len(group) > 1 for group in groups.values())
    seeds = ", mean over the seeds" if several else ""
    means = "; shown is the mean of each end over the seeds" if several else ""
    S = Grid(
        f"The learned operator S{seeds}",
        ("operator", *NAMES, "certified interval"),
        tuple(learned),
        f"A run's certified interval holds all its eigenvalues (Theorem 2){means}.",
    )
    caption = (
        "The distance is between matrices on this graph, up to a factor: 0 is the same, 1 is as "
        "far as can be."
    )
    header = ("operator", "nearest", "seeds", "distance")
    return S, Grid("The nearest named operator", header, tuple(like), caption)


def _means(layer: int, S: Sequence[Any], intervals: Sequence[Any]) -> list[str]:
    """The mean S of a layer over the seeds, and the mean of each end of its interval.

    Directed graphs have no certified interval.
    """
    known = [ends[layer] for ends in intervals if ends and all(map(is_number, ends[layer]))]
    ends = _words(Interval(*np.mean(known, axis=0)), 2) if known else NONE
    return [*(plain(value, 2) for value in np.mean([one[layer] for one in S], axis=0)), ends]
