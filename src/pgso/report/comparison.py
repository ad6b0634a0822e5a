"""Does learning the operator help here? Runs paired by seed, and a verdict in words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES, Objective
from pgso.records import RunRecord
from pgso.records.numerics import check_one_revision
from pgso.report.labels import LABELS, plain, signed
from pgso.report.notes import notes_on
from pgso.report.pairs import pairs
from pgso.report.statistics import (
    Interval,
    holm,
    holm_levels,
    spread,
    t_interval,
    t_test,
    wilcoxon_test,
)


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
    p_wilcoxon: float | None
    p_wilcoxon_holm: float | None

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


@dataclass(frozen=True)
class Comparison:
    """Fixed against learned operators on one dataset with one base architecture."""

    dataset: str
    conv: str
    metric: str
    operators: tuple[str, ...]
    test: Scores
    val: Scores
    notes: tuple[str, ...]  # what was left out and why, what ended badly, what to be careful with

    @property
    def objective(self) -> Objective:
        """Which way is better, and how scores are written."""
        return OBJECTIVES[self.metric]

    @property
    def digits(self) -> int:
        """Decimals of the scores in tables."""
        means = [abs(entry.mean) for part in (self.test, self.val) for entry in part.summaries]
        return self.objective.digits(max(means, default=0.0))

    @property
    def candidate(self) -> str | None:
        """The learned operator that validation prefers; test has no say in it.

        ``auto`` chooses on the same validation scores, and so would always be as good as the
        best: it is the candidate only if it is alone.
        """
        alone = [entry for entry in self.val.differences if entry.operator != "auto"]
        entries = alone or self.val.differences
        return max(entries, key=lambda entry: entry.gain).operator if entries else None

    @property
    def verdict(self) -> str:
        """One sentence, from the candidate's Holm-corrected interval on test."""
        found = self.test.difference(self.candidate) if self.candidate else None
        if found is None:
            return f"nothing to compare: {self._missing()}"
        if found.holm_interval is None:
            return _verdict_without_interval(found)
        if found.surely == "better":
            return f"learn it: {found.describe()}"
        if found.surely == "worse":
            return f"keep the fixed one: {found.describe()}"
        return f"no evidence that it helps here: {found.describe()}"

    def _missing(self) -> str:
        if "fixed" not in self.operators:
            return "there is no scored run of the fixed operator"
        if self.operators == ("fixed",):
            return "there is no scored run of a learned operator"
        return "no seed was scored both with the fixed and with a learned operator"


def compare(records: Iterable[RunRecord]) -> Comparison:
    """Pair the runs of one dataset and one base architecture by seed.

    Every run that has a score counts, also one that diverged later: leaving those out would
    flatter the operator that diverges.

    Args:
        records: Runs that differ in operator and seed only; see :func:`groups`.

    Returns:
        The comparison, in points (100 x the score) or in the unit of the targets.
    """
    runs = list(records)
    check_one_revision(runs, "run pgso compare again: it makes the old ones anew")
    found = groups(runs)
    if not found:
        raise InputError("there are no records to compare; run `pgso compare DATASET` first")
    if len(found) > 1:
        raise InputError(
            f"the records come from {len(found)} different settings "
            f"({_settings_that_differ(runs)}); compare the runs of one setting at a time"
        )
    seen: set[tuple[str, int]] = set()
    for record in runs:
        name = (record.spec.operator, record.spec.seed)
        if name in seen:
            raise InputError(f"there are two records of operator {name[0]!r} with seed {name[1]}")
        seen.add(name)
    first = runs[0]
    scored = {record.spec.operator for record in runs if record.test is not None}
    return Comparison(
        dataset=first.spec.dataset,
        conv=first.spec.conv,
        metric=_metric(runs),
        operators=tuple(name for name in LABELS if name in scored),
        test=_scores(runs, "test"),
        val=_scores(runs, "val"),
        notes=tuple(notes_on(runs)),
    )


def groups(records: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """The records that can be compared with each other: all is equal but operator and seed."""
    found: dict[str, list[RunRecord]] = {}
    for record in records:
        setting = record.spec.but(operator="fixed", seed=0).key
        found.setdefault(setting, []).append(record)
    return list(found.values())


def _scores(records: Sequence[RunRecord], part: Literal["test", "val"]) -> Scores:
    by_operator: dict[str, list[RunRecord]] = {name: [] for name in LABELS}
    objective = OBJECTIVES[_metric(records)]
    for record in sorted(records, key=lambda record: record.spec.seed):
        if getattr(record, part) is not None:
            by_operator[record.spec.operator].append(record)
    summaries = tuple(
        Summary(
            name,
            len(runs),
            float(np.mean(values)),
            spread(values),
            _score_interval(values, objective),
        )
        for name, runs in by_operator.items()
        if (values := [objective.shown(getattr(run, part)) for run in runs])
    )
    fixed = by_operator.pop("fixed")
    points = {
        name: {
            pair.run.spec.seed: difference
            for pair in pairs(runs, fixed)
            if (difference := pair.difference(part)) is not None
        }
        for name, runs in by_operator.items()
    }
    paired = {name: by_seed for name, by_seed in points.items() if by_seed}
    return Scores(summaries, _differences(paired, objective.name))


def _metric(records: Sequence[RunRecord]) -> str:
    """The objective of the runs; a run that failed does not know it."""
    return next((run.metric for run in records if run.status != "failed"), records[0].metric)


def _differences(paired: dict[str, dict[int, float]], metric: str) -> tuple[Difference, ...]:
    points = [tuple(by_seed.values()) for by_seed in paired.values()]
    p, wilcoxon = [t_test(each) for each in points], [wilcoxon_test(each) for each in points]
    p_holm, wilcoxon_holm, levels = holm(p), holm(wilcoxon), holm_levels(p)
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
            p_wilcoxon=wilcoxon[k],
            p_wilcoxon_holm=wilcoxon_holm[k],
        )
        for k, (name, by_seed) in enumerate(paired.items())
    )


def _score_interval(values: Sequence[float], objective: Objective) -> Interval | None:
    """No score is outside the objective's bounds, and neither is their mean."""
    found = t_interval(values)
    low, high = map(objective.shown, objective.bounds)
    return found and Interval(max(found.low, low), min(found.high, high))


def _verdict_without_interval(found: Difference) -> str:
    n = len(found.points)
    if n == 1:
        return (
            f"undecided: {found.amount()} on the only seed, "
            "and one seed gives no interval; run more seeds"
        )
    if abs(found.mean) < 1e-9:
        return f"no evidence that it helps here: the same score on each of {n} seeds"
    return (
        f"undecided: {found.amount()} on each of {n} seeds, "
        "too much alike for an interval; run more seeds"
    )


def _settings_that_differ(records: Sequence[RunRecord]) -> str:
    specs = [record.spec.model_dump(exclude={"operator", "seed"}) for record in records]
    fields = [name for name in specs[0] if any(spec[name] != specs[0][name] for spec in specs)]
    return ", ".join(fields)
