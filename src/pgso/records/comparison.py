"""What ``compare`` leaves behind: which runs it rests on, and what it says about them."""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pgso.errors import InputError, first_problem
from pgso.records.data import BaselineRecord
from pgso.records.numerics import Revised
from pgso.records.store import write_atomically

FILE = "comparison.json"


class ComparisonRecord(Revised, BaseModel):
    """A comparison, as JSON: enough to list it, and to make its page again from its runs."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")  # an error may be infinite

    dataset: str
    conv: str
    metric: str
    command: str | None = None  # what the user typed
    runs: tuple[str, ...]  # keys of records
    reference: tuple[str, ...] = ()  # of the stronger fixed network
    verdict: str
    doubts: tuple[str, ...] = ()  # what speaks against the result
    baselines: tuple[BaselineRecord, ...] = ()  # what a network must beat: means over the seeds
    scores: dict[str, Any] = {}  # test and val: scores by operator, and paired differences

    def write(self, folder: Path) -> None:
        """Save it, whole or not at all; a file that says the same keeps its time."""
        text = json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
        path = folder / FILE
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


def read_comparison(path: str | Path) -> ComparisonRecord:
    """Read one; what is wrong with it is said in one sentence."""
    try:
        return ComparisonRecord.model_validate_json(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no comparison at {path}; make one with pgso compare") from None
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise InputError(
            f"{path} is not the record of a comparison: {first_problem(error)}"
        ) from None
