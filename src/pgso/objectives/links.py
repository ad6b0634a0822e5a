"""Objectives of links: which of several pairs of nodes is one?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pgso.objectives.objective import OBJECTIVES, Array, Objective, average_precision, roc_auc

if TYPE_CHECKING:
    from torch import Tensor

HITS = (10, 20, 50, 100)  # the K of Hits@K


class Link(Objective):
    """Pairs of nodes: in a row of ``out`` (n, 1 + m) the first is a link, and the others are not.

    ``y`` is the place of the link in its row, always 0: the scores need no more than ``out``. The
    loss is the binary cross-entropy of the link and of the other pairs, half and half.
    """

    answer = "link"

    def loss(
        self, out: Tensor, y: Tensor, weight: Tensor | None = None, reduction: str = "mean"
    ) -> Tensor:
        from torch.nn.functional import softplus

        loss = softplus(-out[:, 0]) + softplus(out[:, 1:]).mean(dim=1)
        return loss.mean() if reduction == "mean" else loss.sum()


class LinkAuc(Link):
    """The probability that a link scores above a pair that is none, one such pair a link."""

    name, label = "link_auc", "link AUC"
    measure = staticmethod(roc_auc)

    def score(self, out: Array, y: Array) -> float | None:
        pairs = out[:, :2].ravel()
        return self.measure(pairs, np.arange(pairs.size) % 2 == 0)


class LinkAveragePrecision(LinkAuc):
    """The mean precision over the ranks of the links, among as many pairs that are none."""

    name, label = "link_average_precision", "link average precision"
    measure = staticmethod(average_precision)


class LinkHits(Link):
    """The share of links that score above the K-th best of the pairs that are none, as OGB's.

    It is 1 where there are fewer than K such pairs.
    """

    def __init__(self, k: int) -> None:
        self.k, self.name, self.label = k, f"link_hits@{k}", f"Hits@{k}"

    def score(self, out: Array, y: Array) -> float | None:
        if not len(out):
            return None
        none = np.sort(out[:, 1:], axis=None)
        if none.size < self.k:
            return 1.0
        return int(np.count_nonzero(out[:, 0] > none[-self.k])) / len(out)


class LinkMrr(Link):
    """The mean of 1 / rank of a link among its own pairs that are none.

    Ranks are counted from 1; of ties it is the mean of the best and the worst rank, as OGB's.
    """

    name, label = "link_mrr", "MRR"

    def score(self, out: Array, y: Array) -> float | None:
        if not len(out):
            return None
        link, none = out[:, :1], out[:, 1:]
        rank = 1 + ((none > link).sum(axis=1) + (none >= link).sum(axis=1)) / 2
        return float(np.mean(1 / rank))


for _objective in (LinkAuc(), LinkAveragePrecision(), *map(LinkHits, HITS), LinkMrr()):
    OBJECTIVES.add(_objective)
