"""One decision from the judging labels of all seeds together, not one for every seed alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from pgso.evaluation.evidence import decide
from pgso.objectives import OBJECTIVES
from pgso.records import RunRecord
from pgso.records.spec import RECIPES
from pgso.report.labels import LABELS


@dataclass(frozen=True)
class Decision:
    """What validation says to keep, and how sure it is of each challenger."""

    kept: str  # an operator
    confidence: dict[str, float]  # that each one is better than the fixed operator
    needed: float  # by each: challengers share the risk
    seeds: int
    labels: int  # that judged, over all seeds

    @property
    def sentence(self) -> str:
        """The decision in words."""
        sure = ", ".join(f"{LABELS[n]} {100 * c:.1f} %" for n, c in self.confidence.items())
        seeds = "1 seed" if self.seeds == 1 else f"all {self.seeds} seeds together"
        operator = "the fixed operator" if self.kept == "fixed" else LABELS[self.kept]
        return (
            f"{self.labels:,} validation labels of {seeds}, which chose no epoch and taught no S, "
            f"say: keep {operator} (sure of a gain: {sure}; {100 * self.needed:.1f} % needed)"
        )


def decision_of(records: Sequence[RunRecord]) -> Decision | None:
    """The decision; None unless the fixed operator and another one have labels that judged."""
    judged = {
        name: {
            run.spec.seed: run.judged
            for run in records
            if run.spec.operator == name and run.judged is not None
        }
        for name in LABELS
        if name != "auto"  # it chooses by itself
    }
    judged = {name: by_seed for name, by_seed in judged.items() if by_seed}
    if "fixed" not in judged or len(judged) < 2:
        return None
    needed = 1 - (1 - RECIPES["robust"]["evidence"]) / (len(judged) - 1)
    operator, sure = decide(OBJECTIVES[records[0].metric], judged, needed)
    fixed = judged["fixed"]
    return Decision(
        operator, sure, needed, len(fixed), sum(len(one.items) for one in fixed.values())
    )
