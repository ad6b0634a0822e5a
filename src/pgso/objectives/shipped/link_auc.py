"""ROC-AUC of links."""

import numpy as np

from pgso.objectives.links import Link
from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.ranking import roc_auc


class LinkAuc(Link):
    """The probability that a link scores above a pair that is none, one such pair a link."""

    name, label = "link_auc", "link AUC"

    def score(self, out: Array, y: Array) -> float | None:
        """The area under the curve over links and their first pairs that are none."""
        pairs = out[:, :2].ravel()
        return roc_auc(pairs, np.arange(pairs.size) % 2 == 0)


OBJECTIVES.add(LinkAuc())
