"""How models are right and wrong, and what matters to them: sections of tables and plots."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Explanation
from pgso.report.differences import by_operator
from pgso.report.grid import Bar, Grid, bars
from pgso.report.sections import Axis, Plot, Section, Series
from pgso.report.words import LABELS, NONE, plain, signed

RECORDED = [round(k / 50, 2) for k in range(51)]  # where ROC and precision-recall curves are known
DASHED = "7 4"  # lengths, as in SVG
UNIT = (-0.02, 1.02)  # of an axis of shares


def evaluation_section(records: Sequence[RunRecord], candidate: str | None) -> Section:
    """Everything about the predictions; whom to flag is said by the candidate."""
    scored = by_operator(run for run in records if run.test is not None)
    several = any(len(runs) > 1 for runs in scored.values())
    over = "; counts are summed and curves averaged over the seeds" if several else ""
    panels: tuple[Grid | Plot, ...] = (
        *confusion_grids(records),
        labels_grid(records),
        *detection_panels(records, candidate),
        *scatter_plots(records),
        *calibration_panels(records),
        sets_grid(records),
    )
    text = f"{evaluated_part(records)} examples at the chosen epoch{over}."
    return Section("Right and wrong", text, panels)


def evaluated(records: Sequence[RunRecord], field: str) -> dict[str, list[Any]]:
    """A field of the evaluations of each operator, one value per seed that has it."""
    found = {
        name: [value for run in runs if (value := getattr(run.evaluation, field, None))]
        for name, runs in by_operator(records).items()
    }
    return {name: values for name, values in found.items() if values}


def evaluated_part(records: Sequence[RunRecord]) -> str:
    """Which examples were counted: of runs without a test set, those of validation."""
    parts = [run.evaluation.part for run in records if run.evaluation is not None]
    return {"test": "Test", "val": "Validation"}[parts[0]] if parts else ""


def confusion_grids(records: Sequence[RunRecord]) -> list[Grid]:
    """True classes by predicted ones; of a class that 0.5 misses, at a better threshold too."""
    grids: list[Grid] = []

    def add(title: str, classes: Sequence[str], counts: Any, caption: str) -> None:
        rows = tuple(
            (label, *(f"{n:,}" for n in row), f"{100 * row[k] / max(row.sum(), 1):.0f} %")
            for k, (label, row) in enumerate(zip(classes, counts, strict=True))
        )
        grids.append(Grid(title, ("true", *classes, "right"), rows, caption))

    detections = evaluated(records, "detection")
    for name, found in evaluated(records, "confusion").items():
        classes, counts = found[0].classes, np.array([one.counts for one in found])
        curves = [one for one in detections.get(name, []) if one.costs]
        title = f"{LABELS[name]}: true class by predicted class"
        seeds = f", summed over {len(found)} seeds" if len(found) > 1 else ""
        caption = f"{evaluated_part(records)} examples{seeds}."
        summed, share, rare = counts.sum(axis=0), 1.0, 0
        if len(curves) == len(found):
            rare = classes.index(curves[0].positive)
            share = summed[rare, rare] / max(summed[rare].sum(), 1)
        if share >= 0.5:
            add(title, classes, summed, caption)
            continue
        only = f" Only {100 * share:.0f} % of {classes[rare]} is called right."
        add(title, classes, summed, caption + only)
        sizes, tried = counts.sum(axis=2), []  # (seeds, 2)
        positives, negatives = sizes[:, rare].sum(), sizes[:, 1 - rare].sum()
        for at in zip(*(curve.costs for curve in curves), strict=True):
            by_seed = list(zip(at, sizes, strict=True))
            hits = sum(round(one.recall * size[rare]) for one, size in by_seed)
            alarms = sum(round(one.flagged * size.sum()) for one, size in by_seed) - hits
            table = np.array([[hits, positives - hits], [alarms, negatives - alarms]])
            right = hits / max(positives, 1) + (negatives - alarms) / max(negatives, 1)
            tried.append((right, at[0].threshold, table if rare == 0 else table[::-1, ::-1]))
        _, threshold, summed = max(tried, key=lambda entry: entry[0])
        caption = f"Of the calibrated probability of {classes[rare]}; chosen to miss fewer."
        add(f"{title} at the threshold {threshold:.2g}", classes, summed, caption)
    return grids


def _percent(shares: Iterable[float | None]) -> str:
    """The mean of those that are known, in per cent."""
    known = [share for share in shares if share is not None]
    return f"{100 * float(np.mean(known)):.1f}" if known else NONE


def labels_grid(records: Sequence[RunRecord]) -> Grid:
    """Of several labels: how frequent each is, and its scores by operator, means over the seeds."""
    groups, rows = evaluated(records, "labels"), list[tuple[str, ...]]()
    for at in zip(*next(iter(groups.values()), []), strict=True):  # one label, one score per seed
        having, known = sum(one.positives for one in at), sum(one.examples for one in at)
        cells = [at[0].label, f"{100 * having / max(known, 1):.1f}"]
        for tables in groups.values():
            scores = [table[len(rows)] for table in tables]
            cells.append(_percent(one.roc_auc for one in scores))
            cells.append(_percent(one.average_precision for one in scores))
        rows.append(tuple(cells))
    names = [f"{LABELS[name]}, {score}" for name in groups for score in ("ROC-AUC", "AP")]
    caption = (
        "In per cent. Guessing has a ROC-AUC of 50 and an average precision (AP) as large as "
        "the label's share. A dash: all of the examples have the label, or none."
    )
    return Grid("Label by label", ("label", "share, %", *names), tuple(rows), caption)


def calibration_panels(records: Sequence[RunRecord]) -> list[Grid | Plot]:
    """The share of right answers against confidence; its error before and after a temperature."""
    rows, series = [], []
    for name, found in evaluated(records, "calibration").items():
        sums = np.sum([one.before for one in found], axis=0)  # of each bin: size, confidence, right
        points = [(float(sure / n), float(right / n)) for n, sure, right in sums if n]
        series += [Series(LABELS[name], name, points, dots="too")] if points else []
        temperature = f"{np.mean([one.temperature for one in found]):.2f}"
        before, after = zip(*((one.error_before, one.error_after) for one in found), strict=True)
        rows.append((LABELS[name], _percent(before), temperature, _percent(after)))
    axes = (Axis("confidence", UNIT), Axis("share that is right", UNIT))
    curves = (*series, _diagonal("as sure as right"))
    plot = Plot("reliability", "Is it as sure as it should be?", *axes, curves)
    caption = (
        "In points: how far confidence and the share of right predictions are apart, on "
        f"{evaluated_part(records).lower()}. The temperature is fitted on validation; pgso "
        "predict applies it."
    )
    header = ("operator", "as trained", "temperature", "calibrated")
    grid = Grid("Calibration error", header, tuple(rows), caption)
    return [plot, grid] if series else [grid]


def sets_grid(records: Sequence[RunRecord]) -> Grid:
    """How often prediction sets or intervals hold the truth on test, means over the seeds."""
    rows = []
    for name, found in evaluated(records, "coverage").items():
        asked, held, labels, size = (
            np.mean([one[key] for one in found]) for key in ("asked", "held", "labels", "size")
        )
        shares = f"{100 * asked:.0f}", f"{100 * held:.1f}"
        rows.append((LABELS[name], *shares, f"{labels:.0f}", f"{size:.3g}"))
    caption = (
        "Sets of classes, or intervals of numbers, made from validation errors by split conformal "
        "prediction; predictor.sets(coverage=...) gives them."
    )
    header = ("operator", "asked, %", "held on test, %", "test labels", "mean size")
    return Grid("Prediction sets", header, tuple(rows), caption)


def detection_panels(records: Sequence[RunRecord], candidate: str | None) -> list[Grid | Plot]:
    """Whom to flag, as the candidate says; ROC, precision-recall and lift; means over the seeds."""
    found = evaluated(records, "detection")
    if not found:
        return []
    name = candidate if candidate in found else next(iter(found))
    asked = [one.costs for one in found[name] if one.costs]
    rows, shares = [], ("flagged", "recall", "precision")
    for at in zip(*asked, strict=True):
        shown = (_percent(getattr(one, share) for one in at) for share in shares)
        rows.append((f"{at[0].cost:g}", f"{at[0].threshold:.2g}", *shown))
    *_, last = found.values()
    share, positive = float(np.mean([one.share for one in last])), last[0].positive
    caption = (
        f"{LABELS[name]}: flag where the calibrated probability of {positive} is above the "
        "threshold, if a miss costs so many false alarms. Shares in %."
    )
    header = ("a miss costs", "threshold", *shares)
    flags = Grid("Whom to flag", header, tuple(rows), caption)

    def means(field: str, x: Sequence[float] = RECORDED) -> list[Series]:
        return [
            Series(LABELS[name], name, list(zip(x, np.mean(known, axis=0).tolist(), strict=True)))
            for name, curves in found.items()
            if (known := [curve for one in curves if (curve := getattr(one, field))])
        ]

    chance = Series("chance", "quiet", [(0, share), (1, share)], dash=DASHED)
    even = Series("chance", "quiet", [(RECORDED[1], 1), (1, 1)], dash=DASHED)
    axes = ("false positive rate", "recall", "precision")
    rate, recall, precision = (Axis(label, UNIT) for label in axes)
    curves, precisions = (*means("recall"), _diagonal("chance")), (*means("precision"), chance)
    title, lifts = f"Precision and recall of {positive}", means("lift", RECORDED[1:])
    flagged = Axis("share of the examples, highest scores first")
    plots = [
        Plot("roc", f"ROC of {positive}", rate, recall, curves),
        Plot("precision", title, recall, precision, precisions),
        Plot("lift", f"Lift of {positive}", flagged, Axis("lift"), (*lifts, even)),
    ]
    return [flags, *(plots if lifts else plots[:2])]


def scatter_plots(records: Sequence[RunRecord]) -> list[Plot]:
    """Predicted against true numbers of each operator's first seed, one plot per target."""
    panels: dict[str, list[Series]] = {}
    for name, (first, *_) in evaluated(records, "scatter").items():
        for entry in first:
            points = list(zip(entry.truth, entry.predicted, strict=True))
            series = Series(LABELS[name], name, points, dots="only")
            panels.setdefault(entry.target, []).append(series)
    plots = []
    for k, (target, entries) in enumerate(panels.items()):
        truth = [point[0] for entry in entries for point in entry.points] or [0.0]
        line = _diagonal("predicted = true", min(truth), max(truth))
        title = f"{target}: predicted against true"
        plots.append(Plot(f"scatter-{k}", title, Axis("true"), Axis("predicted"), (*entries, line)))
    return plots


def _diagonal(name: str, low: float = 0, high: float = 1) -> Series:
    return Series(name, "quiet", [(low, low), (high, high)], dash=DASHED)


def explanation_sections(records: Sequence[RunRecord]) -> list[Section]:
    """What matters to each run that was asked."""
    sections = []
    for run in records:
        found, objective = run.explanation, run.objective
        if found is not None:
            title = f"What matters: {LABELS[run.spec.operator]}, seed {run.spec.seed}"
            rows = feature_bars(found, objective)
            drawn: Any = {"widget": "bars", "values": rows} if rows else {}
            text = " ".join(f"{note}." for note in found.notes)
            grids = explanation_grids(found, objective)
            sections.append(Section(title, text, tuple(grids), "beside", **drawn))
    return sections


def explanation_grids(explanation: Explanation, objective: Objective) -> list[Grid]:
    """What shuffling a column and moving the edges of a kind costs, and what each edge adds."""
    score, left = explanation.score, explanation.left_out
    of = "" if score is None else f" (score: {objective.written(score)})"
    few = f" {left:,} columns with small gradients were not shuffled." if left else ""
    unit = objective.unit if objective.unit == "points" else objective.label
    columns = (
        f"How much worse validation gets{of} when a column is shuffled among the nodes, in "
        f"{unit}: the mean of {explanation.repeats} shuffles, and where one more lies in 95 %. "
        "A column matters if the mean losses over items and over shuffles are both sure of it, "
        "corrected for the number of columns; a single shuffle may still cost nothing. "
        f"Columns that say the same share their importance.{few}"
    )
    kinds = (
        "How much worse validation gets when edges of this kind connect other nodes, in "
        f"{unit}: the mean of {explanation.repeats} draws, and where one more lies in 95 %."
    )
    grids = []
    for title, noun, importances, caption in (
        ("Which columns matter", "column", explanation.features, columns),
        ("Which kinds of edges matter", "edges", explanation.relations, kinds),
    ):
        largest, rows = max((abs(entry.loss) for entry in importances), default=0.0), []
        digits = objective.digits(objective.shown(largest)) + 1
        for entry in importances:
            loss, low, high = (objective.shown(v) for v in (entry.loss, entry.low, entry.high))
            bounds = f"{plain(low, digits)} to {plain(high, digits)}"
            matters = "yes" if entry.matters else "no" if entry.high <= 0 else "unsure"
            rows.append((entry.name, signed(loss, digits), bounds, matters))
        header = (noun, "costs", "one more shuffle, 95 %", "matters")
        grids.append(Grid(title, header, tuple(rows), caption))
    edges = tuple((e.source, e.target, f"{e.importance:.3f}") for e in explanation.edges)
    tied = sum(row[2] == edges[0][2] for row in edges)
    ties = f" The first {tied} edges tie." if tied > 1 else ""
    caption = (
        f"What an edge adds to the predictions of {explanation.items}, as a share of the edge "
        f"that adds most; by integrated gradients from no edges to the graph.{ties}"
    )
    grids.append(Grid("Which edges matter", ("from", "to", "importance"), edges, caption))
    return grids


def feature_bars(explanation: Explanation, objective: Objective, most: int = 20) -> list[Bar]:
    """The same as a picture: bars from 0, with their intervals."""
    shown = explanation.features[:most]
    ends = [0.0, *(end for entry in shown for end in (entry.low, entry.high))]
    rows = []
    for entry in shown:
        text = signed(objective.shown(entry.loss), 2)
        rows.append((entry.name, text, "importance", 0.0, entry.loss, entry.low, entry.high))
    return bars(rows, min(ends), max(ends))
