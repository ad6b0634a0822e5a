"""``pgso find``: which operator does this graph want? Seconds, in closed form, with evidence."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pgso.cli import choices, folders
from pgso.cli.main import command
from pgso.errors import InputError

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

    given = choices.pairs(options)
    for option in {"data", "x", "y", "train", "val", "test", "root", "tell"} & given.keys():
        raise InputError(f"{dataset} has no option {option!r}; see docs/data_formats.md")

    import pgso
    from pgso.report.finding import write_finding

    with console.status("loading", spinner="line") as status:
        found = pgso.find(
            dataset,
            root=data,
            seed=seed,
            objective=objective,
            tell=lambda name: status.update(name),
            **given,
        )
    record = found.record
    settings = [*filter(None, [objective]), *(options or [])]
    name = "-".join(folders.slug(part) for part in (dataset, str(seed), *settings))
    folder = out / folders.shortened(f"find-{name}")
    record.write(folder / "finding.json")
    page = write_finding(record, folder)
    if as_json:
        files = {"file": str(folder / "finding.json"), "report": str(page)}
        typer.echo(json.dumps(record.model_dump(mode="json") | files))
        return
    console.print(_about(record), style="dim")
    console.print(_table(record, show_all))
    console.print(f"\n{record.verdict}", style="bold", soft_wrap=True)
    console.print(f"confirm it in a trained network: {record.command}", soft_wrap=True)
    console.print(f"report: {page}", soft_wrap=True, highlight=False)


SHOWN = 12  # rungs, unless all are asked for


def _table(record: "FindingRecord", show_all: bool) -> "Table":
    from rich.table import Table

    from pgso.objectives import OBJECTIVES

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
    parts = [
        f"{graph.num_nodes:,} nodes",
        f"{graph.num_edges:,} {'directed' if graph.is_directed else 'undirected'} edges",
        f"degree {graph.degree_median:g} (median) to {graph.degree_max:g}",
        f"{graph.components:,} components",
        f"{graph.num_labels:,} training labels ({100 * graph.label_share:.0f} %)",
    ]
    if graph.num_graphs > 1:
        parts.insert(0, f"{graph.num_graphs:,} graphs")
    if graph.adjusted_homophily is not None:
        parts.append(f"adjusted homophily {graph.adjusted_homophily:.2f}")
    return f"{record.dataset}: " + ", ".join(parts) + f"; {record.seconds:.1f} s"
