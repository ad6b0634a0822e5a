"""``pgso run`` and ``pgso report``: one study of the paper."""

from pathlib import Path
from typing import Annotated

import typer

from pgso.cli import choices
from pgso.cli.main import app, examples
from pgso.cli.progress import progress
from pgso.cli.terminal import Console
from pgso.records import RunRecord, Store

ExperimentName = Annotated[
    str,
    typer.Argument(help="A name: pgso list experiments.", autocompletion=choices.experiment_names),
]
Results = Annotated[Path, typer.Option(help="Where ledgers and pages are.")]
RESULTS = Path("results")


@app.command(
    epilog=examples(
        "pgso run initialisations --quick", "pgso run sbm_sparsity --budget --workers 2"
    )
)
def run(
    experiment: ExperimentName,
    quick: Annotated[bool, typer.Option("--quick", help="A toy size.")] = False,
    budget: Annotated[bool, typer.Option("--budget", help="What two cores can do.")] = False,
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
) -> None:
    """Run a study. What is in its ledger or in --out, with today's numerics, is not run again."""
    from pgso.experiments import EXPERIMENTS, Size, needed
    from pgso.records.ledger import read_ledger, write_current
    from pgso.training.engines import run_all

    study, console, store = EXPERIMENTS[experiment], Console(markup=False), Store(out)
    size = Size.QUICK if quick else Size.BUDGET if budget else Size.FULL
    folder = results or (out / "quick" if quick else RESULTS)  # toys stay apart from results
    ledger = folder / experiment / "records.jsonl"
    done = {key: record for key, record in read_ledger(ledger).items() if record.is_current}
    done |= {
        record.spec.key: record
        for record in store
        if record.spec.key not in done and record.status != "failed" and record.is_current
    }
    failures: list[RunRecord] = []
    while True:
        specs, missing = needed(study, size, done)
        bad = {record.spec.key for record in failures}
        missing = [
            spec
            for spec in missing
            if spec.key not in bad and (only is None or spec.dataset.lower() == only.lower())
        ]
        if not missing:
            break
        choices.check_destination("--out", out, folder=True)
        choices.check_destination("--results", ledger)
        choices.start_early(engine, min(workers, len(missing)))
        with progress(console, experiment, len(missing)) as advance:

            def tell(record: RunRecord, advance=advance) -> None:  # type: ignore[no-untyped-def]
                done[record.spec.key] = record
                if record.status == "failed":
                    failures.append(record)
                how = (
                    record.chosen
                    if record.finding
                    else f"{record.spec.conv}, {record.spec.operator}"
                )
                advance(f"{record.spec.dataset}, {how}")

            run_all(missing, store, data, engine, workers, address, tell)
    kept = [done[s.key] for s in specs if s.key in done and done[s.key].status != "failed"]
    aside = write_current(ledger, kept)
    console.print(f"{experiment}: {len(kept)} of {len(specs)} runs: {ledger}", soft_wrap=True)
    for file, count in aside.items():
        console.print(f"{count} records of older numerics are now in {file}", soft_wrap=True)
    where = "" if folder == RESULTS else f" --results {folder}"
    console.print(f"next: pgso report {experiment}{where}", soft_wrap=True)
    for record in failures:
        last = (record.error or "").strip().splitlines()[-1]
        console.print(f"failed: {record.spec.dataset} {record.spec.conv}: {last}", soft_wrap=True)
    if failures:
        raise typer.Exit(1)


@app.command(epilog=examples("pgso report", "pgso report initialisations"))
def report(
    experiment: Annotated[
        str | None,
        typer.Argument(help="One study; by default all.", autocompletion=choices.experiment_names),
    ] = None,
    results: Results = RESULTS,
    out: Annotated[
        Path | None, typer.Option(help="Runs to show, and ledgers of pgso run --quick --out DIR.")
    ] = None,
) -> None:
    """Draw pages from records; trains nothing.

    Without a study: an overview of a folder of runs (--out, else ./runs or this folder), with the
    pages of its findings and comparisons, and the pages of all studies that have ledgers.
    """
    from pgso.errors import InputError
    from pgso.experiments import EXPERIMENTS, Size, claims
    from pgso.records.ledger import read_ledger
    from pgso.records.numerics import check_one_revision
    from pgso.records.store import write_atomically
    from pgso.report.markdown import as_html

    console = Console(markup=False)
    overview = None if experiment else _overview(out)
    if overview is not None:
        console.print(f"overview: {overview}", soft_wrap=True)
    if out is not None:
        results = out / "quick" if (out / "quick").is_dir() else out
    all_studies = EXPERIMENTS if results.is_dir() else ()  # a folder of runs alone gets no others
    for name in [experiment] if experiment else all_studies:
        study = EXPERIMENTS[name]
        ledger = results / name / "records.jsonl"
        records = list(read_ledger(ledger).values())
        if not records and study.runs(Size.QUICK, {}):
            if experiment:
                raise InputError(f"there are no records at {ledger}; first: pgso run {name}")
            continue
        check_one_revision(records, f"pgso run {name} makes those of older revisions again")
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
    ledgers = {
        name: list(read_ledger(results / name / "records.jsonl").values()) for name in EXPERIMENTS
    }
    if not experiment and overview is None and not any(ledgers.values()):
        raise InputError(
            f"there are no runs and no ledgers here ({out or choices.RUNS}, {results}); make some "
            "with pgso find, compare, train or run, or name their folder with --out"
        )
    if any(ledgers.values()):
        try:
            text = claims.page(ledgers)
        except InputError as error:  # pages of single studies may be made all the same
            stays = f"claims: {results / 'CLAIMS.md'} stays as it was: {error}"
            console.print(stays, soft_wrap=True)
            return
        write_atomically(results / "CLAIMS.md", text)
        console.print(f"claims: {results / 'CLAIMS.md'}", soft_wrap=True)


def _overview(out: Path | None) -> Path | None:
    """``index.html`` of a folder of runs; None where there are none."""
    from pgso.report.overview import write_overview

    here = Path()
    is_runs = (here / "records").is_dir() or any(here.glob("find-*/finding.json"))
    return write_overview(out or (here if is_runs else choices.RUNS))
