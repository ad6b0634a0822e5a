"""Root mean squared error."""

import numpy as np

from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.values import Regression, known_columns, mean_over_columns


class RootMeanSquaredError(Regression):
    """The root of the mean squared error, in the unit of the target."""

    name, label = "rmse", "RMSE"

    def score(self, out: Array, y: Array) -> float | None:
        """The root of the mean over examples, then the mean over targets."""
        columns = known_columns(out, y)
        return mean_over_columns(
            [float(np.sqrt(((a - b) ** 2).mean())) if len(b) else None for a, b in columns]
        )


OBJECTIVES.add(RootMeanSquaredError())
