"""The data in tables: what a report begins with."""

from collections.abc import Sequence

from pgso.records.data import DataRecord
from pgso.report.grid import Grid
from pgso.report.labels import plain

MOST_CLASSES = 30  # that are listed one by one
MOST_KINDS = 10  # of edges


def data_grids(data: Sequence[DataRecord]) -> list[Grid]:
    """Graph, splits and labels, classes or targets, columns; of the first split."""
    if not data:
        return []
    first = data[0]
    grids = [graph_grid(first), labels_grid(data), _classes(first), _targets(first)]
    return [grid for grid in [*grids, columns_grid(first)] if grid.rows]


def graph_grid(data: DataRecord) -> Grid:
    """Nodes, edges, components, degrees."""
    direction = "directed" if data.is_directed else "undirected"
    edges = data.num_edges if data.is_directed else -(-data.num_edges // 2)
    weights = ", weighted" if data.is_weighted else ""
    degrees = (data.degree_min, data.degree_median, data.degree_mean, data.degree_max)
    share = 100 * data.largest_component / max(data.num_nodes, 1)
    components = f"{data.components:,}"
    if data.num_graphs == 1 and data.components > 1:
        components += f" (the largest has {share:.0f} % of the nodes)"
    rows = [
        ("nodes", f"{data.num_nodes:,}"),
        ("edges", f"{edges:,}, {direction}{weights}"),
        ("degree: least, median, mean, most", ", ".join(_short(value) for value in degrees)),
        ("nodes without neighbours", f"{data.isolated:,}"),
        ("components", components),
        ("features", f"{data.num_features:,}: {data.features}"),
    ]
    if data.relations:
        kinds = [f"{name} {count:,}" for name, count in data.relations.items()]
        more = f" and {len(kinds) - MOST_KINDS} more" if len(kinds) > MOST_KINDS else ""
        rows.insert(2, ("kinds of edges", ", ".join(kinds[:MOST_KINDS]) + more))
    if data.adjusted_homophily is not None:
        rows.append(("adjusted homophily", _homophily(data.adjusted_homophily)))
    if data.num_graphs > 1:
        rows.insert(0, ("graphs", f"{data.num_graphs:,}"))
    caption = ""
    if data.adjusted_homophily is not None:
        caption = (
            "Adjusted homophily: 0 is chance, 1 is neighbours of one class only; from training and "
            "validation labels."
        )
    return Grid("The graph", ("", "value"), tuple(rows), caption)


def labels_grid(data: Sequence[DataRecord]) -> Grid:
    """How many examples have an answer, and where they are used."""
    first = data[0]
    what = {"node": "nodes", "graph": "graphs", "link": "links"}[first.kind]
    items = max(first.num_items, 1)

    def row(name: str, count: int) -> tuple[str, str, str]:
        return name, f"{count:,}", f"{100 * count / items:.1f} %"

    rows = [
        row("with an answer", first.num_labelled),
        row("training", first.num_train),
        row("validation", first.num_val),
        row("test", first.num_test),
    ]
    others = "; other seeds may have other splits" if len(data) > 1 else ""
    seeds = f"Split of seed {first.spec.seed}{others}."
    return Grid(f"Answers of {first.num_items:,} {what}", ("", what, "share"), tuple(rows), seeds)


def _classes(data: DataRecord) -> Grid:
    totals = [c.train + c.val + c.test for c in data.classes]
    order = sorted(range(len(totals)), key=lambda k: -totals[k])
    shown = [(data.classes[k], totals[k]) for k in order[:MOST_CLASSES]]
    items = max(data.num_train + data.num_val + data.num_test, 1)
    rows = tuple(
        (c.name, f"{total:,}", f"{100 * total / items:.1f} %", *(f"{n:,}" for n in parts))
        for c, total in shown
        for parts in [(c.train, c.val, c.test)]
    )
    left = len(totals) - len(shown)
    more = f"{left} rarer ones are left out." if left else ""
    title = f"{len(totals)} {'labels' if data.answer == 'labels' else 'classes'}"
    return Grid(title, ("", "examples", "share", "training", "validation", "test"), rows, more)


def _targets(data: DataRecord) -> Grid:
    rows = tuple(
        (t.name, f"{t.known:,}", *(f"{value:.4g}" for value in (t.low, t.mean, t.high)))
        for t in data.targets
    )
    return Grid("Targets", ("", "known", "least", "mean", "most"), rows)


def columns_grid(data: DataRecord) -> Grid:
    """What became of each column of a user's table."""
    rows = tuple(
        (c.name, c.kind, f"{c.missing:,}" if c.missing else "", c.became) for c in data.columns
    )
    header = ("column", "is a", "missing", "became")
    return Grid("Columns of the table", header, rows, "Fitted on the training rows.")


def _short(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _homophily(value: float) -> str:
    kind = "like links to like" if value > 0.3 else "near chance" if value > -0.1 else "unlike"
    return f"{plain(value, 2)} ({kind})"
