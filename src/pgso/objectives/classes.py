"""Objectives of examples that have one class each, or several labels, each yes, no or unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pgso.objectives.objective import (
    OBJECTIVES,
    Array,
    ColumnObjective,
    Objective,
    average_precision,
    roc_auc,
)

if TYPE_CHECKING:
    from torch import Tensor

RARE = 0.1  # the share of a class below which accuracy says little


class Classification(Objective):
    """One class each: ``y`` (n,) holds its number, ``out`` (n, C) a score (logit) of every class.

    The loss is cross-entropy. Weights change what an example counts, not what the mean divides by.
    """

    answer = "class"
    for_two = False  # whether it is defined for two classes only
    is_balanced = False  # whether a rare class counts as much as a frequent one

    def loss(
        self, out: Tensor, y: Tensor, weight: Tensor | None = None, reduction: str = "mean"
    ) -> Tensor:
        from torch.nn.functional import cross_entropy

        if weight is None:
            return cross_entropy(out, y, reduction=reduction)
        total = cross_entropy(out, y, weight, reduction="sum")
        return total / len(y) if reduction == "mean" else total

    def class_weight(self, y: Tensor) -> Tensor:  # (largest class + 1,)
        """N / (C n_c): every class of the training set weighs the same."""
        members = y.bincount().double()
        present = members > 0
        weight = y.numel() / (present.sum() * members.clamp(min=1))
        return (weight * present).float()

    def problem(self, num_classes: int) -> str | None:
        if self.for_two and num_classes != 2:
            return f"{self.name} needs two classes, got {num_classes}"
        return None

    def advice(self, y: Array, classes: tuple[str, ...]) -> str | None:
        """A rare class of two: one that says nothing would be right on nearly all examples."""
        if len(classes) != 2 or not len(y) or self.name == "average_precision":
            return None
        members = np.bincount(y, minlength=2)
        rare = int(members.argmin())
        share = members[rare] / len(y)
        if share >= RARE:
            return None
        return (
            f"only {100 * share:.1f} % of the training examples are {classes[rare]!r}, of which "
            f"{self.label} says little; consider --objective average_precision"
        )


class Accuracy(Classification):
    """The share of examples whose class is right: it has the largest score."""

    name, label = "accuracy", "accuracy"
    evidence = "sign"

    def is_right(self, out: Array, y: Array) -> Array:
        right: Array = out.argmax(axis=1) == y
        return right

    def score(self, out: Array, y: Array) -> float | None:
        return int(np.count_nonzero(self.is_right(out, y))) / len(y) if len(y) else None


class BalancedAccuracy(Classification):
    """The mean, over the classes that are there, of the share of their examples that is right."""

    name, label = "balanced_accuracy", "balanced accuracy"
    is_balanced = True

    def score(self, out: Array, y: Array) -> float | None:
        from sklearn.metrics import recall_score

        given = {"labels": np.unique(y), "average": "macro", "zero_division": 0.0}
        return float(recall_score(y, out.argmax(axis=1), **given)) if len(y) else None


class MacroF1(Classification):
    """The mean of F1, precision and recall in one, over classes that are there or predicted."""

    name, label = "macro_f1", "macro F1"

    def score(self, out: Array, y: Array) -> float | None:
        from sklearn.metrics import f1_score

        given = {"average": "macro", "zero_division": 0.0}
        return float(f1_score(y, out.argmax(axis=1), **given)) if len(y) else None


class RocAuc(Classification):
    """The probability that an example of one class scores above one of the other.

    It is the same for both classes.
    """

    name, label = "roc_auc", "ROC-AUC"
    for_two = True
    measure = staticmethod(roc_auc)

    def score(self, out: Array, y: Array) -> float | None:
        margin = out[:, self.positive] - out[:, 1 - self.positive]
        return self.measure(margin, y == self.positive)


class AveragePrecision(RocAuc):
    """The mean precision over the ranks of the positive class: for one that is rare."""

    name, label = "average_precision", "average precision"
    has_positive = True
    measure = staticmethod(average_precision)


class MultiLabel(ColumnObjective):
    """Several labels each: ``y`` (n, L) holds 1, 0 or NaN (unknown) in a column per label.

    The score is the mean over the labels that have both a yes and a no, as OGB's. The loss is the
    binary cross-entropy of the known labels; a weight (L,) multiplies every yes.
    """

    answer = "labels"
    measure = staticmethod(roc_auc)  # of one label, from the examples where it is known

    def of_target(self, out: Array, y: Array) -> float | None:
        return self.measure(out, y > 0.5)

    def losses(self, out: Tensor, y: Tensor, weight: Tensor | None) -> Tensor:
        from torch.nn.functional import binary_cross_entropy_with_logits

        y = y.clamp(0, 1)  # what stands for an unknown label may be large
        return binary_cross_entropy_with_logits(out, y, reduction="none", pos_weight=weight)

    def class_weight(self, y: Tensor) -> Tensor:  # (L,)
        """How many times rarer a yes is than a no, label by label."""
        yes, no = (y == 1).sum(0).double(), (y == 0).sum(0).double()
        return (no.clamp(min=1) / yes.clamp(min=1)).float()


class MultiLabelRocAuc(MultiLabel):
    """The mean over the labels of ROC-AUC, missing labels left out."""

    name, label = "multilabel_roc_auc", "mean ROC-AUC"


class MultiLabelAveragePrecision(MultiLabel):
    """The mean over the labels of average precision, missing labels left out."""

    name, label = "multilabel_average_precision", "mean average precision"
    measure = staticmethod(average_precision)


for _objective in (Accuracy(), BalancedAccuracy(), MacroF1(), RocAuc(), AveragePrecision()):
    OBJECTIVES.add(_objective)
OBJECTIVES.add(MultiLabelAveragePrecision())
OBJECTIVES.add(MultiLabelRocAuc())
