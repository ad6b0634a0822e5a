"""``pgso spectrum``: bounds, extreme eigenvalues and density of operators as a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pgso.drawing import GREY, ORANGE, PALETTE, page
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.parameters import NAMES, PGSOParameters, Scalar
from pgso.gso.presets import resolve
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
        return {
            "name": self.name,
            "S": dict(zip(NAMES, self.S, strict=True)),
            "theorem2": list(self.theorem2),
            "optimal": list(self.optimal),
            "extremes": self.extremes.tolist(),
            "density": {
                "grid": self.density.grid.tolist(),
                "density": self.density.density.tolist(),
                "error": self.density.error.tolist(),
            },
        }


def summarise(graph: Graph, name: str, S: str | Sequence[Scalar], k: int = 6) -> Summary:
    """Bounds by both methods, up to k extreme eigenvalues, and the density.

    Example:
        >>> import torch
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> summarise(path, "L", "laplacian").theorem2
        (0.0, 4.0)
    """
    graph = undirected(graph)
    params = resolve(S).as_floats()
    low, high = interval(graph, params, "theorem2")
    theorem2 = float(low), float(high)
    if not max(*map(abs, theorem2), float(graph.degree.abs().max())) < LARGEST:
        raise InputError(
            f"S = {tuple(params)} on this graph has degrees or entries beyond {LARGEST:g}: too "
            "large to be squared in double precision; scale S or the weights"
        )
    low, high = interval(graph, params)
    try:
        extremes = eigenvalues(graph, params, k=min(k, graph.num_nodes), max_iterations=1_000)
    except NotConvergedError:  # the rest is still worth showing
        extremes = np.empty(0)
    return Summary(
        name, params, theorem2, (float(low), float(high)), extremes, density(graph, params)
    )


def draw(graph: Graph, title: str, summaries: Sequence[Summary]) -> Figure:
    """A panel for the degrees and one for each operator, two in a row."""
    panels = len(summaries) + 1
    rows = (panels + 1) // 2
    figure = Figure(figsize=(11, 0.7 + 2.9 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, squeeze=False).flatten()
    counts = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} directed edges"
    figure.suptitle(f"{title}: {counts}", fontsize=13, parse_math=False)
    _draw_degrees(axes[0], graph)
    for ax, summary in zip(axes[1:], summaries, strict=False):
        _draw_operator(ax, summary)
    for ax in axes[panels:]:
        ax.set_visible(False)
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _draw_degrees(ax: Axes, graph: Graph) -> None:
    degree = graph.degree.detach().numpy(force=True)
    low, high = float(degree.min()), float(degree.max())
    wide = low >= 0 and high > 50
    if wide:  # a long tail needs a logarithm; log(1 + d) keeps the nodes without edges
        spread = np.expm1(np.linspace(np.log1p(low), np.log1p(high), 31))
        edges = np.append(np.unique(np.floor(spread))[:-1], high + 1) - 0.5  # whole degrees a bin
        ax.set_xscale("log" if low > 0 else "symlog")
    else:
        edges = np.linspace(low - 0.5, high + 0.5, min(51, int(high - low) + 2))
    ax.hist(degree, bins=edges.tolist(), color=GREY, log=wide)
    if wide:
        ax.set_ylim(bottom=0.7)  # so that a single node is seen
    ax.set(xlabel="degree d (edges, or their weight)", ylabel="number of nodes")
    ax.set_title("degrees", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_operator(ax: Axes, summary: Summary) -> None:
    band, line = summary.density.plot(ax).collections[0], ax.lines[0]
    band.set_label("± 2 standard errors")
    line.set_label("density")
    top = _ceiling(summary)
    ax.set_ylim(-0.22 * top, top)
    for ends, height, colour, label in (
        (summary.theorem2, -0.06, ORANGE, "Theorem 2"),
        (summary.optimal, -0.13, GREEN, "optimal interval"),
    ):
        ax.hlines(height * top, *ends, color=colour, label=label, linewidth=5)
    ax.plot(summary.extremes, [-0.185 * top] * len(summary.extremes), "k|", ms=9, mew=1.6)
    ax.lines[-1].set_label("extreme eigenvalues")
    _leave_out_what_is_empty(ax, summary, top)
    S = ", ".join(f"{value:.3g}" for value in summary.S)
    ax.set_title(f"{summary.name}  ({S})", fontsize=10, parse_math=False)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])


def _leave_out_what_is_empty(ax: Axes, summary: Summary, top: float) -> None:
    """Cut Theorem 2's bar where it would squeeze the density, and write where it ends."""
    low, high = summary.optimal
    room = 0.15 * (high - low) or 0.1
    left, right = max(summary.theorem2[0], low - room), min(summary.theorem2[1], high + room)
    ax.set_xlim(left - 0.03 * (right - left) - 1e-6, right + 0.03 * (right - left) + 1e-6)
    for end, cut, side in (
        (summary.theorem2[0], left, "left"),
        (summary.theorem2[1], right, "right"),
    ):
        if end != cut:
            text = f"◂ {end:.4g}" if side == "left" else f"{end:.4g} ▸"
            ax.text(cut, -0.02 * top, text, color=ORANGE, fontsize=8, ha=side, va="bottom")


def _ceiling(summary: Summary) -> float:
    """The height of the panel: a peak of repeated eigenvalues may not flatten all the rest."""
    density = summary.density.density
    weight = np.gradient(summary.density.grid)
    order = np.argsort(density)[::-1]
    reached = np.cumsum((density * weight)[order])
    bulk = density[order][min(int(np.searchsorted(reached, 0.4)), len(order) - 1)]
    return float(min(density.max() * 1.08, max(4 * bulk, 1e-12)))


def span(values: Sequence[float] | NDArray[np.float64]) -> str:
    """The two ends of some ascending values.

    Example:
        >>> span([-1.0, 0.25, 2.0])
        '[-1.0000, 2.0000]'
    """
    if len(values) == 0:
        return "not converged"
    return f"[{values[0]:z.4f}, {values[-1]:z.4f}]"


def render(graph: Graph, title: str, summaries: Sequence[Summary], figure: Figure) -> str:
    """The page as text; names that come from users are escaped."""
    import pandas

    rows = [
        {
            "operator": summary.name,
            **{name: f"{value:.4g}" for name, value in zip(NAMES, summary.S, strict=True)},
            "Theorem 2": span(summary.theorem2),
            "optimal interval": span(summary.optimal),
            "smallest and largest eigenvalue": span(summary.extremes),
        }
        for summary in summaries
    ]
    with pandas.option_context("display.max_colwidth", None):  # names are not cut
        table = pandas.DataFrame(rows).to_html(index=False, border=0)
    heading = f"Spectrum of {title}"
    body = (
        f"<h1>{escape(heading)}</h1>\n<p>{graph.num_nodes:,} nodes, {graph.num_edges:,} directed "
        "edges. Every eigenvalue lies in both intervals; the density is estimated from random "
        f"probes.</p>\n<div>{table}</div>"
    )
    return page(heading, body, figure)
