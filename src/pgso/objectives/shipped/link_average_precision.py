"""Average precision of links."""

import numpy as np

from pgso.objectives.links import Link
from pgso.objectives.objective import OBJECTIVES, Array
from pgso.objectives.ranking import average_precision


class LinkAveragePrecision(Link):
    """The mean precision over the ranks of the links, among as many pairs that are none."""

    name, label = "link_average_precision", "link average precision"

    def score(self, out: Array, y: Array) -> float | None:
        """scikit-learn's, over links and their first pairs that are none."""
        pairs = out[:, :2].ravel()
        if not pairs.size:
            return None
        return average_precision(pairs, np.arange(pairs.size) % 2 == 0)


OBJECTIVES.add(LinkAveragePrecision())
