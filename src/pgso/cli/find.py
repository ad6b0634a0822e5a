"""``pgso find``: which operator does this graph want? Seconds, in closed form, with evidence."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pgso.cli import choices, folders
from pgso.cli.context import about_model, check_model
from pgso.cli.main import as_typed, command
from pgso.cli.terminal import Console, show_columns
from pgso.errors import InputError
from pgso.records.finding import FindingRecord, read_finding

SHOWN = 12  # rungs, unless all are asked for


@command(
    "find",
    "pgso find karate",
    "pgso find ./my_graph --json",
    "pgso find texas --seed 3",
    "pgso find ./customers --save model",
)
def find(
    dataset: choices.DatasetName,
    seed: Annotated[
        int,
        typer.Option(
            help="The seed of the dataset's split.", min=0, rich_help_panel=choices.PANELS["data"]
        ),
    ] = 0,
    objective: choices.ObjectiveName = None,
    options: choices.DataOptions = None,
    head: Annotated[
        str,
        typer.Option(
            help="What predicts: ridge, blend, boosted, or auto, which evidence chooses.",
            rich_help_panel=choices.PANELS["network"],
        ),
    ] = "auto",
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write what predicts to this folder, for pgso predict.",
            rich_help_panel=choices.OUTPUT,
        ),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every rung.", rich_help_panel=choices.OUTPUT)
    ] = False,
    out: choices.Out = choices.RUNS,
    data: choices.Data = None,
    offline: choices.Offline = False,
    as_json: choices.AsJson = False,
) -> None:
    """Rank operators by leave-one-out error; keep the simplest that evidence allows; say why."""
    folders.check_destination("--out", out, folder=True)
    check_model(save)
    console = Console(stderr=as_json, markup=False)

    given = choices.pairs(options)
    for option in {"data", "x", "y", "train", "val", "test", "tell", "head"} & given.keys():
        raise InputError(f"{dataset} has no option {option!r}; see docs/data_formats.md")
    asked = {"objective": objective, "seed": seed, "head": "closed_form"}
    spec = choices.make_spec(dataset, None, options, **asked)

    import pgso
    from pgso.report.doubts import doubts_of_finding
    from pgso.report.finding import headline, write_finding
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
        status.update("baselines")
        described = data_record(spec, data, finding.task, drawn=False)  # the finding has a sketch
        record = finding.record.model_copy(update={"data": described})
    folder = folders.numbered(
        out,
        f"find-{folders.last_name(dataset)}",
        lambda place: asks_the_same(read_finding(place / "finding.json"), record),
    )
    record.write(folder / "finding.json")
    page = write_finding(record, folder)
    doubts = doubts_of_finding(record)
    if save is not None:
        finding.save(save)
    if as_json:
        files: dict[str, Any] = {"file": str(folder / "finding.json"), "report": str(page)}
        files |= {"headline": headline(record), "next": record.command}
        typer.echo(json.dumps(record.model_dump(mode="json") | files | {"doubts": doubts}))
        return
    where = "" if data is None else f" {as_typed(['--data', str(data)])}"
    show(console, record, doubts, where, None if show_all else SHOWN)
    if finding.task is not None:
        show_columns(console, finding.task)
    if save is not None:
        console.print(f"model: {about_model(save)}", soft_wrap=True, highlight=False)
    else:
        console.print("use it on new rows: --save DIR, then pgso predict DIR FOLDER")
    console.print(f"report: {page}", soft_wrap=True, highlight=False)


def asks_the_same(one: FindingRecord, other: FindingRecord) -> bool:
    """Whether two findings answer the same question."""
    names = ("dataset", "seed", "objective", "data_options")
    return [one.spec.get(name) for name in names] == [other.spec.get(name) for name in names]


def show(
    console: Console, record: FindingRecord, doubts: list[str], where: str, most: int | None
) -> None:
    """Print the verdict, then what to type next, then the tables."""
    from pgso.report.about import baselines_grid
    from pgso.report.finding import (
        CANNOT_CONFIRM,
        graph_sentence,
        headline,
        rungs_grid,
        save_command,
    )

    console.print(f"{headline(record)}.", style="bold", soft_wrap=True)
    console.print(record.verdict, soft_wrap=True)
    for doubt in doubts:
        console.print(f"Note: {doubt}.", style="bold", soft_wrap=True)
    if record.command:
        console.print(f"confirm it in a trained network: {record.command}{where}", soft_wrap=True)
    else:
        console.print(f"Note: {CANNOT_CONFIRM}.", soft_wrap=True)
    console.print(f"use it on new rows: {save_command(record)}{where}", soft_wrap=True)
    console.print()
    console.print(rungs_grid(record, most))
    if record.data is not None and record.data.baselines:
        console.print(baselines_grid([record.data], record.objective))
    console.print(f"{graph_sentence(record)} {record.seconds:.1f} s", style="dim")
