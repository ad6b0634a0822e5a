"""What the records say: means over splits, paired differences to ``find``, who beats whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import mean, stdev

import numpy as np
from scipy.stats import t as student

from benchmarks.rivals.field import DATASETS, OURS, RIVALS
from benchmarks.rivals.ledger import Cell, Record
from pgso.objectives import OBJECTIVES, Objective

ENOUGH = 3  # splits for an interval


@dataclass(frozen=True)
class Difference:
    """A rival minus ``find`` on the splits that both have; larger is better for the rival."""

    mean: float
    reach: float | None  # half of the 95 % interval (Student's t); None with fewer than ENOUGH

    @property
    def verdict(self) -> str:
        """Whether the interval says who is better."""
        if self.reach is None:
            return "no interval"
        if self.mean - self.reach > 0:
            return "better"
        return "worse" if self.mean + self.reach < 0 else "open"


class Race:
    """All records, asked by dataset and rival."""

    def __init__(self, records: Mapping[Cell, Record]) -> None:
        self.records = records
        raced = {rival for _, _, rival in records}
        self.reference = OURS[1] if OURS[1] in raced else OURS[0]
        self.rivals = [name for name in RIVALS if name in raced]
        self.others = [name for name in self.rivals if name not in (*OURS, "majority")]
        seen = {dataset for dataset, _, _ in records}
        self.datasets = [name for name in DATASETS if name in seen]

    def runs(self, dataset: str, rival: str) -> dict[int, Record]:
        """The records of a rival on a dataset, by split."""
        return {
            split: record
            for (name, split, who), record in self.records.items()
            if name == dataset and who == rival
        }

    def objective(self, dataset: str) -> Objective:
        """How the dataset is scored."""
        return OBJECTIVES[
            next(r["metric"] for (d, _, _), r in self.records.items() if d == dataset)
        ]

    def test(self, dataset: str, rival: str) -> float | None:
        """The mean test score over the splits that ``find`` has too, or over all if it has none."""
        runs = self.runs(dataset, rival)
        tests = [runs[split]["test"] for split in self._shared(dataset, rival)]
        return mean(tests) if tests else None

    def scored(self, dataset: str, rival: str) -> int:
        """How many splits :meth:`test` is a mean over."""
        return len(self._shared(dataset, rival))

    def _shared(self, dataset: str, rival: str) -> list[int]:
        runs = self.runs(dataset, rival)
        return sorted((runs.keys() & self.runs(dataset, self.reference).keys()) or runs)

    def seconds(self, dataset: str, rival: str) -> float | None:
        """The mean CPU seconds over splits."""
        runs = self.runs(dataset, rival)
        return mean(r["seconds"] for r in runs.values()) if runs else None

    def splits(self, dataset: str) -> int:
        """How many splits have a record of ``find``, or of anyone where it has none."""
        runs = self.runs(dataset, self.reference)
        return len(runs) or len({split for d, split, _ in self.records if d == dataset})

    def difference(self, dataset: str, rival: str) -> Difference | None:
        """A rival against ``find``, split by split; in merits, so that larger is better."""
        theirs, ours = self.runs(dataset, rival), self.runs(dataset, self.reference)
        merit = self.objective(dataset).merit
        points = [
            merit(theirs[split]["test"]) - merit(ours[split]["test"])
            for split in sorted(theirs.keys() & ours.keys())
        ]
        if not points:
            return None
        if len(points) < ENOUGH:
            return Difference(mean(points), None)
        # On small test sets several splits may differ by the same count: that is not certainty.
        one_item = 1 / min(record["test_items"] for record in theirs.values())
        error = max(stdev(points), one_item) / len(points) ** 0.5
        return Difference(mean(points), float(student.ppf(0.975, len(points) - 1)) * error)

    @cached_property
    def differences(self) -> dict[tuple[str, str], Difference]:
        """All paired differences, by dataset and rival."""
        found = {
            (dataset, rival): self.difference(dataset, rival)
            for dataset in self.datasets
            for rival in self.rivals
            if rival != self.reference
        }
        return {key: value for key, value in found.items() if value is not None}

    def where(self, rival: str, verdict: str) -> list[str]:
        """The datasets with this verdict."""
        return [
            dataset
            for (dataset, who), difference in self.differences.items()
            if who == rival and difference.verdict == verdict
        ]

    def share(self, dataset: str, rival: str) -> float | None:
        """The test score on the way from guessing (0) to the best of all rivals (1)."""
        score, guess = self.test(dataset, rival), self.test(dataset, "majority")
        if score is None or guess is None:
            return None
        merit = self.objective(dataset).merit
        scores = [self.test(dataset, name) for name in self.rivals]
        best = max(merit(value) for value in scores if value is not None)
        return (
            (merit(score) - merit(guess)) / (best - merit(guess)) if best > merit(guess) else None
        )

    def gap(self, rival: str) -> tuple[float, int] | None:
        """The mean of a rival's share minus that of ``find``, and over how many datasets."""
        gaps = []
        for dataset in self.datasets:
            theirs, ours = self.share(dataset, rival), self.share(dataset, self.reference)
            if theirs is not None and ours is not None:
                gaps.append(max(theirs, 0.0) - max(ours, 0.0))
        return (mean(gaps), len(gaps)) if gaps else None

    def slowdown(self, rival: str) -> float | None:
        """How many times the CPU seconds of ``find``, the median over datasets."""
        ratios = []
        for dataset in self.datasets:
            theirs, ours = self.seconds(dataset, rival), self.seconds(dataset, self.reference)
            if theirs is not None and ours:
                ratios.append(theirs / ours)
        return float(np.median(ratios)) if ratios else None

    def most_memory(self, rival: str) -> float:
        """The largest peak in MiB."""
        return max(r["memory_mib"] for (_, _, who), r in self.records.items() if who == rival)
