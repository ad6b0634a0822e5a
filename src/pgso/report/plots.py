"""Plots as values. plot.js draws them on a page, :func:`write_figures` as PNG, SVG and PDF."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Spectra
from pgso.report.comparison import Comparison
from pgso.report.grid import Grid
from pgso.report.series import (
    Band,
    by_operator,
    curve_band,
    interval_bands,
    parameter_bands,
    thinned,
)
from pgso.report.words import DASHES, LABELS, OPERATORS, PARAMETERS, places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECORDED = [round(k / 50, 2) for k in range(51)]  # where ROC and precision-recall curves are known
MOST_EPOCHS = 240  # points of a curve; more cannot be seen, and make the page heavy
MOST_COLUMNS = 4  # of a figure's panels
FORMATS = ("png", "svg", "pdf")
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


@dataclass(frozen=True)
class Axis:
    """A direction of a plot."""

    label: str
    domain: tuple[float, float] | None = None  # None: as far as the points go
    ticks: tuple[tuple[float, str], ...] | None = None
    whole: bool = False  # ticks at whole numbers only


@dataclass(frozen=True)
class Series:
    """One curve, with a band around it."""

    name: str
    colour: str  # an operator, a name of S, or "quiet"
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] | None = None
    dash: str = ""  # lengths, as in SVG
    dots: Literal["", "too", "only"] = ""  # whether points are marked
    quiet: bool = False  # not in the legend


@dataclass(frozen=True)
class Mean:
    """A mean with its interval."""

    x: float
    mean: float
    interval: tuple[float, float] | None
    colour: str


@dataclass(frozen=True)
class Plot:
    """Curves, bands and means on two axes; plot.js reads the same fields."""

    name: str  # of the element on the page
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    means: tuple[Mean, ...] = ()
    marks: tuple[tuple[float, str], ...] = ()  # thin lines: x, colour
    axis: Literal["x", "y"] = "x"  # the direction that is zoomed, and read along
    height: int = 260  # on the page
    label: str = ""  # what is read out; the title where it is empty
    numbers: Grid | None = None  # under the plot; None: the page makes a table of the points


def score_plots(records: Sequence[RunRecord], comparison: Comparison) -> list[Plot]:
    """Test scores, one line a seed across the operators, with the means and their intervals."""
    names, objective = comparison.operators, comparison.objective
    if not names:
        return []
    scores: dict[tuple[str, int], float | None] = {
        (run.spec.operator, run.spec.seed): run.test for run in records
    }
    lines = []
    for seed in sorted({seed for _, seed in scores}):
        points = [
            (float(position), objective.shown(score))
            for position, name in enumerate(names)
            if (score := scores.get((name, seed))) is not None
        ]
        if points:
            lines.append(Series(f"seed {seed}", "fixed", points, dots="too", quiet=True))
    means = [
        Mean(names.index(entry.operator) + 0.12, entry.mean, entry.interval, entry.operator)
        for entry in comparison.test.summaries
    ]
    ticks = tuple((float(k), LABELS[name]) for k, name in enumerate(names))
    return [
        Plot(
            name="scores",
            title=f"{comparison.dataset}: seeds (grey), mean with 95 % interval",
            x=Axis("", (-0.4, len(names) - 0.6), ticks),
            y=Axis(f"test {objective.heading}"),
            series=tuple(lines),
            means=tuple(means),
            axis="y",
            height=320,
            label="Test score of every seed, by operator",
        )
    ]


def curve_plots(
    records: Sequence[RunRecord], objective: Objective, numbers: Mapping[str, Grid]
) -> list[Plot]:
    """Loss, validation and test score against epochs, mean and range over the seeds.

    Args:
        records: Runs of one setting.
        objective: What is scored.
        numbers: Tables that stand under the plots; a curve without one has no numbers.
    """
    groups = by_operator(records, LABELS)
    chosen = tuple(
        (run.epoch + 1.0, name)
        for name, group in groups.items()
        for run in group
        if run.epoch is not None
    )
    plots = []
    for curve, grid in numbers.items():
        scale = 1.0 if curve == "loss" else objective.shown(1.0)
        series = [
            _band_series(LABELS[name], name, band)
            for name, group in groups.items()
            if (band := curve_band(group, curve, scale)) is not None
        ]
        plots.append(
            Plot(
                name=f"curve-{curve}",
                title=grid.title,
                x=Axis("epochs", whole=True),
                y=Axis("loss" if curve == "loss" else objective.heading),
                series=tuple(series),
                marks=chosen,
                numbers=grid,
            )
        )
    return plots


def detection_plots(records: Sequence[RunRecord], positive: str | None) -> list[Plot]:
    """ROC and precision-recall curves by operator, means over the seeds."""
    found = {
        name: curves
        for name, runs in by_operator(records, LABELS).items()
        if (curves := [e.detection for run in runs if (e := run.evaluation) and e.detection])
    }
    if not found:
        return []

    def curves_of(field: str) -> list[Series]:
        means = {
            name: np.mean([getattr(curve, field) for curve in curves], axis=0).tolist()
            for name, curves in found.items()
        }
        return [Series(LABELS[name], name, _pairs(RECORDED, y)) for name, y in means.items()]

    share = float(np.mean([curve.share for curve in list(found.values())[-1]]))
    chance = Series("chance", "quiet", [(0, share), (1, share)], dash=DASHES["dashed"])
    recall, precision = curves_of("recall"), curves_of("precision")
    rate, title = _unit("false positive rate"), f"Precision and recall of {positive}"
    return [
        Plot("roc", f"ROC of {positive}", rate, _unit("recall"), (*recall, _diagonal("chance"))),
        Plot("precision", title, _unit("recall"), _unit("precision"), (*precision, chance)),
    ]


def reliability_plots(records: Sequence[RunRecord]) -> list[Plot]:
    """The share of right answers against confidence, over the seeds."""
    series = []
    for name, runs in by_operator(records, LABELS).items():
        found = [e.calibration.before for run in runs if (e := run.evaluation) and e.calibration]
        sums = [np.sum(column, axis=0) for column in zip(*found, strict=True)]
        points = [(float(sure / n), float(right / n)) for n, sure, right in sums if n]
        if points:
            series.append(Series(LABELS[name], name, points, dots="too"))
    if not series:
        return []
    x, y = _unit("confidence"), _unit("share that is right")
    title = "Is it as sure as it should be?"
    return [Plot("reliability", title, x, y, (*series, _diagonal("as sure as right")))]


def scatter_plots(records: Sequence[RunRecord]) -> list[Plot]:
    """Predicted against true numbers of each operator's first seed, one plot a target."""
    panels: dict[str, list[Series]] = {}
    for name, runs in by_operator(records, LABELS).items():
        first = next((run.evaluation for run in runs if run.evaluation is not None), None)
        for entry in () if first is None else first.scatter:
            points = _pairs(entry.truth, entry.predicted)
            series = Series(LABELS[name], name, points, dots="only")
            panels.setdefault(entry.target, []).append(series)
    plots = []
    for k, (target, entries) in enumerate(panels.items()):
        truth = [point[0] for entry in entries for point in entry.points] or [0.0]
        line = _diagonal("predicted = true", min(truth), max(truth))
        title = f"{target}: predicted against true"
        plots.append(Plot(f"scatter-{k}", title, Axis("true"), Axis("predicted"), (*entries, line)))
    return plots


def operator_plots(records: Sequence[RunRecord]) -> dict[str, list[Plot]]:
    """What is drawn in files only: S, the certified interval and the density, operator by operator.

    S and the interval are means over the seeds; densities are of the first seed that has them.
    """
    plots: dict[str, list[Plot]] = {"parameters": [], "interval": [], "density": []}
    for k, (title, group, layer) in enumerate(_operators(records)):
        epochs, colour = Axis("epochs"), group[0].spec.operator
        bands = parameter_bands(group, layer)
        if bands:
            dashes = {name: DASHES.get(style, "") for name, (_, style) in PARAMETERS.items()}
            lines = [_band_series(name, name, band, dashes[name]) for name, band in bands.items()]
            plots["parameters"].append(Plot(f"S-{k}", title, epochs, Axis("value"), tuple(lines)))
        ends = interval_bands(group, layer)
        if ends is not None:
            low, high = ends
            band = list(zip(low.epochs, low.mean, high.mean, strict=True))
            below = Series("", colour, _pairs(low.epochs, low.mean), band)
            above = Series("", colour, _pairs(high.epochs, high.mean))
            y = Axis("certified interval")
            plots["interval"].append(Plot(f"interval-{k}", title, epochs, y, (below, above)))
        for run in group:
            spectra = run.spectra or Spectra()
            start, learned = spectra.get("start", []), spectra.get("learned", [])
            if layer < min(len(start), len(learned)):
                before, after = start[layer], learned[layer]
                dash = DASHES["dashed"]
                curves = (
                    Series("start", "fixed", _pairs(before["grid"], before["density"]), dash=dash),
                    Series("learned", colour, _pairs(after["grid"], after["density"])),
                )
                x, heading = Axis("eigenvalue"), f"{title}, seed {run.spec.seed}"
                plots["density"].append(Plot(f"density-{k}", heading, x, Axis("density"), curves))
                break
    return plots


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


def _band_series(name: str, colour: str, band: Band, dash: str = "") -> Series:
    shown = thinned(len(band.epochs), MOST_EPOCHS)
    points = [(band.epochs[k], band.mean[k]) for k in shown]
    return Series(
        name, colour, points, [(band.epochs[k], band.low[k], band.high[k]) for k in shown], dash
    )


def _pairs(x: Sequence[float], y: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(x, y, strict=True))


def _diagonal(name: str, low: float = 0, high: float = 1) -> Series:
    return Series(name, "quiet", [(low, low), (high, high)], dash=DASHES["dashed"])


def _unit(label: str) -> Axis:
    return Axis(label, (-0.02, 1.02))


def write_figures(records: Sequence[RunRecord], plots: Sequence[Plot], folder: Path) -> list[Path]:
    """Write every figure that the records have numbers for, in three formats.

    The same records give the same bytes.

    Args:
        records: Runs of one setting.
        plots: Those of the page, of which scores and curves are drawn again.
        folder: Where to write.

    Returns:
        The PNG files, in the order of the report.
    """
    import matplotlib as mpl

    groups = {
        "scores": [plot for plot in plots if plot.name == "scores"],
        "curves": [plot for plot in plots if plot.name.startswith("curve-")],
        **operator_plots(records),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(STYLE):
        for name, panels in groups.items():
            if not panels:
                continue
            figure = draw_figure(panels)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # else every format computes the layout again
            for form in FORMATS:
                dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
                figure.savefig(folder / f"{name}.{form}", dpi=160, metadata=dateless)
            written.append(folder / f"{name}.png")
    return written


def draw_figure(plots: Sequence[Plot]) -> Any:
    """Some plots side by side, in rows of four, with one legend."""
    from matplotlib.figure import Figure

    columns = min(len(plots), MOST_COLUMNS)
    rows = -(-len(plots) // columns)
    width = 4.5 if len(plots) == 1 else 3.4
    figure = Figure(figsize=(width * columns, 3.0 * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, plot in zip(panels, plots, strict=False):
        _draw(axes, plot)
    for unused in panels[len(plots) :]:
        unused.remove()
    if any(series.name and not series.quiet for series in plots[0].series):
        panels[len(plots) - 1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _draw(axes: "Axes", plot: Plot) -> None:
    for series in plot.series:
        colour = _hex(series.colour)
        if series.band:
            at, below, above = zip(*series.band, strict=True)
            axes.fill_between(at, below, above, color=colour, alpha=0.15, lw=0)
        x, y = zip(*series.points, strict=True) if series.points else ((), ())
        dash = (0, tuple(map(float, series.dash.split()))) if series.dash else "solid"
        line: Any = "none" if series.dots == "only" else dash
        label = None if series.quiet else series.name or None
        marker = "o" if series.dots else ""
        axes.plot(x, y, color=colour, ls=line, marker=marker, ms=3, lw=1.3, label=label)
    for entry in plot.means:
        low, high = entry.interval or (entry.mean, entry.mean)
        reach = [[entry.mean - low], [high - entry.mean]]
        axes.errorbar(
            entry.x, entry.mean, reach, fmt="D", color=_hex(entry.colour), capsize=4, ms=6
        )
    if plot.x.ticks is not None:
        axes.set_xticks(*zip(*plot.x.ticks, strict=True))
    if plot.x.domain is not None:
        axes.set_xlim(*plot.x.domain)
    axes.set_xlabel(plot.x.label)
    axes.set_ylabel(plot.y.label)
    axes.set_title(plot.title, loc="left")


def _hex(colour: str) -> str:
    return OPERATORS.get(colour) or PARAMETERS.get(colour, ("#9ca3af", ""))[0]
