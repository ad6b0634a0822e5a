"""Tune, then train: the protocol of Appendix B.2.2, the same budget for every operator."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from pgso.records import RunRecord, RunSpec

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
