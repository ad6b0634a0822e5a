"""Plots as values. plot.js draws them on a page, :func:`write_figures` as PNG, SVG and PDF."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Calibration, Detection, Spectra
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

Points = Sequence[tuple[float, float]]
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
    points: Points
    band: Sequence[tuple[float, float, float]] = ()
    dash: str = "solid"  # or dashed, dotted
    dots: Literal["none", "too", "only"] = "none"  # whether points are marked
    in_legend: bool = True


@dataclass(frozen=True)
class Mean:
    """A mean with its interval."""

    x: float
    mean: float
    interval: tuple[float, float] | None
    colour: str


@dataclass(frozen=True)
class Plot:
    """Curves, bands and means on two axes."""

    name: str  # of the element on the page
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    means: tuple[Mean, ...] = ()
    marks: tuple[tuple[float, str], ...] = ()  # thin lines: x, colour
    reads: Literal["x", "y"] = "x"  # the direction that is zoomed, and read along
    height: int = 260  # on the page
    label: str = ""  # what is read out; the title where it is empty
    numbers: Grid | None = None  # under the plot; None: the page makes a table of the points

    def spec(self) -> dict[str, Any]:
        """What plot.js draws."""
        return {
            "axis": self.reads,
            "height": self.height,
            "x": _axis_spec(self.x),
            "y": _axis_spec(self.y),
            "marks": [{"x": x, "colour": f"--{colour}"} for x, colour in self.marks],
            "means": [
                {
                    "x": entry.x,
                    "mean": entry.mean,
                    "low": None if entry.interval is None else entry.interval[0],
                    "high": None if entry.interval is None else entry.interval[1],
                    "colour": f"--{entry.colour}",
                }
                for entry in self.means
            ],
            "series": [_series_spec(series) for series in self.series],
        }


def _axis_spec(axis: Axis) -> dict[str, Any]:
    parts = {"label": axis.label, "domain": axis.domain, "ticks": axis.ticks, "whole": axis.whole}
    return {name: value for name, value in parts.items() if value not in (None, False)}


def _series_spec(series: Series) -> dict[str, Any]:
    shown = thinned(len(series.points), MOST_EPOCHS) if series.band else range(len(series.points))
    spec: dict[str, Any] = {
        "name": series.name,
        "colour": f"--{series.colour}",
        "points": [series.points[k] for k in shown],
        "quiet": not series.in_legend,
    }
    if series.band:
        spec["band"] = [series.band[k] for k in shown]
    if series.dash != "solid":
        spec["dash"] = DASHES[series.dash]
    if series.dots != "none":
        spec["dots"] = True if series.dots == "too" else "only"
    return spec


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
            lines.append(Series(f"seed {seed}", "fixed", points, dots="too", in_legend=False))
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
            reads="y",
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
    found: dict[str, list[Detection]] = {}
    for name, runs in by_operator(records, LABELS).items():
        curves = [run.evaluation.detection for run in runs if run.evaluation is not None]
        found[name] = [curve for curve in curves if curve is not None]
    found = {name: curves for name, curves in found.items() if curves}
    if not found:
        return []
    share = float(np.mean([curve.share for curve in list(found.values())[-1]]))

    def curves_of(field: str) -> list[Series]:
        means = {
            name: np.mean([getattr(curve, field) for curve in curves], axis=0).tolist()
            for name, curves in found.items()
        }
        return [
            Series(LABELS[name], name, list(zip(RECORDED, values, strict=True)))
            for name, values in means.items()
        ]

    chance = Series("chance", "quiet", [(0, share), (1, share)], dash="dashed")
    roc = Plot(
        name="roc",
        title=f"ROC of {positive}",
        x=_unit("false positive rate"),
        y=_unit("recall"),
        series=(*curves_of("recall"), _diagonal("chance", 0, 1)),
        label="Recall against the false positive rate",
    )
    precision = Plot(
        name="precision",
        title=f"Precision and recall of {positive}",
        x=_unit("recall"),
        y=_unit("precision"),
        series=(*curves_of("precision"), chance),
        label="Precision against recall",
    )
    return [roc, precision]


def reliability_plots(records: Sequence[RunRecord]) -> list[Plot]:
    """The share of right answers against confidence, over the seeds."""
    series = []
    for name, runs in by_operator(records, LABELS).items():
        calibrations = [run.evaluation.calibration for run in runs if run.evaluation is not None]
        points = _reliability([entry for entry in calibrations if entry is not None])
        if points:
            series.append(Series(LABELS[name], name, points, dots="too"))
    if not series:
        return []
    return [
        Plot(
            name="reliability",
            title="Is it as sure as it should be?",
            x=_unit("confidence"),
            y=_unit("share that is right"),
            series=(*series, _diagonal("as sure as right", 0, 1)),
            label="Share of right answers against confidence",
        )
    ]


def scatter_plots(records: Sequence[RunRecord]) -> list[Plot]:
    """Predicted against true numbers of each operator's first seed, one plot a target."""
    panels: dict[str, list[Series]] = {}
    for name, runs in by_operator(records, LABELS).items():
        first = next((run.evaluation for run in runs if run.evaluation is not None), None)
        for entry in () if first is None else first.scatter:
            points = list(zip(entry.truth, entry.predicted, strict=True))
            series = Series(LABELS[name], name, points, dots="only")
            panels.setdefault(entry.target, []).append(series)
    plots = []
    for k, (target, entries) in enumerate(panels.items()):
        truth = [point[0] for entry in entries for point in entry.points]
        ends = (min(truth, default=0.0), max(truth, default=1.0))
        plots.append(
            Plot(
                name=f"scatter-{k}",
                title=f"{target}: predicted against true",
                x=Axis("true"),
                y=Axis("predicted"),
                series=(*entries, _diagonal("predicted = true", *ends)),
            )
        )
    return plots


def parameter_plots(records: Sequence[RunRecord]) -> list[Plot]:
    """S against epochs, one plot an operator, mean and range over the seeds."""
    return [
        Plot(
            name=f"parameters-{k}",
            title=title,
            x=Axis("epochs"),
            y=Axis("value"),
            series=tuple(
                _band_series(name, name, band, PARAMETERS[name][1]) for name, band in bands.items()
            ),
        )
        for k, (title, group, layer) in enumerate(_operators(records))
        if (bands := parameter_bands(group, layer))
    ]


def interval_plots(records: Sequence[RunRecord]) -> list[Plot]:
    """The certified interval against epochs, the mean of each end over the seeds."""
    plots = []
    for k, (title, group, layer) in enumerate(_operators(records)):
        ends = interval_bands(group, layer)
        if ends is not None:
            low, high = ends
            colour = group[0].spec.operator
            band = list(zip(low.epochs, low.mean, high.mean, strict=True))
            below = Series("", colour, list(zip(low.epochs, low.mean, strict=True)), band)
            above = Series("", colour, list(zip(high.epochs, high.mean, strict=True)))
            x, y = Axis("epochs"), Axis("certified interval")
            plots.append(Plot(f"interval-{k}", title, x, y, (below, above)))
    return plots


def density_plots(records: Sequence[RunRecord]) -> list[Plot]:
    """The spectral density before and after learning, for the first seed that has one."""
    plots = []
    for k, (title, group, layer) in enumerate(_operators(records)):
        for run in group:
            spectra = run.spectra or Spectra()
            before, after = spectra.get("start", []), spectra.get("learned", [])
            if layer < min(len(before), len(after)):
                curves = [
                    Series(name, colour, list(zip(d["grid"], d["density"], strict=True)), (), dash)
                    for name, colour, d, dash in (
                        ("start", "fixed", before[layer], "dashed"),
                        ("learned", run.spec.operator, after[layer], "solid"),
                    )
                ]
                x, y = Axis("eigenvalue"), Axis("density")
                heading = f"{title}, seed {run.spec.seed}"
                plots.append(Plot(f"density-{k}", heading, x, y, tuple(curves)))
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


def _band_series(name: str, colour: str, band: Band, dash: str = "solid") -> Series:
    points = list(zip(band.epochs, band.mean, strict=True))
    return Series(
        name, colour, points, list(zip(band.epochs, band.low, band.high, strict=True)), dash
    )


def _diagonal(name: str, low: float, high: float) -> Series:
    return Series(name, "quiet", [(low, low), (high, high)], dash="dashed")


def _unit(label: str) -> Axis:
    return Axis(label, (-0.02, 1.02))


def _reliability(calibrations: Sequence[Calibration]) -> Points:
    """Bins of all seeds together, as the models were trained."""
    sums = [
        np.sum(column, axis=0) for column in zip(*(c.before for c in calibrations), strict=True)
    ]
    return [(float(sure / size), float(right / size)) for size, sure, right in sums if size]


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
        "parameters": parameter_plots(records),
        "interval": interval_plots(records),
        "density": density_plots(records),
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
    if any(series.in_legend and series.name for series in plots[0].series):
        panels[len(plots) - 1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _draw(axes: "Axes", plot: Plot) -> None:
    for series in plot.series:
        colour = _hex(series.colour)
        if series.band:
            at, below, above = zip(*series.band, strict=True)
            axes.fill_between(at, below, above, color=colour, alpha=0.15, lw=0)
        x, y = zip(*series.points, strict=True) if series.points else ((), ())
        label = series.name if series.in_legend and series.name else None
        line = "none" if series.dots == "only" else series.dash
        marker = "" if series.dots == "none" else "o"
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
