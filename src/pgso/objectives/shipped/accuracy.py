"""Accuracy."""

import numpy as np

from pgso.objectives.classes import Classification
from pgso.objectives.objective import OBJECTIVES, Array


class Accuracy(Classification):
    """The share of examples whose class is right."""

    name, label = "accuracy", "accuracy"
    evidence = "sign"

    def is_right(self, out: Array, y: Array) -> Array:
        """Which examples get their largest score for their own class."""
        right: Array = out.argmax(axis=1) == y
        return right

    def score(self, out: Array, y: Array) -> float | None:
        """The share of those that are right."""
        return int(np.count_nonzero(self.is_right(out, y))) / len(y) if len(y) else None


OBJECTIVES.add(Accuracy())
