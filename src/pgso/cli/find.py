"""``pgso find``: which operator does this graph want? Seconds, in closed form, with evidence."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pgso.cli import choices
from pgso.cli.choices import about_model, opt
from pgso.cli.main import as_typed, command
from pgso.cli.terminal import Console, show_data
from pgso.errors import InputError
from pgso.records import RunSpec, Store
from pgso.records.data import DataRecord
from pgso.records.files import write_atomically
from pgso.records.finding import FINDING_FILE, read_finding

if TYPE_CHECKING:
    from pgso.finding import Finding

SHOWN = 12  # rungs, unless all are asked for


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
    objective: str | None = choices.option("objective")[1],
    options: list[str] | None = choices.DATA_OPTIONS,
    head: str = opt(
        "network", "What predicts: ridge, blend, boosted, or auto, which evidence chooses.", "auto"
    ),
    save: Path | None = choices.SAVE,
    show_all: bool = opt("output", "Show every rung.", False, "--all"),
    out: Path = choices.OUT,
    data: Path | None = choices.DATA,
    offline: bool = choices.OFFLINE,
    as_json: bool = choices.AS_JSON,
) -> None:
    """Rank operators by leave-one-out error; keep the simplest that evidence allows; say why."""
    console = Console(stderr=as_json)
    given = choices.pairs(options)
    for option in {"data", "x", "y", "train", "val", "test", "tell", "head"} & given.keys():
        raise InputError(f"{dataset} has no option {option!r}; see docs/own_data.md")
    asked: dict[str, Any] = {"objective": objective, "seed": seed}
    spec = RunSpec(dataset=dataset, head="closed_form", data_options=given, **asked)

    from pgso.finding.finding import find as find_operator
    from pgso.report import finding as report
    from pgso.report.about import baselines_grid, graph_grid
    from pgso.report.sections import as_html

    with console.status("loading", spinner="line") as status:
        finding = find_operator(
            dataset, root=data, head=head, tell=lambda name: status.update(name), **asked, **given
        )
        status.update("baselines")
        described = with_baselines(spec, finding, Store(out), data)
        record = finding.record.model_copy(update={"data": described})
    name = choices.folder_name("find", Path(dataset).name)
    question = finding.spec()  # with what the dataset suggests
    folder = choices.numbered(
        out / name, lambda place: read_finding(place / FINDING_FILE).asks_the_same(question)
    )
    record.write(folder / FINDING_FILE)
    page, file = report.finding_page(record), folder / "report.html"
    verdict = page.verdict
    assert verdict is not None
    write_atomically(file, as_html(page))
    model, unsaved = save, ""
    if save is not None:
        finding.save(save)
    elif choices.is_own_folder(dataset):
        try:
            model = finding.save(folder / "model")
        except InputError as error:
            unsaved = str(error)
    if as_json:
        said = record.model_dump(mode="json") | {"headline": verdict.text}
        said |= {"file": str(folder / FINDING_FILE), "report": str(file), "next": record.command}
        said |= {"doubts": verdict.doubts, "model": model and str(model)}
        typer.echo(json.dumps(said))
        return
    where = "" if data is None else f" {as_typed(['--data', str(data)])}"
    console.say(f"{verdict.text}.", "bold")
    console.say(record.verdict)
    for doubt in verdict.doubts:
        console.say(f"Note: {doubt}.", "bold")
    if record.command:
        console.say(f"confirm it in a trained network: {record.command}{where}")
    else:
        console.say(f"Note: {report.CANNOT_CONFIRM}.")
    what = "use it on new rows"
    use = unsaved or f"{report.save_command(record)}{where}, then pgso predict model FOLDER"
    if model is not None:
        what, use = about_model(model), as_typed(["pgso", "predict", str(model), "FOLDER"])
    console.say(f"{what}: {use}\n")
    console.print(report.rungs_grid(record, None if show_all else SHOWN))
    console.print(baselines_grid([described], record.objective))
    facts = "; ".join(" ".join(row) for row in graph_grid(described).rows)
    console.say(f"{record.dataset}: {facts}; {record.seconds:.1f} s", "dim")
    show_data(console, finding.task)
    console.say(f"report: {file}")


def with_baselines(
    spec: RunSpec, finding: "Finding", store: Store, root: Path | None
) -> DataRecord:
    """What is known about the data, for this page and for runs on the same data."""
    from pgso.evaluation.baselines import data_record

    described = store.data(spec)
    if described is None:
        described = data_record(spec, root, finding.task, drawn=False)
        sketch = finding.record.sketch
        if sketch is not None:
            colours = {name: sketch.colours[name] for name in ("label", "split")}
            sketch = sketch.model_copy(update={"colours": colours})
        store.put_data(described.model_copy(update={"sketch": sketch}))
    return described.model_copy(update={"sketch": None})  # the finding has one with predictions
