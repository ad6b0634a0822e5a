"""What ``compare`` and ``sweep`` leave behind."""

from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from pgso.objectives import OBJECTIVES, Objective
from pgso.records.data import BaselineRecord
from pgso.records.files import as_text, read_as, write_atomically
from pgso.records.numerics import Frozen, Revised

COMPARISON_FILE = "comparison.json"


class ComparisonRecord(Revised):
    """A comparison, as JSON: enough to list it, and to make its page again from its runs."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")  # an error may be infinite

    dataset: str
    conv: str
    metric: str
    positive: str | None = None  # the class that scores are about, where they are about one of two
    command: str | None = None  # what the user typed
    runs: tuple[str, ...]  # keys of records
    reference: tuple[str, ...] = ()  # of the stronger fixed network
    verdict: str
    doubts: tuple[str, ...] = ()  # what speaks against the result
    baselines: tuple[BaselineRecord, ...] = ()  # what a network must beat: means over the seeds
    scores: dict[str, Any] = {}  # test and val: scores by operator, and paired differences

    @property
    def objective(self) -> Objective:
        """Which way is better, and how scores are written."""
        return OBJECTIVES[self.metric].of_class(self.positive)

    def write(self, folder: Path) -> None:
        """Save it, whole or not at all; a file that says the same keeps its time."""
        text, path = as_text(self), folder / COMPARISON_FILE
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


def read_comparison(path: str | Path) -> ComparisonRecord:
    """Read the record of a comparison."""
    return read_as(ComparisonRecord, path, "a comparison", "; make one with pgso compare")


SWEEP_FILE = "sweep.json"


class SweepChoice(Frozen):
    """The best combination of one operator; scores are means over the seeds."""

    operator: str
    choice: dict[str, Any]
    val: float | None
    test: float | None


class SweepRecord(Revised):
    """A sweep, as JSON."""

    dataset: str
    conv: str
    metric: str
    positive: str | None = None  # the class that scores are about, where they are about one of two
    command: str | None = None  # what the user typed
    search: str  # grid or tpe
    tried: int  # combinations per operator
    seeds: int
    space: dict[str, list[Any]]
    best: tuple[SweepChoice, ...]

    @property
    def objective(self) -> Objective:
        """Which way is better, and how scores are written."""
        return OBJECTIVES[self.metric].of_class(self.positive)

    def write(self, folder: Path) -> Path:
        """Save it, whole or not at all, and return its path."""
        write_atomically(folder / SWEEP_FILE, as_text(self))
        return folder / SWEEP_FILE


def read_sweep(path: str | Path) -> SweepRecord:
    """Read the record of a sweep."""
    return read_as(SweepRecord, path, "a sweep", "; make one with pgso sweep")
