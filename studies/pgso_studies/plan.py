"""How long studies take: their runs, each with the seconds that such a run took before."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from pgso.records import RunRecord, RunSpec
from pgso.records.numerics import NUMERICS
from pgso.report.grid import table
from pgso_studies.ledger import ledgers_in, read_ledger
from pgso_studies.study import EXPERIMENTS, Size, whole

# What the paper claims and is cheap, its two tables, then what goes beyond it. Others come last.
ORDER = (
    "operators",
    "spectral_support",
    "initialisations",
    "convergence",
    "sbm_sparsity",
    "node_classification",
    "graph_classification",
    "recipes",
    "structure",
    "pooled",
    "atlas",
    "extensions",
    "objectives",
)
SHORT_EPOCHS = 10  # of a run that is only timed


def by_importance() -> list[str]:
    """The names of all studies, the most important ones first."""
    return [*ORDER, *(name for name in EXPERIMENTS if name not in ORDER)]


class Timing(NamedTuple):
    """A run that was timed."""

    spec: RunSpec
    seconds: float
    numerics: int = NUMERICS


class Timings:
    """Estimates the seconds of a run from runs like it.

    Best are runs that differ in nothing but the seed, then runs of the same dataset, conv and
    operator, then any of the same dataset. The time grows with the epochs, and with layers x width
    where these differ. Of several revisions of the numerics the newest one counts.

    Example:
        >>> spec = RunSpec(dataset="karate", epochs=100)
        >>> timings = Timings([Timing(spec, 2.0)])
        >>> timings.seconds(spec.but(seed=3)), timings.seconds(spec.but(epochs=50))
        (2.0, 1.0)
        >>> timings.seconds(RunSpec(dataset="Cora")) is None
        True
    """

    def __init__(self, timings: Iterable[Timing] = ()) -> None:
        self._by_likeness: dict[tuple[str, ...], list[Timing]] = {}
        for timing in timings:
            self.add(timing)

    def add(self, timing: Timing) -> None:
        """Remember a run."""
        for likeness in _likenesses(timing.spec):
            self._by_likeness.setdefault(likeness, []).append(timing)

    def seconds(self, spec: RunSpec) -> float | None:
        """The estimate for one run, None without a timed run on the same dataset."""
        for likeness in _likenesses(spec):
            if alike := self._by_likeness.get(likeness):
                newest = max(timing.numerics for timing in alike)
                return median(
                    timing.seconds * _work(spec) / _work(timing.spec)
                    for timing in alike
                    if timing.numerics == newest
                )
        return None

    def is_current(self, spec: RunSpec) -> bool:
        """Whether a run of the same dataset, conv and operator was timed with today's code."""
        alike = self._by_likeness.get(_likenesses(spec)[1], [])
        return any(timing.numerics == NUMERICS for timing in alike)

    def hours(self, specs: Iterable[RunSpec]) -> float | None:
        """The sum over runs; None if one of them has no estimate."""
        seconds = [self.seconds(spec) for spec in specs]
        numbers = [value for value in seconds if value is not None]
        return None if len(numbers) < len(seconds) else sum(numbers) / 3600


def timings_of(results: Path) -> Timings:
    """What all ledgers know, of any revision: ``results/STUDY/records*.jsonl``."""
    ledgers = ledgers_in(results, "records*.jsonl")
    return Timings(
        Timing(record.spec, record.timing["seconds"], record.numerics)
        for ledger in ledgers
        for record in read_ledger(ledger).values()
        if "seconds" in record.timing
    )


def untimed_kinds(timings: Timings, seconds: float = 20.0) -> list[RunSpec]:
    """One short run for every kind of run in the studies that today's code was not timed with.

    The shortest come first.

    Args:
        timings: What was timed.
        seconds: How long a short run may take, as far as older runs tell.
    """
    kinds: dict[tuple[str, ...], RunSpec] = {}
    for name in by_importance():
        for spec in whole(EXPERIMENTS[name], Size.FULL):
            kind = _likenesses(spec)[1]
            if kind in kinds or timings.is_current(spec):
                continue
            guess = (timings.seconds(spec) or 0.0) / spec.epochs  # of an epoch
            most = spec.epochs if guess == 0 else max(1, int(seconds / guess))
            kinds[kind] = spec.but(epochs=min(spec.epochs, SHORT_EPOCHS, most))
    return sorted(kinds.values(), key=lambda spec: timings.seconds(spec) or 0.0)


def plan_table(results: Path, workers: int = 2) -> str:
    """A row a study, in the order of importance: its runs, how many are done, and its hours."""
    timings, rows, totals = timings_of(results), [], [0, 0, 0]
    hours: list[float | None] = []
    for name in by_importance():
        study = EXPERIMENTS[name]
        current = [r for r in _records(results, name) if r.is_current]
        done = {record.spec.key: record for record in current}
        specs = whole(study, Size.FULL, done)
        unasked = len(done.keys() - {spec.key for spec in specs})
        missing = [spec for spec in specs if spec.key not in done]
        datasets = list(dict.fromkeys(spec.dataset for spec in specs))
        hours.append(timings.hours(missing))
        counts = (len(specs), len(current), len(missing))
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        rows.append(
            [
                f"`pgso run {name}`",
                study.paper,
                f"{len(datasets)}",
                f"{len(specs):,}",
                f"{len(current):,}" + (f" ({unasked} more than asked for)" if unasked else ""),
                f"{len(missing):,}",
                _written(hours[-1]),
            ]
        )
    total = sum(value for value in hours if value is not None)
    more = " and what is not timed yet" if None in hours else ""
    written = f"{total:.1f}{more}"
    rows.append(["`pgso run all`", "", "", *(f"{total:,}" for total in totals), written])
    header = ["command", "what it shows", "datasets", "runs", "records", "to do",
              "hours of one core"]  # fmt: skip
    return (
        f"{table(header, rows)}\n\nOn {workers} cores that is about {total / workers:.0f} hours"
        f"{more}. *Records*: what the ledger holds; records of settings that "
        "validation did not choose are kept. *To do*: runs without a record of today's numerics "
        f"(revision {NUMERICS}). The "
        "hours are estimates: the number of runs, times the seconds that a run of the same "
        "dataset, conv and operator took before, other programs on the machine included."
    )


def _records(results: Path, name: str) -> Sequence[RunRecord]:
    return list(read_ledger(results / name / "records.jsonl").values())


def _written(hours: float | None) -> str:
    return "not timed yet" if hours is None else f"{hours:.1f}"


def _likenesses(spec: RunSpec) -> tuple[tuple[str, ...], ...]:
    """What two runs may have in common, from all but the seed to the dataset alone."""
    same = spec.model_copy(update={"seed": 0}).key
    kind = (spec.dataset, spec.conv, str(spec.operator), spec.head)
    return (same,), kind, (spec.dataset, spec.head)


def _work(spec: RunSpec) -> float:
    """What the time of a run grows with, up to a factor: half of a step does not see the width."""
    if spec.head == "closed_form":
        return 1.0
    return spec.epochs * spec.num_layers * (32 + spec.hidden_channels)


PORTION = 300.0  # seconds after which a study is asked again what matters most
UNTIMED = 60.0  # seconds that a run is given of which nothing is known


class Budget:
    """Minutes that may pass, spent on the first runs of a list that fit.

    Runs are handed out in portions of some minutes. Between two portions the study is asked again,
    because the second stage of an important dataset comes before the first stage of another one.
    A run that would not end in time, as far as its estimate tells, is not started.

    Args:
        minutes: How long.
        workers: How many runs go on at once.
        timings: What runs are estimated from.
        clock: Seconds; tests hand over their own.
    """

    def __init__(
        self,
        minutes: float,
        workers: int,
        timings: Timings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timings, self.workers, self.clock = timings, workers, clock
        self.end = clock() + 60 * minutes

    def portion(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        """The next runs to make, the first ones that fit; empty if none does."""
        left = self.end - self.clock()
        if left <= 0:
            return []
        total, limit = 0.0, min(left, PORTION) * self.workers
        taken: list[RunSpec] = []
        for spec in specs:
            seconds = self.timings.seconds(spec)
            seconds = UNTIMED if seconds is None else seconds
            if seconds > left:
                continue  # a shorter one further down may fit
            if taken and total + seconds > limit:
                break
            taken.append(spec)
            total += seconds
        return taken
