"""How models are right and wrong, and what matters to them: sections of tables and plots."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
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
FIELDS = ("confusion", "labels", "detection", "scatter", "calibration", "coverage")
MOST_BARS = 20  # of columns
UNIT = (-0.02, 1.02)  # of an axis of shares


def evaluation_section(records: Sequence[RunRecord], candidate: str | None) -> Section:
    """Everything about the predictions; whom to flag is said by the candidate."""
    operators, made = by_operator(records), [run.evaluation for run in records if run.evaluation]
    # Runs without a test set were evaluated on validation.
    part = {"test": "Test", "val": "Validation"}[made[0].part] if made else ""
    several = any(sum(run.test is not None for run in runs) > 1 for runs in operators.values())
    over = "; counts are summed and curves averaged over the seeds" if several else ""
    # Each field of the evaluations by operator, one value per seed that has it.
    found: dict[str, dict[str, list[Any]]] = {field: {} for field in FIELDS}
    for field, name in product(FIELDS, operators):
        values = [getattr(run.evaluation, field, None) for run in operators[name]]
        if known := [value for value in values if value]:
            found[field][name] = known
    panels: list[Grid | Plot] = []
    if found["confusion"]:
        panels += confusion_grids(found["confusion"], found["detection"], part)
    if found["labels"]:
        panels.append(labels_grid(found["labels"]))
    if found["detection"]:
        panels += detection_panels(found["detection"], candidate)
    if found["scatter"]:
        panels += scatter_plots(found["scatter"])
    if found["calibration"]:
        panels += calibration_panels(found["calibration"], part)
    if found["coverage"]:
        panels.append(sets_grid(found["coverage"]))
    text = f"{part} examples at the chosen epoch{over}."
    return Section("Right and wrong", text, tuple(panels))


def confusion_grids(
    confusions: Mapping[str, list[Any]], detections: Mapping[str, list[Any]], part: str
) -> list[Grid]:
    """True classes by predicted ones; of a class that 0.5 misses, at a better threshold too."""
    tables = []  # title, classes, counts, caption
    for name, found in confusions.items():
        classes, counts = found[0].classes, np.array([one.counts for one in found])
        curves = [one for one in detections.get(name, []) if one.costs]
        title = f"{LABELS[name]}: true class by predicted class"
        seeds = f", summed over {len(found)} seeds" if len(found) > 1 else ""
        caption = f"{part} examples{seeds}."
        summed, share, rare = counts.sum(axis=0), 1.0, 0
        if len(curves) == len(found):
            rare = classes.index(curves[0].positive)
            share = summed[rare, rare] / max(summed[rare].sum(), 1)
        if share >= 0.5:
            tables.append((title, classes, summed, caption))
            continue
        only = f" Only {100 * share:.0f} % of {classes[rare]} is called right."
        tables.append((title, classes, summed, caption + only))
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
        tables.append((f"{title} at the threshold {threshold:.2g}", classes, summed, caption))
    grids = []
    for title, classes, counts, caption in tables:
        rows = tuple(
            (label, *(f"{n:,}" for n in row), f"{100 * row[k] / max(row.sum(), 1):.0f} %")
            for k, (label, row) in enumerate(zip(classes, counts, strict=True))
        )
        grids.append(Grid(title, ("true", *classes, "right"), rows, caption))
    return grids


def _percent(shares: Iterable[float | None]) -> str:
    """The mean of those that are known, in per cent."""
    known = [share for share in shares if share is not None]
    return f"{100 * float(np.mean(known)):.1f}" if known else NONE


def labels_grid(groups: Mapping[str, list[Any]]) -> Grid:
    """Of several labels: how frequent each is, and its scores by operator, means over the seeds."""
    rows = list[tuple[str, ...]]()
    for at in zip(*next(iter(groups.values())), strict=True):  # one label, one score per seed
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


def calibration_panels(calibrations: Mapping[str, list[Any]], part: str) -> list[Grid | Plot]:
    """The share of right answers against confidence; its error before and after a temperature."""
    rows, series = [], []
    for name, found in calibrations.items():
        sums = np.sum([one.before for one in found], axis=0)  # of each bin: size, confidence, right
        points = [(float(sure / n), float(right / n)) for n, sure, right in sums if n]
        series += [Series(LABELS[name], name, points, dots="too")] if points else []
        temperature = f"{np.mean([one.temperature for one in found]):.2f}"
        before, after = zip(*((one.error_before, one.error_after) for one in found), strict=True)
        rows.append((LABELS[name], _percent(before), temperature, _percent(after)))
    axes = (Axis("confidence", UNIT), Axis("share that is right", UNIT))
    curves = (*series, Series("as sure as right", "quiet", [(0, 0), (1, 1)], dash=DASHED))
    plot = Plot("reliability", "Is it as sure as it should be?", *axes, curves)
    caption = (
        "In points: how far confidence and the share of right predictions are apart, on "
        f"{part.lower()}. The temperature is fitted on validation; pgso predict applies it."
    )
    header = ("operator", "as trained", "temperature", "calibrated")
    grid = Grid("Calibration error", header, tuple(rows), caption)
    return [plot, grid] if series else [grid]


def sets_grid(coverages: Mapping[str, list[Any]]) -> Grid:
    """How often prediction sets or intervals hold the truth on test, means over the seeds."""
    rows = []
    for name, found in coverages.items():
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


def detection_panels(found: Mapping[str, list[Any]], candidate: str | None) -> list[Grid | Plot]:
    """Whom to flag, as the candidate says; ROC, precision-recall and lift; means over the seeds."""
    name = candidate if candidate and candidate in found else next(iter(found))
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
    curves: dict[str, list[Series]] = {"recall": [], "precision": [], "lift": []}
    for (field, series), (name, entries) in product(curves.items(), found.items()):
        if known := [curve for one in entries if (curve := getattr(one, field))]:
            x = RECORDED[1:] if field == "lift" else RECORDED
            points = list(zip(x, np.mean(known, axis=0).tolist(), strict=True))
            series.append(Series(LABELS[name], name, points))
    lines = (  # of chance: on the diagonal, at the share of positives, at a lift of 1
        Series("chance", "quiet", [(0, 0), (1, 1)], dash=DASHED),
        Series("chance", "quiet", [(0, share), (1, share)], dash=DASHED),
        Series("chance", "quiet", [(RECORDED[1], 1), (1, 1)], dash=DASHED),
    )
    roc, precisions, lifts = ((*c, line) for c, line in zip(curves.values(), lines, strict=True))
    axes = ("false positive rate", "recall", "precision")
    rate, recall, precision = (Axis(label, UNIT) for label in axes)
    flagged = Axis("share of the examples, highest scores first")
    title = f"Precision and recall of {positive}"
    plots = [
        Plot("roc", f"ROC of {positive}", rate, recall, roc),
        Plot("precision", title, recall, precision, precisions),
        Plot("lift", f"Lift of {positive}", flagged, Axis("lift"), lifts),
    ]
    return [flags, *(plots if curves["lift"] else plots[:2])]


def scatter_plots(scatters: Mapping[str, list[Any]]) -> list[Plot]:
    """Predicted against true numbers of each operator's first seed, one plot per target."""
    panels: dict[str, list[Series]] = {}
    for name, (first, *_) in scatters.items():
        for entry in first:
            points = list(zip(entry.truth, entry.predicted, strict=True))
            series = Series(LABELS[name], name, points, dots="only")
            panels.setdefault(entry.target, []).append(series)
    plots = []
    for k, (target, entries) in enumerate(panels.items()):
        truth = [point[0] for entry in entries for point in entry.points] or [0.0]
        ends = [(value, value) for value in (min(truth), max(truth))]
        line = Series("predicted = true", "quiet", ends, dash=DASHED)
        title = f"{target}: predicted against true"
        plots.append(Plot(f"scatter-{k}", title, Axis("true"), Axis("predicted"), (*entries, line)))
    return plots


def explanation_section(run: RunRecord, explanation: Explanation) -> Section:
    """What matters to a run that was asked."""
    title = f"What matters: {LABELS[run.spec.operator]}, seed {run.spec.seed}"
    rows = feature_bars(explanation, run.objective)
    drawn: Any = {"widget": "bars", "values": rows} if rows else {}
    text = " ".join(f"{note}." for note in explanation.notes)
    grids = explanation_grids(explanation, run.objective)
    return Section(title, text, tuple(grids), "beside", **drawn)


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


def feature_bars(explanation: Explanation, objective: Objective) -> list[Bar]:
    """The same as a picture: bars from 0, with their intervals."""
    shown = explanation.features[:MOST_BARS]
    ends = [0.0, *(end for entry in shown for end in (entry.low, entry.high))]
    rows = []
    for entry in shown:
        text = signed(objective.shown(entry.loss), 2)
        rows.append((entry.name, text, "importance", 0.0, entry.loss, entry.low, entry.high))
    return bars(rows, min(ends), max(ends))
