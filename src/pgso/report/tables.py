"""The tables of a comparison: who scored what, and what was learned."""

from collections.abc import Iterable
from typing import Literal

from rich.console import Group

from pgso.evaluation.statistics import Interval
from pgso.gso.parameters import NAMES
from pgso.records import RunRecord
from pgso.report.comparison import Comparison
from pgso.report.differences import Difference, Scores
from pgso.report.grid import Grid
from pgso.report.series import learned_operators
from pgso.report.words import LABELS, NONE, plain, signed


def scores_grid(comparison: Comparison, part: Literal["test", "val"]) -> Grid:
    """One row an operator: its scores, and its paired difference to the fixed one.

    On test, a stronger fixed network is the last row, and what it is held against a column.
    """
    scores: Scores = getattr(comparison, part)
    digits, differences = comparison.digits, scores.differences
    reference = comparison.reference if part == "test" else None
    header = ["operator", "seeds", "mean ± sd"]
    header += ["minus fixed"] if differences else []
    header += ["minus stronger"] if reference else []
    rows = []
    named = [(LABELS[entry.operator], entry) for entry in scores.summaries]
    for label, summary in [*named, *([("stronger", reference.test)] if reference else [])]:
        sd = "" if summary.sd is None else f" ± {summary.sd:.{digits}f}"
        row = [label, str(summary.n), f"{plain(summary.mean, digits)}{sd}"]
        own = scores.difference(summary.operator) if label != "stronger" else None
        if differences:
            row.append(_difference(own, digits))
        if reference:
            against = reference.difference(summary.operator) if label != "stronger" else None
            row.append(_difference(against, digits))
        rows.append(tuple(row))
    objective = comparison.objective
    caption = []
    if differences:
        corrected = (
            f", Holm-corrected over {len(differences)} comparisons" if len(differences) > 1 else ""
        )
        unit = "all in points (100 x the score)" if objective.in_percent else objective.heading
        caption.append(f"Differences are paired by seed, with 95 % intervals{corrected}; {unit}.")
    if reference:
        changed = ", ".join(f"{name}={value!r}" for name, value in reference.changes.items())
        caption.append(f"Stronger: {reference.description}, spec.but({changed}).")
    title = {"test": "Test", "val": "Validation"}[part]
    return Grid(f"{title} {objective.heading}", tuple(header), tuple(rows), " ".join(caption))


def differences_grid(comparison: Comparison) -> Grid:
    """One row a seed: each learned operator minus the fixed one on test."""
    entries = comparison.test.differences
    columns = [dict(zip(entry.seeds, entry.points, strict=True)) for entry in entries]
    unit = comparison.objective.unit
    rows = []
    for seed in sorted({seed for column in columns for seed in column}):
        points = [column.get(seed) for column in columns]
        cells = [NONE if p is None else signed(p, comparison.digits + 1) for p in points]
        rows.append((str(seed), *cells))
    return Grid(
        title=f"Differences on test by seed, {f'in {unit}' if unit == 'points' else unit}",
        header=("seed", *(f"{LABELS[entry.operator]} minus fixed" for entry in entries)),
        rows=tuple(rows),
    )


def learned_grid(records: Iterable[RunRecord]) -> Grid:
    """S where it started and as it was learned; one row for the start where it is the same."""
    entries = learned_operators(records)
    shared = len({entry.start for entry in entries}) == 1
    rows = []
    for position, entry in enumerate(entries):
        if not shared or position == 0:
            name = "start" if shared else f"{entry.name}: start"
            rows.append((name, entry.start, entry.interval_start))
        rows.append((entry.name, entry.mean, entry.interval_learned))
    several = any(entry.n > 1 for entry in entries)
    means = "; shown is the mean of each end over the seeds" if several else ""
    return Grid(
        title=f"The learned operator S{', mean over the seeds' if several else ''}",
        header=("operator", *NAMES, "certified interval"),
        rows=tuple(
            (name, *(plain(value, 2) for value in S), NONE if ends is None else _words(ends, 2))
            for name, S, ends in rows
        ),
        caption=f"A run's certified interval holds all its eigenvalues (Theorem 2){means}.",
    )


def likeness_grid(records: Iterable[RunRecord]) -> Grid:
    """The named operator that each learned one is nearest to."""
    rows = []
    for entry in learned_operators(records):
        named = (entry.nearest, f"{entry.nearest_count} of {entry.n}")
        has_nearest = entry.nearest_count > 0
        cells = (*named, plain(entry.nearest_distance, 2)) if has_nearest else (NONE,) * 3
        rows.append((entry.name, *cells))
    return Grid(
        title="The nearest named operator",
        header=("operator", "nearest", "seeds", "distance"),
        rows=tuple(rows),
        caption=(
            "The distance is between matrices on this graph, up to a factor: 0 is the same, 1 is "
            "as far as can be."
        ),
    )


def operator_table(records: Iterable[RunRecord]) -> Group:
    """The learned operators for the terminal: S beside its start, and what it is like."""
    runs = list(records)
    grids = [grid for grid in (learned_grid(runs), likeness_grid(runs)) if grid.rows]
    return Group(*grids) if grids else Group("No operator was learned.")


def probability(p: float | None) -> str:
    """A value of p as people read it: never 0.

    Example:
        >>> probability(0.0421), probability(1e-9), probability(None)
        ('0.042', '< 0.001', '–')
    """
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _difference(entry: Difference | None, digits: int) -> str:
    """A difference with its interval, as a cell; empty where there is none."""
    if entry is None:
        return ""
    ends = entry.holm_interval
    return signed(entry.mean, digits) + (f" ({_words(ends, digits)})" if ends else "")


def _words(ends: Interval, digits: int) -> str:
    return f"{plain(ends.low, digits)} to {plain(ends.high, digits)}"
