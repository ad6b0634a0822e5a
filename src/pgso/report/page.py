"""The pages of a comparison and of a run: ``report.html``, ``report.md`` and figures beside it."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from pgso.drawing import errors
from pgso.errors import InputError
from pgso.records import RunRecord, Store
from pgso.records.data import DataRecord
from pgso.records.files import write_atomically
from pgso.records.finding import FINDING_FILE, read_finding
from pgso.records.record import COMPARISON_FILE, ComparisonRecord, read_comparison
from pgso.report import about
from pgso.report.comparison import Comparison, compare
from pgso.report.doubts import doubts
from pgso.report.evaluation import evaluation_section, explanation_section
from pgso.report.finding import write_finding
from pgso.report.sections import Page, Section, Verdict, as_html, as_markdown, filled, write_figures
from pgso.report.tables import explorer_section, operator_grids, scores_section, training_section
from pgso.report.words import LABELS, command_of, has_command, places

LEAD = (
    "Should the graph operator be learned? Fixed against learned operators on the same seeds, "
    "splits and initial weights."
)
FOOTER = (
    "Written by pgso from run records. The intervals show how the scores vary with the seed, not "
    "with the choice of test examples."
)
FORMULA = "γ(A, S) = m₁ Dₐ^e₁ + m₂ Dₐ^e₂ Aₐ Dₐ^e₃ + m₃ I, with Aₐ = A + aI and Dₐ its row sums."
BASELINES = (
    "A guess, the features without the graph, and the graph without the features, on the same "
    "splits. A network that does not beat them is not worth its training."
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
    command: str | None = None,
    reference: Sequence[RunRecord] = (),
    figures: bool = False,
    store: Store | None = None,
) -> Path:
    """Write ``report.html``, ``report.md`` and ``comparison.json``; return the first one's path.

    The runs differ in operator and seed only. ``data`` are what is known about their data, one per
    seed, ``reference`` runs of a stronger fixed network on the same seeds; ``figures`` draws PNG,
    SVG and PDF files, too; ``store`` is where the records are, for links to them.
    """
    comparison = compare(records, reference)
    summary = comparison_record(comparison, data, command)
    return write_comparison(comparison, summary, out_dir, data, figures, store)


def write_comparison(
    comparison: Comparison,
    summary: ComparisonRecord,
    out_dir: str | Path,
    data: Sequence[DataRecord] = (),
    figures: bool = False,
    store: Store | None = None,
) -> Path:
    """The same of a comparison that was made already, with its record."""
    folder, links = Path(out_dir), {COMPARISON_FILE: COMPARISON_FILE}
    if store is not None:
        for spec in (record.spec for record in comparison.runs):
            place = Path(os.path.relpath(store.path(spec), folder))
            links[spec.key] = quote(place.as_posix())
    page = comparison_page(comparison, summary, data, links)
    summary.write(folder)
    drawn = write_figures(page.plots, folder / "figures") if figures else []
    write_atomically(folder / "report.html", as_html(page))
    pictures = [f"figures/{path.name}" for path in drawn]
    write_atomically(folder / "report.md", as_markdown(page, pictures))
    return folder / "report.html"


def draw_again(root: Path) -> list[Path]:
    """Write the pages of all findings and comparisons in a folder of runs again, from records.

    What is damaged, or made of runs that are gone or of several revisions now, stays as it is.
    """
    pages, store = [], Store(root)
    for path in sorted(root.glob(f"*/{FINDING_FILE}")):
        with suppress(InputError):
            pages.append(write_finding(read_finding(path), path.parent))
    for path in sorted(root.glob(f"*/{COMPARISON_FILE}")):
        with suppress(InputError):
            record = read_comparison(path)
            runs, reference = (
                [run for key in keys if (run := store.read(key)) is not None]
                for keys in (record.runs, record.reference)
            )
            specs = {run.spec.seed: run.spec for run in runs}
            data = [known for spec in specs.values() if (known := store.data(spec)) is not None]
            is_whole = len(runs) + len(reference) == len(record.runs) + len(record.reference)
            if is_whole and (len(data) == len(specs) or not record.baselines):
                given = (runs, path.parent, data, record.command, reference)
                pages.append(write_report(*given, store=store))
    return pages


def comparison_record(
    comparison: Comparison, data: Sequence[DataRecord] = (), command: str | None = None
) -> ComparisonRecord:
    """The comparison as data: its verdict, its scores, and the runs it rests on."""
    numbers = comparison.to_dict()
    same = ("dataset", "conv", "metric", "positive", "verdict", "next", "found")
    return ComparisonRecord(
        **{name: numbers[name] for name in same},
        command=command,
        numerics=comparison.runs[0].numerics,
        runs=tuple(run.spec.key for run in (*comparison.runs, *comparison.left_out)),
        reference=tuple(record.spec.key for record in comparison.reference_runs),
        doubts=tuple(doubts(comparison.runs, data)),
        baselines=about.mean_baselines(data),
        scores={name: numbers[name] for name in ("test", "val", "reference", "notes")},
    )


def write_run(
    record: RunRecord, store: Store, data: Sequence[DataRecord] = (), command: str | None = None
) -> Path:
    """Write the page of a run beside its record, under the same name, and return its path."""
    path = store.path(record.spec)
    name = quote(path.name)
    page = run_page(record, data, command, {record.spec.key: name, name: name})
    write_atomically(path.with_suffix(".html"), as_html(page))
    return path.with_suffix(".html")


def run_page(
    record: RunRecord,
    data: Sequence[DataRecord] = (),
    command: str | None = None,
    links: Mapping[str, str] | None = None,
) -> Page:
    """The page of a run: its score, beside the best of what it must beat, and the rest."""
    spec, objective, comparison = record.spec, record.objective, compare([record])
    summary = comparison_record(comparison, data, command)
    page = comparison_page(comparison, summary, data, links)
    heading = f"{page.heading}, {LABELS[spec.operator]}, seed {spec.seed}"
    is_done, (part, score) = record.status == "done", ("test", record.test)
    if score is None:
        part, score = "validation", record.val
    text = f"{part} {objective.label} {objective.written(score)}"
    reasons = [] if is_done else [f"the run {record.status}: {record.error}"]
    tone = "open" if summary.doubts or not is_done else "good"
    if not is_done and score is None:
        text, reasons, tone = record.status, [record.error or ""], "bad"
    if record.epoch is not None:
        epoch, val = f"epoch {record.epoch + 1} of {spec.epochs}", objective.written(record.val)
        reasons.append(f"{epoch} was chosen, with {val} on validation")
    rivals = [entry for entry in summary.baselines if entry.test is not None]
    if rivals and record.test is not None:
        best = max(rivals, key=lambda entry: objective.merit(entry.test))
        reasons.append(f"the best baseline has {objective.written(best.test)} ({best.label})")
    following = command_of("compare", spec) if has_command(spec) else ""
    verdict = Verdict(text, "; ".join(reasons), tone, summary.doubts, command=following)
    lead = "One run: its scores, the baselines, and what was learned."
    return replace(page, heading=heading, lead=lead, verdict=verdict, footer="Written by pgso.")


def comparison_page(
    comparison: Comparison,
    summary: ComparisonRecord,
    data: Sequence[DataRecord] = (),
    links: Mapping[str, str] | None = None,
) -> Page:
    """The page as a value; links are addresses of what lies beside it, of records by their keys."""
    records, objective, judgement = comparison.runs, comparison.objective, comparison.judgement
    found = () if comparison.found is None else (comparison.found.sentence,)
    candidate, is_one = comparison.candidate, len(records) == 1
    sections = (
        None if is_one else scores_section(comparison),
        about.data_section(data),
        Section("Baselines", BASELINES, (about.baselines_grid(data, objective),)),
        evaluation_section(records, candidate),
        judged_graph(records, data, candidate),
        *(explanation_section(run, run.explanation) for run in records if run.explanation),
        Section("The learned operator", FORMULA, operator_grids(records), "flow"),
        training_section(records, objective),
        explorer_section(records, candidate),
        about.runs_section(records, summary.command, links or {}),
    )
    return Page(
        f"{comparison.dataset}, {comparison.conv}",
        LEAD,
        filled(sections),
        Verdict(
            *judgement[:3], summary.doubts, (*found, *comparison.notes), comparison.next_command
        ),
        FOOTER,
        {k: text for k, text in READING.items() if not (is_one and k == "Difference")},
        summary=summary.model_dump_json(indent=1),
    )


def judged_graph(
    records: Sequence[RunRecord], data: Sequence[DataRecord], candidate: str | None
) -> Section | None:
    """The graph of the first data, with errors of the fixed network and of the candidate on it.

    A reader can choose S, unless γ's entries need more (attention, a base, terms with a direction).
    """
    known = next(((one.sketch, one.spec.seed) for one in data if one.sketch is not None), None)
    if known is None:
        return None
    (sketch, drawn_seed), alone = known, len(records) == 1
    colours, operators = dict(sketch.colours), dict[str, tuple[float, ...]]()
    spec = records[0].spec
    has_entries = spec.base is None and spec.conv in ("gcn", "sgc", "gin", "filter", "bank")
    has_entries = has_entries and not any("@" in term for term in spec.terms or ())
    for run in records:
        name, done = run.spec.operator, run.evaluation
        is_shown = (alone or name in ("fixed", candidate)) and run.spec.seed == drawn_seed
        if is_shown and done is not None and len(done.sketched) == len(sketch.nodes):
            colours |= {"prediction": done.sketched} if alone else {}
            wrong = errors(colours["label"], done.sketched, colours["split"])
            colours[f"error, {LABELS[name]}"] = wrong
        is_first = run.spec.seed == spec.seed and (run.chosen or name) != "auto"
        if has_entries and is_first and run.start:
            operators.setdefault("start", run.start[0])
            learned = run.parameters if name in ("pgso", "mpgso") else ()
            for place, S in zip(places(spec.terms, len(learned)), learned, strict=True):
                operators[", ".join(filter(None, (LABELS[name], place)))] = S
    return about.graph_section(sketch.model_copy(update={"colours": colours}), operators)
