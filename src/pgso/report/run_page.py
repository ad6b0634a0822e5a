"""The page of one run, beside its record: scores, what it must beat, and what was learned."""

from collections.abc import Sequence
from pathlib import Path

from pgso.records import RunRecord, Store
from pgso.records.data import DataRecord
from pgso.records.files import write_atomically
from pgso.report.about import mean_baselines
from pgso.report.comparison import compare
from pgso.report.doubts import doubts
from pgso.report.page import Verdict, record_links, render_page
from pgso.report.words import LABELS

LEAD = "One run: its scores, what it must beat, and what was learned."


def run_page_path(record: RunRecord, store: Store) -> Path:
    """Where the page of a run is: beside its record, under the same name."""
    return store.path(record.spec).with_suffix(".html")


def write_run(
    record: RunRecord,
    store: Store,
    data: Sequence[DataRecord] = (),
    command: str | None = None,
) -> Path:
    """Write the page of a run into the store, and return its path."""
    path = run_page_path(record, store)
    spec = record.spec
    heading = f"{spec.dataset}, {spec.conv}, {LABELS[spec.operator]}, seed {spec.seed}"
    files = record_links([record], store, path.parent)
    files |= {address: address for address in files.values()}
    page = render_page(
        [record], compare([record]), heading, command, data, files, run_verdict(record, data), LEAD
    )
    write_atomically(path, page)
    return path


def run_verdict(record: RunRecord, data: Sequence[DataRecord]) -> Verdict:
    """The score, beside the best of what it must beat."""
    objective = record.objective
    if record.status != "done" and record.test is None and record.val is None:
        return Verdict(record.status, record.error or "", "bad")
    part, score = ("test", record.test) if record.test is not None else ("validation", record.val)
    text = f"{part} {objective.label} {objective.written(score)}"
    reasons = []
    if record.epoch is not None:
        written = objective.written(record.val)
        epoch = f"epoch {record.epoch + 1} of {record.spec.epochs}"
        reasons.append(f"{epoch} was chosen, with {written} on validation")
    rivals = [entry for entry in mean_baselines(data) if entry.test is not None]
    if rivals and record.test is not None:
        best = max(rivals, key=lambda entry: objective.merit(entry.test))
        reasons.append(f"the best of what it must beat has {objective.written(best.test)} ")
        reasons[-1] += f"({best.label})"
    if record.status != "done":
        reasons.insert(0, f"the run {record.status}: {record.error}")
    is_doubtful = bool(doubts([record], data)) or record.status != "done"
    return Verdict(text, "; ".join(reasons), "open" if is_doubtful else "good")
