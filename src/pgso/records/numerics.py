"""The revision of the numerics: which records may be compared with each other."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator

from pgso.errors import InputError
from pgso.objectives import OBJECTIVES, Objective

# Moves by 1 whenever a change moves results, in the last digit too. So far:
# 1  all records that do not say what they were made with
# 2  γ is a value: its factors are computed in double precision, and x⁰ = 1
NUMERICS = 2
UNSAID = 1

# The revision of find's ladder: moves by 1 whenever a change moves what find keeps or scores, and
# nothing that is trained. So far:
# 1  all findings that do not say which ladder they climbed
# 2  relations and an S per hop are rungs; one challenger is judged by Student's test; constant
#    columns count neighbours
# 3  correlated features keep their digits; terms name every operator of a block; labels that S was
#    learned on do not score it; x in memory is prepared as a dataset's; rounding is no gain
# 4  no rung is worse than guessing; a gain is two thousandths of the loss or more; a rung must beat
#    itself on the graph with its nodes relabelled at random
# 5  degrees are visible, all labels choose scales, labels of neighbours and structure are rungs;
#    a blend of rungs or trees on top may predict; with many classes a kept rung beats its nodes
#    alone where each has the penalty that suits its log loss
# 6  several labels each; ranks judge numbers with heavy tails; structure alone is a rung; labels of
#    neighbours hold where whole folds are left out; trees see columns and means of neighbours, no
#    leave-one-out predictions, and are judged by folds whose labels are in no column; the pull of
#    a blend is chosen by honest losses
# 7  labels of neighbours that trees see are rounded: trees read a node's own label off them
LADDER = 7


class Frozen(BaseModel):
    """A value: it is not changed once it is made. An error in it may be infinite."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")


class Revised(Frozen):
    """Something with results in it, which knows the revision they were made with.

    What is made in Python is of today's revision. What is read from a file that says nothing is of
    revision 1: such files were written before there was a revision.
    """

    numerics: int = NUMERICS

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
        return None

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
    ladders = [result.ladder_revision for result in results]
    revisions = {
        "numerics": Counter(result.numerics for result in results),
        "ladders of find": Counter(ladder for ladder in ladders if ladder is not None),
    }
    for what, counts in revisions.items():
        if len(counts) > 1:
            listed = " and ".join(f"{counts[n]} of revision {n}" for n in sorted(counts))
            raise InputError(
                f"records of different {what} cannot be compared, and here are {listed}; {remedy}"
            )
