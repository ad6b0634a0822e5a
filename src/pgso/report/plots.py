"""Plots as values. plot.js draws them on a page, :func:`write_figures` as PNG, SVG and PDF."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pgso.report.words import OPERATORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    for series in plot.series:
        _draw_series(axes, series)
    for entry in plot.means:
        low, high = entry.interval or (entry.mean, entry.mean)
        reach, colour = [[entry.mean - low], [high - entry.mean]], _hex(entry.colour)
        axes.errorbar(entry.x, entry.mean, reach, fmt="D", color=colour, capsize=4, ms=6)
    if plot.x.ticks is not None:
        axes.set_xticks(*zip(*plot.x.ticks, strict=True))
    axes.set(xlim=plot.x.domain, xlabel=plot.x.label, ylabel=plot.y.label)
    axes.set_title(plot.title, loc="left")
    if any(series.name and not series.quiet for series in plot.series):
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _draw_series(axes: "Axes", series: Series) -> None:
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


def _hex(colour: str) -> str:
    return OPERATORS.get(colour, "#9ca3af")
