"""What ``sweep`` leaves behind: the combination that validation chose for each operator."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pgso.errors import InputError, first_problem
from pgso.records.numerics import Revised
from pgso.records.store import write_atomically

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
    command: str | None = None  # what the user typed
    search: str  # grid or tpe
    tried: int  # combinations per operator
    seeds: int
    space: dict[str, list[Any]]
    best: tuple[SweepChoice, ...]

    def write(self, folder: Path) -> Path:
        """Save it, whole or not at all, and return its path."""
        text = json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False)
        write_atomically(folder / FILE, text + "\n")
        return folder / FILE


def read_sweep(path: str | Path) -> SweepRecord:
    """Read one; what is wrong with it is said in one sentence."""
    try:
        return SweepRecord.model_validate_json(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no sweep at {path}; make one with pgso sweep") from None
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise InputError(f"{path} is not the record of a sweep: {first_problem(error)}") from None
