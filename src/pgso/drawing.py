"""Graphs, operators, ladders and densities, drawn: matplotlib axes in Python, SVG on pages.

A :class:`~pgso.records.data.Sketch` (some nodes, their places, the edges between them) is made
once, where the graph is, and kept in records. There is no torch here: arrays come in.
"""

import io
import os
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgso.errors import InputError, UnknownNameError
from pgso.records.data import Cell, Sketch
from pgso.records.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

MOST_NODES = 300  # of a picture
MOST_BRANCHES = 6  # neighbours that a sample follows from one node: hubs do not fill the picture
DENSE = 10  # edges per node of a picture above which a matrix is clearer
MOST_CLASSES = 8
ANSWERS = ("label", "target", "prediction")  # columns that are compared

# Okabe and Ito's colours, which colour-blind readers can tell apart, and viridis in five steps.
# All are readable on white and on black.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f8300", "#7f7fd5")
SCALE = ("#3b528b", "#21918c", "#5ec962", "#b5de2b", "#fde725")
GREY, BLUE, ORANGE = "#8a8f98", "#0072b2", "#d55e00"


def sketch(
    edge_index: Array,  # (2, E)
    num_nodes: int,
    colours: Mapping[str, Sequence[Cell]] | None = None,
    weight: Array | None = None,  # (E,)
    **choice: Any,
) -> Sketch:
    """Choose nodes, see :func:`chosen_nodes`, and place them; colours are values of all nodes."""
    import networkx
    from scipy.sparse import coo_array

    nodes = chosen_nodes(edge_index, num_nodes, **choice)
    position = np.full(num_nodes, -1)
    position[nodes] = np.arange(len(nodes))
    ends, values = position[edge_index], np.ones(edge_index.shape[1]) if weight is None else weight
    inside = (ends >= 0).all(axis=0)
    joined = ends[:, inside & (ends[0] != ends[1])]
    pairs = np.unique(np.sort(joined, axis=0), axis=1).T.tolist()
    A = coo_array((values[inside], tuple(ends[::-1, inside])), (len(nodes),) * 2).tocsr().tocoo()
    is_plain = A.nnz == 2 * len(pairs) and (A.data == 1).all()
    network, places = networkx.Graph(), np.zeros((len(nodes), 2))
    network.add_nodes_from(range(len(nodes)))
    network.add_edges_from(pairs)
    linked = [k for k, degree in network.degree if degree]
    lonely = [k for k, degree in network.degree if not degree]
    if linked:
        part, distance = network.subgraph(linked), 1.6 / len(linked) ** 0.5
        seed = choice.get("seed", 0)
        layout = networkx.spring_layout(part, seed=seed, iterations=80, k=distance)
        spread = np.array([layout[k] for k in linked])
        # Ranks mixed with distances: dense middles are pulled apart, outliers do not shrink them.
        ranks = spread.argsort(axis=0).argsort(axis=0) / max(len(linked) - 1, 1)
        width = np.ptp(spread, axis=0)
        even = (spread - spread.min(axis=0)) / np.where(width > 0, width, 1)
        places[linked] = 0.5 * even + 0.5 * ranks
        places[linked, 1] *= 0.93 if lonely else 1.0
    if lonely:  # in a row below the others
        places[lonely, 0] = (np.arange(len(lonely)) + 0.5) / len(lonely)
        places[lonely, 1] = 1.0
    places = (1000 * places).round().astype(int)  # whole numbers: a record stays small
    return Sketch(
        nodes=tuple(nodes.tolist()),
        x=tuple(places[:, 0].tolist()),
        y=tuple(places[:, 1].tolist()),
        edges=tuple((i, j) for i, j in pairs),
        num_nodes=num_nodes,
        degree=tuple(np.bincount(edge_index[1], values, num_nodes)[nodes].round(6).tolist()),
        weights=() if is_plain else tuple(zip(*A.coords, A.data.round(6).tolist(), strict=True)),
        colours={name: tuple(of[k] for k in nodes) for name, of in (colours or {}).items()},
    )


def chosen_nodes(
    edge_index: Array,
    num_nodes: int,
    most: int = MOST_NODES,
    seed: int = 0,
    node: int | None = None,
    hops: int = 2,
) -> Array:  # ascending
    """The nodes of a picture: all of a small graph, a part of a large one.

    A part is grown edge by edge from a node of the largest neighbourhoods, so that it shows who is
    next to whom; nodes at random would have no edges. With ``node``, it is the neighbourhood of
    this node within so many hops.
    """
    if node is None and num_nodes <= most:
        return np.arange(num_nodes)
    if node is not None and not 0 <= node < num_nodes:
        raise InputError(f"the graph has the nodes 0 to {num_nodes - 1}, got {node!r}")
    order = np.argsort(edge_index[1], kind="stable")
    sources = edge_index[0][order]
    first = np.searchsorted(edge_index[1][order], np.arange(num_nodes + 1))
    random = np.random.default_rng(seed)
    # The sample begins at the best connected of a few random nodes, not in a corner of the graph.
    few = random.integers(num_nodes, size=20)
    start = int(few[np.argmax(first[few + 1] - first[few])]) if node is None else node
    limit = MOST_BRANCHES if node is None else most
    found, waiting = {start}, deque([(start, 0)])
    while len(found) < most and (waiting or node is None):
        if not waiting:  # another component
            waiting.append((int(random.integers(num_nodes)), 0))
            found.add(waiting[0][0])
            continue
        at, distance = waiting.popleft()
        if node is not None and distance == hops:
            continue
        around = sources[first[at] : first[at + 1]]
        for neighbour in random.permutation(around)[:limit].tolist():
            if neighbour not in found and len(found) < most:
                found.add(neighbour)
                waiting.append((neighbour, distance + 1))
    return np.array(sorted(found))


def paint(
    values: Sequence[Cell], others: Sequence[Cell] = ()
) -> tuple[list[str], list[tuple[str, str]]]:
    """A colour per value, and the legend: words are classes, numbers on a scale, None is grey.

    The ``others`` are of a picture beside it, in which the same colour has the same meaning.
    """
    known = [value for value in (*values, *others) if value is not None]
    if known and all(isinstance(value, (int, float)) for value in known):
        from matplotlib.colors import LinearSegmentedColormap, to_hex

        scale = LinearSegmentedColormap.from_list("pgso", SCALE)
        low, high = float(min(known)), float(max(known))
        colours = [
            GREY if value is None else to_hex(scale((float(value) - low) / ((high - low) or 1.0)))
            for value in values
        ]
        shares = (0.0, 0.5, 1.0) if high > low else (0.0,)
        legend = [(f"{low + share * (high - low):.4g}", to_hex(scale(share))) for share in shares]
    else:
        counts = Counter(map(str, known))
        names = sorted(name for name, _ in counts.most_common(MOST_CLASSES))
        of = dict(zip(names, PALETTE, strict=False))
        colours = [GREY if v is None else of.get(str(v), GREY) for v in values]
        legend = [*of.items(), *([("other", GREY)] if len(counts) > len(names) else [])]
    if None in values:
        legend.append(("no value", GREY))
    return colours, legend


def cells(values: Any, count: int) -> list[Cell]:
    """One value per node as words, numbers or None; a class below 0 and NaN are unknown."""
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    if array.shape != (count,):
        raise InputError(f"color needs one value per node, ({count},), got shape {array.shape}")
    kind, values = array.dtype.kind, array.tolist()
    if kind in "iu" and len(np.unique(array)) <= 20:
        return [None if value < 0 else str(value) for value in values]
    as_cell = float if kind in "iuf" else str
    return [None if value is None or value != value else as_cell(value) for value in values]


def errors(
    labels: Sequence[Cell], predicted: Sequence[Cell], split: Sequence[Cell]
) -> tuple[Cell, ...]:
    """Right or wrong of classes, the distance of numbers; None if unknown or trained on."""
    found: list[Cell] = []
    for label, other, part in zip(labels, predicted, split, strict=True):
        if label is None or other is None or part == "train":
            found.append(None)
        elif isinstance(label, str) or isinstance(other, str):
            found.append("right" if label == other else "wrong")
        else:
            found.append(float(f"{abs(label - other):.6g}"))
    return tuple(found)


def plot_graph(
    edge_index: Array,
    num_nodes: int,
    color: Any = None,
    ax: "Axes | None" = None,
    *,
    view: str = "auto",
    **choice: Any,
) -> "Axes":
    """Draw a graph: see :meth:`pgso.Graph.plot`; the choice is that of :func:`chosen_nodes`."""
    colours = {} if color is None else {"color": cells(color, num_nodes)}
    part = sketch(edge_index, num_nodes, colours, **choice)
    matrix = np.zeros((len(part.nodes),) * 2)
    matrix[tuple(np.array(part.edges, dtype=int).reshape(-1, 2).T)] = 1
    fill, legend = paint(part.colours["color"]) if colours else ([BLUE], [])
    sizes = np.full(len(part.nodes), 24.0 if len(part.nodes) > 100 else 60.0)
    sizes[np.array(part.nodes) == choice.get("node")] *= 4
    lines = {"linewidths": 0.6, "colors": GREY}
    ax = _draw(ax, part, view, matrix + matrix.T, lines, {"s": sizes, "c": fill})
    if legend and not ax.images:
        for text, colour in legend:
            ax.scatter([], [], c=colour, label=text, linewidths=0)
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
    return ax


def plot_operator(
    matrix: Array,  # (k, k) the entries among some nodes
    nodes: Array,  # (k,)
    num_nodes: int,
    ax: "Axes | None" = None,
    view: str = "auto",
) -> "Axes":
    """Draw an operator: entries as line widths, blue above 0, orange below; or as a matrix."""
    strength = np.where(np.abs(matrix) >= np.abs(matrix.T), matrix, matrix.T)  # one per pair
    sizes = np.triu(np.abs(strength), 1)
    part = sketch(np.argwhere(sizes > 1e-3 * sizes.max(initial=0)).T, len(nodes))
    part = part.model_copy(update={"nodes": tuple(nodes.tolist()), "num_nodes": num_nodes})
    both = np.array([strength[i, j] for i, j in part.edges]), np.diagonal(matrix)
    width, size = (np.abs(of) / (np.abs(of).max(initial=0) or 1.0) for of in both)
    signs, own = ([BLUE if value >= 0 else ORANGE for value in of] for of in both)
    lines, dots = (
        {"linewidths": 0.3 + 3.5 * width, "colors": signs},
        {"s": 20 + 140 * size, "c": own},
    )
    ax = _draw(ax, part, view, matrix, lines, dots)
    if not ax.images:
        ax.set_xlabel("lines: entries, dots: diagonal; blue above 0, orange below", fontsize=8)
    return ax


def _draw(
    ax: "Axes | None", part: Sketch, view: str, matrix: Array, lines: Any, dots: Any
) -> "Axes":
    """A sketch as nodes and edges in the styles given, or as the matrix of its entries."""
    if view not in (views := ("auto", "graph", "matrix")):
        raise UnknownNameError("view", view, views)
    ax = _axes(ax)
    ax.set_title(caption(part), fontsize=10)
    if view == "matrix" or (view == "auto" and len(part.edges) > DENSE * len(part.nodes)):
        by_colour = [[str(value) for value in values] for values in part.colours.values()]
        order = np.argsort(by_colour[0] if by_colour else part.x, kind="stable")  # side by side
        top = float(np.abs(matrix).max(initial=0)) or 1.0
        scale: Any = {"cmap": "RdBu", "vmin": -top} if (matrix < 0).any() else {"cmap": "Blues"}
        image = ax.imshow(matrix[np.ix_(order, order)], vmax=top, **scale)
        ax.figure.colorbar(image, ax=ax, shrink=0.7)
        ax.set(xlabel="source", ylabel="target", xticks=[], yticks=[])
        return ax
    from matplotlib.collections import LineCollection

    places = np.stack([part.x, part.y], axis=1).astype(float)
    pairs = [places[list(pair)] for pair in part.edges]
    ax.add_collection(LineCollection(pairs, **lines, alpha=0.6, zorder=1))
    ax.scatter(part.x, part.y, **dots, zorder=2, linewidths=0)
    ax.margins(0.04)
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
    return ax


def plot_row(row: Array, node: int, ax: "Axes | None" = None, most: int = 24) -> "Axes":
    """What a node takes from which other: the largest entries of its row (n,) as line widths."""
    ax = _axes(ax)
    middle: Any = {"ha": "center", "va": "center"}
    signs = np.where(row >= 0, BLUE, ORANGE)
    others = np.array([j for j in np.flatnonzero(row) if j != node], dtype=int)
    shown = others[np.argsort(-np.abs(row[others]), kind="stable")[:most]]
    widths = 0.4 + 6 * np.abs(row) / (np.abs(row[shown]).max(initial=0) or 1.0)
    box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
    for j, angle in zip(shown, np.linspace(0, 2 * np.pi, len(shown), endpoint=False), strict=True):
        x, y = np.cos(angle), np.sin(angle)
        ax.plot([0, x], [0, y], color=signs[j], linewidth=widths[j], zorder=1)
        ax.text(1.12 * x, 1.1 * y, str(j), fontsize=8, **middle)
        ax.text(0.6 * x, 0.6 * y, f"{row[j]:.3g}", fontsize=7, bbox=box, **middle)
    ax.scatter([0], [0], s=500, c=signs[node], zorder=2)
    ax.text(0, 0, str(node), color="white", fontsize=9, zorder=3, **middle)
    rest = f"; {len(others) - len(shown)} smaller ones left out" if len(others) > len(shown) else ""
    ax.set_title(f"row of node {node}, its own entry {row[node]:.3g}{rest}", fontsize=10)
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.25, 1.25), aspect="equal")
    ax.set_axis_off()
    return ax


def plot_ladder(record: Any, ax: "Axes | None" = None, most: int = 20) -> "Axes":
    """The rungs of a finding by their loss, best on top, with the kept one and GCN's marked."""
    rungs = sorted(record.rungs, key=lambda rung: rung.loss)
    wanted = {record.best, record.reference} | {rung.name for rung in rungs if rung.S is None}
    shown = [rung for k, rung in enumerate(rungs) if k < most - 3 or rung.name in wanted]
    ax, objective = _axes(ax, height=0.9 + 0.26 * len(shown)), record.objective
    colours = {record.reference: ORANGE} | {record.best: BLUE}  # as on the page
    for place, rung in enumerate(shown):
        colour = colours.get(rung.name, GREY)
        low, high = rung.interval or (0.0, 0.0)
        size = 8 if rung.name == record.best else 5
        ax.errorbar(rung.loss, place, xerr=(high - low) / 2, fmt="o", ms=size, color=colour)
        score = rung.test if rung.test is not None else rung.loo
        if score is not None:
            right: Any = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 8}
            ax.annotate(objective.written(score), (1.01, place), color=colour, **right)
    ax.set_yticks(range(len(shown)), [rung.name for rung in shown], fontsize=8)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    part = "test" if shown[0].test is not None else "leave-one-out"
    ax.set_xlabel(f"loss of {record.judges:,} labels; at the right: {part} {objective.label}")
    hidden = f"; {len(rungs) - len(shown)} worse ones left out" if len(rungs) > len(shown) else ""
    ax.set_title(f"{len(rungs)} rungs, the kept one in blue{hidden}", fontsize=10)
    return ax


def plot_density(grid: Array, density: Array, error: Array, ax: "Axes | None" = None) -> "Axes":
    """A spectral density with a band of two standard errors."""
    ax = _axes(ax)
    low = np.maximum(density - 2 * error, 0)
    ax.fill_between(grid, low, density + 2 * error, color=BLUE, alpha=0.3, linewidth=0)
    ax.plot(grid, density, color=BLUE, linewidth=1.3)
    ax.set(xlabel="eigenvalue", ylabel="density", ylim=(0, None))
    return ax


def plot_eigenvalues(values: Array, ax: "Axes | None" = None) -> "Axes":
    """Eigenvalues in ascending order."""
    ax = _axes(ax)
    ax.plot(np.arange(1, len(values) + 1), values, "o", color=BLUE, markersize=4)
    ax.set(xlabel="number, in ascending order", ylabel="eigenvalue")
    return ax


def _axes(ax: "Axes | None", height: float = 4.8) -> "Axes":
    from matplotlib import pyplot

    made: Axes = ax or pyplot.subplots(figsize=(6.4, height), layout="constrained")[1]
    made.spines[["top", "right"]].set_visible(False)
    return made


def caption(part: Sketch) -> str:
    """How much of the graph is there."""
    shown, total = len(part.nodes), part.num_nodes
    return f"{total:,} nodes" if shown == total else f"a part: {shown:,} of {total:,} nodes"


def svg(part: Sketch, column: str | None = None, title: str = "") -> str:
    """A sketch as SVG, coloured by one of its columns, in the colours of the text around it."""
    values = part.colours[column] if column else [None] * len(part.nodes)
    beside = [part.colours.get(name, ()) for name in ANSWERS if column in ANSWERS]
    fill, legend = paint(values, sum(beside, ())) if column else ([BLUE] * len(part.nodes), [])
    radius = 16 if len(part.nodes) <= 60 else 11
    lines = "".join(f"M{part.x[i]} {part.y[i]}L{part.x[j]} {part.y[j]}" for i, j in part.edges)
    drawn = []
    for k, (colour, value) in enumerate(zip(fill, values, strict=True)):
        said = "no value" if value is None else value if isinstance(value, str) else f"{value:.4g}"
        text = escape(f"{part.called(k)}: {said}" if column else part.called(k))
        at = f'data-k="{k}" cx="{part.x[k]}" cy="{part.y[k]}" r="{radius}"'
        drawn.append(f'<circle {at} fill="{colour}"><title>{text}</title></circle>')
    for k, (name, colour) in enumerate(legend):
        x, y = 340 * (k % 3), 1080 + 60 * (k // 3)
        text = escape(name if len(name) < 16 else name[:14] + "…")
        drawn.append(f'<circle cx="{x + 14}" cy="{y}" r="14" fill="{colour}"/>')
        drawn.append(f'<text x="{x + 40}" y="{y + 14}">{text}</text>')
    height = 1100 + 60 * -(-len(legend) // 3)
    return (
        f'<svg class="graph" role="img" aria-label="{escape(title or caption(part))}" '
        f'viewBox="-20 -20 1040 {height}" '
        'font-family="system-ui, sans-serif" font-size="40" fill="currentColor">'
        f'<path stroke="currentColor" stroke-opacity="0.3" stroke-width="2" d="{lines}"/>'
        f"{''.join(drawn)}</svg>"
    )


def write_page(
    path: str | os.PathLike[str], title: str, body: str, draw: Callable[..., Any]
) -> Path:
    """Write a page around HTML that is already escaped and a picture of one panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    draw(ax=figure.subplots())
    # Pages are above this, so they are found by name.
    sections, heading = import_module("pgso.report.sections"), title.partition("(")[0]
    made = sections.picture_page(heading, title, [], body + figure_svg(figure))
    write_atomically(Path(path), made)
    return Path(path)


def figure_svg(figure: "Figure") -> str:
    """A figure of matplotlib, to be put into a page."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    picture = drawn.getvalue()
    # Black and white become the colours of the page, light or dark.
    picture = picture.replace("#000000", "currentColor").replace("#ffffff", "var(--surface)")
    return picture[picture.index("<svg") :].replace("<svg ", '<svg fill="currentColor" ', 1)
