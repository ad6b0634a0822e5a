"""``pgso compare``: does learning the operator pay on this dataset, and by how much?"""

import json
from pathlib import Path
from typing import Literal

import typer

from pgso.cli import choices
from pgso.cli.choices import opt
from pgso.cli.main import command
from pgso.cli.terminal import Console, progress, show_data
from pgso.errors import InputError, UnknownNameError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.record import COMPARISON_FILE, read_comparison, without_spectra

NOT_SET = {
    "seed": "--seeds says how many",
    "operator": "all of them are compared",
    "evidence": "a comparison decides with the recipe's",
    "head": "the closed form is pgso find DATASET",
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
    seeds: int = opt("data", "Runs per operator, paired by seed.", 10, min=1, max=10_000),
    reference: bool = opt("network", "Train a stronger fixed network, too.", True),
    workers: int = choices.WORKERS,
    engine: Literal["local", "ray"] = choices.ENGINE,
    address: str | None = choices.ADDRESS,
    out: Path = choices.OUT,
    figures: bool = opt("output", "Draw PNG, SVG and PDF files too.", False, "--figures"),
    data: Path | None = choices.DATA,
    offline: bool = choices.OFFLINE,
    device: str = choices.DEVICE,
    as_json: bool = choices.AS_JSON,
) -> None:
    """Train fixed, PGSO, mPGSO and what pgso find found on the same seeds and splits.

    With one layer mPGSO is PGSO, and is left out.

    With --recipe robust, a part of validation only judges: one decision for all seeds together.
    A stronger fixed network (residual, normed, twice as deep) is trained beside: the verdict is
    about the best fixed network, not about a weak one.
    """
    stronger = spec.stronger if reference else None
    specs = [one.but(seed=seed) for seed in range(seeds) for one in spec.compared]
    beside = [] if stronger is None else [stronger.but(seed=seed) for seed in range(seeds)]
    specs += beside
    console, store = Console(stderr=as_json), Store(out)
    missing = store.missing(specs)

    from pgso.report.about import baselines_grid
    from pgso.report.comparison import compare as compare_records
    from pgso.report.page import comparison_record, write_comparison
    from pgso.report.tables import operator_grids, scores_grid

    if len(missing) < len(specs):
        console.print(f"{len(specs) - len(missing)} of {len(specs)} runs are there already")
    if missing:  # a finished comparison needs no torch
        from pgso.scale.place import place_of
        from pgso.training.engines import run_all, useful_workers

        place_of(device)  # refused before the first run
        used = useful_workers(missing, workers, load_checked(spec, data, console))
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
        data_records = choices.data_of(records, store, data)
        status.update("drawing")
        if without_spectra(records):
            from pgso.training.pages import complete_spectra

            records = complete_spectra(records, store, data)
        comparison = compare_records(records, [run for run in runs if run.spec in beside])
        summary = comparison_record(comparison, data_records, context.obj)
        folder = choices.numbered(
            out / choices.folder_name(Path(spec.dataset).name),
            lambda place: read_comparison(place / COMPARISON_FILE).runs[:1] == summary.runs[:1],
        )
        page = write_comparison(comparison, summary, folder, data_records, figures, store)
    if as_json:
        numbers = comparison.to_dict() | summary.model_dump(include={"baselines", "doubts"})
        keys = [record.spec.key for record in runs]
        typer.echo(json.dumps(numbers | {"report": str(page), "records": keys}))
    else:
        console.say(f"\n{comparison.verdict}", "bold")
        if comparison.next_command:
            console.say(f"next: {comparison.next_command}")
        console.print()
        for doubt in summary.doubts:
            console.say(f"Note: {doubt}.", "bold")
        found = [] if comparison.found is None else [comparison.found.sentence]
        for note in (*found, *comparison.notes):
            console.say(f"Note: {note}.")
        console.print(scores_grid(comparison, "test"))
        console.print(baselines_grid(data_records, comparison.objective))
        console.print(*operator_grids(comparison.runs))
        console.say(f"report: {page}")
    if any(record.status == "failed" for record in runs):
        raise typer.Exit(1)


def load_checked(spec: RunSpec, data: Path | None, console: Console) -> int:
    """Load the data, refuse what would fail in every run, and say how many edges there are."""
    from pgso.bases import BASES
    from pgso.data.load import task_of
    from pgso.models.build import build_model
    from pgso.training.fit import check_task
    from pgso.training.learning import Criterion

    if spec.base is not None and spec.base not in BASES:
        raise UnknownNameError("base", spec.base, BASES)
    task = task_of(spec, data)
    check_task(spec, task)
    Criterion.of(spec, task)
    if task.test.numel() == 0:
        raise InputError(
            f"{task.name} has no test set to compare on; choose another split or protocol"
        )
    build_model(spec.but(operator="fixed"), task)  # its widths and terms, whatever S does
    show_data(console, task)
    return task.num_edges
