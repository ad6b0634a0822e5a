"""``pgso find``: which operator does this graph want? Seconds, in closed form, with evidence."""

import json
from pathlib import Path
from typing import Any

import typer

from pgso.cli import choices, files
from pgso.cli.choices import opt
from pgso.cli.main import as_typed, command
from pgso.cli.terminal import Console, show_columns
from pgso.errors import InputError
from pgso.records.finding import FindingRecord, read_finding

SHOWN = 12  # rungs, unless all are asked for
QUESTION = ("dataset", "seed", "objective", "data_options")  # choices that ask something else


@command(
    "find",
    "pgso find karate",
    "pgso find ./my_graph --json",
    "pgso find texas --seed 3",
    "pgso find ./customers --save model",
)
def find(
    dataset: str = choices.DATASET,
    seed: int = opt("data", "The seed of the dataset's split.", 0, min=0),
    objective: str | None = choices.option("objective"),
    options: list[str] | None = choices.DATA_OPTIONS,
    head: str = opt(
        "network", "What predicts: ridge, blend, boosted, or auto, which evidence chooses.", "auto"
    ),
    save: Path | None = opt(
        "output", "Write what predicts to this folder, for pgso predict.", metavar="DIR"
    ),
    show_all: bool = opt("output", "Show every rung.", False, "--all"),
    out: Path = choices.OUT,
    data: Path | None = choices.DATA,
    offline: bool = choices.OFFLINE,
    as_json: bool = choices.AS_JSON,
) -> None:
    """Rank operators by leave-one-out error; keep the simplest that evidence allows; say why."""
    files.check_destination("--out", out, folder=True)
    files.check_model(save)
    console = Console(stderr=as_json)
    given = choices.pairs(options)
    for option in {"data", "x", "y", "train", "val", "test", "tell", "head"} & given.keys():
        raise InputError(f"{dataset} has no option {option!r}; see docs/data_formats.md")
    asked: dict[str, Any] = {"objective": objective, "seed": seed}
    spec = choices.make_spec(dataset, None, options, head="closed_form", **asked)

    import pgso
    from pgso.report.doubts import doubts_of_finding
    from pgso.report.finding import headline, write_finding
    from pgso.training.pages import data_record

    with console.status("loading", spinner="line") as status:
        finding = pgso.find(
            dataset, root=data, head=head, tell=lambda name: status.update(name), **asked, **given
        )
        status.update("baselines")
        described = data_record(spec, data, finding.task, drawn=False)  # the finding has a sketch
        record = finding.record.model_copy(update={"data": described})

    def asks_the_same(place: Path) -> bool:
        other = read_finding(place / "finding.json")
        return all(other.spec.get(name) == record.spec.get(name) for name in QUESTION)

    name = files.folder_name("find", Path(dataset).name)
    folder = files.numbered(out / name, asks_the_same)
    record.write(folder / "finding.json")
    page = write_finding(record, folder)
    doubts = doubts_of_finding(record)
    if save is not None:
        finding.save(save)
    if as_json:
        said = record.model_dump(mode="json") | {"headline": headline(record)}
        said |= {"file": str(folder / "finding.json"), "report": str(page)}
        typer.echo(json.dumps(said | {"next": record.command, "doubts": doubts}))
        return
    where = "" if data is None else f" {as_typed(['--data', str(data)])}"
    show(console, record, doubts, where, None if show_all else SHOWN, save)
    if finding.task is not None:
        show_columns(console, finding.task)
    if save is not None:
        console.say(f"model: {files.about_model(save)}")
    console.say(f"report: {page}")


def show(
    console: Console,
    record: FindingRecord,
    doubts: list[str],
    where: str,
    most: int | None,
    save: Path | None,
) -> None:
    """Print the verdict, then what to type next, then the tables."""
    from pgso.report import finding
    from pgso.report.about import baselines_grid

    console.say(f"{finding.headline(record)}.", "bold")
    console.say(record.verdict)
    for doubt in doubts:
        console.say(f"Note: {doubt}.", "bold")
    if record.command:
        console.say(f"confirm it in a trained network: {record.command}{where}")
    else:
        console.say(f"Note: {finding.CANNOT_CONFIRM}.")
    use = as_typed(["pgso", "predict", str(save), "FOLDER"])
    if save is None:
        use = f"{finding.save_command(record)}{where}, then pgso predict model FOLDER"
    console.say(f"use it on new rows: {use}\n")
    console.print(finding.rungs_grid(record, most))
    if record.data is not None and record.data.baselines:
        console.print(baselines_grid([record.data], record.objective))
    console.print(f"{finding.graph_sentence(record)} {record.seconds:.1f} s", style="dim")
