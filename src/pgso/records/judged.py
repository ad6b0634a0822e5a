"""What the labels that judge say about a run; :mod:`pgso.evaluation.evidence` decides by it."""

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from pgso.objectives import Objective

Array = np.ndarray[Any, Any]
DIGITS = 5


class Judged(BaseModel):
    """Outcomes of the labels that judge: of no epoch, S or candidate that was chosen on them."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")

    items: tuple[int, ...]  # indices of nodes, graphs or pairs
    outcomes: tuple[float, ...] = ()  # 1 and 0 for right and wrong, or minus the error
    outputs: tuple[tuple[float, ...], ...] = ()  # where the score is not a mean over labels
    answers: tuple[Any, ...] = ()  # the truth beside them

    @classmethod
    def of(cls, objective: Objective, items: Array, out: Array, y: Array) -> "Judged":
        """What outputs (n, C) say about items (n,) whose truth is y."""
        names = tuple(int(item) for item in items)
        if objective.has_positive and objective.positive == 0:  # written as the second class
            out, y = out[:, ::-1], 1 - y
        if objective.evidence == "bootstrap":
            rounded = np.asarray(out, dtype=np.float64).round(DIGITS)
            return cls(items=names, outputs=_rows(rounded), answers=tuple(np.asarray(y).tolist()))
        right = objective.evidence == "sign"
        values = objective.is_right(out, y) if right else -objective.errors(out, y)
        return cls(items=names, outcomes=tuple(np.asarray(values, np.float64).round(6).tolist()))


def _rows(values: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in values.reshape(len(values), -1).tolist())
