"""Objectives of examples that have numbers: regression, and the scale that targets have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pgso.errors import InputError
from pgso.objectives.objective import OBJECTIVES, Array, ColumnObjective

if TYPE_CHECKING:
    from torch import Tensor

ROUNDING = 1e-12  # of a mean: what differs from it by less is constant
FAR = 1000  # standard deviations from 0, where 32 bits keep four digits of a deviation


@dataclass(frozen=True)
class Scale:
    """Standardised targets: zero mean and unit variance over the training set, by column."""

    mean: tuple[float, ...]  # of each column
    sd: tuple[float, ...]
    log: bool = False

    @classmethod
    def of(cls, y: Tensor, log: bool = False) -> Scale:
        """The scale of these targets, of shape (n, T); NaN, a missing one, is left out."""
        if log and bool((y <= 0).any()):
            smallest = float(y[y <= 0][0])
            raise InputError(
                f"log_targets needs targets above 0, got {smallest:g}; leave it out, or shift them"
            )
        values = (y.log() if log else y).double()
        mean = values.nanmean(0)
        variance = (values - mean).square().nanmean(0)
        varies = variance.sqrt() > ROUNDING * mean.abs()
        sd = variance.sqrt().where(varies, variance.new_ones(()))  # a constant stays
        return cls(tuple(mean.tolist()), tuple(sd.tolist()), log)

    @property
    def needs_64_bits(self) -> bool:
        """Whether 32 bits would cost digits of the deviations, as they do of a time in seconds."""
        columns = zip(self.mean, self.sd, strict=True)
        return any(abs(mean) > FAR * sd or sd < 1e-30 or sd > 1e30 for mean, sd in columns)

    def encode(self, y: Tensor) -> Tensor:
        """Targets as they are learned."""
        values = y.log() if self.log else y
        return (values - y.new_tensor(self.mean)) / y.new_tensor(self.sd)

    def decode(self, out: Tensor) -> Tensor:
        """Outputs in the unit of the targets."""
        out = out.double() if self.needs_64_bits else out
        values = out * out.new_tensor(self.sd) + out.new_tensor(self.mean)
        return values.exp() if self.log else values


class Regression(ColumnObjective):
    """One or several numbers each: ``y`` (n, T) has a column per target, NaN where it is missing.

    The score is the mean over the targets, each in its own unit. Training makes squared errors of
    standardised targets small.
    """

    answer = "value"
    larger_is_better = False
    in_percent = False
    bounds = (0.0, np.inf)
    evidence = "errors"

    def losses(self, out: Tensor, y: Tensor, weight: Tensor | None) -> Tensor:
        return (out - y).square()

    def scale(self, y: Tensor, log: bool) -> Scale | None:
        return Scale.of(y, log)

    def errors(self, out: Array, y: Array) -> Array:  # (n,)
        """Squared errors in units of each target's spread, so that several can be added."""
        spread = np.nanstd(y, axis=0)
        varies = spread > ROUNDING * np.abs(np.nanmean(y, axis=0))
        error = ((out - y) / np.where(varies, spread, 1)) ** 2
        has_value = np.isfinite(error)
        total = np.where(has_value, error, 0).sum(axis=1)
        return np.asarray(total / np.maximum(has_value.sum(axis=1), 1))[has_value.any(axis=1)]


class MeanAbsoluteError(Regression):
    """The mean of |prediction - target|, in the unit of the target; learned by the same."""

    name, label = "mae", "MAE"

    def losses(self, out: Tensor, y: Tensor, weight: Tensor | None) -> Tensor:
        return (out - y).abs()

    def errors(self, out: Array, y: Array) -> Array:  # (n,)
        """The roots of squared errors: absolute ones, where there is one target."""
        return np.sqrt(super().errors(out, y))

    def of_target(self, out: Array, y: Array) -> float | None:
        return float(np.abs(out - y).mean())


class RootMeanSquaredError(Regression):
    """The root of the mean squared error, in the unit of the target."""

    name, label = "rmse", "RMSE"

    def of_target(self, out: Array, y: Array) -> float | None:
        return float(np.sqrt(((out - y) ** 2).mean()))


class RSquared(Regression):
    """One minus squared errors over squared distances from the mean; 1 is perfect, 0 the mean.

    Targets that do not vary are left out.
    """

    name, label = "r2", "R²"
    larger_is_better = True
    bounds = (-np.inf, 1.0)

    def digits(self, shown: float) -> int:
        return 3  # however small it is

    def of_target(self, out: Array, y: Array) -> float | None:
        if np.std(y) <= ROUNDING * abs(np.mean(y)):
            return None
        return 1 - float(((out - y) ** 2).sum()) / float(((y - y.mean()) ** 2).sum())


OBJECTIVES.add(MeanAbsoluteError(), RootMeanSquaredError(), RSquared())
