"""``pgso find``: which operator does this graph want? Seconds, in closed form, with evidence."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pgso.cli import choices, folders
from pgso.cli.main import as_typed, command
from pgso.errors import InputError

if TYPE_CHECKING:
    from pgso.records.finding import FindingRecord

SHOWN = 12  # rungs, unless all are asked for
MOST_COLUMNS = 20  # of a table, that are printed


@command("find", "pgso find karate", "pgso find ./my_graph --json", "pgso find texas --seed 3")
def find(
    dataset: choices.DatasetName,
    seed: Annotated[int, typer.Option(help="The seed of the dataset's split.", min=0)] = 0,
    objective: choices.ObjectiveName = None,
    options: choices.DataOptions = None,
    head: Annotated[
        str,
        typer.Option(help="What predicts: ridge, blend, boosted, or auto, which evidence chooses."),
    ] = "auto",
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
    for option in {"data", "x", "y", "train", "val", "test", "tell", "head"} & given.keys():
        raise InputError(f"{dataset} has no option {option!r}; see docs/data_formats.md")
    asked = {"objective": objective, "seed": seed, "head": "closed_form"}
    spec = choices.make_spec(dataset, None, options, **asked)

    import pgso
    from pgso.report.about import baselines_grid, columns_grid
    from pgso.report.doubts import doubts_of_finding
    from pgso.report.finding import CANNOT_CONFIRM, rungs_grid, write_finding
    from pgso.training.pages import data_record

    with console.status("loading", spinner="line") as status:
        finding = pgso.find(
            dataset,
            root=data,
            seed=seed,
            objective=objective,
            head=head,
            tell=lambda name: status.update(name),
            **given,
        )
        status.update("what it must beat")
        described = data_record(spec, data, finding.task, drawn=False)  # the finding has a sketch
        record = finding.record.model_copy(update={"data": described})
    settings = [*filter(None, [objective]), *(options or [])]
    name = "-".join(folders.slug(part) for part in (dataset, str(seed), *settings))
    folder = out / folders.shortened(f"find-{name}")
    record.write(folder / "finding.json")
    page = write_finding(record, folder)
    if as_json:
        files: dict[str, Any] = {"file": str(folder / "finding.json"), "report": str(page)}
        files["doubts"] = doubts_of_finding(record)
        typer.echo(json.dumps(record.model_dump(mode="json") | files))
        return
    console.print(_about(record), style="dim")
    if record.data is not None and record.data.columns:
        columns = columns_grid(record.data)
        console.print(columns.first(MOST_COLUMNS).to_rich())
        if len(columns.rows) > MOST_COLUMNS:
            console.print(f"... and {len(columns.rows) - MOST_COLUMNS} more columns", style="dim")
    console.print(rungs_grid(record, None if show_all else SHOWN).to_rich())
    if record.data is not None and record.data.baselines:
        console.print(baselines_grid([record.data], record.objective).to_rich())
    console.print(f"\n{record.verdict}", style="bold", soft_wrap=True)
    for doubt in doubts_of_finding(record):
        console.print(f"Note: {doubt}.", style="bold", soft_wrap=True)
    if record.command:
        where = "" if data is None else f" {as_typed(['--data', str(data)])}"
        console.print(f"confirm it in a trained network: {record.command}{where}", soft_wrap=True)
    else:
        console.print(f"Note: {CANNOT_CONFIRM}.", soft_wrap=True)
    console.print(f"report: {page}", soft_wrap=True, highlight=False)


def _about(record: "FindingRecord") -> str:
    graph: Any = record.graph
    kind, edges = "directed", graph.num_edges
    if not graph.is_directed:  # stored in both directions
        kind, edges = "undirected", -(-graph.num_edges // 2)
    parts = [
        _counted(graph.num_nodes, "node"),
        _counted(edges, f"{kind} edge"),
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
