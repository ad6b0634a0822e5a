"""Hits@K of links."""

import numpy as np

from pgso.objectives.links import Link
from pgso.objectives.objective import OBJECTIVES, Array

KNOWN = (10, 20, 50, 100)


class LinkHits(Link):
    """The share of links that score above all but K - 1 of the pairs that are none, as OGB's."""

    def __init__(self, k: int) -> None:
        self.k, self.name, self.label = k, f"link_hits@{k}", f"Hits@{k}"

    def score(self, out: Array, y: Array) -> float | None:
        """The share above the K-th best pair that is none; all, if there are fewer of them."""
        if not len(out):
            return None
        none = np.sort(out[:, 1:], axis=None)
        if none.size < self.k:
            return 1.0
        return int(np.count_nonzero(out[:, 0] > none[-self.k])) / len(out)


for _k in KNOWN:
    OBJECTIVES.add(LinkHits(_k))
