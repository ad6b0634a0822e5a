"""Macro F1."""

from pgso.objectives.classes import Classification
from pgso.objectives.objective import OBJECTIVES, Array


class MacroF1(Classification):
    """The mean over the classes of the harmonic mean of precision and recall."""

    name, label = "macro_f1", "macro F1"

    def score(self, out: Array, y: Array) -> float | None:
        """scikit-learn's, over the classes that are there or are predicted."""
        from sklearn.metrics import f1_score

        if not len(y):
            return None
        return float(f1_score(y, out.argmax(axis=1), average="macro", zero_division=0.0))


OBJECTIVES.add(MacroF1())
