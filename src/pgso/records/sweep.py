"""What ``sweep`` leaves behind: the combination that validation chose for each operator."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from pgso.objectives import OBJECTIVES, Objective
from pgso.records.files import as_text, read_as, write_atomically
from pgso.records.numerics import Revised

FILE = "sweep.json"


class SweepChoice(BaseModel):
    """The best combination of one operator; scores are means over the seeds."""

    model_config = ConfigDict(frozen=True)

    operator: str
    choice: dict[str, Any]
    val: float | None
    test: float | None


class SweepRecord(Revised, BaseModel):
    """A sweep, as JSON."""

    model_config = ConfigDict(frozen=True)

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
        write_atomically(folder / FILE, as_text(self))
        return folder / FILE


def read_sweep(path: str | Path) -> SweepRecord:
    """Read the record of a sweep."""
    return read_as(SweepRecord, path, "a sweep", "; make one with pgso sweep")
