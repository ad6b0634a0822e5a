"""Plots as values. plot.js draws them on a page, :func:`write_figures` as PNG, SVG and PDF."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Detection
from pgso.report.comparison import Comparison
from pgso.report.grid import Grid
from pgso.report.series import MOST_EPOCHS, by_operator, curve_band, thinned
from pgso.report.words import LABELS, OPERATORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECORDED = [round(k / 50, 2) for k in range(51)]  # where ROC and precision-recall curves are known
DASHED = "7 4"  # lengths, as in SVG
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
    colour: str  # an operator, or "quiet"
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


def curve_plots(records: Sequence[RunRecord], objective: Objective) -> list[Plot]:
    """Loss, validation and test score against epochs, mean and range over the seeds."""
    groups = by_operator(records, LABELS)
    chosen = tuple(
        (run.epoch + 1.0, name)
        for name, group in groups.items()
        for run in group
        if run.epoch is not None
    )
    titles = {"loss": "Training loss", "val": "Validation", "test": "Test"}
    plots = []
    for curve, title in titles.items():
        is_loss = curve == "loss"
        scale = 1.0 if is_loss else objective.shown(1.0)
        series = []
        for name, group in groups.items():
            band = curve_band(group, curve, scale)
            shown = [band[k] for k in thinned(len(band), MOST_EPOCHS)]
            if shown:
                points = [(epoch, mean) for epoch, mean, _, _ in shown]
                reach = [(epoch, low, high) for epoch, _, low, high in shown]
                series.append(Series(LABELS[name], name, points, reach))
        if series:
            plots.append(
                Plot(
                    name=f"curve-{curve}",
                    title=f"{title if is_loss else f'{title} {objective.heading}'}, by epoch",
                    x=Axis("epochs", whole=True),
                    y=Axis("loss" if is_loss else objective.heading),
                    series=tuple(series),
                    marks=chosen,
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
    chance = Series("chance", "quiet", [(0, share), (1, share)], dash=DASHED)
    recall, precision = curves_of("recall"), curves_of("precision")
    rate, title = _unit("false positive rate"), f"Precision and recall of {positive}"
    return [
        Plot("roc", f"ROC of {positive}", rate, _unit("recall"), (*recall, _diagonal("chance"))),
        Plot("precision", title, _unit("recall"), _unit("precision"), (*precision, chance)),
        *_lift_plots(found, positive),
    ]


def _lift_plots(found: dict[str, list[Detection]], positive: str | None) -> list[Plot]:
    """How much more frequent the class is among those with the highest scores."""
    series = [
        Series(LABELS[name], name, _pairs(RECORDED[1:], np.mean(lifts, axis=0).tolist()))
        for name, curves in found.items()
        if (lifts := [curve.lift for curve in curves if curve.lift])
    ]
    if not series:
        return []
    even = Series("chance", "quiet", [(RECORDED[1], 1), (1, 1)], dash=DASHED)
    x, y = Axis("share of the examples, highest scores first"), Axis("lift")
    return [Plot("lift", f"Lift of {positive}", x, y, (*series, even))]


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


def _pairs(x: Sequence[float], y: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(x, y, strict=True))


def _diagonal(name: str, low: float = 0, high: float = 1) -> Series:
    return Series(name, "quiet", [(low, low), (high, high)], dash=DASHED)


def _unit(label: str) -> Axis:
    return Axis(label, (-0.02, 1.02))


def write_figures(plots: Sequence[Plot], folder: Path) -> list[Path]:
    """Write every plot in three formats, and return the PNG files; equal plots give equal bytes."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        for plot in plots:
            figure = draw_figure(plot)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # else every format computes the layout again
            for form in FORMATS:
                dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
                figure.savefig(folder / f"{plot.name}.{form}", dpi=160, metadata=dateless)
    return [folder / f"{plot.name}.png" for plot in plots]


def draw_figure(plot: Plot) -> Any:
    """A plot as a figure of matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 3.2), layout="constrained")
    axes = figure.subplots()
    _draw(axes, plot)
    if any(series.name and not series.quiet for series in plot.series):
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
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
    return OPERATORS.get(colour, "#9ca3af")
