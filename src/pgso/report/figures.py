"""The plots of a report for papers: PNG, SVG and PDF, the same bytes from the same records."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Spectra
from pgso.report.comparison import Comparison
from pgso.report.series import (
    Band,
    by_operator,
    curve_band,
    interval_bands,
    parameter_bands,
)
from pgso.report.words import LABELS, OPERATORS, PARAMETERS, places

FORMATS = ("png", "svg", "pdf")
MOST_COLUMNS = 4
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "pgso",  # else the names inside an SVG differ from run to run
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # journals refuse Type 3 fonts
    "text.parse_math": False,  # a dataset may have a dollar sign in its name
}


def write_figures(
    records: Sequence[RunRecord],
    comparison: Comparison,
    folder: str | Path,
) -> list[Path]:
    """Write every figure that the records have numbers for, in three formats.

    Returns:
        The PNG files, in the order of the report.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(STYLE):
        drawn = {
            "scores": draw_scores(records, comparison),
            "curves": draw_curves(records, comparison.objective),
            "parameters": draw_parameters(records),
            "interval": draw_intervals(records),
            "density": draw_density(records),
        }
        for name, figure in drawn.items():
            if figure is None:
                continue
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # else every format computes the layout again
            for form in FORMATS:
                dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
                figure.savefig(target / f"{name}.{form}", dpi=160, metadata=dateless)
            written.append(target / f"{name}.png")
    return written


def draw_scores(records: Sequence[RunRecord], comparison: Comparison) -> Figure | None:
    """Test scores, one line a seed across the operators, with the means and their intervals."""
    names = comparison.operators
    if not names:
        return None
    figure, (axes,) = _panels(1, width=4.5)
    scores: dict[tuple[str, int], float | None] = {
        (run.spec.operator, run.spec.seed): run.test for run in records
    }
    for seed in sorted({seed for _, seed in scores}):
        points = [
            (position, comparison.objective.shown(score))
            for position, name in enumerate(names)
            if (score := scores.get((name, seed))) is not None
        ]
        if points:
            axes.plot(*zip(*points, strict=True), "o-", color="#9ca3af", lw=1, ms=3)
    for summary in comparison.test.summaries:
        at, colour = names.index(summary.operator), OPERATORS[summary.operator]
        low, high = summary.interval or (summary.mean, summary.mean)
        axes.errorbar(
            at + 0.12,
            summary.mean,
            [[summary.mean - low], [high - summary.mean]],
            fmt="D",
            color=colour,
            capsize=4,
            ms=6,
        )
    axes.set_xticks(range(len(names)), [LABELS[name] for name in names])
    axes.set_xlim(-0.4, len(names) - 0.6)
    axes.set_ylabel(f"test {comparison.objective.heading}")
    axes.set_title(f"{comparison.dataset}: seeds (grey), mean with 95 % interval", loc="left")
    return figure


def draw_curves(records: Sequence[RunRecord], objective: Objective) -> Figure | None:
    """Training loss, validation and test score against epochs, mean and range over the seeds."""
    panels = {"loss": "training loss"}
    panels |= {part: f"{part} {objective.heading}" for part in ("val", "test")}
    groups = by_operator(records, LABELS)
    if not any(curve_band(group, name) for group in groups.values() for name in panels):
        return None
    figure, axes = _panels(len(panels))
    for axis, (curve, label) in zip(axes, panels.items(), strict=True):
        for name, group in groups.items():
            band = curve_band(group, curve, 1.0 if curve == "loss" else objective.shown(1.0))
            if band is not None:
                _draw_band(axis, band, LABELS[name], OPERATORS[name], "solid")
        axis.set_xlabel("epochs")
        axis.set_ylabel(label)
    axes[0].legend()
    return figure


def draw_parameters(records: Sequence[RunRecord]) -> Figure | None:
    """S against epochs, one panel an operator, mean and range over the seeds."""
    panels = [
        (name, bands)
        for name, group, layer in _operators(records)
        if (bands := parameter_bands(group, layer))
    ]
    if not panels:
        return None
    figure, axes = _panels(len(panels))
    for axis, (title, bands) in zip(axes, panels, strict=True):
        for name, band in bands.items():
            _draw_band(axis, band, name, *PARAMETERS[name])
        axis.set_title(title, loc="left")
        axis.set_xlabel("epochs")
    axes[0].set_ylabel("value")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def draw_intervals(records: Sequence[RunRecord]) -> Figure | None:
    """The certified interval against epochs, the mean of each end over the seeds."""
    panels = [
        (name, group[0].spec.operator, ends)
        for name, group, layer in _operators(records)
        if (ends := interval_bands(group, layer))
    ]
    if not panels:
        return None
    figure, axes = _panels(len(panels))
    for axis, (title, operator, (low, high)) in zip(axes, panels, strict=True):
        colour = OPERATORS[operator]
        axis.fill_between(low.epochs, low.mean, high.mean, color=colour, alpha=0.2, lw=0)
        for end in (low, high):
            axis.plot(end.epochs, end.mean, color=colour)
        axis.set_title(title, loc="left")
        axis.set_xlabel("epochs")
    axes[0].set_ylabel("certified interval")
    return figure


def draw_density(records: Sequence[RunRecord]) -> Figure | None:
    """The spectral density before and after learning, for the first seed that has one."""
    panels = []
    for name, group, layer in _operators(records):
        for run in group:
            spectra = run.spectra or Spectra()
            if layer < len(spectra.get("start", [])) and layer < len(spectra.get("learned", [])):
                panels.append((f"{name}, seed {run.spec.seed}", run, spectra, layer))
                break
    if not panels:
        return None
    figure, axes = _panels(len(panels))
    for axis, (title, run, spectra, layer) in zip(axes, panels, strict=True):
        before, after = spectra["start"][layer], spectra["learned"][layer]
        axis.plot(before["grid"], before["density"], color="#6b7280", ls="dashed", label="start")
        colour = OPERATORS[run.spec.operator]
        axis.plot(after["grid"], after["density"], color=colour, label="learned")
        axis.set_title(title, loc="left")
        axis.set_xlabel("eigenvalue")
    axes[0].set_ylabel("density")
    axes[0].legend()
    return figure


def _operators(records: Sequence[RunRecord]) -> list[tuple[str, list[RunRecord], int]]:
    """Every learned operator: its name, its runs, its layer from 0."""
    learned = [name for name in LABELS if name not in ("fixed", "found", "auto")]
    panels = []
    for name, group in by_operator(records, learned).items():
        runs = [run for run in group if run.curves.get("parameters")]
        if not runs:
            continue
        for layer, position in enumerate(places(runs[0].spec, len(runs[0].parameters))):
            label = f"{LABELS[name]}, {position}" if position else LABELS[name]
            panels.append((label, runs, layer))
    return panels


def _panels(count: int, width: float = 3.4) -> tuple[Figure, list[Axes]]:
    columns = min(count, MOST_COLUMNS)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, 3.0 * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def _draw_band(axis: Axes, band: Band, label: str, colour: str, dash: str) -> None:
    axis.fill_between(band.epochs, band.low, band.high, color=colour, alpha=0.15, lw=0)
    axis.plot(band.epochs, band.mean, color=colour, ls=dash, label=label)
