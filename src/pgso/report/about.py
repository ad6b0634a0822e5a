"""What a result rests on: the data, the graph, the baselines, the runs and the software."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from markupsafe import Markup

from pgso.drawing import caption, svg
from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.data import BaselineRecord, DataRecord, Sketch
from pgso.report.differences import by_operator
from pgso.report.grid import Grid
from pgso.report.sections import Section
from pgso.report.words import LABELS, NONE, plain

SHORT = 10  # rows of a table about the data that is not folded
MOST_CLASSES = 30  # that are listed one by one
MOST_KINDS = 10  # of edges


def data_section(
    data: Sequence[DataRecord], links: tuple[tuple[str, str], ...] = ()
) -> Section | None:
    """Graph, split, classes or targets, columns, of the first split; long tables are folded."""
    if not data:
        return None
    first = data[0]
    others = "; other seeds may have other splits" if len(data) > 1 else ""
    what = {"node": "nodes", "graph": "graphs", "link": "links"}[first.kind]
    noun = {"value": "target", "link": "link"}.get(first.answer, "label")
    parts = (first.num_train, first.num_val, first.num_test)
    split = zip(("training", "validation", "test"), parts, strict=True)
    num_items, num_examples = max(first.num_items, 1), max(sum(parts), 1)
    rows = [(name, f"{n:,}", f"{100 * n / num_items:.1f} %")
            for name, n in ((f"with a {noun}", first.num_labelled), *split)]  # fmt: skip
    classes = sorted(first.classes, key=lambda c: -(c.train + c.val + c.test))
    counts = []
    for c in classes[:MOST_CLASSES]:
        found = (c.train, c.val, c.test)
        total, *cells = (f"{n:,}" for n in (sum(found), *found))
        counts.append((c.name, total, f"{100 * sum(found) / num_examples:.1f} %", *cells))
    left = len(classes) - len(counts)
    targets = [(t.name, f"{t.known:,}", *(f"{value:.4g}" for value in (t.low, t.mean, t.high)))
               for t in first.targets]  # fmt: skip
    columns = [(c.name, c.kind, f"{c.missing:,}" if c.missing else "", c.became)
               for c in first.columns]  # fmt: skip
    noun = "labels" if first.answer == "labels" else "classes"
    grids = [
        graph_grid(first),
        Grid(f"The split of {first.num_items:,} {what}", ("", what, "share"), tuple(rows),
             f"Split of seed {first.spec.seed}{others}."),
        Grid(f"{len(classes)} {noun}", ("", "examples", "share", "training", "validation", "test"),
             tuple(counts), f"{left} rarer ones are left out." if left else ""),
        Grid("Targets", ("", "known", "least", "mean", "most"), tuple(targets)),
        Grid("Columns of the table", ("column", "is a", "missing", "became"), tuple(columns),
             "Fitted on the training rows."),
    ]  # fmt: skip
    folded = tuple(grid for grid in grids[1:] if len(grid.rows) > SHORT)
    panels = tuple(grid for grid in grids if grid not in folded)
    return Section("The data", "", panels, "pair", folded, links=links, id="data-section")


def graph_grid(data: DataRecord) -> Grid:
    """Nodes, edges, components, degrees."""
    direction = "directed" if data.is_directed else "undirected"
    edges = data.num_edges if data.is_directed else -(-data.num_edges // 2)
    weights = ", weighted" if data.is_weighted else ""
    degrees = (data.degree_min, data.degree_median, data.degree_mean, data.degree_max)
    shown = [f"{round(float(value), 1):,}".removesuffix(".0") for value in degrees]
    components = f"{data.components:,}"
    if data.num_graphs == 1 and data.components > 1:
        share = 100 * data.largest_component / max(data.num_nodes, 1)
        components += f" (the largest has {share:.0f} % of the nodes)"
    kinds = [f"{name} {count:,}" for name, count in data.relations.items()]
    more = f" and {len(kinds) - MOST_KINDS} more" if len(kinds) > MOST_KINDS else ""
    caption, homophily, like = "", data.adjusted_homophily, ""
    if homophily is not None:
        kind = "like links to like" if homophily > 0.3 else "near chance"
        like = f"{plain(homophily, 2)} ({kind if homophily > -0.1 else 'unlike'})"
        caption = (
            "Adjusted homophily: 0 is chance, 1 is neighbours of one class only; from training and "
            "validation labels."
        )
    facts = {
        "graphs": f"{data.num_graphs:,}" if data.num_graphs > 1 else "",
        "nodes": f"{data.num_nodes:,}",
        "edges": f"{edges:,}, {direction}{weights}",
        "kinds of edges": ", ".join(kinds[:MOST_KINDS]) + more,
        "degree: least, median, mean, most": ", ".join(shown),
        "nodes without neighbours": f"{data.isolated:,}",
        "components": components,
        "features": f"{data.num_features:,}: {data.features}",
        "adjusted homophily": like,
    }
    rows = tuple((name, fact) for name, fact in facts.items() if fact)
    return Grid("The graph", ("", "value"), rows, caption)


def graph_section(
    part: Sketch | None, operators: Mapping[str, Sequence[float]] | None = None
) -> Section | None:
    """The graph, once for each colouring; with S by name, what γ takes from a node's neighbours."""
    if part is None:
        return None
    has_words = any(isinstance(cell, str) for cell in part.colours.get("label", ()))
    noun = {} if has_words else {"label": "target"}
    part = part.model_copy(update={"colours": {noun.get(k, k): v for k, v in part.colours.items()}})
    named = {name: svg(part, name, f"the graph by {name}") for name in part.colours}
    pictures = [(name, Markup(text)) for name, text in (named or {"": svg(part)}).items()]  # noqa: S704
    text = f"{caption(part).capitalize()}. Point at a node for its name and value."
    if any(name.startswith("error") for name in part.colours):
        text += " Nodes that were trained on have no error."
    values, data = {"pictures": pictures, "columns": list(part.colours)}, {}
    if operators and part.degree and part.edges:
        names = [part.called(k) for k in range(len(part.nodes))]
        data = part.model_dump(include={"edges", "weights", "degree"})
        data = {"graph": data | {"names": names, "values": part.colours, "S": operators}}
    return Section("The graph", text, widget="graph", values=values, data=data, id="graph-section")


def baselines_grid(data: Sequence[DataRecord], objective: Objective) -> Grid:
    """One row per baseline; empty where the task has none."""
    rows = tuple(
        (entry.label, objective.written(entry.val), objective.written(entry.test))
        for entry in mean_baselines(data)
    )
    title = f"Baselines, {objective.heading}"
    several = f"Means over {len(data)} splits." if len(data) > 1 else ""
    return Grid(title, ("model", "validation", "test"), rows, several)


def mean_baselines(data: Sequence[DataRecord]) -> tuple[BaselineRecord, ...]:
    """Every baseline with its mean scores over the seeds that have one."""
    by_name: dict[str, list[BaselineRecord]] = {}
    for entry in (entry for record in data for entry in record.baselines):
        by_name.setdefault(entry.name, []).append(entry)
    means = []
    for entries in by_name.values():
        scores = {part: [score for entry in entries if (score := getattr(entry, part)) is not None]
                  for part in ("val", "test")}  # fmt: skip
        known = {part: fmean(values) if values else None for part, values in scores.items()}
        means.append(entries[0].model_copy(update=known))
    return tuple(means)


def runs_section(
    records: Sequence[RunRecord], command: str | None, links: Mapping[str, str]
) -> Section:
    """How to have it again, and every run; links lead to records by their keys."""
    rows = []
    for run in (run for runs in by_operator(records).values() for run in runs):
        chosen = f" ({LABELS[run.chosen]})" if run.chosen else ""
        epoch = NONE if run.epoch is None else str(run.epoch + 1)
        scores = [run.objective.written(score, 1) for score in (run.val, run.test)]
        seconds = plain(run.timing["seconds"]) if "seconds" in run.timing else NONE
        named = (f"{LABELS[run.spec.operator]}{chosen}", str(run.spec.seed))
        rows.append((*named, run.status, epoch, *scores, seconds, run.spec.key))
    versions = {f"{name} {version}" for run in records for name, version in run.versions.items()}
    versions |= {f"numerics {run.numerics}" for run in records}
    caption = (
        "The key is the name of the run's record, which holds all its choices. Epochs are "
        f"counted from 1. Made by {', '.join(sorted(versions))}."
    )
    header = ("operator", "seed", "status", "chosen epoch", "val", "test", "seconds", "key")
    runs = Grid("The runs", header, tuple(rows), caption, links)
    shell = (("To have it again:", command),) if command else ()
    files = tuple((name, to) for name, to in links.items() if name.endswith(".json"))
    return Section("What was run", folded=(runs,), code=shell, links=files)
