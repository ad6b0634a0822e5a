"""``report.html`` of a finding: the verdict, what to do and the ladder, from its record alone."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pgso.gso.parameters import NAMES
from pgso.records.files import write_atomically
from pgso.records.finding import FindingRecord
from pgso.report.about import baselines_grid, data_section, graph_section
from pgso.report.doubts import doubts_of_finding
from pgso.report.grid import Bar, Grid, bars
from pgso.report.sections import Axis, Page, Plot, Section, Series, Verdict, as_html, filled
from pgso.report.words import IN_MEMORY, NONE

LEAD = (
    "Which operator does this graph want? Ridge regression in closed form, climbed from the "
    "simplest rung on evidence only."
)
CANNOT_CONFIRM = (
    "a trained network cannot confirm it on this split, which has no validation or no test set; "
    "give some labelled examples these parts"
)
HEADS = {"blend": ", blended with other rungs", "boosted": ", with boosted trees on top"}
READING = {
    "Rung": "A candidate: which operators act on the features, and over how many hops. The ladder "
    "goes from simple rungs to rich ones; a richer one is kept only if the labels say so.",
    "Loss": "The mean loss of the labels that judge, each predicted by a fit that did not see it. "
    "Smaller is better.",
    "Leave one out": "The score of the training labels, each predicted by the fit to all others.",
    "p": "How often the best of all challengers would look this much better by chance alone.",
    "S": "The seven scalars of the operator γ(A, S).",
}


def write_finding(record: FindingRecord, folder: Path) -> Path:
    """Write ``report.html`` into a folder, whole or not at all, and return its path."""
    write_atomically(folder / "report.html", as_html(finding_page(record)))
    return folder / "report.html"


def finding_page(record: FindingRecord) -> Page:
    """The verdict, what to do, the ladder, and what they rest on."""
    data = [] if record.data is None else [record.data]
    tables = [baselines_grid(data, record.objective), predictions_grid(record)]
    S, spectrum, operator = record.kept.S, record.spectrum, None
    weighed = {} if S is None or record.graph.is_directed else {record.best: S}
    if S is not None:
        panels: list[Grid | Plot] = [
            Grid("The operator", ("", *NAMES), (("S", *(f"{value:.4g}" for value in S)),))
        ]
        text = "S of the kept rung."
        if spectrum is not None:
            points = list(zip(spectrum.grid, spectrum.density, strict=True))
            curve = Series("density", "pgso", points, [(x, 0.0, y) for x, y in points], quiet=True)
            title, axes = "Where the eigenvalues of γ lie", (Axis("eigenvalue"), Axis("density"))
            panels.append(Plot("density", title, *axes, (curve,)))
            text = "S, and the eigenvalues of γ on this graph, edges with their reverses."
        operator = Section("The operator", text, tuple(panels), "stacked")
    steps = "The command above trains networks with it: does it pay there, against learned ones?"
    if not record.command:
        steps = f"{CANNOT_CONFIRM[0].upper()}{CANNOT_CONFIRM[1:]}."
    code = (("Save what predicts, for pgso predict on new rows:", save_command(record)),
            ("Python code that trains a network with it", record.code))  # fmt: skip
    ladder = (
        "Loss of every rung, smaller is better. Lines are 95 % intervals of the difference to "
        "the rung that was challenged. Blue is kept, orange is GCN's own. What is beyond the "
        "picture stands at its right edge."
    )
    rungs: Any = {"values": ladder_bars(record), "folded": (rungs_grid(record),)}
    sections = (
        Section("The ladder", ladder, widget="bars", **rungs),
        graph_section(record.sketch, weighed),
        operator,
        *(Section(grid.title, panels=(grid,)) for grid in tables),
        Section("Use it", steps, code=tuple(entry for entry in code if entry[1])),
        data_section(data, (("finding.json", "finding.json"),)),
    )
    return Page(
        record.dataset,
        LEAD,
        filled(sections),
        Verdict(
            headline(record),
            record.verdict,
            "good" if record.signal in ("graph", "both") else "open",
            tuple(doubts_of_finding(record)),
            (f"{' → '.join(record.steps)}; {record.seconds:.1f} seconds",),
            record.command,
        ),
        f"pgso {record.versions.get('pgso', '')}; split {record.seed}.",
        READING,
    )


def headline(record: FindingRecord) -> str:
    """What to use, in a few words, and the score of what predicts then."""
    best, objective = record.kept, record.objective
    used = f"Use {record.best}{HEADS.get(record.head, '')}"
    if record.signal == "neither":
        trees = record.head == "boosted"
        used = f"{'Use boosted trees; no' if trees else 'No'} linear operator helps here"
    elif best.S is None and best.family == "features":
        used = f"Leave the graph out{HEADS.get(record.head, '')}"
    score, part = (best.loo, "labels left out") if best.test is None else (best.test, "test")
    return f"{used}: {objective.label} {objective.written(score)} on {part}"


def save_command(record: FindingRecord) -> str:
    """The line that saves what predicts; empty for data in memory."""
    if record.dataset == IN_MEMORY:
        return ""
    asked: Any = record.spec
    words = ["pgso", "find", record.dataset]
    words += ["--seed", str(record.seed)] if record.seed else []
    words += ["--objective", asked["objective"]] if asked.get("objective") else []
    for name, value in (asked.get("data_options") or {}).items():
        words += ["--option", f"{name}={value}"]
    return shlex.join([*words, "--save", "model"])


def ladder_bars(record: FindingRecord) -> list[Bar]:
    """Every rung by its loss, best on top, the interval of its gain around its own loss."""
    rungs = sorted(record.rungs, key=lambda rung: rung.loss)
    kinds, rows = {record.reference: "reference"} | {record.best: "kept"}, []
    for rung in rungs:
        low, high = rung.interval or (0.0, 0.0)
        loss, reach, kind = rung.loss, (high - low) / 2, kinds.get(rung.name, "other")
        rows.append((rung.name, f"{loss:.4f}", kind, loss, loss, loss - reach, loss + reach))
    least, most = min(row[5] for row in rows), rungs[-1].loss
    # A few bad rungs do not push all others together.
    most = min(most, 2 * rungs[3 * len(rungs) // 4].loss - rungs[0].loss)
    room = 0.02 * (most - least)  # for dots at the ends
    return bars(rows, least - room, most + room)


def rungs_grid(record: FindingRecord, most: int | None = None) -> Grid:
    """Every rung with its scores, the kept one first; with ``most`` only those that matter most."""
    rungs = sorted(record.rungs, key=lambda rung: (rung.name != record.best, rung.loss))
    if most is not None:
        wanted = {record.best, record.reference, *record.steps}
        first = {rung.name for rung in rungs[: max(most - len(wanted), 0)]}
        rungs = [rung for rung in rungs if rung.name in wanted | first]
    rows, objective = [], record.objective
    for rung in rungs:
        scores = [objective.written(value) for value in (rung.loo, rung.val, rung.test)]
        name = f"→ {rung.name}" if rung.name == record.best else rung.name
        # A value of p is never 0.
        p = NONE if rung.p is None else "< 0.001" if rung.p < 0.001 else f"{rung.p:.3f}"
        row = (name, f"{rung.loss:.4f}", *scores)
        rows.append(row if most else (*row, p, ", ".join(rung.blocks)))
    header = ("rung", "loss", "leave one out", "validation", "test")
    hidden = len(record.rungs) - len(rungs)
    caption = (
        f"{objective.heading}. Loss: of {record.judges:,} labels, each predicted by a fit that did "
        f"not see it{f'; {hidden} more rungs with --all' if hidden else ''}."
    )
    if record.head != "ridge":
        caption += " Scores are of each rung's own closed form."
    if most:
        return Grid("The ladder", header, tuple(rows), caption)
    caption += " p: that the best challenger looks this much better by chance."
    return Grid("Every rung", (*header, "p", "blocks"), tuple(rows), caption)


def predictions_grid(record: FindingRecord) -> Grid:
    """Some predictions of the kept rung, beside the truth where it is known."""
    rows: list[tuple[str, ...]] = []
    header: tuple[str, ...] = ("item", "prediction", "probability", "truth", "right")
    for one in record.predictions:
        truth = one.truth or ("",) * len(one.predicted)
        if one.probability is None:
            names = record.targets or tuple(f"target {k}" for k in range(len(truth)))
            header = ("item", *(cell for name in names for cell in (name, f"{name}, truth")))
            pairs = zip(one.predicted, truth, strict=True)
            rows.append((one.item, *(cell for pair in pairs for cell in pair)))
        else:
            right = "" if not one.truth else "yes" if one.truth == one.predicted else "no"
            rows.append((one.item, *one.predicted, f"{one.probability:.2f}", *truth, right))
    caption = "The test set, or what has no label; some of it if it is large. All: found.predict()."
    if record.coverage is not None:
        sets = sets_sentence(record.coverage, bool(record.targets))
        caption += f" {sets[0].upper()}{sets[1:]}."
    return Grid("Predictions", header, tuple(rows), caption)


def sets_sentence(coverage: Mapping[str, float], is_number: bool) -> str:
    """What prediction sets or intervals hold on test, and how large they are."""
    size = f"{coverage['size']:.4g} wide" if is_number else f"{coverage['size']:.1f} classes"
    return (
        f"{'intervals' if is_number else 'sets'} are made to hold {100 * coverage['asked']:.0f} % "
        f"of the truths; of {coverage['labels']:.0f} test labels they held "
        f"{100 * coverage['held']:.1f} %, {size} on average"
    )
