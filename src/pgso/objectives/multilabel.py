"""Objectives of examples with several labels, each yes, no or unknown."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from pgso.objectives.objective import (
    OBJECTIVES,
    Array,
    Objective,
    average_precision,
    reduced,
    roc_auc,
)
from pgso.objectives.values import known_columns, mean_over_columns

if TYPE_CHECKING:
    from torch import Tensor


class MultiLabel(Objective):
    """Several labels each: ``y`` (n, L) holds 1, 0 or NaN (unknown) in a column per label.

    The score is the mean over the labels that have both a yes and a no, as OGB's. The loss is the
    binary cross-entropy of the known labels; a weight (L,) multiplies every yes.
    """

    answer = "labels"

    @abstractmethod
    def of_label(self, out: Array, positive: Array) -> float | None:
        """The score of one label, from the examples where it is known."""

    def score(self, out: Array, y: Array) -> float | None:
        columns = known_columns(out, y)
        return mean_over_columns([self.of_label(given, yes > 0.5) for given, yes in columns])

    def loss(
        self, out: Tensor, y: Tensor, weight: Tensor | None = None, reduction: str = "mean"
    ) -> Tensor:
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        is_known = y.isfinite()
        known = y.where(is_known, torch.zeros_like(y))
        loss = binary_cross_entropy_with_logits(out, known, reduction="none", pos_weight=weight)
        return reduced(loss, is_known, reduction)

    def count(self, y: Tensor) -> int:
        return int(y.isfinite().sum())

    def class_weight(self, y: Tensor) -> Tensor:  # (L,)
        """How many times rarer a yes is than a no, label by label."""
        yes, no = (y == 1).sum(0).double(), (y == 0).sum(0).double()
        return (no.clamp(min=1) / yes.clamp(min=1)).float()


class MultiLabelAveragePrecision(MultiLabel):
    """The mean over the labels of average precision, missing labels left out."""

    name, label = "multilabel_average_precision", "mean average precision"

    def of_label(self, out: Array, positive: Array) -> float | None:
        return average_precision(out, positive)


class MultiLabelRocAuc(MultiLabel):
    """The mean over the labels of ROC-AUC, missing labels left out."""

    name, label = "multilabel_roc_auc", "mean ROC-AUC"

    def of_label(self, out: Array, positive: Array) -> float | None:
        return roc_auc(out, positive)


OBJECTIVES.add(MultiLabelAveragePrecision())
OBJECTIVES.add(MultiLabelRocAuc())
