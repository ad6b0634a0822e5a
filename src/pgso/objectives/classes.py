"""Objectives of examples that have one class each."""

from typing import TYPE_CHECKING

import numpy as np

from pgso.objectives.objective import Array, Objective

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
        """Cross-entropy."""
        from pgso.objectives import losses

        return losses.cross_entropy(out, y, weight, reduction)

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

    def positive(self, out: Array) -> Array:  # (n,)
        """How much speaks for the second of two classes."""
        margin: Array = out[:, 1] - out[:, 0]
        return margin
