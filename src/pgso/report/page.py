"""``report.html``: one file to look at, offline; with ``report.md`` and figures beside it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from pgso.records import RunRecord, Store
from pgso.records.comparison import COMPARISON_FILE, ComparisonRecord
from pgso.records.data import DataRecord
from pgso.records.files import write_atomically
from pgso.report.about import (
    baselines_grid,
    chosen_epochs_grid,
    data_grids,
    mean_baselines,
    provenance_grids,
    python_code,
)
from pgso.report.comparison import STRONGER, TAKE_FOUND, Comparison, compare
from pgso.report.doubts import doubts
from pgso.report.evaluation import (
    calibration_grid,
    confusion_grids,
    edges_grid,
    evaluated_part,
    feature_bars,
    features_grid,
    labels_grid,
    positive_class,
    relations_grid,
)
from pgso.report.payload import embedded, learned_runs, payload
from pgso.report.report_text import report_text
from pgso.report.tables import (
    curve_grids,
    differences_grid,
    learned_grid,
    likeness_grid,
    reference_grid,
    scores_grid,
    trajectory_grids,
)
from pgso.report.template import render
from pgso.report.words import LABELS

SCRIPTS = ("plot.js", "operator.js", "report.js")
LEAD = (
    "Should the graph operator be learned? Fixed against learned operators on the same seeds, "
    "splits and initial weights."
)


class Verdict(NamedTuple):
    """What a page says first, why, and whether it is good news."""

    text: str
    reason: str
    tone: str  # good, bad or open


def write_report(
    records: Sequence[RunRecord],
    out_dir: str | Path,
    data: Sequence[DataRecord] = (),
    title: str | None = None,
    command: str | None = None,
    reference: Sequence[RunRecord] = (),
    figures: bool = False,
    store: Store | None = None,
) -> Path:
    """Write ``report.html``, ``report.md`` and ``comparison.json`` from the records of one setting.

    Args:
        records: Runs that differ in operator and seed only.
        out_dir: The folder to write into; it is made if it is not there.
        data: What is known about their data, one per seed.
        title: The page's heading; dataset and base architecture unless given.
        command: What the user typed, to be shown as the way to have the same again.
        reference: Runs of a stronger fixed network on the same seeds, if there are any.
        figures: Whether to draw ``figures/`` too, as PNG, SVG and PDF: seconds each.
        store: Where the records are, for links to them.

    Returns:
        The path of ``report.html``.
    """
    folder = Path(out_dir)
    comparison = compare(records, reference)
    heading = title or f"{comparison.dataset}, {comparison.conv}"
    drawn: list[Path] = []
    if figures:
        from pgso.report.figures import write_figures  # matplotlib takes its time to be loaded

        drawn = write_figures(records, comparison, folder / "figures")
    summary = comparison_record(records, comparison, data, command, reference)
    summary.write(folder)
    files = {COMPARISON_FILE: COMPARISON_FILE} | record_links(records, store, folder)
    page = render_page(records, comparison, heading, command, data, files)
    write_atomically(folder / "report.html", page)
    text = report_text(records, comparison, heading, command, drawn, data)
    write_atomically(folder / "report.md", text)
    return folder / "report.html"


def comparison_record(
    records: Sequence[RunRecord],
    comparison: Comparison,
    data: Sequence[DataRecord] = (),
    command: str | None = None,
    reference: Sequence[RunRecord] = (),
) -> ComparisonRecord:
    """The comparison as data: its verdict, its scores, and the runs it rests on."""
    scores = asdict(comparison)
    return ComparisonRecord(
        dataset=comparison.dataset,
        conv=comparison.conv,
        metric=comparison.metric,
        positive=comparison.positive,
        command=command,
        numerics=records[0].numerics,
        runs=tuple(record.spec.key for record in records),
        reference=tuple(record.spec.key for record in reference),
        verdict=comparison.verdict,
        doubts=tuple(doubts(records, data)),
        baselines=mean_baselines(data),
        scores={name: scores[name] for name in ("test", "val", "reference", "notes")},
    )


def record_links(records: Sequence[RunRecord], store: Store | None, folder: Path) -> dict[str, str]:
    """Addresses of the records by their keys, as seen from a folder."""
    if store is None:
        return {}
    return {
        record.spec.key: quote(Path(os.path.relpath(store.path(record.spec), folder)).as_posix())
        for record in records
    }


def render_page(
    records: Sequence[RunRecord],
    comparison: Comparison,
    heading: str,
    command: str | None = None,
    data: Sequence[DataRecord] = (),
    files: Mapping[str, str] | None = None,
    verdict: Verdict | None = None,
    lead: str = LEAD,
) -> str:
    """The page as text; everything it needs is inside, and it may fetch nothing.

    Args:
        records: Runs that differ in operator and seed only.
        comparison: Of these.
        heading: What the page is called.
        command: What the user typed.
        data: What is known about their data, one per seed.
        files: Addresses of what lies beside the page, by name; of records, by key.
        verdict: Something else to say first than what the comparison says.
        lead: A sentence on what the page is about.
    """
    said = verdict or _verdict(comparison)
    links = dict(files or {})
    numbers = payload(records, comparison)
    evaluation = numbers["evaluation"]
    confusions = confusion_grids(records)
    spectra = [run.spectra for run in records if run.spectra is not None]
    return render(
        "report.html.j2",
        SCRIPTS,
        heading=heading,
        lead=lead,
        verdict=said.text,
        reason=said.reason,
        tone=said.tone,
        doubts=doubts(records, data),
        comparison=comparison,
        data=data_grids(data),
        baselines=baselines_grid(data, comparison.objective),
        data_json=Markup(embedded(numbers)),  # noqa: S704
        summary=comparison_record(records, comparison, data, command).model_dump_json(indent=1),
        scores=[
            scores_grid(comparison, "test"),
            scores_grid(comparison, "val"),
            reference_grid(comparison),
        ],
        differences=differences_grid(comparison),
        confusions=confusions,
        labels=labels_grid(records),
        calibration=calibration_grid(records),
        evaluated=evaluated_part(records),
        positive=positive_class(records),
        has_roc=bool(evaluation["roc"]),
        has_scatter=bool(evaluation["scatter"]),
        targets=[panel["target"] for panel in next(iter(evaluation["scatter"].values()), [])],
        learned=[grid for grid in (learned_grid(records), likeness_grid(records)) if grid.rows],
        curves=curve_grids(records, comparison.objective),
        epochs=chosen_epochs_grid(records),
        trajectories=trajectory_grids(records),
        has_runs=bool(learned_runs(records)),
        has_intervals=any(run.curves.get("interval") for run in learned_runs(records)),
        has_densities=any(entry.get("start") or entry.get("by_epoch") for entry in spectra),
        has_subgraph=any(entry.get("subgraph") for entry in spectra),
        explanations=_explanations(records),
        provenance=provenance_grids(records, links),
        code=python_code(records),
        command=command,
        files={name: address for name, address in links.items() if name.endswith(".json")},
    )


def _explanations(records: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """What matters to each run that was asked."""
    return [
        {
            "name": f"{LABELS[run.spec.operator]}, seed {run.spec.seed}",
            "features": features_grid(run.explanation, run.objective),
            "bars": feature_bars(run.explanation, run.objective),
            "relations": relations_grid(run.explanation, run.objective),
            "edges": edges_grid(run.explanation),
            "notes": run.explanation.notes,
        }
        for run in records
        if run.explanation is not None
    ]


def _verdict(comparison: Comparison) -> Verdict:
    text, _, reason = comparison.verdict.partition(": ")
    tones = {TAKE_FOUND: "good", "learn it": "good", "keep the fixed one": "bad", STRONGER: "bad"}
    return Verdict(text, reason, tones.get(text, "open"))
