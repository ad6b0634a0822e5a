"""A study: what to run, as data, and how to show what came out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from pgso.records import RunRecord, RunSpec
from pgso.registry import Registry


class Size(StrEnum):
    """How much of a study is run."""

    QUICK = "quick"  # a toy, for tests and for a first look
    BUDGET = "budget"  # what two cores can do in an afternoon; pages say so
    FULL = "full"  # the paper's own size


class Experiment(ABC):
    """One study of the paper. Registering a subclass is all it takes to add one."""

    title: str
    paper: str  # what it reproduces: "Figure 1"
    also_at: str | None = None  # a second place for its page, in the folder of all results

    @abstractmethod
    def runs(self, size: Size, done: Mapping[str, RunRecord]) -> list[RunSpec]:
        """All runs that are known to be needed, given what is done.

        A study with a second stage (tune, then train with what was chosen) returns the first
        stage until it is done; it is asked again until nothing is missing.
        """

    @abstractmethod
    def page(self, records: Sequence[RunRecord], figures: Path) -> str:
        """The page in Markdown; figures go to the given folder, next to it."""

    def made_with(self, records: Sequence[RunRecord]) -> str:
        """The option of ``pgso run`` that asks for these records: the largest size they fill."""
        done = {record.spec.key: record for record in records}
        for size in (Size.FULL, Size.BUDGET, Size.QUICK):
            specs = self.runs(size, done)
            if specs and all(spec.key in done for spec in specs):
                return "" if size == Size.FULL else f" --{size}"
        return f" --{Size.BUDGET}"  # not ended yet


EXPERIMENTS: Registry[Experiment] = Registry("experiment")


def needed(
    experiment: Experiment, size: Size, done: Mapping[str, RunRecord]
) -> tuple[list[RunSpec], list[RunSpec]]:
    """What an experiment consists of as far as known, and what of it is still missing."""
    specs = list({spec.key: spec for spec in experiment.runs(size, done)}.values())
    missing = [spec for spec in specs if spec.key not in done or done[spec.key].status == "failed"]
    return specs, missing
