"""``pgso run`` and ``pgso report``: the studies of the paper, which are a package of their own."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer

from pgso.cli import choices
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.errors import InputError


def experiment_names(incomplete: str) -> list[str]:
    """What the shell offers for a study."""
    return choices.completing(studies().EXPERIMENTS if has_studies() else ())(incomplete)


ExperimentName = Annotated[
    str,
    typer.Argument(help="A name (pgso list experiments), or all.", autocompletion=experiment_names),
]
Results = Annotated[Path, typer.Option(help="Where ledgers and pages are.")]
RESULTS = Path("results")
GROUP = "pgso.studies"  # of entry points; "paper" is the package that runs and draws studies


def has_studies() -> bool:
    """Whether the package of studies is installed."""
    return bool(entry_points(group=GROUP, name="paper"))


def studies() -> Any:
    """The package of studies: ``EXPERIMENTS``, ``run_studies`` and ``draw_studies``."""
    for point in entry_points(group=GROUP, name="paper"):
        return point.load()
    raise InputError(
        "the studies of the paper are a package of their own, pgso-studies, which is not "
        "installed; install it with pip, or from the folder studies/ of pgso's repository"
    )


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
    folder = results or (out / "quick" if quick else RESULTS)  # toys stay apart from results
    is_complete = studies().run_studies(
        experiment,
        quick=quick,
        budget=budget,
        plan=plan,
        only=only,
        workers=workers,
        engine=engine,
        address=address,
        out=out,
        results=folder,
        data=data,
    )
    if not is_complete:
        raise typer.Exit(1)


@command("report", "pgso report", "pgso report initialisations")
def report(
    experiment: Annotated[
        str | None,
        typer.Argument(help="One study; by default all.", autocompletion=experiment_names),
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
    has_page = experiment is None and _overview(out)
    if out is not None:
        results = out / "quick" if (out / "quick").is_dir() else out
    if experiment is not None or has_studies():
        has_page = studies().draw_studies(experiment, results) or has_page
    if not has_page:
        raise InputError(
            f"there are no runs and no ledgers here ({out or choices.RUNS}, {results}); make some "
            "with pgso find, compare, train or run, or name their folder with --out"
        )


def _overview(out: Path | None) -> bool:
    """Write ``index.html`` of a folder of runs; False where there are none."""
    from pgso.report.overview import write_overview

    here = Path()
    is_runs = (here / "records").is_dir() or any(here.glob("find-*/finding.json"))
    page = write_overview(out or (here if is_runs else choices.RUNS))
    if page is not None:
        Console(markup=False).print(f"overview: {page}", soft_wrap=True)
    return page is not None
