"""Average precision of two classes."""

from pgso.objectives.classes import Classification
from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.ranking import average_precision


class AveragePrecision(Classification):
    """The mean precision over the ranks of the second class: for one that is rare."""

    name, label = "average_precision", "average precision"
    for_two = True

    def score(self, out: Array, y: Array) -> float | None:
        """scikit-learn's; None with one class only."""
        return average_precision(self.positive(out), y == 1)


OBJECTIVES.add(AveragePrecision())
