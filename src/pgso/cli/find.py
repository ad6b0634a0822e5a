"""``pgso find``: which operator does this graph want? Seconds, in closed form, with evidence."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pgso.cli import choices, folders
from pgso.cli.main import command
from pgso.objectives import OBJECTIVES

if TYPE_CHECKING:
    from rich.table import Table

    from pgso.objectives import Objective
    from pgso.records.finding import FindingRecord, RungRecord


@command("find", "pgso find karate", "pgso find ./my_graph --json", "pgso find texas --seed 3")
def find(
    dataset: choices.DatasetName,
    seed: Annotated[int, typer.Option(help="Of the dataset's split.", min=0)] = 0,
    objective: choices.ObjectiveName = None,
    options: choices.DataOptions = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every rung.")] = False,
    out: choices.Out = choices.RUNS,
    data: choices.Data = None,
    offline: choices.Offline = False,
    as_json: choices.AsJson = False,
) -> None:
    """Rank operators by leave-one-out error; keep the simplest that evidence allows; say why."""
    folders.check_destination("--out", out, folder=True)
    console = Console(stderr=as_json, markup=False)

    import pgso
    from pgso.report.baselines import baselines_grid
    from pgso.report.doubts import doubts_of_finding
    from pgso.report.finding import write_finding
    from pgso.training.data_records import data_record

    with console.status("loading", spinner="line") as status:
        found = pgso.find(
            dataset,
            root=data,
            seed=seed,
            objective=objective,
            tell=lambda name: status.update(name),
            **choices.pairs(options),
        )
        status.update("what it must beat")
        spec = choices.make_spec(dataset, None, options, objective=objective, seed=seed)
        record = found.record.model_copy(update={"data": data_record(spec, data)})
    settings = [*filter(None, [objective]), *(options or [])]
    name = "-".join(folders.slug(part) for part in (dataset, str(seed), *settings))
    folder = out / f"find-{name}"
    record.write(folder / "finding.json")
    page = write_finding(record, folder)
    if as_json:
        files: dict[str, Any] = {"file": str(folder / "finding.json"), "report": str(page)}
        files["doubts"] = doubts_of_finding(record)
        typer.echo(json.dumps(record.model_dump(mode="json") | files))
        return
    console.print(_about(record), style="dim")
    console.print(_table(record, show_all))
    if record.data is not None and record.data.baselines:
        console.print(baselines_grid([record.data], OBJECTIVES[record.metric]).to_rich())
    console.print(f"\n{record.verdict}", style="bold", soft_wrap=True)
    for doubt in doubts_of_finding(record):
        console.print(f"Note: {doubt}.", style="bold", soft_wrap=True)
    console.print(f"confirm it in a trained network: {record.command}", soft_wrap=True)
    console.print(f"report: {page}", soft_wrap=True, highlight=False)


SHOWN = 12  # rungs, unless all are asked for


def _table(record: "FindingRecord", show_all: bool) -> "Table":
    from rich.table import Table

    objective = OBJECTIVES[record.metric]
    rungs = sorted(record.rungs, key=lambda rung: rung.loss)
    if not show_all:
        wanted = {record.best, record.reference, *record.steps}
        first = {rung.name for rung in rungs[: SHOWN - len(wanted)]}
        rungs = [rung for rung in rungs if rung.name in wanted | first]
    table = Table("", "rung", box=None)
    for name in ("loss", "leave-one-out", "validation", "test", "chance"):
        table.add_column(name, justify="right")
    for rung in rungs:
        mark = "→" if rung.name == record.best else ""
        table.add_row(mark, rung.name, *_cells(rung, objective), style="bold" if mark else None)
    hidden = len(record.rungs) - len(rungs)
    more = f"; {hidden} more with --all" if hidden else ""
    table.caption = (
        f"{objective.heading}; loss: of {record.judges:,} labels, none of them predicted by a fit "
        f"that saw it; chance: that an equal operator looks this much better{more}"
    )
    return table


def _cells(rung: "RungRecord", objective: "Objective") -> list[str]:
    scores = [objective.written(score) for score in (rung.loo, rung.val, rung.test)]
    return [f"{rung.loss:.4f}", *scores, "" if rung.p is None else _chance(rung.p)]


def _chance(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _about(record: "FindingRecord") -> str:
    graph: Any = record.graph
    kind = "directed" if graph.is_directed else "undirected"
    parts = [
        _counted(graph.num_nodes, "node"),
        _counted(graph.num_edges, f"{kind} edge"),
        f"degree {graph.degree_median:g} (median) to {graph.degree_max:g}",
        _counted(graph.components, "component"),
        f"{_counted(graph.num_labels, 'training label')} ({100 * graph.label_share:.0f} %)",
    ]
    if graph.num_graphs > 1:
        parts.insert(0, _counted(graph.num_graphs, "graph"))
    if graph.adjusted_homophily is not None:
        parts.append(f"adjusted homophily {graph.adjusted_homophily:.2f}")
    return f"{record.dataset}: " + ", ".join(parts) + f"; {record.seconds:.1f} s"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
