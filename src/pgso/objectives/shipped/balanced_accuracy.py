"""Balanced accuracy."""

from pgso.objectives.classes import Classification
from pgso.objectives.objective import OBJECTIVES, Array


class BalancedAccuracy(Classification):
    """The mean over the classes of the share of their examples that is right."""

    name, label = "balanced_accuracy", "balanced accuracy"
    is_balanced = True

    def score(self, out: Array, y: Array) -> float | None:
        """The mean recall of the classes that are there."""
        from sklearn.metrics import recall_score

        if not len(y):
            return None
        return float(
            recall_score(
                y, out.argmax(axis=1), labels=sorted(set(y.tolist())), average="macro",
                zero_division=0.0,
            )
        )  # fmt: skip


OBJECTIVES.add(BalancedAccuracy())
