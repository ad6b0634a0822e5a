"""Appendix B.2.2: hyper-parameters, by grid or by TPE, chosen on validation only."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec

WORST = -1e9  # what Optuna is told of a trial without a score: it takes no infinity
Space = Mapping[str, Sequence[Any]]
RunAll = Callable[[Sequence[RunSpec]], list[RunRecord]]

# The grids of the appendix. Full-batch training has no batch size.
NODE_SPACE: Space = {
    "hidden_channels": (16, 32, 64),
    "num_layers": (1, 2, 3, 4),
    "epochs": (50, 100, 200),
}
GRAPH_SPACE: Space = {
    "hidden_channels": (16, 32, 64),
    "num_layers": (1, 2, 3, 4, 5),
    "epochs": (100, 200, 300),
    "batch_size": (16, 32, 64),
}


@dataclass(frozen=True)
class Trial:
    """One choice of hyper-parameters, and its mean validation score over the seeds."""

    choice: dict[str, Any]
    val: float | None  # None where a run had no score: it is not comparable, and comes last
    merit: float  # the same, turned so that larger is better
    records: tuple[RunRecord, ...]


def grid(space: Space) -> Iterator[dict[str, Any]]:
    """Every combination.

    Example:
        >>> list(grid({"num_layers": (1, 2), "dropout": (0.5,)}))
        [{'num_layers': 1, 'dropout': 0.5}, {'num_layers': 2, 'dropout': 0.5}]
    """
    for values in product(*space.values()):
        yield dict(zip(space, values, strict=True))


def grid_search(template: RunSpec, space: Space, seeds: Sequence[int], run: RunAll) -> list[Trial]:
    """Try every combination on the same seeds; best first, judged on validation alone."""
    choices = list(grid(space))
    specs = [template.but(**choice, seed=seed) for choice in choices for seed in seeds]
    by_key = {record.spec.key: record for record in run(specs)}
    trials = []
    for choice in choices:
        keys = [template.but(**choice, seed=seed).key for seed in seeds]
        trials.append(_trial(choice, [by_key[key] for key in keys if key in by_key], len(seeds)))
    return sorted(trials, key=lambda trial: -trial.merit)


def tpe_search(
    template: RunSpec, space: Space, seeds: Sequence[int], run: RunAll, trials: int, seed: int = 0
) -> list[Trial]:
    """Optuna's TPE over the same space; the same call asks for the same trials, so it resumes."""
    try:
        import optuna
    except ImportError:
        raise InputError("TPE search needs Optuna: pip install 'pgso[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    done: dict[str, Trial] = {}
    for _ in range(trials):
        asked = study.ask()
        choice = {name: asked.suggest_categorical(name, values) for name, values in space.items()}
        trial = done.get(str(choice))
        if trial is None or trial.val is not None:  # what failed would fail again
            specs = [template.but(**choice, seed=run_seed) for run_seed in seeds]
            trial = done[str(choice)] = _trial(choice, run(specs), len(seeds))
        study.tell(asked, max(trial.merit, WORST))
    return sorted(done.values(), key=lambda trial: -trial.merit)


def _trial(choice: dict[str, Any], records: Sequence[RunRecord], wanted: int) -> Trial:
    """A combination some of whose runs failed is not comparable, and comes last."""
    scores = [record.val for record in records if record.val is not None]
    if len(scores) < wanted or not records:
        return Trial(choice, None, -math.inf, tuple(records))
    val = fmean(scores)
    return Trial(choice, val, records[0].objective.merit(val), tuple(records))
