"""``pgso run`` and ``pgso report``: one study of the paper."""

from pathlib import Path
from typing import Annotated

import typer

from pgso.cli import choices, completion, folders
from pgso.cli.effort import useful_workers
from pgso.cli.main import command
from pgso.cli.progress import progress
from pgso.cli.terminal import Console
from pgso.errors import UnknownNameError
from pgso.records import RunRecord, RunSpec, Store

ExperimentName = Annotated[
    str,
    typer.Argument(
        help="A name (pgso list experiments), or all.", autocompletion=completion.experiment_names
    ),
]
Results = Annotated[Path, typer.Option(help="Where ledgers and pages are.")]
RESULTS = Path("results")
ALL = "all"  # every study, the most important ones first


@command(
    "run",
    "pgso run initialisations --quick",
    "pgso run sbm_sparsity --workers 2",
    "pgso run all --plan",
    "pgso run all --budget 120",
)
def run(
    experiment: ExperimentName,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run it at a toy size, in seconds.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            min=0,
            help="Stop in time, and say what was left out.",
            show_default="no limit",
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Only say how many runs there are, and how long they take."),
    ] = False,
    only: Annotated[str | None, typer.Option(help="Only runs on this dataset.")] = None,
    workers: choices.Workers = choices.CORES,
    engine: choices.Engine = "local",
    address: choices.Address = None,
    out: choices.Out = choices.RUNS,
    results: Annotated[
        Path | None,
        typer.Option(help="Where ledgers are; results, or for a toy size --out/quick."),
    ] = None,
    data: choices.Data = None,
    offline: choices.Offline = False,
) -> None:
    """Run a study. What is in a ledger or in --out, with today's numerics, is not run again."""
    from pgso.experiments import EXPERIMENTS, Size, needed, whole
    from pgso.experiments.budget import Budget
    from pgso.experiments.plan import Timing, by_importance, timings_of
    from pgso.experiments.study import listed
    from pgso.records.ledger import (
        has_curves,
        read_ledger,
        set_aside_elsewhere,
        write_current,
    )
    from pgso.training.engines import run_all

    names = by_importance() if experiment == ALL else [experiment]
    studies = {name: EXPERIMENTS[name] for name in names}
    console, store = Console(markup=False), Store(out)
    size = Size.QUICK if quick else Size.FULL
    if only is not None:
        known = {spec.dataset for study in studies.values() for spec in needed(study, size, {})[0]}
        if only.lower() not in {name.lower() for name in known}:
            raise UnknownNameError(f"dataset of {experiment}", only, sorted(known))
    folder = results or (out / "quick" if quick else RESULTS)  # toys stay apart from results
    timings = timings_of(folder)
    limit = None if budget is None else Budget(budget, workers, timings)
    records = [record for record in store if record.status != "failed"]
    for path in sorted(folder.glob("*/records.jsonl")):
        records += read_ledger(path).values()
    failures: dict[str, RunRecord] = {}

    def is_asked_for(spec: RunSpec) -> bool:
        asked = only is None or spec.dataset.lower() == only.lower()
        return asked and spec.key not in failures

    for name, study in studies.items():
        ledger = folder / name / "records.jsonl"
        done = {
            record.spec.key: record
            for record in records
            if record.is_current and has_curves(record, study.curves)
        }
        while not plan:
            specs, missing = needed(study, size, done)
            missing = [spec for spec in missing if is_asked_for(spec)]
            portion = missing if limit is None else limit.portion(missing)
            if not portion:
                break
            folders.check_destination("--out", out, folder=True)
            folders.check_destination("--results", ledger)
            used = useful_workers(portion, workers)
            choices.start_early(engine, used)
            with progress(console, name, len(portion)) as advance:

                def tell(record: RunRecord, advance=advance, done=done) -> None:  # type: ignore[no-untyped-def]
                    done[record.spec.key] = record
                    records.append(record)
                    if record.status == "failed":
                        failures[record.spec.key] = record
                    elif "seconds" in record.timing:
                        timings.add(Timing(record.spec, record.timing["seconds"]))
                    how = (
                        record.chosen
                        if record.finding
                        else f"{record.spec.conv}, {record.spec.operator}"
                    )
                    advance(f"{record.spec.dataset}, {how}")

                ended = run_all(portion, store, data, engine, used, address, tell)
            for record in ended:  # also what another process has run in the meantime
                done.setdefault(record.spec.key, record)
        specs = whole(study, size, done)
        done_records = [
            done[s.key] for s in specs if s.key in done and done[s.key].status != "failed"
        ]
        console.print(f"{name}: {len(done_records)} of {len(specs)} runs: {ledger}", soft_wrap=True)
        if (done_records or not specs) and not plan:
            aside = write_current(ledger, done_records, study.curves) | set_aside_elsewhere(
                ledger, done_records
            )
            for file, count in aside.items():
                console.print(
                    f"{count} records of older numerics are now in {file}", soft_wrap=True
                )
            where = "" if folder == RESULTS else f" --results {folder}"
            console.print(f"next: pgso report {name}{where}", soft_wrap=True)
        left_out = [spec for spec in specs if spec.key not in done and is_asked_for(spec)]
        if left_out:
            hours = timings.hours(left_out)
            long = "of unknown length" if hours is None else f"about {hours:.1f} hours of one core"
            word = "to do" if plan else "left out"
            console.print(f"{word}: {listed(left_out)}; {long}", soft_wrap=True)
    for record in failures.values():
        last = (record.error or "").strip().splitlines()[-1]
        console.print(f"failed: {record.spec.dataset} {record.spec.conv}: {last}", soft_wrap=True)
    if failures:
        raise typer.Exit(1)


@command("report", "pgso report", "pgso report initialisations")
def report(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="One study; by default all.", autocompletion=completion.experiment_names
        ),
    ] = None,
    results: Results = RESULTS,
    out: Annotated[
        Path | None, typer.Option(help="Runs to show, and ledgers of pgso run --quick --out DIR.")
    ] = None,
) -> None:
    """Draw pages from records; trains nothing.

    Without a study: an overview of a folder of runs (--out; by default ./runs or this folder),
    with the pages of its findings and comparisons, and the pages of all studies that have ledgers.
    """
    from pgso.errors import InputError
    from pgso.experiments import EXPERIMENTS, Size, claims
    from pgso.records.files import write_atomically
    from pgso.records.ledger import read_ledger
    from pgso.records.numerics import check_one_revision
    from pgso.report.markdown import as_html

    console = Console(markup=False)
    overview = None if experiment else _overview(out)
    if overview is not None:
        console.print(f"overview: {overview}", soft_wrap=True)
    if out is not None:
        results = out / "quick" if (out / "quick").is_dir() else out
    all_studies = EXPERIMENTS if results.is_dir() else ()  # a folder of runs alone gets no others
    has_page = False
    for name in [experiment] if experiment else all_studies:
        study = EXPERIMENTS[name]
        ledger = results / name / "records.jsonl"
        records = list(read_ledger(ledger).values())
        if not experiment and not ledger.parent.is_dir():
            continue  # a study that needs no runs is not drawn into a folder that has none of it
        if not records and study.runs(Size.QUICK, {}):
            if experiment:
                raise InputError(f"there are no records at {ledger}; first: pgso run {name}")
            continue
        check_one_revision(records, f"pgso run {name} runs the older ones again")
        try:
            text = study.page(records, results / name / "figures")
        except KeyError as error:
            raise InputError(
                f"{ledger} has a record without {error}, which the page shows; run pgso run {name}"
            ) from None
        for page in filter(None, (f"{name}/page.md", study.also_at)):
            write_atomically(results / page, text)
            console.print(f"{name}: {results / page}", soft_wrap=True)
        write_atomically(results / name / "page.html", as_html(study.title, text))
        has_page = True
    ledgers = {
        name: list(read_ledger(results / name / "records.jsonl").values()) for name in EXPERIMENTS
    }
    if not has_page and overview is None and not any(ledgers.values()):
        raise InputError(
            f"there are no runs and no ledgers here ({out or choices.RUNS}, {results}); make some "
            "with pgso find, compare, train or run, or name their folder with --out"
        )
    if any(ledgers.values()):
        write_atomically(results / "CLAIMS.md", claims.page(ledgers))
        console.print(f"claims: {results / 'CLAIMS.md'}", soft_wrap=True)


def _overview(out: Path | None) -> Path | None:
    """``index.html`` of a folder of runs; None where there are none."""
    from pgso.report.overview import write_overview

    here = Path()
    is_runs = (here / "records").is_dir() or any(here.glob("find-*/finding.json"))
    return write_overview(out or (here if is_runs else choices.RUNS))
