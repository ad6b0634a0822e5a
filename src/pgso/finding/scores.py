"""How good predictions are: per label for the evidence, and as the objective's score for people."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas  # PyG has imported it; scipy.stats would take 0.3 s more
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from pgso.data.arrays import Array
from pgso.evaluation.statistics import Evidence, challenge
from pgso.finding.problem import Problem
from pgso.finding.ridge import ROWS, sample
from pgso.objectives import Objective
from pgso.objectives.values import Scale

FOLDS = 5
LEAST_GAIN = 2e-3  # of the loss: what a reader would not call a gain
TEMPERATURES = (0.0, *(2 ** (k / 2) for k in range(-4, 15)))  # 0: a rung that says nothing guesses


def score(objective: Objective, out: Tensor, y: Tensor) -> float | None:
    """The objective's score of (n, C) outputs and their answers; None where it is not defined."""
    return objective.score(out.numpy(), y.numpy()) if len(y) else None


def pooled(
    problem: Problem, loo: float | None, val: float | None, num_train: int | None = None
) -> float | None:
    """The score on all labels that judge: the mean of both parts, weighted by their sizes."""
    sizes = len(problem.train) if num_train is None else num_train, len(problem.val)
    pairs = zip((loo, val), sizes, strict=True)
    defined = [(score, size) for score, size in pairs if score is not None]
    if not defined:
        return None
    return sum(score * size for score, size in defined) / sum(size for _, size in defined)


def temperature(problem: Problem, loo: Tensor) -> float:
    """The factor of class scores whose softmax has the smallest leave-one-out log loss.

    The squared error rewards an operator for being shrunk less; a calibrated log loss only rewards
    what it knows. The factor 0 is a guess, so that no rung is worse than guessing: with many
    classes a rung that was would be beaten by any other that says less.
    """
    if not problem.classes:
        return 1.0
    y, rows = problem.y[problem.train], sample(len(loo), ROWS)
    if rows is not None:
        loo, y = loo[rows], y[rows]
    tried = (losses(problem, Readout.of(problem, factor)(loo), y) for factor in TEMPERATURES)
    by_loss = [float(each.mean()) for each in tried]
    return TEMPERATURES[by_loss.index(min(by_loss))]


@dataclass(frozen=True, eq=False)
class Readout:
    """From what ridge regression says to what the objective reads.

    Numbers are in the unit of the targets. Classes have calibrated logits. Where the objective
    counts every class the same, a class is likely if its value is above its share of the labels.
    Otherwise the logits of a value that is its class's share are the logarithms of the shares, so
    that less shrinkage alone is no evidence where classes are rare.
    """

    factor: float  # of classes
    centre: Tensor | None  # (C,) the classes' shares
    prior: Tensor | None  # (C,) their logits
    scale: Scale | None  # of numbers

    @classmethod
    def of(cls, problem: Problem, factor: float) -> "Readout":
        """The readout of a problem."""
        if not problem.classes:
            return cls(factor, None, None, problem.scale)
        # Half a label more for every class: a class without a training label is not impossible.
        counts = problem.Y.sum(dim=0) + 0.5
        prior = (counts / counts.sum()).log()
        if problem.answer == "labels":
            prior = (counts / (len(problem.Y) + 1)).logit()
        if problem.class_weight is not None:
            prior = torch.zeros_like(prior)
        return cls(factor, problem.Y.mean(dim=0), prior, None)

    def __call__(self, values: Tensor) -> Tensor:  # (n, C) -> (n, C), 64 bits
        """Logits, or numbers."""
        values = values.double()
        if self.scale is not None:
            return self.scale.decode(values)
        assert self.centre is not None
        assert self.prior is not None
        return self.prior + self.factor * (values - self.centre)


def losses(problem: Problem, out: Tensor, y: Tensor) -> Tensor:  # (n, C), true values -> (n,)
    """The loss of every item: log loss of classes or labels, the objective's errors of numbers."""
    if problem.answer == "class":
        return cross_entropy(out, y, problem.class_weight, reduction="none")
    if problem.answer == "labels":
        known = y.isfinite()
        each = binary_cross_entropy_with_logits(out, y.nan_to_num().double(), reduction="none")
        return (each * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)
    return torch.from_numpy(problem.objective.errors(out.numpy(), y.numpy()))


class Said(NamedTuple):
    """What a fit says of every label that judges, by fits that did not see it."""

    losses: Tensor  # (n,)
    values: Tensor | None  # (n, T) of numbers


def said(problem: Problem, train: Tensor, val: Tensor) -> Said:
    """What leave-one-out predictions, and those of validation labels, are worth.

    A label that is left out moves the mean of the others, which ranks would see: values have the
    mean of all.
    """
    out, values = torch.cat([train, val]), None
    if not problem.classes:
        own = problem.y[problem.train].double()
        values = torch.cat([train + (own - own.mean(dim=0)) / max(len(own) - 1, 1), val])
    return Said(losses(problem, out, problem.y[problem.judges]), values)


def evidence_of(
    problem: Problem, incumbent: Said, challengers: Sequence[Said], judges: Tensor | None = None
) -> list[Evidence]:
    """The evidence of challengers against the incumbent: by the mean of their losses.

    Of numbers, ranks judge beside means: where a few hubs have errors as large as all others
    together, a mean says nothing. The incumbent's errors are correlated by rank (Spearman) with the
    change that a challenger makes; a change that knows nothing has a correlation of 0, or less,
    whatever the tails. Each test has half of the risk. Ranks see the smallest change, so that they
    count only where the loss gains what a reader would call a gain. ``judges`` is a mask of the
    labels that may judge; None: all.
    """
    if judges is None:
        judges = torch.ones(len(incumbent.losses), dtype=torch.bool)
    incumbent, *challengers = [
        Said(one.losses[judges], None if one.values is None else one.values[judges])
        for one in (incumbent, *challengers)
    ]
    by_mean = challenge(incumbent.losses, torch.stack([one.losses for one in challengers]))
    if incumbent.values is None:
        return by_mean
    y = problem.y[problem.judges][judges].double()
    errors = _ranks(y - incumbent.values)
    values = [one.values for one in challengers if one.values is not None]
    changes = [_ranks(value - incumbent.values) for value in values]
    products = torch.stack([(errors * change).nan_to_num().mean(dim=1) for change in changes])
    by_rank = challenge(torch.zeros_like(products[0]), -products)
    least = LEAST_GAIN * float(incumbent.losses.mean())
    return [
        replace(mean, p=min(1.0, 2 * (min(mean.p, rank.p) if mean.gain > least else mean.p)))
        for mean, rank in zip(by_mean, by_rank, strict=True)
    ]


def _ranks(values: Tensor) -> Tensor:  # (n, T)
    """The ranks of each column, of mean 0 and variance 1; equal values share theirs."""
    ranks = torch.from_numpy(pandas.DataFrame(values.numpy()).rank().to_numpy(copy=True))
    centred = ranks - ranks.nanmean(dim=0)
    return centred / centred.square().nanmean(dim=0).sqrt().clamp(min=1e-12)


def folds_of(items: Tensor) -> list[Array]:
    """Five parts of the places of items, the same ones in whatever order the items are."""
    ranks = items.argsort().argsort().numpy()
    fold = np.random.default_rng(0).permutation(len(ranks))[ranks] % FOLDS
    return [np.flatnonzero(fold == k) for k in range(FOLDS)]


def probabilities(problem: Problem, out: Tensor) -> Tensor:  # (n, C) -> (n, C)
    """What logits say about classes, which exclude each other, or about labels, which do not."""
    return out.softmax(dim=1) if problem.answer == "class" else out.sigmoid()
