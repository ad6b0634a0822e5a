"""``pgso spectrum``: bounds, extreme eigenvalues and density of operators, in numbers and drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pgso.drawing import ORANGE, PALETTE
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.parameters import NAMES, PGSOParameters, Scalar
from pgso.spectrum.certified import undirected
from pgso.spectrum.eigen import NotConvergedError, eigenvalues
from pgso.spectrum.interval import interval
from pgso.spectrum.kernel_polynomial import Density, density

LARGEST = 1e150  # entries and degrees beyond it overflow when they are squared
GREEN = PALETTE[2]


@dataclass(frozen=True, eq=False)
class Summary:
    """One operator on one graph."""

    name: str
    S: PGSOParameters
    theorem2: tuple[float, float]
    optimal: tuple[float, float]
    extremes: NDArray[np.float64]  # ascending; empty if Lanczos did not converge
    density: Density

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the probes' own densities."""
        curve = {
            name: getattr(self.density, name).tolist() for name in ("grid", "density", "error")
        }
        bounds = {"theorem2": list(self.theorem2), "optimal": list(self.optimal)}
        S = dict(zip(NAMES, self.S, strict=True))
        extremes = self.extremes.tolist()
        return {"name": self.name, "S": S, **bounds, "extremes": extremes, "density": curve}


def summarise(graph: Graph, name: str, S: str | Sequence[Scalar]) -> Summary:
    """Bounds by both methods, up to six extreme eigenvalues, and the density."""
    graph = undirected(graph)
    params = PGSOParameters.of(S).as_floats()
    low, high = map(float, interval(graph, params, "theorem2"))
    if not max(abs(low), abs(high), float(graph.degree.abs().max())) < LARGEST:
        raise InputError(
            f"S = {tuple(params)} on this graph has degrees or entries beyond {LARGEST:g}: too "
            "large to be squared in double precision; scale S or the weights"
        )
    least, most = map(float, interval(graph, params))
    try:
        extremes = eigenvalues(graph, params, k=min(6, graph.num_nodes), max_iterations=1_000)
    except NotConvergedError:  # the rest is still worth showing
        extremes = np.empty(0)
    return Summary(name, params, (low, high), (least, most), extremes, density(graph, params))


def counts_of(graph: Graph) -> str:
    """How many nodes and edges an undirected graph has."""
    source, target = graph.edge_index
    return f"{graph.num_nodes:,} nodes, {int((source <= target).sum()):,} undirected edges"


def draw(graph: Graph, title: str, summaries: Sequence[Summary]) -> Figure:
    """A panel for each operator, two in a row."""
    columns = min(2, len(summaries))
    rows = -(-len(summaries) // columns)
    figure = Figure(figsize=(1 + 5 * columns, 0.7 + 2.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    figure.suptitle(f"{title}: {counts_of(graph)}", fontsize=13, parse_math=False)
    for ax, summary in zip(axes, summaries, strict=False):
        band, line = summary.density.plot(ax).collections[0], ax.lines[0]
        band.set_label("± 2 standard errors")
        line.set_label("density")
        low, high = summary.optimal
        # The height of the panel: a peak of repeated eigenvalues may not flatten all the rest.
        density = summary.density.density
        order = np.argsort(density)[::-1]
        reached = np.cumsum((density * np.gradient(summary.density.grid))[order])
        bulk = density[order][min(int(np.searchsorted(reached, 0.4)), len(order) - 1)]
        top = float(min(density.max() * 1.08, max(4 * bulk, 1e-12)))
        for ends, height, colour, label in (
            (summary.theorem2, -0.06, ORANGE, "Theorem 2"),
            (summary.optimal, -0.13, GREEN, "optimal interval"),
        ):
            ax.hlines(height * top, *ends, color=colour, label=label, linewidth=5)
        marks: Any = {"ms": 9, "mew": 1.6, "label": "extreme eigenvalues"}
        ax.plot(summary.extremes, [-0.185 * top] * len(summary.extremes), "k|", **marks)
        # Theorem 2's bar is cut where it would squeeze the density; its end is written there.
        room = 0.15 * (high - low) or 0.1
        left, right = max(summary.theorem2[0], low - room), min(summary.theorem2[1], high + room)
        margin = 0.03 * (right - left) + 1e-6
        below: dict[str, Any] = {"color": ORANGE, "fontsize": 8, "va": "bottom"}
        if summary.theorem2[0] != left:
            ax.text(left, -0.02 * top, f"◂ {summary.theorem2[0]:.4g}", ha="left", **below)
        if summary.theorem2[1] != right:
            ax.text(right, -0.02 * top, f"{summary.theorem2[1]:.4g} ▸", ha="right", **below)
        ax.set(xlim=(left - margin, right + margin), ylim=(-0.22 * top, top))
        S = ", ".join(f"{value:.3g}" for value in summary.S)
        ax.set_title(f"{summary.name}  ({S})", fontsize=10, parse_math=False)
        ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    for ax in axes[len(summaries) :]:
        ax.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def span(values: Sequence[float] | NDArray[np.float64]) -> str:
    """The two ends of some ascending values."""
    return f"[{values[0]:z.4f}, {values[-1]:z.4f}]" if len(values) else "not converged"


def table(summaries: Sequence[Summary]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Header and rows: S, both intervals, and the outermost eigenvalues of each operator."""
    header = ("operator", *NAMES, "Theorem 2", "optimal interval", "outermost eigenvalues")
    rows = []
    for one in summaries:
        spans = (span(one.theorem2), span(one.optimal), span(one.extremes))
        rows.append((one.name, *(f"{value:.4g}" for value in one.S), *spans))
    return header, tuple(rows)
