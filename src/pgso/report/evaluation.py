"""How models are right and wrong, and what matters to them: tables, and numbers for plots."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pgso.objectives import Objective
from pgso.records import RunRecord
from pgso.records.record import Calibration, Confusion, Explanation, FeatureImportance, LabelScore
from pgso.report.grid import Grid
from pgso.report.series import by_operator
from pgso.report.words import LABELS, plain, signed


def positive_class(records: Sequence[RunRecord]) -> str | None:
    """What ROC curves are about: a class, or the mean over several."""
    for run in records:
        if run.evaluation is not None and run.evaluation.detection is not None:
            return run.evaluation.detection.positive
    return None


def confusion_grids(records: Sequence[RunRecord]) -> dict[str, Grid]:
    """A table per operator: true classes by predicted ones, summed over the seeds."""
    return {
        name: _confusion_grid(name, tables, evaluated_part(runs))
        for name, runs in by_operator(records, LABELS).items()
        if (tables := [e.confusion for run in runs if (e := run.evaluation) and e.confusion])
    }


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
            cells += [_mean_score(scores, field) for field in ("roc_auc", "average_precision")]
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


def _mean_score(scores: Sequence[LabelScore], field: str) -> str:
    values = [value for score in scores if (value := getattr(score, field)) is not None]
    return f"{100 * float(np.mean(values)):.1f}" if values else "–"


def calibration_grid(records: Sequence[RunRecord]) -> Grid:
    """Expected calibration error before and after a temperature, means over the seeds."""
    rows = []
    for name, runs in by_operator(records, LABELS).items():
        calibrations = _calibrations(runs)
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
            "In points: how far confidence and the share of right answers are apart, on "
            f"{evaluated_part(records).lower()}. The temperature is fitted on validation; pgso "
            "predict applies it."
        ),
    )


def _calibrations(runs: Sequence[RunRecord]) -> list[Calibration]:
    return [e.calibration for run in runs if (e := run.evaluation) and e.calibration]


def evaluated_part(records: Sequence[RunRecord]) -> str:
    """Which examples were counted: of runs without a test set, those of validation."""
    parts = [run.evaluation.part for run in records if run.evaluation is not None]
    return {"test": "Test", "val": "Validation"}[parts[0]] if parts else ""


def _confusion_grid(name: str, tables: Sequence[Confusion], part: str) -> Grid:
    classes = tables[0].classes
    counts = np.sum([table.counts for table in tables], axis=0)
    rows = tuple(
        (label, *(f"{n:,}" for n in row), f"{100 * row[k] / max(row.sum(), 1):.0f} %")
        for k, (label, row) in enumerate(zip(classes, counts, strict=True))
    )
    seeds = f", summed over {len(tables)} seeds" if len(tables) > 1 else ""
    return Grid(
        title=f"{LABELS[name]}: true class by predicted class",
        id=f"confusion-{name}",
        header=("true", *classes, "right"),
        rows=rows,
        caption=f"{part} examples{seeds}.",
    )


class Bar(NamedTuple):
    """One importance in a picture: per cent of its width."""

    name: str
    text: str
    left: float
    width: float
    low: float
    high: float


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

    def across(value: float) -> float:
        return round(100 * (value - low) / span, 2)

    return [
        Bar(
            name=entry.name,
            text=signed(objective.shown(entry.loss), 2),
            left=min(across(0), across(entry.loss)),
            width=abs(across(entry.loss) - across(0)),
            low=across(entry.low),
            high=across(entry.high),
        )
        for entry in shown
    ]
