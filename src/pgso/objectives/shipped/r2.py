"""R²: the share of the variance that is explained."""

import numpy as np

from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.scale import ROUNDING
from pgso.objectives.values import Regression, known_columns, mean_over_columns


class RSquared(Regression):
    """One minus squared errors over squared distances from the mean; 1 is perfect, 0 the mean."""

    name, label = "r2", "R²"
    larger_is_better = True
    bounds = (-np.inf, 1.0)

    def digits(self, shown: float) -> int:
        """Three, however small it is."""
        del shown
        return 3

    def score(self, out: Array, y: Array) -> float | None:
        """The mean over the targets that vary."""
        return mean_over_columns([_explained(a, b) for a, b in known_columns(out, y)])


def _explained(out: Array, y: Array) -> float | None:
    if not len(y) or np.std(y) <= ROUNDING * abs(np.mean(y)):
        return None
    return 1 - float(((out - y) ** 2).sum()) / float(((y - y.mean()) ** 2).sum())


OBJECTIVES.add(RSquared())
