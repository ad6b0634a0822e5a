"""What several pages need: groups of records, means with spread, and simple plots."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pgso.evaluation.statistics import t_interval
from pgso.gso.parameters import NAMES
from pgso.records import RunRecord
from pgso.report.grid import table as table

K = TypeVar("K", bound=Hashable)
Pick = Callable[[RunRecord], tuple[list[int], list[float]]]
# Multipliers are solid, exponents dashed, a is dotted: pairs of one colour differ by their dash.
PARAMETERS = {
    "m1": ("#0072b2", "solid"),
    "m2": ("#d55e00", "solid"),
    "m3": ("#009e73", "solid"),
    "e1": ("#0072b2", "dashed"),
    "e2": ("#d55e00", "dashed"),
    "e3": ("#009e73", "dashed"),
    "a": ("#cc79a7", "dotted"),
}
WIDE = ("m1", "e2")  # m3 and e3 often lie on top of them: a wide line shows on both sides
LINES: dict[str, dict[str, Any]] = {
    name: {"color": colour, "linestyle": dash, "linewidth": 2.8 if name in WIDE else 1.2}
    for name, (colour, dash) in PARAMETERS.items()
}


def group(
    records: Iterable[RunRecord], by: Callable[[RunRecord], K], order: Iterable[K] = ()
) -> dict[K, list[RunRecord]]:
    """Records by a key: first the keys of ``order``, then the others as they appear."""
    groups: dict[K, list[RunRecord]] = {key: [] for key in order}
    for record in records:
        groups.setdefault(by(record), []).append(record)
    return {key: members for key, members in groups.items() if members}


def scores(records: Sequence[RunRecord], part: str = "test") -> list[float]:
    """Test or validation scores as their objective shows them, runs without one left out."""
    values = [(record.objective, getattr(record, part)) for record in records]
    return [objective.shown(value) for objective, value in values if value is not None]


def mean_and_spread(values: Sequence[float]) -> str:
    """``81.4 ± 0.5 (20)``: mean, standard deviation, how many."""
    if not values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.1f} (1)"
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f} ({len(values)})"


def mean_and_interval(values: Sequence[float], digits: int = 1) -> str:
    """``+0.4 [-0.1, 0.9]``: mean and its 95 % interval."""
    if not values:
        return "–"
    interval = t_interval(values)
    mean = f"{np.mean(values):+.{digits}f}"
    if interval is None:
        return mean
    return f"{mean} [{interval.low:+.{digits}f}, {interval.high:+.{digits}f}]"


def curve(record: RunRecord, name: str) -> tuple[list[int], list[Any]]:
    """The epochs and the values of a curve, thinned or not."""
    values = record.curves.get(name, [])
    epochs = record.curves.get("epoch", list(range(len(values))))
    return epochs[: len(values)], values


def epochs_kept(records: Iterable[RunRecord]) -> str:
    """``Cora: 51 of 200``: how many points of its curves a ledger has kept, by dataset."""
    return ", ".join(
        f"{dataset}: {min(len(curve(run, 'val')[1]) for run in runs)} of {runs[0].spec.epochs}"
        for dataset, runs in group(records, lambda record: record.spec.dataset).items()
    )


def mean_curve(
    records: Sequence[RunRecord], pick: Pick
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Epochs, mean and standard deviation over runs of equal length."""
    picked = [pick(record) for record in records]
    length = min(len(values) for _, values in picked)
    table = np.array([values[:length] for _, values in picked], dtype=float)
    sd = table.std(axis=0, ddof=1) if len(table) > 1 else np.zeros(length)
    return np.array(picked[0][0][:length]), table.mean(axis=0), sd


def named_curve(name: str) -> Pick:
    """Picks a curve by its name."""
    return lambda record: curve(record, name)


def parameter_curve(layer: int, scalar: str) -> Pick:
    """Picks the trajectory of one scalar of one operator."""
    column = NAMES.index(scalar)

    def pick(record: RunRecord) -> tuple[list[int], list[float]]:
        epochs, values = curve(record, "parameters")
        return epochs, [operators[layer][column] for operators in values]

    return pick


def new_figure(columns: int = 1, rows: int = 1, width: float = 3.0, height: float = 2.4) -> Figure:
    """A figure that does not touch matplotlib's global state; :func:`save` gives it its looks.

    Two panels of the default width fill the 6 to 7 inches of a page, one fills a column.
    """
    return Figure(figsize=(columns * width, rows * height), layout="constrained")


def panels(count: int, most: int = 3, width: float = 2.3, height: float = 2.1) -> list[Axes]:
    """So many panels in rows of a page's width; unused ones are hidden."""
    columns = min(count, most)
    rows = -(-count // columns)
    figure = new_figure(columns, rows, width, height)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for unused in axes[count:]:
        unused.remove()
    return axes[:count]


def figure_of(axes: Sequence[Axes]) -> Figure:
    """The figure that panels belong to."""
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    return figure


def tidy(figure: Figure) -> None:
    """The looks of all figures: small fonts, two spines, a light grid."""
    for axis in figure.axes:
        if not axis.images:
            axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=7, length=2.5)
        axis.title.set_fontsize(8.5)
        for label in (axis.xaxis.label, axis.yaxis.label):
            label.set_fontsize(8)
        if axis.lines or axis.containers:
            axis.grid(alpha=0.25, linewidth=0.5)


def legend_beside(axis: Axes, title: str | None = None) -> None:
    """The legend of a panel to the right of its whole figure, where it hides no curve."""
    handles, labels = axis.get_legend_handles_labels()
    figure_of([axis]).legend(
        handles,
        labels,
        frameon=False,
        fontsize=7.5,
        title=title,
        title_fontsize=7.5,
        loc="outside right center",
    )


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write PNG (200 dpi) and SVG next to the page, and return the Markdown that shows it."""
    folder.mkdir(parents=True, exist_ok=True)
    tidy(figure)
    figure.savefig(folder / f"{name}.png", dpi=200, metadata={"Software": None})
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pgso"}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    return f"![{name}]({folder.name}/{name}.png)"
