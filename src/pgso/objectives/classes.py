"""Objectives of one class each, of several labels (yes, no or unknown), and of links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pgso.objectives.objective import (
    OBJECTIVES,
    Array,
    ColumnObjective,
    Objective,
    average_precision,
    roc_auc,
)

if TYPE_CHECKING:
    from torch import Tensor

HITS = (10, 20, 50, 100)  # the K of Hits@K


class Classification(Objective):
    """One class each: ``y`` (n,) holds its number, ``out`` (n, C) a score (logit) of every class.

    The loss is cross-entropy. Weights change what an example counts, not what the mean divides by.
    """

    answer = "class"

    def loss(self, out: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        from torch.nn.functional import cross_entropy

        if weight is None:
            return cross_entropy(out, y)
        return cross_entropy(out, y, weight, reduction="sum") / len(y)

    def class_weight(self, y: Tensor) -> Tensor:  # (largest class + 1,)
        """N / (C n_c): every class of the training set weighs the same."""
        members = y.bincount().double()
        present = members > 0
        weight = y.numel() / (present.sum() * members.clamp(min=1))
        return (weight * present).float()


class Accuracy(Classification):
    """The share of examples whose class is right: it has the largest score."""

    name, label = "accuracy", "accuracy"
    evidence = "sign"

    def errors(self, out: Array, y: Array) -> Array:
        return np.asarray(out.argmax(axis=1) != y)

    def score(self, out: Array, y: Array) -> float | None:
        return int(np.count_nonzero(out.argmax(axis=1) == y)) / len(y) if len(y) else None


class BalancedAccuracy(Classification):
    """The mean, over the classes that are there, of the share of their examples that is right."""

    name, label = "balanced_accuracy", "balanced accuracy"
    is_balanced = True

    def score(self, out: Array, y: Array) -> float | None:
        from sklearn.metrics import recall_score

        given = {"labels": np.unique(y), "average": "macro", "zero_division": 0.0}
        return float(recall_score(y, out.argmax(axis=1), **given)) if len(y) else None


class MacroF1(Classification):
    """The mean of F1, precision and recall in one, over classes that are there or predicted."""

    name, label = "macro_f1", "macro F1"

    def score(self, out: Array, y: Array) -> float | None:
        from sklearn.metrics import f1_score

        given = {"average": "macro", "zero_division": 0.0}
        return float(f1_score(y, out.argmax(axis=1), **given)) if len(y) else None


class RocAuc(Classification):
    """The probability that an example of one class scores above one of the other."""

    name, label = "roc_auc", "ROC-AUC"
    for_two = True
    measure = staticmethod(roc_auc)

    def score(self, out: Array, y: Array) -> float | None:
        margin = out[:, self.positive] - out[:, 1 - self.positive]
        return self.measure(margin, y == self.positive)


class AveragePrecision(RocAuc):
    """The mean precision over the ranks of the positive class: for one that is rare."""

    name, label = "average_precision", "average precision"
    has_positive = True
    measure = staticmethod(average_precision)


class MultiLabel(ColumnObjective):
    """Several labels each: ``y`` (n, L) holds 1, 0 or NaN (unknown) in a column per label.

    The score is the mean over the labels that have both a yes and a no, as OGB's. The loss is the
    binary cross-entropy of the known labels; a weight (L,) multiplies every yes.
    """

    answer = "labels"
    measure = staticmethod(roc_auc)  # of one label, from the examples where it is known

    def of_target(self, out: Array, y: Array) -> float | None:
        return self.measure(out, y > 0.5)

    def losses(self, out: Tensor, y: Tensor, weight: Tensor | None) -> Tensor:
        from torch.nn.functional import binary_cross_entropy_with_logits

        y = y.clamp(0, 1)  # what stands for an unknown label may be large
        return binary_cross_entropy_with_logits(out, y, reduction="none", pos_weight=weight)

    def class_weight(self, y: Tensor) -> Tensor:  # (L,)
        """How many times rarer a yes is than a no, label by label."""
        yes, no = (y == 1).sum(0).double(), (y == 0).sum(0).double()
        return (no.clamp(min=1) / yes.clamp(min=1)).float()


class MultiLabelRocAuc(MultiLabel):
    """The mean over the labels of ROC-AUC, missing labels left out."""

    name, label = "multilabel_roc_auc", "mean ROC-AUC"


class MultiLabelAveragePrecision(MultiLabel):
    """The mean over the labels of average precision, missing labels left out."""

    name, label = "multilabel_average_precision", "mean average precision"
    measure = staticmethod(average_precision)


class Link(Objective):
    """Pairs of nodes: in a row of ``out`` (n, 1 + m) the first is a link, and the others are not.

    The scores need no more. The loss is the binary cross-entropy of both kinds, half and half.
    """

    answer = "link"

    def loss(self, out: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        from torch.nn.functional import softplus

        return (softplus(-out[:, 0]) + softplus(out[:, 1:]).mean(dim=1)).mean()


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


OBJECTIVES.add(Accuracy(), BalancedAccuracy(), MacroF1(), RocAuc(), AveragePrecision())
OBJECTIVES.add(MultiLabelAveragePrecision(), MultiLabelRocAuc())
OBJECTIVES.add(LinkAuc(), LinkAveragePrecision(), *map(LinkHits, HITS), LinkMrr())
