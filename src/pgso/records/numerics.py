"""The revision of the numerics: which records may be compared with each other."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

from pgso.errors import InputError, first_problem
from pgso.objectives import OBJECTIVES, Objective

# Both move by 1 whenever a change moves results, in the last digit too; docs/conventions.md says
# what has moved them.
NUMERICS = 2
LADDER = 8  # of find: of what it keeps or scores
UNSAID = 1  # of files that do not say their revision


class Frozen(BaseModel):
    """A value: it is not changed once it is made. An error in it may be infinite."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")


class Revised(Frozen):
    """Something with results in it, which knows the revision they were made with.

    What is made in Python is of today's. A file that says nothing is of revision 1.
    """

    of: ClassVar[str] = "a run"  # what it is the record of, for sentences
    remedy: ClassVar[str] = ""  # where there is none
    numerics: int = NUMERICS

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a record from a file; what is wrong with it is said in one sentence."""
        try:
            return cls.model_validate_json(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"there is no record of {cls.of} at {path}{cls.remedy}") from None
        except (OSError, ValueError) as error:  # no UTF-8, no JSON, none of these choices
            raise InputError(
                f"{path} is not a record of {cls.of}: {first_problem(error)}"
            ) from None

    @model_validator(mode="before")
    @classmethod
    def _of_a_file(cls, fields: Any, info: ValidationInfo) -> Any:
        if info.mode != "json" or not isinstance(fields, dict):
            return fields
        ladder = cls.model_fields.get("ladder")
        unsaid = {"ladder": UNSAID} if ladder is not None and ladder.default == LADDER else {}
        return {"numerics": UNSAID, **unsaid, **fields}

    @property
    def ladder_revision(self) -> int | None:
        """The revision of the ladder that was climbed; None: there is no finding in it."""
        ladder: int | None = getattr(self, "ladder", None)
        return ladder

    @property
    def is_current(self) -> bool:
        """Whether today's code would give the same results."""
        return self.numerics == NUMERICS and self.ladder_revision in (None, LADDER)


class Scored(Revised):
    """Results with scores: what is scored, and of two classes the one that scores are about."""

    metric: str
    positive: str | None = None

    @property
    def objective(self) -> Objective:
        """Which way is better, and how scores are written."""
        return OBJECTIVES[self.metric].of_class(self.positive)


def check_one_revision(results: Iterable[Revised], remedy: str) -> None:
    """Refuse results of several revisions: a difference between them is no finding.

    ``remedy`` says what the user can do: ``pgso run recipes makes the old ones again``.
    """
    results = list(results)
    for what, name in {"numerics": "numerics", "ladders of find": "ladder_revision"}.items():
        counts = Counter(getattr(result, name) for result in results)
        counts.pop(None, None)
        if len(counts) > 1:
            listed = " and ".join(f"{counts[n]} of revision {n}" for n in sorted(counts))
            raise InputError(
                f"records of different {what} cannot be compared, and here are {listed}; {remedy}"
            )
