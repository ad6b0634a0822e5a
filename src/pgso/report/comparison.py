"""Does learning the operator help here? Runs paired by seed, and a verdict in words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES, Objective
from pgso.records import RunRecord, RunSpec
from pgso.records.data import DataRecord
from pgso.records.files import write_atomically
from pgso.records.numerics import check_one_revision
from pgso.report import differences as paired
from pgso.report.doubts import notes_on, nothing_found
from pgso.report.words import command_of, has_command, plain

if TYPE_CHECKING:
    import pandas

ENOUGH_SEEDS = 10


class Differences:
    """Learned operators against one network."""

    differences: tuple[paired.Difference, ...]

    def difference(self, operator: str | None) -> paired.Difference | None:
        """The comparison of one learned operator with that network, if there is one."""
        return next((entry for entry in self.differences if entry.operator == operator), None)


@dataclass(frozen=True)
class Scores(Differences):
    """Everything about one part of the data, test or validation."""

    summaries: tuple[paired.Summary, ...]
    differences: tuple[paired.Difference, ...]  # each learned operator minus the fixed one


@dataclass(frozen=True)
class Reference(Differences):
    """A network with more structure and the architecture's own operator, on the same seeds."""

    description: str  # "a fixed residual gcn of 6 layers"
    changes: dict[str, Any]  # the choices in which it differs from the runs that are compared
    test: paired.Summary
    val: paired.Summary | None
    differences: tuple[paired.Difference, ...]  # each learned operator minus the reference, on test


@dataclass(frozen=True)
class Found:
    """What ``find`` recommends, as it was trained: the rung of most seeds."""

    rung: str
    seeds: int  # that have this rung
    of: int
    S: tuple[float, ...] | None  # where it starts; None without a graph
    network: dict[str, Any]  # what the rung changed in the network
    command: str  # trains it; empty for data in memory
    head: str = ""  # what predicts: the network in words, and the score of the closed form beside

    @property
    def sentence(self) -> str:
        """The recommendation in words, with the command."""
        some = "" if self.seeds == self.of else f" on {self.seeds} of {self.of} seeds"
        S = "" if self.S is None else f", S = ({', '.join(f'{value:.4g}' for value in self.S)})"
        head = f", head: {self.head}" if self.head else ""
        train = f"; {self.command} trains it" if self.command else ""
        return f"pgso find recommends {self.rung}{some}{S}{head}{train}"


class Judgement(NamedTuple):
    """A verdict in two parts, whether it is good news, and the run that follows from it."""

    text: str
    reason: str
    tone: Literal["good", "bad", "open"] = "open"
    spec: RunSpec | None = None  # to be trained; None: more seeds are needed


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
    decision: paired.Decision | None = None  # of validation labels, where they judge
    positive: str | None = None  # the class that scores are about, where they are about one of two
    found: Found | None = None  # what find recommends
    runs: tuple[RunRecord, ...] = field(default=(), compare=False)  # what was compared
    reference_runs: tuple[RunRecord, ...] = field(default=(), compare=False)
    left_out: tuple[RunRecord, ...] = field(default=(), compare=False)  # that found nothing
    data: tuple[DataRecord, ...] = field(default=(), compare=False)  # one per seed, for the page
    objective: Objective = field(kw_only=True)  # which way is better, and how scores are written
    digits: int = field(kw_only=True)  # decimals of the scores in tables
    # The learned operator that validation prefers; ``auto``, which chose on it, only if alone.
    candidate: str | None = field(kw_only=True)

    def to_frame(self) -> "pandas.DataFrame":
        """One row per operator: seeds, mean test score, and its difference to the fixed one."""
        import pandas

        rows, nan = [], float("nan")
        for entry in self.test.summaries:
            found = self.test.difference(entry.operator)
            ends = (found and found.holm_interval) or (nan, nan)
            rows.append((entry.operator, entry.n, entry.mean, found.mean if found else nan, *ends))
        columns = ["operator", "seeds", "test", "difference", "low", "high"]
        return pandas.DataFrame(rows, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """All numbers and sentences, without the runs, ready for JSON."""
        beside: dict[str, Any] = {"runs": (), "reference_runs": (), "left_out": (), "data": ()}
        numbers = asdict(replace(self, **beside))
        for name in (*beside, "objective", "digits", "candidate"):
            del numbers[name]
        return numbers | {"verdict": self.verdict, "next": self.next_command}

    def _repr_html_(self) -> str:
        frame: str = self.to_frame().to_html(index=False, float_format="{:.4g}".format)
        heading = f"{self.dataset}, {self.conv}, {self.objective.heading}"
        return f"<p><b>{escape(heading)}</b>: {escape(self.verdict)}</p>{frame}"

    def report(self, path: str | Path) -> Path:
        """Write the page to a file ``*.html``; else a folder, with the tables and their data."""
        from pgso.report.page import comparison_page, comparison_record, write_comparison
        from pgso.report.sections import as_html

        summary = comparison_record(self, self.data)
        if Path(path).suffix != ".html":
            return write_comparison(self, summary, path, self.data)
        write_atomically(Path(path), as_html(comparison_page(self, summary, self.data)))
        return Path(path)

    def __repr__(self) -> str:
        """``Comparison(karate, gcn: keep the fixed operator ...)``: all scores would fill pages."""
        return f"Comparison({self.dataset}, {self.conv}: {self.verdict})"

    @property
    def verdict(self) -> str:
        """One sentence, from the candidate's Holm-corrected intervals on test."""
        return f"{self.judgement.text}: {self.judgement.reason}"

    @property
    def next_command(self) -> str:
        """What to type next: a command, or a line of Python for a model of the user's own."""
        spec = self.judgement.spec
        if not self.runs or not has_command(self.runs[0].spec):
            is_learned = spec is not None and spec.operator in ("pgso", "mpgso")
            is_theirs = not self.conv.islower()
            line = f'model = pgso.convert(model, operator="{self.candidate}")'
            return line if is_theirs and is_learned else ""
        if spec is not None:
            return f"{command_of('train', spec)} --save model"
        seeds = max(ENOUGH_SEEDS, 2 * len({run.spec.seed for run in self.runs}))
        return f"{command_of('compare', self.runs[0].spec)} --seeds {seeds}"

    @cached_property
    def judgement(self) -> Judgement:
        """The verdict, and the run that follows from it."""
        gain, reference = self.test.difference(self.candidate), self.reference
        if gain is None:
            why = "no seed was scored both with the fixed and with a learned operator"
            if not self.operators:
                why = (
                    f"no run has a test score: all failed, or {self.objective.label} has no value "
                    "on this test set, such as where all are of one class; choose another "
                    "objective or split"
                )
            elif "fixed" not in self.operators:
                why = "there is no scored run of the fixed operator"
            elif self.operators == ("fixed",):
                why = "there is no scored run of a learned operator"
            return Judgement("nothing to compare", why)
        fixed = self.runs[0].spec.but(operator="fixed", seed=0) if self.runs else None
        best = fixed and fixed.but(operator=self.candidate)
        score = next(one.mean for one in self.test.summaries if one.operator == self.candidate)
        reason = f"{self.objective.label} {plain(score, self.digits)}, {gain.describe()}"
        take, none = "learn the operator", "no evidence that learning the operator helps"
        if self.candidate == "found" and self.found is not None:
            take = f"use {self.found.rung}, as pgso find recommends"
        against = reference.difference(self.candidate) if reference else None
        if reference is not None and against is not None:
            other = f"{self.objective.label} {plain(reference.test.mean, self.digits)}"
            if against.surely == "worse":
                spec = self.reference_runs[0].spec if self.reference_runs else None
                text = f"take {reference.description}"
                return Judgement(text, f"{other}; against it {against.describe()}", "bad", spec)
            if gain.surely == "better":
                reason += f"; {reference.description} has {other}: against it {against.describe()}"
                take += "" if against.surely == "better" else ", or take a stronger network"
        if gain.surely == "better":
            return Judgement(take, reason, "good", best)
        if gain.surely == "worse":
            return Judgement("keep the fixed operator", reason, "bad", fixed)
        n = len(gain.points)
        if gain.holm_interval is None and n > 1 and abs(gain.mean) < 1e-9:
            reason = f"the same score on each of {n} seeds"
        elif gain.holm_interval is None:
            why = "on the only seed, and one seed gives no interval"
            why = f"on each of {n} seeds, too much alike for an interval" if n > 1 else why
            return Judgement("undecided", f"{gain.describe(alone=True)} {why}; run more seeds")
        elif n == 2:  # such an interval is so wide that it says next to nothing
            return Judgement("undecided", f"{reason}; run more seeds")
        return Judgement(none, reason, "open", fixed)


def compare(records: Iterable[RunRecord], reference: Iterable[RunRecord] = ()) -> Comparison:
    """Pair the runs of one dataset and one base architecture by seed.

    The records differ in operator and seed only; see :func:`groups`. ``reference`` are runs of a
    stronger fixed network on the same seeds. Every run that has a score counts, also one that
    diverged later: leaving those out would flatter the operator that diverges. Scores are in points
    (100 x the score) or in the unit of the targets.
    """
    given, references = list(records), list(reference)
    _check_comparable(given, references)
    runs = [record for record in given if not nothing_found(record)] or given
    # A run that failed does not know its objective.
    metric = next((run.metric for run in runs if run.status != "failed"), runs[0].metric)
    named, decision = paired.by_operator(runs), paired.decision_of(runs)
    beside = _reference(named, references, metric)
    notes = notes_on(given, runs, has_reference=beside is not None)
    parts = {}
    for part in ("test", "val"):
        found = [paired.summary(name, group, metric, part) for name, group in named.items()]
        differences = paired.operator_differences(named, named.get("fixed", []), metric, part)
        parts[part] = Scores(tuple(entry for entry in found if entry is not None), differences)
    positive = next((run.positive for run in runs if run.positive), None)
    objective = OBJECTIVES[metric].of_class(positive)
    means = [abs(entry.mean) for part in parts.values() for entry in part.summaries]
    learned = parts["val"].differences
    preferred = max(
        [entry for entry in learned if entry.operator != "auto"] or learned,
        key=lambda entry: objective.merit(entry.mean),
        default=None,
    )
    return Comparison(
        dataset=given[0].spec.dataset,
        conv=given[0].spec.conv,
        metric=metric,
        operators=tuple(entry.operator for entry in parts["test"].summaries),
        test=parts["test"],
        val=parts["val"],
        notes=(*notes, *([] if decision is None else [decision.sentence])),
        reference=beside,
        decision=decision,
        positive=positive,
        found=_found(runs),
        runs=tuple(runs),
        reference_runs=tuple(references),
        left_out=tuple(record for record in given if nothing_found(record)),
        objective=objective,
        digits=objective.digits(max(means, default=0.0)),
        candidate=None if preferred is None else preferred.operator,
    )


def _check_comparable(runs: Sequence[RunRecord], reference: Sequence[RunRecord]) -> None:
    again = "run pgso compare again: it makes the old ones anew"
    check_one_revision([*runs, *reference], again)
    settings = {record.spec.but(operator="fixed", seed=0).key for record in runs}
    if not settings:
        raise InputError("there are no records to compare; run `pgso compare DATASET` first")
    if len(settings) > 1:
        specs = [record.spec.model_dump(exclude={"operator", "seed"}) for record in runs]
        fields = [name for name in specs[0] if any(spec[name] != specs[0][name] for spec in specs)]
        raise InputError(
            f"the records come from {len(settings)} different settings ({', '.join(fields)}); "
            "compare the runs of one setting at a time"
        )
    states = {record.data for record in runs if record.data is not None}
    if len(states) > 1:
        raise InputError(
            f"the records come from {len(states)} states of the files of {runs[0].spec.dataset}; "
            f"{again}"
        )
    names = Counter((record.spec.operator, record.spec.seed) for record in runs)
    for (operator, seed), count in names.items():
        if count > 1:
            raise InputError(f"there are two records of operator {operator!r} with seed {seed}")
    if len({record.spec.but(seed=0).key for record in reference}) > 1:
        raise InputError("the records of the reference come from different settings; give one")


def groups(records: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """The records that can be compared with each other: all is equal but operator and seed."""
    by_setting: dict[str, list[RunRecord]] = {}
    for record in records:
        setting = record.spec.but(operator="fixed", seed=0).key
        by_setting.setdefault(setting, []).append(record)
    return list(by_setting.values())


def _reference(
    runs: Mapping[str, Sequence[RunRecord]], reference: Sequence[RunRecord], metric: str
) -> Reference | None:
    """The learned operators against another fixed network, on the seeds that both have."""
    test, val = (paired.summary("fixed", reference, metric, part) for part in ("test", "val"))
    if test is None:
        return None
    spec = next(record.spec for record in reference if record.test is not None)
    first = next(iter(runs.values()))[0].spec.model_dump()
    own = spec.model_dump(exclude={"operator", "seed"})
    changes = {"operator": spec.operator}
    changes |= {name: value for name, value in own.items() if value != first[name]}
    residual = "residual " if spec.residual else ""
    norm = f" with {spec.norm} norm" if spec.norm else ""
    layers = "1 layer" if spec.num_layers == 1 else f"{spec.num_layers} layers"
    description = f"a fixed {residual}{spec.conv} of {layers}{norm}"
    differences = paired.operator_differences(runs, reference, metric)
    return Reference(description, changes, test, val, differences)


def _found(runs: Sequence[RunRecord]) -> Found | None:
    """The rung that most seeds keep."""
    kept = [run for run in runs if run.spec.operator == "found" and run.rung]
    if not kept:
        return None
    ((rung, count),) = Counter(run.rung for run in kept).most_common(1)
    run = next(run for run in kept if run.rung == rung)
    command = command_of("train", run.spec) if has_command(run.spec) else ""
    choices = {k: " + ".join(v) if k == "terms" else v for k, v in run.network.items() if v}
    head = choices and f"a network ({', '.join(f'{k} {v}' for k, v in choices.items())})"
    closed = run.closed_form and run.closed_form[1]
    if head and closed is not None:
        head += f", whose closed form scores {run.objective.written(closed)} on test"
    S = run.start[0] if run.start else None
    return Found(str(rung), count, len(kept), S, dict(run.network), command, head or "")
