"""Runs of the same seed, paired: scores, differences with their intervals, and one decision.

Two runs of one seed share the split and the first weights (docs/conventions.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from pgso.evaluation import statistics
from pgso.evaluation.statistics import Interval
from pgso.objectives import OBJECTIVES
from pgso.records import RunRecord
from pgso.records.spec import RECIPES
from pgso.report.words import LABELS, plain, signed


def by_operator(records: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """The records of each operator, by seed; operators that were not run are left out."""
    runs = sorted(records, key=lambda record: record.spec.seed)
    groups = {name: [run for run in runs if run.spec.operator == name] for name in LABELS}
    return {name: group for name, group in groups.items() if group}


class Pair(NamedTuple):
    """A run, and the run of the same seed that it is compared with."""

    run: RunRecord
    baseline: RunRecord

    def difference(self, part: str = "test") -> float | None:
        """The run's score minus its baseline's, as the objective shows it; None without both."""
        score, other = getattr(self.run, part), getattr(self.baseline, part)
        if score is None or other is None:
            return None
        return self.run.objective.shown(score - other)


def pairs(runs: Iterable[RunRecord], baselines: Iterable[RunRecord]) -> list[Pair]:
    """Each run with the baseline of its seed, in the order of the runs; others are left out."""
    by_seed = {record.spec.seed: record for record in baselines}
    return [Pair(run, by_seed[run.spec.seed]) for run in runs if run.spec.seed in by_seed]


def differences(
    runs: Iterable[RunRecord], baselines: Iterable[RunRecord], part: str = "test"
) -> list[float]:
    """Runs minus baselines of the same seed that both have a score, as the objective shows them."""
    values = (pair.difference(part) for pair in pairs(runs, baselines))
    return [difference for difference in values if difference is not None]


@dataclass(frozen=True)
class Summary:
    """The scores of one operator over its seeds, as the objective shows them (mostly 100 x)."""

    operator: str
    n: int
    mean: float
    sd: float | None  # none for one seed
    interval: Interval | None  # 95 % of the mean


def summary(operator: str, runs: Iterable[RunRecord], metric: str, part: str) -> Summary | None:
    """Mean, spread and interval of the scores of one operator; None if no run has a score."""
    objective = OBJECTIVES[metric]
    scores = [score for run in runs if (score := getattr(run, part)) is not None]
    if not scores:
        return None
    values = list(map(objective.shown, scores))
    ends = statistics.t_interval(values)
    if ends is not None:  # no mean of scores is outside the objective's bounds
        low, high = map(objective.shown, objective.bounds)
        ends = Interval(max(ends.low, low), min(ends.high, high))
    return Summary(operator, len(values), float(np.mean(values)), statistics.spread(values), ends)


@dataclass(frozen=True)
class Difference:
    """A learned operator minus the fixed one, seed by seed, as the objective shows scores."""

    operator: str
    metric: str
    seeds: tuple[int, ...]
    points: tuple[float, ...]
    mean: float
    interval: Interval | None  # 95 %, this comparison alone
    holm_interval: Interval | None  # leaves out 0 if and only if p_holm is at most 0.05
    p: float | None  # paired t-test
    p_holm: float | None

    def describe(self, *, alone: bool = False) -> str:
        """In words: ``PGSO +8.6 points (95 % interval 8.0 to 9.2, 10 seeds)``; alone, the amount.

        There are as many decimals as it takes to tell the ends of the interval apart.
        """
        objective, ends = OBJECTIVES[self.metric], self.holm_interval
        digits = objective.digits(max(map(abs, ends or (self.mean,))))
        if ends is not None and objective.in_percent:
            digits = 1 if ends.high - ends.low >= 0.5 else 2
        amount = f"{LABELS[self.operator]} {signed(self.mean, digits)} {objective.unit}"
        if alone:
            return amount
        said = "1 seed" if len(self.points) == 1 else f"{len(self.points)} seeds"
        if ends is not None:
            low, high = (plain(end, digits) for end in ends)
            said = f"95 % interval {low} to {high}, {said}"
        return f"{amount} ({said})"

    @property
    def surely(self) -> Literal["better", "worse"] | None:
        """What Holm's interval says, if it leaves out 0."""
        if self.holm_interval is None or self.holm_interval.low <= 0 <= self.holm_interval.high:
            return None
        return "better" if OBJECTIVES[self.metric].merit(self.mean) > 0 else "worse"


def operator_differences(
    runs: Mapping[str, Sequence[RunRecord]],
    baselines: Sequence[RunRecord],
    metric: str,
    part: str = "test",
) -> tuple[Difference, ...]:
    """Each learned operator minus the baseline on the seeds that both have, Holm-corrected."""
    objective, paired = OBJECTIVES[metric], {}
    others = {run.spec.seed: getattr(run, part) for run in baselines}
    for name, group in runs.items():
        by_seed = {}
        for run in group:
            score, other = getattr(run, part), others.get(run.spec.seed)
            if score is not None and other is not None:
                by_seed[run.spec.seed] = objective.shown(score - other)
        if by_seed and name != "fixed":
            paired[name] = by_seed
    p = [statistics.t_test(list(by_seed.values())) for by_seed in paired.values()]
    corrected = zip(paired.items(), p, statistics.holm_with_levels(p), strict=True)
    made = []
    for (name, by_seed), alone, (together, level) in corrected:
        points = tuple(by_seed.values())
        ends = (statistics.t_interval(points), statistics.t_interval(points, level))
        scores = (name, metric, tuple(by_seed), points, float(np.mean(points)))
        made.append(Difference(*scores, *ends, alone, together))
    return tuple(made)


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
    judged = {}
    for name, runs in by_operator(records).items():
        by_seed = {run.spec.seed: run.judged for run in runs if run.judged is not None}
        if by_seed and name != "auto":  # it chooses by itself
            judged[name] = by_seed
    if "fixed" not in judged or len(judged) < 2:
        return None
    needed = 1 - (1 - RECIPES["robust"]["evidence"]) / (len(judged) - 1)
    kept, sure = statistics.decide(OBJECTIVES[records[0].metric], judged, needed)
    labels = sum(len(one.items) for one in judged["fixed"].values())
    return Decision(kept, sure, needed, len(judged["fixed"]), labels)
