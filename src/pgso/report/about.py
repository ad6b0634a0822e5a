"""What a result rests on, in tables: the data, the baselines, the runs and the software."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.data import BaselineRecord, DataRecord
from pgso.report.grid import Grid
from pgso.report.words import LABELS, NONE, has_command, plain

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
    shown = [f"{round(float(value), 1):,}".removesuffix(".0") for value in degrees]
    share = 100 * data.largest_component / max(data.num_nodes, 1)
    components = f"{data.components:,}"
    if data.num_graphs == 1 and data.components > 1:
        components += f" (the largest has {share:.0f} % of the nodes)"
    rows = [
        ("nodes", f"{data.num_nodes:,}"),
        ("edges", f"{edges:,}, {direction}{weights}"),
        ("degree: least, median, mean, most", ", ".join(shown)),
        ("nodes without neighbours", f"{data.isolated:,}"),
        ("components", components),
        ("features", f"{data.num_features:,}: {data.features}"),
    ]
    if data.relations:
        kinds = [f"{name} {count:,}" for name, count in data.relations.items()]
        more = f" and {len(kinds) - MOST_KINDS} more" if len(kinds) > MOST_KINDS else ""
        rows.insert(2, ("kinds of edges", ", ".join(kinds[:MOST_KINDS]) + more))
    if data.num_graphs > 1:
        rows.insert(0, ("graphs", f"{data.num_graphs:,}"))
    caption, homophily = "", data.adjusted_homophily
    if homophily is not None:
        kind = "like links to like" if homophily > 0.3 else "near chance"
        kind = kind if homophily > -0.1 else "unlike"
        rows.append(("adjusted homophily", f"{plain(homophily, 2)} ({kind})"))
        caption = (
            "Adjusted homophily: 0 is chance, 1 is neighbours of one class only; from training and "
            "validation labels."
        )
    return Grid("The graph", ("", "value"), tuple(rows), caption)


def labels_grid(data: Sequence[DataRecord]) -> Grid:
    """How many examples have a label or a target, and where they are used."""
    first = data[0]
    what = {"node": "nodes", "graph": "graphs", "link": "links"}[first.kind]
    noun = {"value": "target", "link": "link"}.get(first.answer, "label")
    items = max(first.num_items, 1)

    def row(name: str, count: int) -> tuple[str, str, str]:
        return name, f"{count:,}", f"{100 * count / items:.1f} %"

    rows = [
        row(f"with a {noun}", first.num_labelled),
        row("training", first.num_train),
        row("validation", first.num_val),
        row("test", first.num_test),
    ]
    others = "; other seeds may have other splits" if len(data) > 1 else ""
    seeds = f"Split of seed {first.spec.seed}{others}."
    title = f"The split of {first.num_items:,} {what}"
    return Grid(title, ("", what, "share"), tuple(rows), seeds)


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


def mean_baselines(data: Iterable[DataRecord]) -> tuple[BaselineRecord, ...]:
    """Every baseline with its mean scores over the seeds."""
    by_name: dict[str, list[BaselineRecord]] = defaultdict(list)
    for record in data:
        for entry in record.baselines:
            by_name[entry.name].append(entry)
    return tuple(
        BaselineRecord(
            name=name,
            label=entries[0].label,
            val=_mean(entry.val for entry in entries),
            test=_mean(entry.test for entry in entries),
        )
        for name, entries in by_name.items()
    )


def baselines_grid(data: Sequence[DataRecord], objective: Objective) -> Grid:
    """A row each; empty where the task has none."""
    rows = tuple(
        (entry.label, *(objective.written(score) for score in (entry.val, entry.test)))
        for entry in mean_baselines(data)
    )
    title = f"Baselines, {objective.heading}"
    several = f"Means over {len(data)} splits." if len(data) > 1 else ""
    return Grid(title, ("model", "validation", "test"), rows, several)


def _mean(scores: Iterable[float | None]) -> float | None:
    numbers = [score for score in scores if score is not None]
    return fmean(numbers) if numbers else None


def python_code(records: Sequence[RunRecord]) -> str:
    """The lines of Python that run the same specs again."""
    spec = records[0].spec
    choices = spec.model_dump(exclude_defaults=True, exclude={"operator", "seed"})
    operators = [name for name in LABELS if any(run.spec.operator == name for run in records)]
    seeds = sorted({run.spec.seed for run in records})
    if not has_command(spec):  # data or a model that only the user has
        own = ["data"] if spec.conv.islower() else ["data", "model"]
        given = {k: v for k, v in choices.items() if k not in ("dataset", "conv", "reorder")}
        words = [*own, f"seeds={len(seeds)}", *(f"{k}={v!r}" for k, v in given.items())]
        return f"import pgso\n\ncomparison = pgso.compare({', '.join(words)})\n"
    arguments = ", ".join(f"{name}={value!r}" for name, value in choices.items())
    return (
        "import pgso\n\n"
        f"spec = pgso.RunSpec({arguments})\n"
        f"for operator in {operators!r}:\n"
        f"    for seed in {seeds!r}:\n"
        "        record = pgso.fit(spec.but(operator=operator, seed=seed))\n"
    )


def runs_grid(records: Sequence[RunRecord], links: Mapping[str, str]) -> Grid:
    """Every run with its scores and the key of its record; what software made them.

    Args:
        records: Runs of one setting.
        links: Addresses of records, by key.
    """
    order = list(LABELS)
    rows = []
    for run in sorted(records, key=lambda run: (order.index(run.spec.operator), run.spec.seed)):
        chosen = f" ({LABELS[run.chosen]})" if run.chosen else ""
        epoch = NONE if run.epoch is None else str(run.epoch + 1)
        scores = [run.objective.written(score, 1) for score in (run.val, run.test)]
        seconds = plain(run.timing["seconds"]) if "seconds" in run.timing else NONE
        named = (f"{LABELS[run.spec.operator]}{chosen}", str(run.spec.seed))
        rows.append((*named, run.status, epoch, *scores, seconds, run.spec.key))
    versions = {f"{name} {version}" for run in records for name, version in run.versions.items()}
    numerics = {f"numerics {run.numerics}" for run in records}
    return Grid(
        title="The runs",
        header=("operator", "seed", "status", "chosen epoch", "val", "test", "seconds", "key"),
        rows=tuple(rows),
        caption="The key is the name of the run's record, which holds all its choices. Epochs are "
        f"counted from 1. Made by {', '.join(sorted(versions | numerics))}.",
        links=links,
    )
