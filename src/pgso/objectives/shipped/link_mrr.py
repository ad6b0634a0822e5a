"""Mean reciprocal rank of links."""

import numpy as np

from pgso.objectives.links import Link
from pgso.objectives.objective import OBJECTIVES, Array


class LinkMrr(Link):
    """The mean of 1 / rank of a link among its own pairs that are none, ties in the middle."""

    name, label = "link_mrr", "MRR"

    def score(self, out: Array, y: Array) -> float | None:
        """Ranks are counted from 1; as OGB's, the mean of the best and the worst rank."""
        if not len(out):
            return None
        link, none = out[:, :1], out[:, 1:]
        rank = 1 + ((none > link).sum(axis=1) + (none >= link).sum(axis=1)) / 2
        return float(np.mean(1 / rank))


OBJECTIVES.add(LinkMrr())
