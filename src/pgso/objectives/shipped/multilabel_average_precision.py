"""Average precision of several labels."""

from pgso.objectives.multilabel import MultiLabel
from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.ranking import average_precision


class MultiLabelAveragePrecision(MultiLabel):
    """The mean over the labels of average precision, missing labels left out."""

    name, label = "multilabel_average_precision", "mean average precision"

    def of_label(self, out: Array, positive: Array) -> float | None:
        """Average precision of one label."""
        return average_precision(out, positive)


OBJECTIVES.add(MultiLabelAveragePrecision())
