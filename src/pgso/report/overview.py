"""One page for a folder of runs: every finding, comparison and run, sortable and linked."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pgso.errors import InputError
from pgso.records import Store
from pgso.records.files import write_atomically
from pgso.records.finding import read_finding
from pgso.records.record import COMPARISON_FILE, ComparisonRecord, read_comparison
from pgso.report.finding import write_finding
from pgso.report.grid import Grid
from pgso.report.page import write_report
from pgso.report.sections import Page, Section, as_html
from pgso.report.words import LABELS


def write_overview(root: str | Path) -> Path | None:
    """Draw the pages of findings and comparisons again, and ``index.html`` over all that is there.

    ``root`` is a folder of runs, as ``--out`` names it. None where there is nothing to show.
    """
    folder = Path(root)
    grids = [grid for made in (_findings, _comparisons, _runs) if (grid := made(folder)).rows]
    if not grids:
        return None
    page = folder / "index.html"
    write_atomically(page, as_html(overview_page(str(folder), grids)))
    return page


def overview_page(heading: str, grids: Sequence[Grid]) -> Page:
    """Tables that can be sorted and filtered."""
    tables = (Section(grid.title, panels=(grid,), count=len(grid.rows)) for grid in grids)
    return Page(
        heading=heading,
        lead="Everything in this folder. A name in the first column leads to its page or record.",
        sections=(Section("Search", widget="filter"), *tables),
        footer="Written by pgso report; write it again to see what is new.",
        is_wide=True,
    )


def _read_all(root: Path, name: str, read: Callable[[Path], Any]) -> Iterator[tuple[Path, Any]]:
    """What lies in folders of this one, newest first; what is damaged is left out."""
    paths = sorted(root.glob(f"*/{name}"), key=lambda path: (-path.stat().st_mtime, str(path)))
    for path in paths:
        try:
            yield path, read(path)
        except InputError:
            continue


def _findings(root: Path) -> Grid:
    rows, links = [], {}
    for path, record in _read_all(root, "finding.json", read_finding):
        write_finding(record, path.parent)
        name, objective, best = path.parent.name, record.objective, record.kept
        links[name] = f"{quote(name)}/report.html"
        scores = map(objective.written, (best.loo, best.val, best.test))
        where = (name, record.dataset, str(record.seed), record.best, objective.label)
        rows.append((*where, *scores, _day(path), record.verdict))
    header = ("finding", "dataset", "split", "kept", "score", "leave one out", "validation", "test",
              "made", "verdict")  # fmt: skip
    return Grid("Findings", header, tuple(rows), "", links)


def _comparisons(root: Path) -> Grid:
    rows, links, store = [], {}, Store(root)
    records = list(_read_all(root, COMPARISON_FILE, read_comparison))
    compared = [name for name in LABELS if any(name in _means(record) for _, record in records)]
    for path, record in records:
        _draw_again(record, path.parent, store)
        name, objective, means = path.parent.name, record.objective, _means(record)
        links[name] = f"{quote(name)}/report.html"
        scores = [means[operator]["mean"] if operator in means else None for operator in compared]
        cells = ["" if s is None else f"{s:.{objective.digits(s)}f}" for s in scores]
        rivals = [entry.test for entry in record.baselines if entry.test is not None]
        rival = objective.written(max(rivals, key=objective.merit)) if rivals else ""
        seeds = str(max((entry["n"] for entry in means.values()), default=0))
        where = (name, record.dataset, record.conv, seeds, objective.label)
        rows.append(
            (*where, *cells, rival, _day(path), "; ".join([record.verdict, *record.doubts]))
        )
    header = ("comparison", "dataset", "conv", "seeds", "score",
              *(LABELS[name] for name in compared), "best baseline", "made", "verdict")  # fmt: skip
    return Grid("Comparisons", header, tuple(rows), "Mean test scores.", links)


def _means(record: ComparisonRecord) -> dict[str, dict[str, Any]]:
    """What is known about the test scores of each operator."""
    entries = record.scores.get("test", {}).get("summaries", [])
    return {entry["operator"]: entry for entry in entries}


def _draw_again(record: ComparisonRecord, folder: Path, store: Store) -> None:
    """The page of a comparison, if all that it showed is still there."""
    runs, reference = (
        [run for key in keys if (run := store.read(key)) is not None]
        for keys in (record.runs, record.reference)
    )
    ladders = {run.ladder_revision for run in runs} - {None}
    is_changed = any(run.numerics != record.numerics for run in runs) or len(ladders) > 1
    specs = {run.spec.seed: run.spec for run in runs}
    data = [stored for spec in specs.values() if (stored := store.data(spec)) is not None]
    is_lost = len(runs) < len(record.runs) or (record.baselines and len(data) < len(specs))
    if not is_changed and not is_lost:
        write_report(runs, folder, data, record.command, reference, store=store)


def _runs(root: Path) -> Grid:
    rows, links, store = [], {}, Store(root)
    kept = [record for record in store if store.path(record.spec).is_file()]  # not a renamed file
    for record in sorted(kept, key=lambda record: -store.path(record.spec).stat().st_mtime):
        spec, objective, path = record.spec, record.objective, store.path(record.spec)
        page = path.with_suffix(".html")
        links[spec.key] = f"records/{page.name if page.is_file() else path.name}"
        scores = map(objective.written, (record.val, record.test))
        epoch = "" if record.epoch is None else f"{record.epoch + 1} of {spec.epochs}"
        head = "find" if spec.head == "closed_form" else spec.conv
        where = (spec.key, spec.dataset, head, LABELS[spec.operator], str(spec.seed), record.status)
        seconds = f"{record.timing.get('seconds', 0):.1f}"
        rows.append((*where, objective.label, *scores, epoch, seconds, _day(path)))
    header = ("run", "dataset", "conv", "operator", "seed", "status", "score", "validation",
              "test", "chosen epoch", "seconds", "made")  # fmt: skip
    caption = "A key leads to the run's page where pgso train has written one, else its record."
    return Grid("Runs", header, tuple(rows), caption, links)


def _day(path: Path) -> str:
    return f"{datetime.fromtimestamp(path.stat().st_mtime):%Y-%m-%d %H:%M}"
