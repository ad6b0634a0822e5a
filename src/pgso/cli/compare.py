"""``pgso compare``: does learning the operator pay on this dataset, and by how much?"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pgso.cli import choices, folders
from pgso.cli.context import data_of, with_spectra
from pgso.cli.main import command
from pgso.cli.terminal import Console, progress
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.comparison import COMPARISON_FILE, ComparisonRecord, read_comparison
from pgso.records.data import DataRecord

if TYPE_CHECKING:
    from pgso.report.comparison import Comparison

NOT_SET = {
    "seed": "--seeds says how many",
    "operator": "all of them are compared",
    "evidence": "a comparison decides with the recipe's",
}


@command(
    "compare",
    "pgso compare minesweeper --seeds 5",
    "pgso compare ./my_graph --conv gat --set norm=batch",
    "pgso compare karate --epochs 20 --json",
    "pgso compare Cora --task link",
)
@choices.with_spec(NOT_SET)
def compare(
    context: typer.Context,
    spec: RunSpec,
    seeds: Annotated[
        int,
        typer.Option(
            help="Runs per operator, paired by seed.",
            min=1,
            max=10_000,
            rich_help_panel=choices.PANELS["data"],
        ),
    ] = 10,
    reference: Annotated[
        bool,
        typer.Option(
            help="Also train a stronger fixed network on the same seeds.",
            rich_help_panel=choices.PANELS["network"],
        ),
    ] = True,
    workers: choices.Workers = choices.CORES,
    engine: choices.Engine = "local",
    address: choices.Address = None,
    out: choices.Out = choices.RUNS,
    figures: Annotated[
        bool,
        typer.Option(
            "--figures", help="Draw PNG, SVG and PDF files too.", rich_help_panel=choices.OUTPUT
        ),
    ] = False,
    data: choices.Data = None,
    offline: choices.Offline = False,
    device: choices.Device = "auto",
    as_json: choices.AsJson = False,
) -> None:
    """Train fixed, PGSO, mPGSO and what pgso find found on the same seeds and splits.

    With one layer mPGSO is PGSO, and is left out.

    With --recipe robust, a part of validation only judges: one decision for all seeds together.
    A stronger fixed network (residual, normed, twice as deep) is trained beside: the verdict is
    about the best fixed network, not about a weak one.
    """
    stronger = spec.stronger if reference else None
    compared = spec.compared
    specs = [one.but(seed=seed) for seed in range(seeds) for one in compared]
    beside = [] if stronger is None else [stronger.but(seed=seed) for seed in range(seeds)]
    specs += beside
    folders.check_destination("--out", out, folder=True)
    console, store = Console(stderr=as_json, markup=False), Store(out)
    missing = store.missing(specs)

    from pgso.report.comparison import compare as compare_records
    from pgso.report.page import comparison_record, write_comparison

    if len(missing) < len(specs):
        console.print(f"{len(specs) - len(missing)} of {len(specs)} runs are there already")
    if missing:  # a finished comparison needs no torch
        from pgso.scale.place import device_of
        from pgso.training.engines import run_all, useful_workers

        device_of(device)  # refused before the first run
        task = choices.checked_task(spec, data, console, needs_test=True)
        used = useful_workers(missing, workers, task.num_edges)
        with progress(console, spec.dataset, len(missing)) as advance:

            def tell(record: RunRecord) -> None:
                name = "stronger" if record.spec in beside else record.spec.operator
                advance(f"{name}, seed {record.spec.seed}")

            place = None if device == "auto" else device  # every run finds out for itself
            runs = run_all(specs, store, data, engine, used, address, tell, place)
    else:
        runs = [record for record in map(store.get, specs) if record is not None]
    with console.status("baselines", spinner="line") as status:
        records = [run for run in runs if run.spec not in beside]
        data_records = data_of(records, store, data)
        status.update("drawing")
        records = with_spectra(records, store, data)
        comparison = compare_records(records, [run for run in runs if run.spec in beside])
        summary = comparison_record(comparison, data_records, context.obj)
        folder = folders.numbered(
            out,
            folders.last_name(spec.dataset),
            lambda place: read_comparison(place / COMPARISON_FILE).runs[:1] == summary.runs[:1],
        )
        page = write_comparison(
            comparison, summary, folder, data_records, figures=figures, store=store
        )
    if as_json:
        numbers = comparison.to_dict() | summary.model_dump(include={"baselines", "doubts"})
        keys = [record.spec.key for record in runs]
        typer.echo(json.dumps(numbers | {"report": str(page), "records": keys}))
    else:
        show(console, comparison, summary, data_records)
        console.print(f"report: {page}", soft_wrap=True)
    if any(record.status == "failed" for record in runs):
        raise typer.Exit(1)


def show(
    console: Console,
    comparison: "Comparison",
    summary: ComparisonRecord,
    data: Sequence[DataRecord],
) -> None:
    """Print the verdict, then what to type next, then the tables and what to know about them."""
    from pgso.report.about import baselines_grid
    from pgso.report.tables import operator_table, scores_grid

    console.print(f"\n{comparison.verdict}", style="bold", soft_wrap=True)
    if comparison.next_command:
        console.print(f"next: {comparison.next_command}", soft_wrap=True)
    console.print()
    found = [] if comparison.found is None else [comparison.found.sentence]
    for doubt in summary.doubts:
        console.print(f"Note: {doubt}.", soft_wrap=True, style="bold")
    for note in (*found, *comparison.notes):
        console.print(f"Note: {note}.", soft_wrap=True)
    for grid in (scores_grid(comparison, "test"), baselines_grid(data, comparison.objective)):
        if grid.rows:
            console.print(grid)
    console.print(operator_table(comparison.runs))
