"""Does learning the operator help here? Runs paired by seed, and a verdict in words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES, Objective
from pgso.records import RunRecord, RunSpec
from pgso.records.numerics import check_one_revision
from pgso.report.differences import (
    Decision,
    Difference,
    Scores,
    Summary,
    decision_of,
    operator_differences,
    summary,
)
from pgso.report.series import by_operator
from pgso.report.words import LABELS, plain

STRONGER = "take a stronger network with its own fixed operator"
TAKE_FOUND = "use what pgso find recommends"
FEW_SEEDS = 5


@dataclass(frozen=True)
class Reference:
    """A network with more structure and the architecture's own operator, on the same seeds."""

    description: str  # "a fixed residual gcn of 6 layers"
    changes: dict[str, Any]  # the choices in which it differs from the runs that are compared
    test: Summary
    val: Summary | None
    differences: tuple[Difference, ...]  # each learned operator minus the reference, on test

    def difference(self, operator: str | None) -> Difference | None:
        """The comparison of one learned operator with the reference, if there is one."""
        return next((entry for entry in self.differences if entry.operator == operator), None)

    @property
    def code(self) -> str:
        """The reference as a change of the spec that is compared."""
        changed = ", ".join(f"{name}={value!r}" for name, value in self.changes.items())
        return f"spec.but({changed})"


if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class Comparison:
    """Fixed against learned operators on one dataset with one base architecture."""

    dataset: str
    conv: str
    metric: str
    operators: tuple[str, ...]
    test: Scores
    val: Scores
    notes: tuple[str, ...]  # what was left out and why, what ended badly, what to be careful with
    reference: Reference | None = None  # a stronger fixed network beside
    decision: Decision | None = None  # of the validation labels of all seeds, where they judge
    positive: str | None = None  # the class that scores are about, where they are about one of two
    runs: tuple[RunRecord, ...] = field(default=(), compare=False)  # what was compared
    reference_runs: tuple[RunRecord, ...] = field(default=(), compare=False)

    def to_frame(self) -> "pandas.DataFrame":
        """One row per operator: seeds, mean test score, and its difference to the fixed one."""
        import pandas

        rows = []
        for entry in self.test.summaries:
            row: dict[str, Any] = {"operator": entry.operator, "seeds": entry.n, "test": entry.mean}
            difference = self.test.difference(entry.operator)
            if difference is not None:
                low, high = difference.holm_interval or (None, None)
                row |= {"difference": difference.mean, "low": low, "high": high}
            rows.append(row)
        columns = ["operator", "seeds", "test", "difference", "low", "high"]
        return pandas.DataFrame(rows, columns=columns)

    def _repr_html_(self) -> str:
        frame: str = self.to_frame().to_html(index=False, float_format="{:.4g}".format)
        heading = f"{self.dataset}, {self.conv}, {self.objective.heading}"
        return f"<p><b>{escape(heading)}</b>: {escape(self.verdict)}</p>{frame}"

    def report(self, folder: str | Path) -> Path:
        """Write ``report.html``, ``report.md`` and ``comparison.json`` into a folder."""
        from pgso.report.page import write_report

        return write_report(self.runs, folder, reference=self.reference_runs)

    def __repr__(self) -> str:
        """``Comparison(karate, gcn: keep the fixed one ...)``: all scores would fill pages."""
        return f"Comparison({self.dataset}, {self.conv}: {self.verdict})"

    @property
    def objective(self) -> Objective:
        """Which way is better, and how scores are written."""
        return OBJECTIVES[self.metric].of_class(self.positive)

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
        """One sentence, from the candidate's Holm-corrected intervals on test.

        It speaks about the best fixed network: gains over a weak one are no reason to learn S.
        """
        gain = self.test.difference(self.candidate) if self.candidate else None
        if gain is None:
            return f"nothing to compare: {self._missing()}"
        reference = self.reference
        against = reference.difference(self.candidate) if reference else None
        if reference is not None and against is not None:
            beside = f"against {reference.description} {against.describe()}"
            if against.surely == "worse":
                score = f"{self.objective.label} {plain(reference.test.mean, self.digits)}"
                return f"{STRONGER}: it has {score}; {beside}"
            if gain.surely == "better" and against.surely != "better":
                return f"{self._take}, or take a stronger network: {gain.describe()}; {beside}"
            if gain.surely == "better":
                return f"{self._take}: {gain.describe()}; {beside}"
        if gain.holm_interval is None:
            return _verdict_without_interval(gain)
        if gain.surely == "better":
            return f"{self._take}: {gain.describe()}"
        if gain.surely == "worse":
            return f"keep the fixed one: {gain.describe()}"
        return f"no evidence that it helps here: {gain.describe()}"

    @property
    def _take(self) -> str:
        return TAKE_FOUND if self.candidate == "found" else "learn it"

    def _missing(self) -> str:
        if not self.operators:
            return (
                f"no run has a test score: all failed, or {self.objective.label} has no value on "
                "this test set, such as where all are of one class; choose another objective or "
                "split"
            )
        if "fixed" not in self.operators:
            return "there is no scored run of the fixed operator"
        if self.operators == ("fixed",):
            return "there is no scored run of a learned operator"
        return "no seed was scored both with the fixed and with a learned operator"


def compare(records: Iterable[RunRecord], reference: Iterable[RunRecord] = ()) -> Comparison:
    """Pair the runs of one dataset and one base architecture by seed.

    Every run that has a score counts, also one that diverged later: leaving those out would
    flatter the operator that diverges.

    Args:
        records: Runs that differ in operator and seed only; see :func:`groups`.
        reference: Runs of a stronger fixed network on the same seeds, if there are any.

    Returns:
        The comparison, in points (100 x the score) or in the unit of the targets.
    """
    runs, reference = list(records), list(reference)
    check_one_revision([*runs, *reference], "run pgso compare again: it makes the old ones anew")
    settings = groups(runs)
    if not settings:
        raise InputError("there are no records to compare; run `pgso compare DATASET` first")
    if len(settings) > 1:
        raise InputError(
            f"the records come from {len(settings)} different settings "
            f"({_settings_that_differ(runs)}); compare the runs of one setting at a time"
        )
    states = {record.data for record in runs if record.data is not None}
    if len(states) > 1:
        raise InputError(
            f"the records come from {len(states)} states of the files of {runs[0].spec.dataset}; "
            "run pgso compare again: it makes the old ones anew"
        )
    seen: set[tuple[str, int]] = set()
    for record in runs:
        name = (record.spec.operator, record.spec.seed)
        if name in seen:
            raise InputError(f"there are two records of operator {name[0]!r} with seed {name[1]}")
        seen.add(name)
    first, decision = runs[0], decision_of(runs)
    scored = {record.spec.operator for record in runs if record.test is not None}
    return Comparison(
        dataset=first.spec.dataset,
        conv=first.spec.conv,
        metric=_metric(runs),
        operators=tuple(name for name in LABELS if name in scored),
        test=_scores(runs, "test"),
        val=_scores(runs, "val"),
        notes=(*notes_on(runs), *([] if decision is None else [decision.sentence])),
        reference=_reference(runs, list(reference)),
        decision=decision,
        positive=next((run.positive for run in runs if run.positive), None),
        runs=tuple(runs),
        reference_runs=tuple(reference),
    )


def nothing_found(record: RunRecord) -> bool:
    """Whether a run of what ``find`` found has found nothing: it has no answer for such data."""
    return record.spec.operator == "found" and record.status == "done" and record.rung is None


def groups(records: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """The records that can be compared with each other: all is equal but operator and seed."""
    by_setting: dict[str, list[RunRecord]] = {}
    for record in records:
        setting = record.spec.but(operator="fixed", seed=0).key
        by_setting.setdefault(setting, []).append(record)
    return list(by_setting.values())


def _scores(records: Sequence[RunRecord], part: Literal["test", "val"]) -> Scores:
    metric = _metric(records)
    runs = by_operator(records, LABELS)
    scores = {name: _shown(group, metric, part) for name, group in runs.items()}
    objective = OBJECTIVES[metric]
    summaries = (summary(name, values, objective) for name, values in scores.items() if values)
    fixed = runs.pop("fixed", [])
    return Scores(tuple(summaries), operator_differences(runs, fixed, metric, part))


def _shown(records: Iterable[RunRecord], metric: str, part: str) -> list[float]:
    """The scores as people read them, of those that have one."""
    scores = [getattr(record, part) for record in records]
    return [OBJECTIVES[metric].shown(score) for score in scores if score is not None]


def _reference(runs: Sequence[RunRecord], reference: Sequence[RunRecord]) -> Reference | None:
    """The learned operators against another fixed network, on the seeds that both have."""
    runs_with_scores = scored(reference)
    if not runs_with_scores:
        return None
    if len({record.spec.but(seed=0).key for record in reference}) > 1:
        raise InputError("the records of the reference come from different settings; give one")
    metric = _metric(runs)
    learned = by_operator(runs, [name for name in LABELS if name != "fixed"])
    val = _shown(runs_with_scores, metric, "val")
    objective = OBJECTIVES[metric]
    return Reference(
        description=describe(runs_with_scores[0].spec),
        changes=changes(runs[0].spec, runs_with_scores[0].spec),
        test=summary("fixed", _shown(runs_with_scores, metric, "test"), objective),
        val=summary("fixed", val, objective) if val else None,
        differences=operator_differences(learned, runs_with_scores, metric),
    )


def _metric(records: Sequence[RunRecord]) -> str:
    """The objective of the runs; a run that failed does not know it."""
    return next((run.metric for run in records if run.status != "failed"), records[0].metric)


def _verdict_without_interval(difference: Difference) -> str:
    n = len(difference.points)
    if n == 1:
        return (
            f"undecided: {difference.amount()} on the only seed, "
            "and one seed gives no interval; run more seeds"
        )
    if abs(difference.mean) < 1e-9:
        return f"no evidence that it helps here: the same score on each of {n} seeds"
    return (
        f"undecided: {difference.amount()} on each of {n} seeds, "
        "too much alike for an interval; run more seeds"
    )


def _settings_that_differ(records: Sequence[RunRecord]) -> str:
    specs = [record.spec.model_dump(exclude={"operator", "seed"}) for record in records]
    fields = [name for name in specs[0] if any(spec[name] != specs[0][name] for spec in specs)]
    return ", ".join(fields)


def describe(spec: RunSpec) -> str:
    """A fixed network in words.

    Example:
        >>> describe(RunSpec(dataset="karate", residual=True, norm="batch", num_layers=6))
        'a fixed residual gcn of 6 layers with batch norm'
    """
    residual = "residual " if spec.residual else ""
    norm = f" with {spec.norm} norm" if spec.norm else ""
    layers = "1 layer" if spec.num_layers == 1 else f"{spec.num_layers} layers"
    return f"a fixed {residual}{spec.conv} of {layers}{norm}"


def changes(spec: RunSpec, reference: RunSpec) -> dict[str, Any]:
    """What a reference has that the compared runs have not; its operator first."""
    old = spec.model_dump(exclude={"operator", "seed"})
    new = reference.model_dump(exclude={"operator", "seed"})
    return {"operator": reference.operator} | {
        name: value for name, value in new.items() if value != old[name]
    }


def scored(records: Iterable[RunRecord]) -> list[RunRecord]:
    """The runs of a reference that count."""
    return [record for record in records if record.test is not None]


def notes_on(records: Sequence[RunRecord]) -> Iterable[str]:
    """What ended badly, what was left out and why, what to be careful with."""
    by_operator: dict[str, set[int]] = {name: set() for name in LABELS}
    for record in records:
        name = f"{LABELS[record.spec.operator]}, seed {record.spec.seed}"
        if record.status == "failed":
            yield f"{name} failed and is left out: {record.error or 'no reason was recorded'}"
        elif record.status == "diverged" and record.test is None:
            yield f"{name} diverged before it had a score and is left out: {record.error}"
        elif record.status == "diverged":
            yield f"{name} diverged; its best epoch before that counts: {record.error}"
        if record.test is not None:
            by_operator[record.spec.operator].add(record.spec.seed)
    rungs = Counter(run.rung for run in records if run.spec.operator == "found" and run.rung)
    for rung, count in rungs.most_common(1):
        some = "" if count == rungs.total() else f" on {count} of {rungs.total()} seeds"
        dataset = records[0].spec.dataset
        yield f"pgso find recommends {rung}{some}; pgso train {dataset} --operator found trains it"
    one_layer = all(record.spec.num_layers == 1 for record in records)
    compared = by_operator["fixed"] and by_operator["pgso"]
    if one_layer and compared and not by_operator["mpgso"]:
        yield "the network has one layer, so that mPGSO is PGSO and is left out"
    fixed = by_operator.pop("fixed")
    for operator, seeds in by_operator.items():
        unpaired = sorted(seeds ^ fixed) if seeds and fixed else []
        if unpaired:
            listed = ", ".join(map(str, unpaired))
            noun = "seed" if len(unpaired) == 1 else "seeds"
            yield (
                f"{noun} {listed} {'is' if len(unpaired) == 1 else 'are'} not in the comparison of "
                f"{LABELS[operator]} with fixed: scored with one of the two only"
            )
    paired = [len(seeds & fixed) for seeds in by_operator.values() if seeds & fixed]
    if paired and min(paired) == 1:
        yield "one seed gives no interval: nothing can be said about chance"
    elif paired and min(paired) < FEW_SEEDS:
        yield f"only {min(paired)} seeds: the intervals rest on few differences"
