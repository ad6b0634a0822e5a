"""One run minus another run of the same seed: the only place where scores are paired.

Two runs of one seed share the split and the first weights, so that their difference is due to
what else differs between them (docs/conventions.md).
"""

from collections.abc import Iterable
from typing import NamedTuple

from pgso.records import RunRecord


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
