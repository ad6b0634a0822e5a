"""``Objective``: loss, score, which way is better, how a score is written, what evidence fits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pgso.errors import InputError
from pgso.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from pgso.objectives.values import Scale

Array = np.ndarray[Any, Any]
Answer = Literal["class", "labels", "value", "link"]
Evidence = Literal["sign", "errors", "bootstrap"]
RARE = 0.1  # the share of a class below which accuracy says little

ANSWERS: dict[Answer, str] = {
    "class": "one class each",
    "labels": "several labels, each yes or no",
    "value": "numbers",
    "link": "links",
}


class Objective(ABC):
    """What is learned and how it is scored.

    A score is a fraction, or in the unit of the targets. It is recorded as it is, also where
    lower is better; :meth:`merit` turns it so that larger is better.
    """

    name: str  # as in specs and records
    label: str  # as in tables, figures and sentences
    answer: Answer  # what the data have to say about every example
    larger_is_better = True
    in_percent = True  # scores are shown as 100 x, differences as points
    bounds: tuple[float, float] = (0.0, 1.0)  # no score lies outside
    evidence: Evidence = "bootstrap"  # the test that says whether one model beats another
    for_two = False  # whether it is defined for two classes only
    is_balanced = False  # whether a rare class counts as much as a frequent one
    has_positive = False  # whether the score is about one of two classes
    positive = 1  # the number of that class
    positive_name: str | None = None  # and its name, where it is known

    @abstractmethod
    def score(self, out: Array, y: Array) -> float | None:  # (n, outputs), (n,) or (n, outputs)
        """The score of outputs in the unit of the targets; None where it is not defined."""

    @abstractmethod
    def loss(self, out: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:  # ()
        """What training makes small: the mean over what is known.

        Targets are standardised where :meth:`scale` says so; a weight (outputs,) is of classes.
        """

    def scale(self, y: Tensor, log: bool) -> Scale | None:
        """How targets are standardised, learned on the training set; None if they are not."""
        if log:
            raise InputError(f"log_targets is for numbers, and {self.name} is not about numbers")
        return None

    def class_weight(self, y: Tensor) -> Tensor:  # (outputs,)
        """Weights that let rare classes count as much as frequent ones, from training labels."""
        raise InputError(f"class_weights are for classes, and {self.name} is not about classes")

    def advice(self, y: Array, classes: tuple[str, ...]) -> str | None:
        """What to be careful with on these training labels: a rare class of two. Mostly None."""
        is_asked = self.answer == "class" and self.name != "average_precision"
        if not is_asked or len(classes) != 2 or not len(y):
            return None
        members = np.bincount(y, minlength=2)
        rare = int(members.argmin())
        share = members[rare] / len(y)
        if share >= RARE:
            return None
        return (
            f"only {100 * share:.1f} % of the training examples are {classes[rare]!r}, of which "
            f"{self.label} says little; consider --objective average_precision"
        )

    def of_class(self, name: str | None, number: int = 1) -> Objective:
        """The same objective about one of two classes, which its label names."""
        if name is None or not self.has_positive:
            return self
        objective = copy(self)
        objective.positive, objective.positive_name = number, name
        objective.label = f"{type(self).label} of {name}"
        return objective

    def errors(self, out: Array, y: Array) -> Array:  # (n,)
        """How wrong each example is, or whether it is, for the tests that pair examples."""
        raise NotImplementedError(self.name)

    def merit(self, score: float | None) -> float:
        """The score with its sign turned so that larger is better; no score is below any."""
        if score is None:
            return -math.inf
        return score if self.larger_is_better else -score

    def shown(self, score: float) -> float:
        """The number that people read: per cent, or the score itself."""
        return 100 * score if self.in_percent else score

    def digits(self, shown: float) -> int:
        """How many decimals to write of numbers as large as this."""
        if self.in_percent:
            return 1
        size = abs(shown)
        return min(max(3 - math.ceil(math.log10(size)), 0), 6) if 0 < size < math.inf else 3

    def written(self, score: float | None, more: int = 0) -> str:
        """A score as text, with so many more decimals than tables have."""
        if score is None:
            return "–"
        shown = 100 * score if self.in_percent else score
        return f"{shown:.{self.digits(shown) + more}f}"

    @property
    def heading(self) -> str:
        """The score in words, over tables and beside axes."""
        if self.in_percent:
            return f"{self.label}, %"
        return self.label if self.larger_is_better else f"{self.label} (lower is better)"

    @property
    def unit(self) -> str:
        """What follows the number of a difference: points only where it is per cent."""
        return "points" if self.in_percent else f"in {self.heading}"

    def __repr__(self) -> str:
        return f"Objective({self.name})"


class _Objectives(Registry[Objective]):
    """Objectives by name, as people write them: ``roc_auc``, ``ROC-AUC``, ``R²``, ``macro F1``."""

    def __getitem__(self, name: str) -> Objective:
        if isinstance(name, str):
            name = name.strip().lower().replace("²", "2").replace("-", "_").replace(" ", "_")
        return super().__getitem__(name)

    def add(self, *objectives: Objective) -> None:
        """Make objectives known by their names."""
        for objective in objectives:
            self.register(objective.name)(objective)

    def answering(self, answer: Answer) -> list[str]:
        """The names of those that score this kind of answer."""
        return [name for name, objective in self.items() if objective.answer == answer]


OBJECTIVES = _Objectives("objective", plugins="pgso.objectives")


def roc_auc(scores: Array, positive: Array) -> float | None:  # (n,), (n,) of booleans
    """The probability that a positive scores above a negative; None where there is one class only.

    scikit-learn's own, against which it is tested, takes longer than a step on a small graph.
    """
    num_positive = int(np.count_nonzero(positive))
    num_negative = positive.size - num_positive
    if num_positive == 0 or num_negative == 0:
        return None
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2  # the mean rank of equal scores
    rank_sum = float(rank[group][positive].sum())
    return (rank_sum - num_positive * (num_positive + 1) / 2) / (num_positive * num_negative)


def average_precision(scores: Array, positive: Array) -> float | None:
    """The mean precision over the ranks of the positives; None where there is one class only."""
    from sklearn.metrics import average_precision_score

    if not positive.any() or positive.all():
        return None
    return float(average_precision_score(positive, scores))


class ColumnObjective(Objective):
    """Answers in columns: ``y`` (n, T) holds numbers, NaN where one is unknown.

    The score is the mean over the columns that have one, each from the examples where it is known,
    in double precision. The loss is the mean over what is known.
    """

    def score(self, out: Array, y: Array) -> float | None:
        scores = []
        for k, known in enumerate(np.isfinite(y).T):
            if known.any():
                column = (values[known, k].astype(np.float64) for values in (out, y))
                scores.append(self.of_target(*column))
        defined = [score for score in scores if score is not None]
        return float(np.mean(defined)) if defined else None

    def of_target(self, out: Array, y: Array) -> float | None:
        """The score of one column, from the examples where it is known, in double precision."""
        raise NotImplementedError(self.name)

    def loss(self, out: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        is_known = y.isfinite()
        loss = self.losses(out, y.where(is_known, out.detach()), weight)
        return (loss * is_known).sum() / is_known.sum().clamp(min=1)

    def losses(self, out: Tensor, y: Tensor, weight: Tensor | None) -> Tensor:  # (n, T)
        """What each answer costs in training; unknown ones are what the network says."""
        raise NotImplementedError(self.name)
