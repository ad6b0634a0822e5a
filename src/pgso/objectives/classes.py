"""Objectives of examples that have one class each: accuracy and its relatives, ROC-AUC, AP."""

from typing import TYPE_CHECKING

import numpy as np

from pgso.objectives.objective import OBJECTIVES, Array, Objective, average_precision, roc_auc

if TYPE_CHECKING:
    from torch import Tensor

RARE = 0.1  # the share of a class below which accuracy says little


class Classification(Objective):
    """One class each: ``y`` holds its number, ``out`` a score (logit) of every class."""

    answer = "class"
    for_two = False  # whether it is defined for two classes only
    is_balanced = False  # whether a rare class counts as much as a frequent one

    def loss(
        self,
        out: "Tensor",  # (n, C)
        y: "Tensor",  # (n,)
        weight: "Tensor | None" = None,  # (C,)
        reduction: str = "mean",
    ) -> "Tensor":
        """Cross-entropy. Weights change what an example counts, not what the mean divides by."""
        from torch.nn.functional import cross_entropy

        if weight is None:
            return cross_entropy(out, y, reduction=reduction)
        total = cross_entropy(out, y, weight, reduction="sum")
        return total / len(y) if reduction == "mean" else total

    def class_weight(self, y: "Tensor") -> "Tensor":  # (largest class + 1,)
        """N / (C n_c): every class of the training set weighs the same."""
        members = y.bincount().double()
        present = members > 0
        weight = y.numel() / (present.sum() * members.clamp(min=1))
        return (weight * present).float()

    def problem(self, num_classes: int) -> str | None:
        """Two classes, where the metric is about one of them."""
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

    def margin(self, out: Array) -> Array:  # (n,)
        """How much speaks for the positive one of two classes."""
        margin: Array = out[:, self.positive] - out[:, 1 - self.positive]
        return margin


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


class BalancedAccuracy(Classification):
    """The mean over the classes of the share of their examples that is right."""

    name, label = "balanced_accuracy", "balanced accuracy"
    is_balanced = True

    def score(self, out: Array, y: Array) -> float | None:
        """The mean recall of the classes that are there."""
        from sklearn.metrics import recall_score

        if not len(y):
            return None
        present = sorted(set(y.tolist()))
        predicted = out.argmax(axis=1)
        return float(recall_score(y, predicted, labels=present, average="macro", zero_division=0.0))


class MacroF1(Classification):
    """The mean over the classes of the harmonic mean of precision and recall."""

    name, label = "macro_f1", "macro F1"

    def score(self, out: Array, y: Array) -> float | None:
        """scikit-learn's, over the classes that are there or are predicted."""
        from sklearn.metrics import f1_score

        if not len(y):
            return None
        return float(f1_score(y, out.argmax(axis=1), average="macro", zero_division=0.0))


class RocAuc(Classification):
    """The probability that an example of one class scores above one of the other.

    It is the same for both classes.
    """

    name, label = "roc_auc", "ROC-AUC"
    for_two = True

    def score(self, out: Array, y: Array) -> float | None:
        """The area under the curve; None with one class only."""
        return roc_auc(self.margin(out), y == self.positive)


class AveragePrecision(Classification):
    """The mean precision over the ranks of the positive class: for one that is rare."""

    name, label = "average_precision", "average precision"
    for_two = True
    has_positive = True

    def score(self, out: Array, y: Array) -> float | None:
        """scikit-learn's; None with one class only."""
        return average_precision(self.margin(out), y == self.positive)


for _objective in (Accuracy(), BalancedAccuracy(), MacroF1(), RocAuc(), AveragePrecision()):
    OBJECTIVES.add(_objective)
