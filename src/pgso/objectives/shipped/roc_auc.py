"""ROC-AUC of two classes."""

from pgso.objectives.classes import Classification
from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.ranking import roc_auc


class RocAuc(Classification):
    """The probability that an example of the second class scores above one of the first."""

    name, label = "roc_auc", "ROC-AUC"
    for_two = True

    def score(self, out: Array, y: Array) -> float | None:
        """The area under the curve; None with one class only."""
        return roc_auc(self.positive(out), y == 1)


OBJECTIVES.add(RocAuc())
