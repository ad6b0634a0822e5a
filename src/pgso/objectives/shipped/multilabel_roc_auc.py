"""ROC-AUC of several labels."""

from pgso.objectives.multilabel import MultiLabel
from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.ranking import roc_auc


class MultiLabelRocAuc(MultiLabel):
    """The mean over the labels of ROC-AUC, missing labels left out."""

    name, label = "multilabel_roc_auc", "mean ROC-AUC"

    def of_label(self, out: Array, positive: Array) -> float | None:
        """ROC-AUC of one label."""
        return roc_auc(out, positive)


OBJECTIVES.add(MultiLabelRocAuc())
