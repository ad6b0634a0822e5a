"""What matters, in tables."""

from collections.abc import Sequence
from typing import NamedTuple

from pgso.objectives import Objective
from pgso.records.explanation import Explanation, FeatureImportance
from pgso.report.grid import Grid
from pgso.report.labels import plain, signed


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
    of = (
        f" (score: {objective.written(explanation.score)})" if explanation.score is not None else ""
    )
    left = f" {explanation.left_out:,} columns with small gradients were not shuffled."
    unit = objective.unit if objective.unit == "points" else objective.label
    return Grid(
        title="Which columns matter",
        header=("column", "costs", "95 % interval", "matters"),
        rows=_rows(explanation.features, objective),
        caption=(
            f"How much worse validation gets{of} when a column is shuffled among the nodes, in "
            f"{unit}: mean and 95 % interval of {explanation.repeats} shuffles. A column matters "
            "if the losses of single items and the shuffles are both sure of it, corrected for the "
            "number of columns. Columns that say the same share their importance."
            + (left if explanation.left_out else "")
        ),
    )


def relations_grid(explanation: Explanation, objective: Objective) -> Grid:
    """A row a kind of edges: what moving them to other nodes costs on validation."""
    unit = objective.unit if objective.unit == "points" else objective.label
    return Grid(
        title="Which kinds of edges matter",
        header=("edges", "costs", "95 % interval", "matters"),
        rows=_rows(explanation.relations, objective),
        caption=(
            "How much worse validation gets when edges of this kind connect other nodes, in "
            f"{unit}: mean and 95 % interval of {explanation.repeats} draws."
        ),
    )


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
