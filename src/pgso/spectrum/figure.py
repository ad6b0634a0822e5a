"""The picture of ``pgso spectrum``: degrees, and each operator's density, bounds and extremes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pgso.graph import Graph
from pgso.spectrum.summary import Summary

# Okabe and Ito's colours: colour-blind readers can tell them apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"


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
    ax.set(title="degrees", xlabel="degree d (edges, or their weight)", ylabel="number of nodes")
    _tidy(ax)


def _draw_operator(ax: Axes, summary: Summary) -> None:
    estimate = summary.density
    ax.fill_between(
        estimate.grid,
        np.maximum(estimate.density - 2 * estimate.error, 0),
        estimate.density + 2 * estimate.error,
        color=BLUE,
        alpha=0.3,
        linewidth=0,
        label="± 2 standard errors",
    )
    ax.plot(estimate.grid, estimate.density, color=BLUE, linewidth=1.3, label="density")
    top = _ceiling(summary)
    ax.set_ylim(-0.22 * top, top)
    for ends, height, colour, label in (
        (summary.theorem2, -0.06, ORANGE, "Theorem 2"),
        (summary.optimal, -0.13, GREEN, "optimal interval"),
    ):
        height *= top
        ax.hlines(height, *ends, color=colour, label=label, linewidth=5)
    ax.plot(
        summary.extremes,
        [-0.185 * top] * len(summary.extremes),
        linestyle="none",
        marker="|",
        markersize=9,
        markeredgewidth=1.6,
        color="black",
        label="extreme eigenvalues",
    )
    _leave_out_what_is_empty(ax, summary, top)
    S = ", ".join(f"{value:.3g}" for value in summary.S)
    ax.set_title(f"{summary.name}  ({S})", fontsize=10, parse_math=False)
    ax.set(xlabel="eigenvalue", ylabel="density")
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    _tidy(ax)


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


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.title.set_fontsize(10)
