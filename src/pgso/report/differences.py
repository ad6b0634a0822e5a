"""Runs of the same seed, paired: scores, differences with their intervals, and one decision.

Two runs of one seed share the split and the first weights, so that their difference is due to
what else differs between them (docs/conventions.md). Nothing else pairs scores.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from pgso.evaluation.statistics import (
    Interval,
    decide,
    holm,
    holm_levels,
    spread,
    t_interval,
    t_test,
)
from pgso.objectives import OBJECTIVES, Objective
from pgso.records import RunRecord
from pgso.records.spec import RECIPES
from pgso.report.words import LABELS, plain, signed


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
    """Runs minus baselines of the same seed, as the objective shows scores (mostly in points).

    Args:
        runs: What is compared, such as the runs with a learned operator.
        baselines: What it is compared with, at most one run a seed.
        part: ``"test"`` or ``"val"``. Pairs that lack one of the two scores are left out.
    """
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

    def describe(self) -> str:
        """The difference in words: ``PGSO +8.6 points (95 % interval 8.0 to 9.2, 10 seeds)``."""
        n = len(self.points)
        seeds = "1 seed" if n == 1 else f"{n} seeds"
        if self.holm_interval is None:
            return f"{self.amount()} ({seeds})"
        low, high = self.holm_interval
        digits = self.digits
        return (
            f"{self.amount()} "
            f"(95 % interval {plain(low, digits)} to {plain(high, digits)}, {seeds})"
        )

    def amount(self) -> str:
        """The mean difference in words: ``PGSO +8.6 points``, ``PGSO -0.12 in RMSE``."""
        unit = OBJECTIVES[self.metric].unit
        return f"{LABELS[self.operator]} {signed(self.mean, self.digits)} {unit}"

    @property
    def digits(self) -> int:
        """Decimals that tell the ends of the interval apart."""
        objective = OBJECTIVES[self.metric]
        if self.holm_interval is None:
            return objective.digits(self.mean)
        low, high = self.holm_interval
        if objective.in_percent:
            return 1 if high - low >= 0.5 else 2
        return objective.digits(max(abs(low), abs(high)))

    @property
    def gain(self) -> float:
        """The mean difference, turned so that larger is better."""
        return OBJECTIVES[self.metric].merit(self.mean)

    @property
    def surely(self) -> Literal["better", "worse"] | None:
        """What Holm's interval says, if it leaves out 0."""
        if self.holm_interval is None or self.holm_interval.low <= 0 <= self.holm_interval.high:
            return None
        return "better" if self.gain > 0 else "worse"


@dataclass(frozen=True)
class Scores:
    """Everything about one part of the data, test or validation."""

    summaries: tuple[Summary, ...]
    differences: tuple[Difference, ...]

    def difference(self, operator: str) -> Difference | None:
        """The comparison of one learned operator with the fixed one, if there is one."""
        return next((entry for entry in self.differences if entry.operator == operator), None)


def summary(operator: str, values: Sequence[float], objective: Objective) -> Summary:
    """Mean, spread and interval of the scores of one operator."""
    ends = t_interval(values)
    if ends is not None:  # no mean of scores is outside the objective's bounds
        low, high = map(objective.shown, objective.bounds)
        ends = Interval(max(ends.low, low), min(ends.high, high))
    return Summary(operator, len(values), float(np.mean(values)), spread(values), ends)


def operator_differences(
    runs: Mapping[str, Sequence[RunRecord]],
    baselines: Sequence[RunRecord],
    metric: str,
    part: str = "test",
) -> tuple[Difference, ...]:
    """Each operator minus the baseline on the seeds that both have, Holm-corrected.

    Args:
        runs: The runs of every operator.
        baselines: What they are compared with, at most one run a seed.
        metric: The objective's name.
        part: ``"test"`` or ``"val"``.
    """
    paired = {
        name: {
            pair.run.spec.seed: difference
            for pair in pairs(sorted(group, key=lambda run: run.spec.seed), baselines)
            if (difference := pair.difference(part)) is not None
        }
        for name, group in runs.items()
    }
    paired = {name: by_seed for name, by_seed in paired.items() if by_seed}
    points = [tuple(by_seed.values()) for by_seed in paired.values()]
    p = [t_test(differences) for differences in points]
    p_holm, levels = holm(p), holm_levels(p)
    return tuple(
        Difference(
            operator=name,
            metric=metric,
            seeds=tuple(by_seed),
            points=points[k],
            mean=float(np.mean(points[k])),
            interval=t_interval(points[k]),
            holm_interval=t_interval(points[k], levels[k]),
            p=p[k],
            p_holm=p_holm[k],
        )
        for k, (name, by_seed) in enumerate(paired.items())
    )


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
