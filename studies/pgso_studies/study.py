"""A study: what to run, as data, and how to show what came out."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Any

from pgso.records import RunRecord, RunSpec
from pgso.registry import Registry


class Size(StrEnum):
    """How much of a study is run."""

    QUICK = "quick"  # a toy, for tests and for a first look
    FULL = "full"  # what the pages in results/ show; docs/studies.md says how long it takes


class Experiment(ABC):
    """One study of the paper. Registering a subclass is all it takes to add one."""

    title: str
    paper: str  # what it reproduces: "Figure 1"
    also_at: str | None = None  # a second place for its page, in the folder of all results
    curves: tuple[str, ...] | None = None  # kept in its ledger, thinned; None: only the ends

    @abstractmethod
    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """All runs that are known to be needed, given what is done, the most important ones first.

        A study with a second stage (tune, then train with what was chosen) returns the first
        stage until it is done; it is asked again until nothing is missing.
        """

    @abstractmethod
    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """The page in Markdown; figures go to the given folder, next to it."""

    def footer(self, name: str, records: Sequence[RunRecord]) -> str:
        """How a page came about: revision, runs, what was left out, computing time, command."""
        hours = sum(record.timing.get("seconds", 0.0) for record in records) / 3600
        bad = sum(record.status != "done" for record in records)
        versions = ", ".join(sorted({record.versions.get("torch", "?") for record in records}))
        revisions = ", ".join(sorted({str(record.numerics) for record in records}))
        ladders = {str(r.ladder_revision) for r in records if r.ladder_revision is not None}
        ladder = f", revision {', '.join(sorted(ladders))} of find's ladder" if ladders else ""
        done = {record.spec.key: record for record in records}
        size, missing = self._state(done)
        ended = f", {bad} of them diverged or failed" if bad else ""
        option = " --quick" if size == Size.QUICK else ""
        left_out = f" Left out so far: {listed(missing)}." if missing else ""
        return (
            f"\n---\nRevision {revisions} of the numerics{ladder}. {len(records)} runs{ended}, "
            f"{hours:.1f} hours of one core, torch {versions}.{left_out} Made by `pgso run "
            f"{name}{option}` and `pgso report {name}`; every number comes from the records next "
            "to this page.\n"
        )

    def _state(self, done: Mapping[str, RunRecord]) -> tuple[Size, list[RunSpec]]:
        """The size that was run, and what of it is missing."""
        toys = whole(self, Size.QUICK, done)
        if done and done.keys() <= {spec.key for spec in toys}:
            return Size.QUICK, []
        return Size.FULL, [s for s in whole(self, Size.FULL, done) if s.key not in done]


EXPERIMENTS: Registry[Experiment] = Registry("experiment", plugins="pgso.studies")


def needed(
    experiment: Experiment, size: Size, done: Mapping[str, RunRecord]
) -> tuple[list[RunSpec], list[RunSpec]]:
    """What an experiment consists of as far as known, and what of it is still missing."""
    specs = list({spec.key: spec for spec in experiment.runs(size, done)}.values())
    missing = [spec for spec in specs if spec.key not in done or done[spec.key].status == "failed"]
    return specs, missing


def whole(
    experiment: Experiment, size: Size, done: Mapping[str, RunRecord] | None = None
) -> list[RunSpec]:
    """All runs of a study, also of its later stages.

    What a later stage will train depends on scores. Runs that are not done are taken to tie, and
    a tie chooses the first setting of a grid. So the number of runs is exact, and the settings of
    the later stages are a guess.
    """
    records = dict(done or {})
    while True:
        specs, _ = needed(experiment, size, records)
        unknown = [spec for spec in specs if spec.key not in records]
        if not unknown:
            return specs
        records |= {spec.key: RunRecord(spec=spec, val=0.5) for spec in unknown}


def listed(specs: Sequence[RunSpec]) -> str:
    """``Cora (12), CiteSeer (3)``: how many runs of which dataset.

    Example:
        >>> listed([RunSpec(dataset="Cora"), RunSpec(dataset="Cora", seed=1)])
        'Cora (2)'
    """
    counts = Counter(spec.dataset for spec in specs)
    return ", ".join(f"{dataset} ({count})" for dataset, count in counts.items())


OPERATORS = ("fixed", "pgso", "mpgso")
CONVS = ("gcn", "sgc", "gat", "gin")
TUNING_SEEDS = range(100, 103)  # of graph tasks: three folds of the eleventh shuffling


def final_runs(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs of the second stage: not those that tuned."""
    return [record for record in records if record.spec.seed not in TUNING_SEEDS]


def tuned_runs(
    template: RunSpec,
    choices: Sequence[Mapping[str, Any]],
    tuning_seeds: Sequence[int],
    final_seeds: Sequence[int],
    done: Mapping[str, RunRecord],
) -> list[RunSpec]:
    """All tuning runs; once they are done, also the final runs with the best choice.

    A shorter run is the beginning of a longer one (the schedule does not depend on the number of
    epochs) and the epoch is chosen on validation, so the grid over epochs is part of every run.
    """
    if len(choices) == 1:
        return [template.but(**choices[0], seed=seed) for seed in final_seeds]
    tuning = [template.but(**choice, seed=seed) for choice in choices for seed in tuning_seeds]
    best = best_choice(template, choices, tuning_seeds, done)
    if best is None:
        return tuning
    return [*tuning, *(template.but(**best, seed=seed) for seed in final_seeds)]


def best_choice(
    template: RunSpec,
    choices: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    done: Mapping[str, RunRecord],
) -> Mapping[str, Any] | None:
    """The choice with the best mean validation score; None until all of them have one."""
    if len(choices) == 1:
        return choices[0]
    means = []
    for choice in choices:
        records = [done.get(template.but(**choice, seed=seed).key) for seed in seeds]
        values = [record.merit for record in records if record is not None]
        if len(values) < len(seeds):
            return None
        means.append(fmean(values))
    return choices[means.index(max(means))]
