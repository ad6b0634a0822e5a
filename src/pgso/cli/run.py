"""``pgso run`` and ``pgso report``: the studies of the paper, which are a package of their own."""

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

import typer

from pgso.cli import choices
from pgso.cli.choices import opt
from pgso.cli.main import command
from pgso.cli.terminal import Console
from pgso.errors import InputError

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
    context: typer.Context,
    experiment: str = typer.Argument(help="A name (pgso list experiments), or all."),
    quick: bool = opt("options", "Run it at a toy size, in seconds.", False, "--quick"),
    budget: float | None = opt(
        "options",
        "Stop in time, and say what was left out.",
        metavar="MINUTES",
        min=0,
        show_default="no limit",
    ),
    plan: bool = opt("options", "Only say how many runs, and how long.", False, "--plan"),
    only: str | None = opt("options", "Only runs on this dataset."),
    workers: int = choices.WORKERS,
    engine: Literal["local", "ray"] = choices.ENGINE,
    address: str | None = choices.ADDRESS,
    out: Path = choices.OUT,
    results: Path | None = opt("options", "Where ledgers are: results, or --out/quick."),
    data: Path | None = choices.DATA,
    offline: bool = choices.OFFLINE,
) -> None:
    """Run a study. What is in a ledger or in --out, with today's numerics, is not run again."""
    toys = out / "quick" if quick else RESULTS  # stay apart from results
    given = context.params | {"results": results or toys}
    del given["offline"]  # which workers find in the environment
    if not studies().run_studies(**given):
        raise typer.Exit(1)


@command("report", "pgso report", "pgso report initialisations")
def report(
    experiment: str | None = typer.Argument(None, help="One study; by default all."),
    results: Path = opt("options", "Where ledgers and pages are.", RESULTS),
    out: Path | None = opt("options", "Runs to show, and ledgers of pgso run --quick --out DIR."),
) -> None:
    """Draw pages from records; trains nothing.

    Without a study: the pages of all findings and comparisons in a folder of runs (--out; by
    default ./runs), and of all studies that have ledgers.
    """
    has_page = False
    if experiment is None:
        from pgso.report.page import draw_again

        for page in draw_again(out or choices.RUNS):
            Console().say(f"report: {page}")
            has_page = True
    if out is not None:
        results = out / "quick" if (out / "quick").is_dir() else out
    if experiment is not None or has_studies():
        has_page = studies().draw_studies(experiment, results) or has_page
    if not has_page:
        raise InputError(
            f"there are no runs and no ledgers here ({out or choices.RUNS}, {results}); make some "
            "with pgso find, compare or run, or name their folder with --out"
        )
