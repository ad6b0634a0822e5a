"""Objectives of examples that have numbers: regression."""

from typing import TYPE_CHECKING

import numpy as np

from pgso.objectives.objective import Array, Objective
from pgso.objectives.scale import ROUNDING, Scale

if TYPE_CHECKING:
    from torch import Tensor


class Regression(Objective):
    """One or several numbers each: ``y`` has a column per target, NaN where it is missing.

    The score is the mean over the targets, each in its own unit.
    """

    answer = "value"
    larger_is_better = False
    in_percent = False
    bounds = (0.0, np.inf)
    evidence = "errors"

    def loss(
        self,
        out: "Tensor",  # (n, T)
        y: "Tensor",  # (n, T), standardised
        weight: "Tensor | None" = None,
        reduction: str = "mean",
    ) -> "Tensor":
        """Squared errors."""
        from pgso.objectives import losses

        return losses.squared(out, y, reduction)

    def count(self, y: "Tensor") -> int:
        """How many targets are known."""
        return int(y.isfinite().sum())

    def scale(self, y: "Tensor", log: bool) -> Scale | None:
        """Zero mean and unit variance over the training set."""
        return Scale.of(y, log)

    def errors(self, out: Array, y: Array) -> Array:  # (n,)
        """Squared errors in units of each target's spread, so that several can be added."""
        spread = np.nanstd(y, axis=0)
        varies = spread > ROUNDING * np.abs(np.nanmean(y, axis=0))
        error = ((out - y) / np.where(varies, spread, 1)) ** 2
        return _row_means(error)


def mean_over_columns(values: list[float | None]) -> float | None:
    """The mean of what is defined."""
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None


def known_columns(out: Array, y: Array) -> list[tuple[Array, Array]]:
    """Outputs and targets, column by column, where the target is known; in double precision."""
    has_value = np.isfinite(y)
    return [
        (out[has_value[:, k], k].astype(np.float64), y[has_value[:, k], k].astype(np.float64))
        for k in range(y.shape[1])
    ]


def _row_means(error: Array) -> Array:
    has_value = np.isfinite(error)
    total = np.where(has_value, error, 0).sum(axis=1)
    means: Array = (total / np.maximum(has_value.sum(axis=1), 1))[has_value.any(axis=1)]
    return means
