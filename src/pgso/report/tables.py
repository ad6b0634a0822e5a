"""The tables of a comparison: who scored what, what was learned, and the numbers under plots."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from rich.console import Group
from rich.text import Text

from pgso.evaluation.statistics import Interval
from pgso.gso.parameters import NAMES
from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.report.comparison import Comparison
from pgso.report.differences import Difference, Scores
from pgso.report.grid import Grid
from pgso.report.series import (
    Band,
    by_network,
    by_operator,
    curve_band,
    interval_bands,
    learned_operators,
    learned_runs,
    parameter_bands,
    thinned,
)
from pgso.report.words import LABELS, plain, signed

ROWS_UNDER_A_CURVE = 21
NONE = "–"


def comparison_table(comparison: Comparison) -> Group:
    """The paired comparison on test for the terminal: scores, differences by seed, notes."""
    grids = [scores_grid(comparison, "test"), differences_grid(comparison)]
    grids.append(reference_grid(comparison))
    notes = [Text(f"Note: {note}.") for note in comparison.notes]
    return Group(*(grid.to_rich() for grid in grids if grid.rows), *notes)


def operator_table(records: Iterable[RunRecord]) -> Group:
    """The learned operators for the terminal: S beside its start, and what it is like."""
    runs = list(records)
    grids = [learned_grid(runs), likeness_grid(runs)]
    if not any(grid.rows for grid in grids):
        return Group(Text("No operator was learned."))
    return Group(*(grid.to_rich() for grid in grids))


def scores_grid(comparison: Comparison, part: Literal["test", "val"]) -> Grid:
    """One row an operator: its scores, and its paired difference to the fixed one."""
    scores: Scores = getattr(comparison, part)
    objective, digits = comparison.objective, comparison.digits
    ranked = any(entry.p_wilcoxon is not None for entry in scores.differences)
    rows = []
    for summary in scores.summaries:
        sd = "" if summary.sd is None else f" ± {summary.sd:.{digits}f}"
        score_cells = (f"{plain(summary.mean, digits)}{sd}", interval(summary.interval, digits))
        cells = _difference_cells(scores.difference(summary.operator), ranked, digits)
        rows.append((LABELS[summary.operator], str(summary.n), *score_cells, *cells))
    count = len(scores.differences)
    corrected = f" and Holm-corrected over {count} comparisons" if count > 1 else ""
    unit = "all in points (100 x the score)" if objective.in_percent else objective.heading
    caption = f"Differences are paired by seed{corrected}; {unit}."
    name = {"test": "Test", "val": "Validation"}[part]
    header = ("operator", "seeds", "mean ± sd", "95 % interval")
    more = ("minus fixed", "95 % interval", "p (t)", *["p (Wilcoxon)"] * ranked)
    return Grid(
        title=f"{name} {objective.heading}",
        header=(*header, *more) if count else header,
        rows=tuple(row if count else row[: len(header)] for row in rows),
        caption=caption if count else "",
    )


def reference_grid(comparison: Comparison) -> Grid:
    """The stronger fixed network, and each learned operator minus it on test; empty without."""
    reference, digits = comparison.reference, comparison.digits
    if reference is None:
        return Grid("A stronger network", (), ())
    score = reference.test
    sd = "" if score.sd is None else f" ± {score.sd:.{digits}f}"
    rows = [
        (
            "stronger, fixed",
            str(score.n),
            f"{plain(score.mean, digits)}{sd}",
            interval(score.interval, digits),
            *[""] * 3,
        )
    ]
    for summary in comparison.test.summaries:
        difference = reference.difference(summary.operator)
        if difference is not None:
            cells = _difference_cells(difference, False, digits)
            scores = (plain(summary.mean, digits), interval(summary.interval, digits))
            rows.append((LABELS[summary.operator], str(len(difference.points)), *scores, *cells))
    return Grid(
        title=f"Against a stronger network: {reference.description}",
        header=("", "seeds", "test", "95 % interval", "minus it", "95 % interval", "p (t)"),
        rows=tuple(rows),
        caption=f"It is {reference.code}: the same seeds, splits and epochs.",
    )


def differences_grid(comparison: Comparison) -> Grid:
    """One row a seed: each learned operator minus the fixed one on test."""
    entries = comparison.test.differences
    seeds = sorted({seed for entry in entries for seed in entry.seeds})
    columns = [dict(zip(entry.seeds, entry.points, strict=True)) for entry in entries]
    unit = comparison.objective.unit
    unit = f"in {unit}" if unit == "points" else unit
    return Grid(
        title=f"Differences on test by seed, {unit}",
        header=("seed", *(f"{LABELS[entry.operator]} minus fixed" for entry in entries)),
        rows=tuple(
            (
                str(seed),
                *(
                    signed(column[seed], comparison.digits + 1) if seed in column else NONE
                    for column in columns
                ),
            )
            for seed in seeds
        ),
    )


def learned_grid(records: Iterable[RunRecord]) -> Grid:
    """S where it started and as it was learned; one row for the start where it is the same."""
    entries = learned_operators(records)
    shared = len({entry.start for entry in entries}) == 1
    rows = []
    for position, entry in enumerate(entries):
        if not shared or position == 0:
            name = "start" if shared else f"{entry.name}: start"
            rows.append(_operator_row(name, entry.start, entry.interval_start))
        rows.append(_operator_row(entry.name, entry.mean, entry.interval_learned))
    several = any(entry.n > 1 for entry in entries)
    means = "; shown is the mean of each end over the seeds" if several else ""
    return Grid(
        title=f"The learned operator S{', mean over the seeds' if several else ''}",
        header=("operator", *NAMES, "certified interval"),
        rows=tuple(rows),
        caption=f"A run's certified interval holds all its eigenvalues (Theorem 2){means}.",
    )


def likeness_grid(records: Iterable[RunRecord]) -> Grid:
    """The named operator that each learned one is nearest to."""
    rows = []
    for entry in learned_operators(records):
        has_nearest = entry.nearest_count > 0
        seeds = f"{entry.nearest_count} of {entry.n}"
        distance = plain(entry.nearest_distance, 2)
        named = (entry.nearest, seeds, distance) if has_nearest else (NONE, NONE, NONE)
        rows.append((entry.name, *named))
    return Grid(
        title="The nearest named operator",
        header=("operator", "nearest", "seeds", "distance"),
        rows=tuple(rows),
        caption=(
            "The distance is between matrices on this graph, up to a factor: 0 is the same, 1 is "
            "as far as can be."
        ),
    )


def curves_grid(title: str, bands: dict[str, Band]) -> Grid:
    """One row an epoch, every so many: the mean of each curve and its lowest and highest run."""
    epochs = sorted({epoch for band in bands.values() for epoch in band.epochs})
    shown = [epochs[position] for position in thinned(len(epochs), ROWS_UNDER_A_CURVE)]
    places = {name: {e: k for k, e in enumerate(band.epochs)} for name, band in bands.items()}
    rows = []
    for epoch in shown:
        cells = [
            f"{band.mean[k]:.3f} ({band.low[k]:.3f} to {band.high[k]:.3f})"
            if (k := places[name].get(epoch)) is not None
            else NONE
            for name, band in bands.items()
        ]
        rows.append((str(epoch), *cells))
    some = "" if len(shown) == len(epochs) else f" {len(shown)} of {len(epochs)} epochs are shown."
    return Grid(title, ("epochs", *bands), tuple(rows), f"Mean (lowest to highest seed).{some}")


def interval(bounds: Interval | None, digits: int = 1) -> str:
    """An interval in words, or a dash where there is none."""
    if bounds is None:
        return NONE
    return f"{plain(bounds.low, digits)} to {plain(bounds.high, digits)}"


def probability(p: float | None) -> str:
    """A value of p as people read it: never 0.

    Example:
        >>> probability(0.0421), probability(1e-9), probability(None)
        ('0.042', '< 0.001', '–')
    """
    if p is None:
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _difference_cells(difference: Difference | None, ranked: bool, digits: int) -> tuple[str, ...]:
    if difference is None:
        return ("",) * (4 if ranked else 3)
    wilcoxon = [probability(difference.p_wilcoxon_holm)] if ranked else []
    bounds = interval(difference.holm_interval, digits)
    return (signed(difference.mean, digits), bounds, probability(difference.p_holm), *wilcoxon)


def _operator_row(name: str, S: Sequence[float], bounds: Interval | None) -> tuple[str, ...]:
    return (name, *(plain(value, 2) for value in S), interval(bounds, 2))


def curve_grids(records: Sequence[RunRecord], objective: Objective) -> dict[str, Grid]:
    """Loss, validation and test scores against epochs, a column an operator."""
    titles = {
        "loss": "Training loss",
        "val": f"Validation {objective.heading}",
        "test": f"Test {objective.heading}",
    }
    grids = {}
    for name, title in titles.items():
        scale = 1.0 if name == "loss" else objective.shown(1.0)
        bands = {
            LABELS[operator]: band
            for operator, group in by_operator(records, LABELS).items()
            if (band := curve_band(group, name, scale)) is not None
        }
        if bands:
            grids[name] = curves_grid(f"{title}, by epoch", bands)
    return grids


def trajectory_grids(records: Sequence[RunRecord]) -> list[Grid]:
    """S and the certified interval against epochs, one table an operator."""
    grids = []
    for name, group in by_network(learned_runs(records)).items():
        for layer in range(len(group[0].start)):
            bands: dict[str, Any] = dict(parameter_bands(group, layer))
            ends = interval_bands(group, layer)
            if ends is not None:
                bands |= {"interval low": ends[0], "interval high": ends[1]}
            grids.append(curves_grid(f"{name}, operator {layer + 1}", bands))
    return grids
