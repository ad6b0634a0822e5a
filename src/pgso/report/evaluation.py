"""How models are right and wrong, and what matters to them: tables, and numbers for plots."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Confusion, Detection, Explanation, FeatureImportance
from pgso.report.grid import Bar, Grid
from pgso.report.series import by_operator
from pgso.report.words import LABELS, NONE, plain, signed


def positive_class(records: Sequence[RunRecord]) -> str | None:
    """What ROC curves are about: a class, or the mean over several."""
    for run in records:
        if run.evaluation is not None and run.evaluation.detection is not None:
            return run.evaluation.detection.positive
    return None


def confusion_grids(records: Sequence[RunRecord]) -> list[Grid]:
    """A table per operator: true classes by predicted ones, summed over the seeds.

    Where 0.5 calls less than half of the positive class right, the same at a better threshold
    stands beside it.
    """
    grids = []
    for name, runs in by_operator(records, LABELS).items():
        tables = [e.confusion for run in runs if (e := run.evaluation) and e.confusion]
        if not tables:
            continue
        classes = tables[0].classes
        counts = np.sum([table.counts for table in tables], axis=0)
        title = f"{LABELS[name]}: true class by predicted class"
        seeds = f", summed over {len(tables)} seeds" if len(tables) > 1 else ""
        caption = f"{evaluated_part(runs)} examples{seeds}."
        pairs = [
            (e.confusion, e.detection)
            for run in runs
            if (e := run.evaluation) and e.confusion and e.detection and e.detection.costs
        ]
        rare = classes.index(pairs[0][1].positive) if len(pairs) == len(tables) else 0
        share = counts[rare, rare] / max(counts[rare].sum(), 1)
        is_missed = len(pairs) == len(tables) and share < 0.5
        if is_missed:
            caption += f" Only {100 * share:.0f} % of {classes[rare]} is called right."
        grids.append(_confusion_grid(f"confusion-{name}", title, classes, counts, caption))
        if is_missed:
            threshold, better = _at_best_threshold(pairs)
            title += f" at the threshold {threshold:.2g}"
            caption = f"Of the calibrated probability of {classes[rare]}; chosen to miss fewer."
            grids.append(_confusion_grid(f"confusion-{name}-at", title, classes, better, caption))
    return grids


def _confusion_grid(
    element: str, title: str, classes: Sequence[str], counts: Any, caption: str
) -> Grid:
    rows = tuple(
        (label, *(f"{n:,}" for n in row), f"{100 * row[k] / max(row.sum(), 1):.0f} %")
        for k, (label, row) in enumerate(zip(classes, counts, strict=True))
    )
    return Grid(title, ("true", *classes, "right"), rows, caption, id=element)


def _at_best_threshold(pairs: Sequence[tuple[Confusion, Detection]]) -> tuple[float, Any]:
    """The recorded threshold with the best balanced accuracy, and the counts at it."""
    tried = []
    for place, at in enumerate(pairs[0][1].costs):
        table = sum(_counts_at(*pair, place) for pair in pairs)
        rates = [table[k, k] / max(table[k].sum(), 1) for k in range(2)]
        tried.append((sum(rates), at.threshold, table))
    return max(tried, key=lambda entry: entry[0])[1:]


def _counts_at(confusion: Confusion, detection: Detection, place: int) -> Any:
    """Counts of true by predicted classes at a recorded threshold."""
    table, at = np.array(confusion.counts), detection.costs[place]
    rare = confusion.classes.index(detection.positive)
    positives, negatives = table[rare].sum(), table[1 - rare].sum()
    hits = round(at.recall * positives)
    alarms = round(at.flagged * table.sum()) - hits
    table[rare, rare], table[rare, 1 - rare] = hits, positives - hits
    table[1 - rare, rare], table[1 - rare, 1 - rare] = alarms, negatives - alarms
    return table


def costs_grid(records: Sequence[RunRecord], operator: str | None) -> Grid:
    """Of two classes: whom to flag if a miss costs so many false alarms, means over the seeds."""
    of_operator = [run for run in records if operator in (None, run.spec.operator)] or records
    found = [e.detection for run in of_operator if (e := run.evaluation) and e.detection]
    found = [entry for entry in found if entry.costs]
    rows = []
    for at in zip(*(entry.costs for entry in found), strict=True):
        precise = [one.precision for one in at if one.precision is not None]
        shares = [np.mean([one.flagged for one in at]), np.mean([one.recall for one in at])]
        shares += [np.mean(precise)] if precise else []
        cells = [f"{100 * share:.1f}" for share in shares]
        rows.append((f"{at[0].cost:g}", f"{at[0].threshold:.2g}", *cells, *[NONE] * (not precise)))
    who = LABELS[of_operator[0].spec.operator]
    return Grid(
        title="Whom to flag",
        header=("a miss costs", "threshold", "flagged", "recall", "precision"),
        rows=tuple(rows),
        caption=f"{who}: flag where the calibrated probability of {positive_class(records)} is "
        "above the threshold, if a miss costs so many false alarms. Shares in %.",
    )


def labels_grid(records: Sequence[RunRecord]) -> Grid:
    """Of several labels: how frequent each is, and its scores by operator, means over the seeds."""
    groups = {
        name: [run.evaluation.labels for run in runs if run.evaluation and run.evaluation.labels]
        for name, runs in by_operator(records, LABELS).items()
    }
    groups = {name: tables for name, tables in groups.items() if tables}
    tables = next(iter(groups.values()), [])
    rows = []
    for k, first in enumerate(tables[0] if tables else ()):
        having, answered = (
            sum(getattr(table[k], field) for table in tables) for field in ("positives", "examples")
        )
        cells = [first.label, f"{100 * having / max(answered, 1):.1f}"]
        for group in groups.values():
            scores = [table[k] for table in group]
            for field in ("roc_auc", "average_precision"):
                values = [v for score in scores if (v := getattr(score, field)) is not None]
                cells.append(f"{100 * float(np.mean(values)):.1f}" if values else NONE)
        rows.append(tuple(cells))
    names = [f"{LABELS[name]}, {score}" for name in groups for score in ("ROC-AUC", "AP")]
    return Grid(
        title="Label by label",
        header=("label", "share, %", *names),
        rows=tuple(rows),
        caption=(
            "In per cent. Guessing has a ROC-AUC of 50 and an average precision (AP) as large as "
            "the label's share. A dash: all of the examples have the label, or none."
        ),
    )


def calibration_grid(records: Sequence[RunRecord]) -> Grid:
    """Expected calibration error before and after a temperature, means over the seeds."""
    rows = []
    for name, runs in by_operator(records, LABELS).items():
        calibrations = [e.calibration for run in runs if (e := run.evaluation) and e.calibration]
        if calibrations:
            before, after, T = (
                float(np.mean([getattr(entry, field) for entry in calibrations]))
                for field in ("error_before", "error_after", "temperature")
            )
            rows.append((LABELS[name], f"{100 * before:.1f}", f"{T:.2f}", f"{100 * after:.1f}"))
    return Grid(
        title="Calibration error",
        header=("operator", "as trained", "temperature", "calibrated"),
        rows=tuple(rows),
        caption=(
            "In points: how far confidence and the share of right predictions are apart, on "
            f"{evaluated_part(records).lower()}. The temperature is fitted on validation; pgso "
            "predict applies it."
        ),
    )


def evaluated_part(records: Sequence[RunRecord]) -> str:
    """Which examples were counted: of runs without a test set, those of validation."""
    parts = [run.evaluation.part for run in records if run.evaluation is not None]
    return {"test": "Test", "val": "Validation"}[parts[0]] if parts else ""


def features_grid(explanation: Explanation, objective: Objective) -> Grid:
    """A row a column: what shuffling it costs on validation."""
    score = explanation.score
    of = "" if score is None else f" (score: {objective.written(score)})"
    left = f" {explanation.left_out:,} columns with small gradients were not shuffled."
    caption = (
        f"How much worse validation gets{of} when a column is shuffled among the nodes, in "
        f"{_unit(objective)}: mean and 95 % interval of {explanation.repeats} shuffles. A column "
        "matters if the losses of single items and the shuffles are both sure of it, corrected for "
        "the number of columns. Columns that say the same share their importance."
    )
    caption += left if explanation.left_out else ""
    header = ("column", "costs", "95 % interval", "matters")
    return Grid("Which columns matter", header, _rows(explanation.features, objective), caption)


def relations_grid(explanation: Explanation, objective: Objective) -> Grid:
    """A row a kind of edges: what moving them to other nodes costs on validation."""
    caption = (
        "How much worse validation gets when edges of this kind connect other nodes, in "
        f"{_unit(objective)}: mean and 95 % interval of {explanation.repeats} draws."
    )
    header, rows = ("edges", "costs", "95 % interval", "matters"), explanation.relations
    return Grid("Which kinds of edges matter", header, _rows(rows, objective), caption)


def _unit(objective: Objective) -> str:
    return objective.unit if objective.unit == "points" else objective.label


def _rows(
    importances: Sequence[FeatureImportance], objective: Objective
) -> tuple[tuple[str, ...], ...]:
    largest = max((abs(entry.loss) for entry in importances), default=0.0)
    digits = objective.digits(objective.shown(largest)) + 1
    rows = []
    for entry in importances:
        loss, low, high = (objective.shown(v) for v in (entry.loss, entry.low, entry.high))
        bounds = f"{plain(low, digits)} to {plain(high, digits)}"
        matters = "yes" if entry.matters else "no" if entry.high <= 0 else "unsure"
        rows.append((entry.name, signed(loss, digits), bounds, matters))
    return tuple(rows)


def edges_grid(explanation: Explanation) -> Grid:
    """A row an edge: how much it adds to the predictions."""
    rows = tuple((e.source, e.target, f"{e.importance:.3f}") for e in explanation.edges)
    largest = rows[0][2] if rows else ""
    tied = sum(shown == largest for _, _, shown in rows)
    ties = f" The first {tied} edges tie." if tied > 1 else ""
    return Grid(
        title="Which edges matter",
        header=("from", "to", "importance"),
        rows=rows,
        caption=(
            f"What an edge adds to the predictions of {explanation.items}, as a share of the edge "
            f"that adds most; by integrated gradients from no edges to the graph.{ties}"
        ),
    )


def feature_bars(explanation: Explanation, objective: Objective, most: int = 20) -> list[Bar]:
    """The same as a picture: bars from 0, with their intervals."""
    shown = explanation.features[:most]
    low = min([0.0, *(entry.low for entry in shown)])
    span = (max([0.0, *(entry.high for entry in shown)]) - low) or 1.0
    return [
        Bar(entry.name, signed(objective.shown(entry.loss), 2), "importance", *places)
        for entry in shown
        for places in [
            (100 * (value - low) / span for value in (0.0, entry.loss, entry.low, entry.high))
        ]
    ]
