"""The pages of a comparison and of a run: ``report.html``, ``report.md`` and figures beside it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from pgso.drawing import caption, errors, svg
from pgso.records import RunRecord, Store
from pgso.records.comparison import COMPARISON_FILE, ComparisonRecord
from pgso.records.data import DataRecord, Sketch
from pgso.records.files import write_atomically
from pgso.report.about import (
    baselines_grid,
    data_grids,
    mean_baselines,
    python_code,
    runs_grid,
)
from pgso.report.comparison import Comparison, compare
from pgso.report.doubts import doubts
from pgso.report.evaluation import (
    calibration_grid,
    confusion_grids,
    costs_grid,
    edges_grid,
    evaluated_part,
    feature_bars,
    features_grid,
    labels_grid,
    positive_class,
    relations_grid,
)
from pgso.report.grid import Grid
from pgso.report.plots import (
    Plot,
    curve_plots,
    detection_plots,
    reliability_plots,
    scatter_plots,
    score_plots,
    write_figures,
)
from pgso.report.sections import Page, Section, Verdict, as_html, as_markdown
from pgso.report.series import by_epoch, learned_runs
from pgso.report.tables import differences_grid, learned_grid, likeness_grid, scores_grid
from pgso.report.words import LABELS

SCRIPTS = ("theme.js", "plot.js", "operator.js", "explorer.js", "page.js")
SHORT = 10  # rows of a table about the data that is not folded
LEAD = (
    "Should the graph operator be learned? Fixed against learned operators on the same seeds, "
    "splits and initial weights."
)
LEAD_OF_A_RUN = "One run: its scores, the baselines, and what was learned."
FOOTER = (
    "Written by pgso from run records. The intervals show how the scores vary with the seed, not "
    "with the choice of test examples."
)
READING = {
    "Difference": "Learned minus fixed on one seed: the same split, the same first weights. The "
    "95 % interval is Student's, of the paired differences, Holm-corrected over the learned "
    "operators.",
    "Chosen epoch": "The one with the best validation score. Test has no say in it.",
    "S": "The seven scalars of the operator γ(A, S). A certified interval holds all its "
    "eigenvalues.",
    "Calibration error": "0 when, of all predictions made with 80 % confidence, 80 % are right, "
    "and so on.",
}


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
    comparison = compare(records, reference)
    summary = comparison_record(comparison, data, command)
    return write_comparison(comparison, summary, out_dir, data, title, figures, store)


def write_comparison(
    comparison: Comparison,
    summary: ComparisonRecord,
    out_dir: str | Path,
    data: Sequence[DataRecord] = (),
    title: str | None = None,
    figures: bool = False,
    store: Store | None = None,
) -> Path:
    """The same of a comparison that was made already, with its record."""
    folder = Path(out_dir)
    links = {COMPARISON_FILE: COMPARISON_FILE} | record_links(comparison.runs, store, folder)
    heading = title or f"{comparison.dataset}, {comparison.conv}"
    page = comparison_page(comparison, summary, heading, data, links)
    summary.write(folder)
    drawn = write_figures(page.plots, folder / "figures") if figures else []
    write_atomically(folder / "report.html", as_html(page))
    pictures = [f"figures/{path.name}" for path in drawn]
    write_atomically(folder / "report.md", as_markdown(page, pictures))
    return folder / "report.html"


def comparison_record(
    comparison: Comparison, data: Sequence[DataRecord] = (), command: str | None = None
) -> ComparisonRecord:
    """The comparison as data: its verdict, its scores, and the runs it rests on."""
    numbers = comparison.to_dict()
    return ComparisonRecord(
        dataset=comparison.dataset,
        conv=comparison.conv,
        metric=comparison.metric,
        positive=comparison.positive,
        command=command,
        numerics=comparison.runs[0].numerics,
        runs=tuple(run.spec.key for run in (*comparison.runs, *comparison.left_out)),
        reference=tuple(record.spec.key for record in comparison.reference_runs),
        verdict=comparison.verdict,
        next=comparison.next_command,
        found=numbers["found"],
        doubts=tuple(doubts(comparison.runs, data)),
        baselines=mean_baselines(data),
        scores={name: numbers[name] for name in ("test", "val", "reference", "notes")},
    )


def record_links(records: Sequence[RunRecord], store: Store | None, folder: Path) -> dict[str, str]:
    """Addresses of the records by their keys, as seen from a folder."""
    if store is None:
        return {}
    return {
        record.spec.key: quote(Path(os.path.relpath(store.path(record.spec), folder)).as_posix())
        for record in records
    }


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
    links = record_links([record], store, path.parent)
    links |= {address: address for address in links.values()}
    write_atomically(path, render_run(record, data, command, links))
    return path


def render_run(
    record: RunRecord,
    data: Sequence[DataRecord] = (),
    command: str | None = None,
    links: Mapping[str, str] | None = None,
) -> str:
    """The page of a run as text."""
    spec, comparison = record.spec, compare([record])
    summary = comparison_record(comparison, data, command)
    heading = f"{spec.dataset}, {spec.conv}, {LABELS[spec.operator]}, seed {spec.seed}"
    page = comparison_page(comparison, summary, heading, data, links)
    verdict = run_verdict(record, data, summary.doubts)
    return as_html(replace(page, lead=LEAD_OF_A_RUN, verdict=verdict))


def run_verdict(
    record: RunRecord, data: Sequence[DataRecord], said_against: Sequence[str] = ()
) -> Verdict:
    """The score, beside the best of what it must beat."""
    objective = record.objective
    against = tuple(said_against)
    if record.status != "done" and record.test is None and record.val is None:
        return Verdict(record.status, record.error or "", "bad", against)
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
        reasons.append(f"the best baseline has {objective.written(best.test)} ({best.label})")
    if record.status != "done":
        reasons.insert(0, f"the run {record.status}: {record.error}")
    tone = "open" if against or record.status != "done" else "good"
    return Verdict(text, "; ".join(reasons), tone, against)


def comparison_page(
    comparison: Comparison,
    summary: ComparisonRecord,
    heading: str,
    data: Sequence[DataRecord] = (),
    links: Mapping[str, str] | None = None,
) -> Page:
    """The page as a value.

    Args:
        comparison: What it shows.
        summary: Its record: doubts, the command that made it, and all numbers to be saved.
        heading: What the page is called.
        data: What is known about the data, one per seed.
        links: Addresses of what lies beside the page, by name; of records, by key.
    """
    records, judgement = comparison.runs, comparison.judgement
    runs = learned_runs(records)
    found = [] if comparison.found is None else [comparison.found.sentence]
    sections = [
        _scores(comparison),
        data_section(data_grids(data)),
        Section(
            "Baselines",
            "A guess, the features without the graph, and the graph without the features, on the "
            "same splits. A network that does not beat them is not worth its training.",
            grids=(baselines_grid(data, comparison.objective),),
        ),
        _right_and_wrong(records, comparison),
        *graph_sections(judged_sketch(records, data, comparison.candidate)),
        *_what_matters(records),
        Section(
            "The learned operator",
            "γ(A, S) = m₁ Dₐ^e₁ + m₂ Dₐ^e₂ Aₐ Dₐ^e₃ + m₃ I, with Aₐ = A + aI and Dₐ its row sums.",
            panels=(learned_grid(records), likeness_grid(records)),
            layout="flow",
        ),
        Section(
            "Training",
            "Mean over the seeds; the band goes from the lowest to the highest seed. Drag to zoom, "
            "double-click or Escape to reset; with the keyboard, arrows read values, + and − zoom. "
            "Thin lines stand at the chosen epochs.",
            panels=tuple(curve_plots(records, comparison.objective)),
        ),
        *([_explorer(records, runs)] if runs else []),
        _what_was_run(records, summary.command, links or {}),
        reading_section(READING),
    ]
    return Page(
        heading=heading,
        lead=LEAD,
        verdict=Verdict(
            judgement.text,
            judgement.reason,
            judgement.tone,
            summary.doubts,
            (*found, *comparison.notes),
            comparison.next_command,
        ),
        sections=tuple(filter(None, map(_filled, sections))),
        footer=FOOTER,
        scripts=SCRIPTS,
        data={
            "labels": LABELS,
            "candidate": comparison.candidate,
            "runs": [by_epoch(record) for record in runs],
        },
        summary=summary.model_dump_json(indent=1),
    )


def reading_section(words: Mapping[str, str]) -> Section:
    """What the words of a page mean."""
    return Section("How to read this page", widget="reading", values=words.items(), id="reading")


def _filled(section: Section) -> Section | None:
    """The section without tables that have no rows; None if nothing is left."""
    grids = tuple(grid for grid in section.grids if grid.rows)
    panels = tuple(part for part in section.panels if isinstance(part, Plot) or part.rows)
    if not (grids or panels or section.folded or section.code or section.widget):
        return None
    return replace(section, grids=grids, panels=panels)


def graph_sections(part: Sketch | None) -> list[Section]:
    """The graph itself, drawn once for each thing that its nodes are coloured by."""
    if part is None:
        return []
    named = [(name, svg(part, name, f"the graph by {name}")) for name in part.colours]
    pictures = [(name, Markup(text)) for name, text in named or [("", svg(part))]]  # noqa: S704
    text = (
        f"{caption(part).capitalize()}. Point at a node for its name and value. Nodes that were "
        "trained on have no error."
    )
    return [Section("The graph", text, widget="graph", values=pictures, id="graph-section")]


def judged_sketch(
    records: Sequence[RunRecord], data: Sequence[DataRecord], candidate: str | None
) -> Sketch | None:
    """The sketch of the first data with errors of the fixed network and of the candidate on it."""
    first = next((entry for entry in data if entry.sketch is not None), None)
    if first is None or first.sketch is None:
        return None
    colours = dict(first.sketch.colours)
    for record in records:
        name, done = record.spec.operator, record.evaluation
        is_shown = len(records) == 1 or name in ("fixed", candidate)
        of_these = record.spec.seed == first.spec.seed and done is not None
        if is_shown and of_these and done and len(done.sketched) == len(first.sketch.nodes):
            found = errors(colours["label"], done.sketched, colours["split"])
            if len(records) == 1:
                colours["prediction"] = done.sketched
            colours[f"error, {LABELS[name]}"] = found
    return first.sketch.model_copy(update={"colours": colours})


def data_section(grids: Sequence[Grid]) -> Section:
    """What the data are; long tables are folded."""
    short = tuple(grid for k, grid in enumerate(grids) if k == 0 or len(grid.rows) <= SHORT)
    folded = tuple(grid for grid in grids if grid not in short)
    return Section("The data", panels=short, layout="pair", folded=folded, id="data-section")


def _scores(comparison: Comparison) -> Section:
    differences = differences_grid(comparison)
    plots = [
        replace(plot, title="Test score of every seed", numbers=differences)
        if differences.rows
        else plot
        for plot in score_plots(comparison.runs, comparison)
    ]
    tables = (scores_grid(comparison, "test"), scores_grid(comparison, "val"))
    return Section(
        "Scores by seed",
        "A line joins the runs of one seed. The diamond is the mean, its bar the 95 % interval. "
        "The epoch is chosen on validation; so is the learned operator that the verdict is about.",
        panels=(*plots, *tables) if plots else (),
        layout="pair narrow-left",
    )


def _right_and_wrong(records: Sequence[RunRecord], comparison: Comparison) -> Section:
    several = any(entry.n > 1 for entry in comparison.test.summaries)
    over = "; counts are summed and curves averaged over the seeds" if several else ""
    return Section(
        "Right and wrong",
        f"{evaluated_part(records)} examples at the chosen epoch{over}.",
        panels=(
            *confusion_grids(records),
            labels_grid(records),
            costs_grid(records, comparison.candidate),
            *detection_plots(records, positive_class(records)),
            *scatter_plots(records),
            *reliability_plots(records),
            calibration_grid(records),
        ),
    )


def _what_matters(records: Sequence[RunRecord]) -> list[Section]:
    """What matters to each run that was asked."""
    sections = []
    for run in records:
        if run.explanation is None:
            continue
        objective = run.objective
        tables = (
            features_grid(run.explanation, objective),
            relations_grid(run.explanation, objective),
            edges_grid(run.explanation),
        )
        bars = feature_bars(run.explanation, objective)
        sections.append(
            Section(
                f"What matters: {LABELS[run.spec.operator]}, seed {run.spec.seed}",
                " ".join(f"{note}." for note in run.explanation.notes),
                panels=tables,
                layout="beside",
                widget="bars" if bars else "",
                values=bars,
            )
        )
    return sections


def _explorer(records: Sequence[RunRecord], runs: Sequence[RunRecord]) -> Section:
    """One run, epoch by epoch: what the script moves together."""
    spectra = [run.spectra for run in records if run.spectra is not None]
    has = {
        "has_intervals": any(run.curves.get("interval") for run in runs),
        "has_densities": any(entry.get("start") or entry.get("by_epoch") for entry in spectra),
        "has_subgraph": any(entry.get("subgraph") for entry in spectra),
    }
    text = "Move the slider: the values of S and all that follows from them move together."
    title = "One run, epoch by epoch"
    return Section(title, text, id="explorer", widget="explorer", values=has)


def _what_was_run(
    records: Sequence[RunRecord], command: str | None, links: Mapping[str, str]
) -> Section:
    shell = [("To have it again, in a shell:", command)] if command else []
    python = "or in Python:" if command else "To have it again:"
    return Section(
        "What was run",
        code=(*shell, (python, python_code(records))),
        links=tuple((name, to) for name, to in links.items() if name.endswith(".json")),
        folded=(runs_grid(records, links),),
    )
