"""What ``compare`` leaves behind."""

from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from pgso.objectives import OBJECTIVES, Objective
from pgso.records.data import BaselineRecord
from pgso.records.files import as_text, read_as, write_atomically
from pgso.records.numerics import Revised

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
    next: str = ""  # the command that follows from it
    found: dict[str, Any] | None = None  # what find recommends: rung, S, network, command
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
