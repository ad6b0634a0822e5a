"""What a result rests on, in tables: the data, the baselines, the runs and the software."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

from pgso.objectives import Objective
from pgso.records import RunRecord, RunSpec
from pgso.records.data import BaselineRecord, DataRecord
from pgso.report.grid import Grid
from pgso.report.series import by_operator
from pgso.report.tables import NONE
from pgso.report.words import LABELS, plain

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


def _short(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _homophily(value: float) -> str:
    kind = "like links to like" if value > 0.3 else "near chance" if value > -0.1 else "unlike"
    return f"{plain(value, 2)} ({kind})"


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


def provenance_grids(
    records: Sequence[RunRecord], links: Mapping[str, str] | None = None
) -> list[Grid]:
    """Three tables: the runs, the choices they share, the software.

    Args:
        records: Runs of one setting.
        links: Addresses of records, by key.
    """
    return [_runs(records, links or {}), _choices(records), _versions(records)]


def chosen_epochs_grid(records: Sequence[RunRecord]) -> Grid:
    """Which epoch validation chose: a row an operator."""
    rows = []
    for name, group in by_operator(records, LABELS).items():
        epochs = sorted(run.epoch + 1 for run in group if run.epoch is not None)
        if epochs:
            middle = f"{median(epochs):g}"
            ends = f"{epochs[0]} to {epochs[-1]}"
            rows.append((LABELS[name], middle, ends, str(group[0].spec.epochs)))
    header = ("operator", "chosen epoch (median)", "earliest to latest", "epochs trained")
    return Grid("Chosen epochs", header, tuple(rows), "Chosen on validation, counted from 1.")


def python_code(records: Sequence[RunRecord]) -> str:
    """The lines of Python that run the same specs again."""
    spec = records[0].spec
    choices = spec.model_dump(exclude_defaults=True, exclude={"operator", "seed"})
    arguments = ", ".join(f"{name}={value!r}" for name, value in choices.items())
    operators = [name for name in LABELS if any(run.spec.operator == name for run in records)]
    seeds = sorted({run.spec.seed for run in records})
    return (
        "import pgso\n\n"
        f"spec = pgso.RunSpec({arguments})\n"
        f"for operator in {operators!r}:\n"
        f"    for seed in {seeds!r}:\n"
        "        record = pgso.fit(spec.but(operator=operator, seed=seed))\n"
    )


def _runs(records: Sequence[RunRecord], links: Mapping[str, str]) -> Grid:
    order = list(LABELS)
    runs = sorted(records, key=lambda run: (order.index(run.spec.operator), run.spec.seed))
    return Grid(
        title="The runs",
        header=("operator", "seed", "status", "chosen epoch", "val", "test", "seconds", "key"),
        rows=tuple(
            (
                LABELS[run.spec.operator] + (f" ({LABELS[run.chosen]})" if run.chosen else ""),
                str(run.spec.seed),
                run.status,
                NONE if run.epoch is None else str(run.epoch + 1),
                run.objective.written(run.val, 1),
                run.objective.written(run.test, 1),
                NONE if "seconds" not in run.timing else plain(run.timing["seconds"]),
                run.spec.key,
            )
            for run in runs
        ),
        caption="The key is the name of the run's record. Epochs are counted from 1.",
        links=links,
    )


def _choices(records: Sequence[RunRecord]) -> Grid:
    spec = records[0].spec
    chosen = spec.model_dump(exclude={"operator", "seed"})
    defaults = RunSpec(dataset=spec.dataset).model_dump()
    return Grid(
        title="The choices that all runs share",
        header=("choice", "value", "default"),
        rows=tuple(
            (name, _text(value), "" if name == "dataset" else _text(defaults[name]))
            for name, value in chosen.items()
        ),
    )


def _versions(records: Sequence[RunRecord]) -> Grid:
    versions: dict[str, set[str]] = {}
    for run in records:
        for name, version in run.versions.items():
            versions.setdefault(name, set()).add(version)
    versions["numerics"] = {f"revision {run.numerics}" for run in records}
    return Grid(
        title="The software",
        header=("part", "version"),
        rows=tuple((name, ", ".join(sorted(found))) for name, found in versions.items()),
    )


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={entry}" for name, entry in value.items()) or NONE
    return NONE if value is None else str(value)
