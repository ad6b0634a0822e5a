"""What ``pgso run`` and ``pgso report`` do: run what is missing, and draw pages from records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from pgso.cli import choices
from pgso.cli.terminal import Console, progress
from pgso.errors import InputError, UnknownNameError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.files import write_atomically
from pgso.records.numerics import check_one_revision
from pgso_studies import claims
from pgso_studies.ledger import (
    has_curves,
    ledgers_in,
    read_ledger,
    set_aside_elsewhere,
    write_current,
)
from pgso_studies.plan import Budget, Timing, Timings, by_importance, timings_of
from pgso_studies.study import EXPERIMENTS, Experiment, Size, listed, needed, whole

if TYPE_CHECKING:
    from pgso.training.engines import Engine

ALL = "all"  # every study, the most important ones first

# Importing a study registers it: a new file in this folder is enough.
for _path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    import_module(f"pgso_studies.{_path.stem}")


@dataclass
class Runner:
    """What all studies of one command share: places, workers, and the records there are."""

    console: Console
    size: Size
    store: Store
    results: Path
    workers: int
    engine: "Engine"
    address: str | None
    data: Path | None
    only: str | None
    timings: Timings
    budget: Budget | None
    records: list[RunRecord]
    failures: dict[str, RunRecord] = field(default_factory=dict)

    def is_asked_for(self, spec: RunSpec) -> bool:
        """Whether a spec is on the chosen dataset and has not failed."""
        asked = self.only is None or spec.dataset.lower() == self.only.lower()
        return asked and spec.key not in self.failures

    def done(self, study: Experiment) -> dict[str, RunRecord]:
        """The records of today's numerics that have what the page of a study shows."""
        return {
            record.spec.key: record
            for record in self.records
            if record.is_current and has_curves(record, study.curves)
        }

    def portion(self, study: Experiment, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """The next specs to run; empty when nothing is missing or no time is left."""
        _, missing = needed(study, self.size, done)
        missing = [spec for spec in missing if self.is_asked_for(spec)]
        return missing if self.budget is None else self.budget.portion(missing)

    def run(self, name: str, study: Experiment, done: dict[str, RunRecord]) -> None:
        """Run a study's specs, stage after stage, and add their records to ``done``."""
        from pgso.training.engines import run_all, useful_workers

        def tell(record: RunRecord) -> None:
            done[record.spec.key] = record
            self.records.append(record)
            if record.status == "failed":
                self.failures[record.spec.key] = record
            elif "seconds" in record.timing:
                self.timings.add(Timing(record.spec, record.timing["seconds"]))
            spec = record.spec
            how = record.chosen if record.finding else f"{spec.conv}, {spec.operator}"
            advance(f"{spec.dataset}, {how}")

        while specs := self.portion(study, done):
            choices.check_destination("--out", self.store.root, folder=True)
            choices.check_destination("--results", self.ledger(name))
            workers = useful_workers(specs, self.workers)
            with progress(self.console, name, len(specs)) as advance:
                ended = run_all(
                    specs, self.store, self.data, self.engine, workers, self.address, tell
                )
            for record in ended:  # also what another process has run in the meantime
                done.setdefault(record.spec.key, record)

    def ledger(self, name: str) -> Path:
        """The file with a study's records."""
        return self.results / name / "records.jsonl"

    def write(self, name: str, study: Experiment, records: Sequence[RunRecord]) -> None:
        """Write a study's ledger, and set records of older numerics aside."""
        ledger = self.ledger(name)
        aside = write_current(ledger, records, study.curves)
        for file, count in (aside | set_aside_elsewhere(ledger, records)).items():
            self.say(f"{count} records of older numerics are now in {file}")

    def say(self, line: str) -> None:
        """Print one line, however narrow the terminal."""
        self.console.print(line, soft_wrap=True)


def run_studies(
    experiment: str,
    *,
    quick: bool,
    budget: float | None,
    plan: bool,
    only: str | None,
    workers: int,
    engine: "Engine",
    address: str | None,
    out: Path,
    results: Path,
    data: Path | None,
) -> bool:
    """Run a study or all of them; see ``pgso run --help`` for the arguments.

    Returns:
        Whether no run failed.
    """
    names = by_importance() if experiment == ALL else [experiment]
    studies = {name: EXPERIMENTS[name] for name in names}
    size = Size.QUICK if quick else Size.FULL
    if only is not None:
        known = {spec.dataset for study in studies.values() for spec in needed(study, size, {})[0]}
        if only.lower() not in {name.lower() for name in known}:
            raise UnknownNameError(f"dataset of {experiment}", only, sorted(known))
    store, timings = Store(out), timings_of(results)
    records = [record for record in store if record.status != "failed"]
    for path in ledgers_in(results):
        records += read_ledger(path).values()
    runner = Runner(
        console=Console(markup=False),
        size=size,
        store=store,
        results=results,
        workers=workers,
        engine=engine,
        address=address,
        data=data,
        only=only,
        timings=timings,
        budget=None if budget is None else Budget(budget, workers, timings),
        records=records,
    )
    for name, study in studies.items():
        done = runner.done(study)
        if not plan:
            runner.run(name, study, done)
        specs = whole(study, size, done)
        ended = [done[s.key] for s in specs if s.key in done and done[s.key].status != "failed"]
        runner.say(f"{name}: {len(ended)} of {len(specs)} runs: {runner.ledger(name)}")
        if (ended or not specs) and not plan:
            runner.write(name, study, ended)
            where = "" if results == Path("results") else f" --results {results}"
            runner.say(f"next: pgso report {name}{where}")
        left_out = [s for s in specs if s.key not in done and runner.is_asked_for(s)]
        if left_out:
            hours = timings.hours(left_out)
            long = "of unknown length" if hours is None else f"about {hours:.1f} hours of one core"
            runner.say(f"{'to do' if plan else 'left out'}: {listed(left_out)}; {long}")
    for record in runner.failures.values():
        last = (record.error or "").strip().splitlines()[-1]
        runner.say(f"failed: {record.spec.dataset} {record.spec.conv}: {last}")
    return not runner.failures


def draw_studies(experiment: str | None, results: Path) -> bool:
    """Draw the page of one study, or of all that have records, and the page of all claims.

    Returns:
        Whether there was something to draw.
    """
    console = Console(markup=False)
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
    if any(ledgers.values()):
        write_atomically(results / "CLAIMS.md", claims.page(ledgers))
        console.print(f"claims: {results / 'CLAIMS.md'}", soft_wrap=True)
        has_page = True
    return has_page


STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #8886; text-align: left; }
img { max-width: 100%; height: auto; background: white; }
"""


def as_html(title: str, text: str) -> str:
    r"""Markdown as a page that fetches nothing but the pictures beside it.

    Example:
        >>> "<td>1 &lt; 2</td>" in as_html("t", "| a |\n|---|\n| 1 < 2 |")
        True
    """
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body>\n{body}</body></html>\n"
    )
