"""Objectives of examples with several labels, each yes, no or unknown."""

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from pgso.objectives.objective import (
    OBJECTIVES,
    Array,
    Objective,
    average_precision,
    reduced,
    roc_auc,
)

if TYPE_CHECKING:
    from torch import Tensor


class MultiLabel(Objective):
    """Several labels each: ``y`` holds 1, 0 or NaN (unknown) in a column per label.

    The score is the mean over the labels that have both a yes and a no, as OGB's.
    """

    answer = "labels"

    @abstractmethod
    def of_label(self, out: Array, positive: Array) -> float | None:
        """The score of one label, from the examples where it is known."""

    def score(self, out: Array, y: Array) -> float | None:  # (n, L), (n, L)
        """The mean over labels; None where no label has a score."""
        has_label = np.isfinite(y)
        by_label = [
            self.of_label(out[has_label[:, k], k], y[has_label[:, k], k] > 0.5)
            for k in range(y.shape[1])
        ]
        scores = [score for score in by_label if score is not None]
        return float(np.mean(scores)) if scores else None

    def loss(
        self,
        out: "Tensor",  # (n, L)
        y: "Tensor",  # (n, L)
        weight: "Tensor | None" = None,  # (L,)
        reduction: str = "mean",
    ) -> "Tensor":
        """Binary cross-entropy of the known labels; the weight multiplies every yes."""
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        is_known = y.isfinite()
        known = y.where(is_known, torch.zeros_like(y))
        loss = binary_cross_entropy_with_logits(out, known, reduction="none", pos_weight=weight)
        return reduced(loss, is_known, reduction)

    def count(self, y: "Tensor") -> int:
        """How many labels are known."""
        return int(y.isfinite().sum())

    def class_weight(self, y: "Tensor") -> "Tensor":  # (L,)
        """How many times rarer a yes is than a no, label by label."""
        yes, no = (y == 1).sum(0).double(), (y == 0).sum(0).double()
        return (no.clamp(min=1) / yes.clamp(min=1)).float()


class MultiLabelAveragePrecision(MultiLabel):
    """The mean over the labels of average precision, missing labels left out."""

    name, label = "multilabel_average_precision", "mean average precision"

    def of_label(self, out: Array, positive: Array) -> float | None:
        """Average precision of one label."""
        return average_precision(out, positive)


class MultiLabelRocAuc(MultiLabel):
    """The mean over the labels of ROC-AUC, missing labels left out."""

    name, label = "multilabel_roc_auc", "mean ROC-AUC"

    def of_label(self, out: Array, positive: Array) -> float | None:
        """ROC-AUC of one label."""
        return roc_auc(out, positive)


OBJECTIVES.add(MultiLabelAveragePrecision())
OBJECTIVES.add(MultiLabelRocAuc())
