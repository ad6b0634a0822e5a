"""Mean absolute error."""

from typing import TYPE_CHECKING

import numpy as np

from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.values import Regression, known_columns, mean_over_columns

if TYPE_CHECKING:
    from torch import Tensor


class MeanAbsoluteError(Regression):
    """The mean of |prediction - target|, in the unit of the target; learned by the same."""

    name, label = "mae", "MAE"

    def loss(
        self,
        out: "Tensor",
        y: "Tensor",
        weight: "Tensor | None" = None,
        reduction: str = "mean",
    ) -> "Tensor":
        """Absolute errors."""
        from pgso.objectives import losses

        return losses.absolute(out, y, reduction)

    def errors(self, out: Array, y: Array) -> Array:  # (n,)
        """The roots of squared errors: absolute ones, where there is one target."""
        errors: Array = np.sqrt(super().errors(out, y))
        return errors

    def score(self, out: Array, y: Array) -> float | None:
        """The mean over examples, then over targets."""
        columns = known_columns(out, y)
        return mean_over_columns(
            [float(np.abs(a - b).mean()) if len(b) else None for a, b in columns]
        )


OBJECTIVES.add(MeanAbsoluteError())
