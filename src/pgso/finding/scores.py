"""How good predictions are: per label for the evidence, and as the objective's score for people."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from pgso.finding.problem import Problem
from pgso.finding.ridge import ROWS, sample
from pgso.objectives import Objective
from pgso.objectives.values import Scale

TEMPERATURES = (0.0, *(2 ** (k / 2) for k in range(-4, 15)))  # 0: a rung that says nothing guesses


def score(objective: Objective, out: Tensor, y: Tensor) -> float | None:
    """The objective's score; None where it is not defined.

    Args:
        objective: A task's.
        out: (n, C) scores of classes, or numbers in the unit of the targets.
        y: (n,) classes, or (n, C) numbers.

    Example:
        >>> from pgso.objectives import OBJECTIVES
        >>> score(OBJECTIVES["accuracy"], torch.eye(3), torch.tensor([0, 1, 1]))
        0.6666666666666666
    """
    return objective.score(out.numpy(), y.numpy()) if len(y) else None


def pooled(
    problem: Problem, loo: float | None, val: float | None, num_train: int | None = None
) -> float | None:
    """The score on all labels that judge: the mean of both parts, weighted by their sizes."""
    size = len(problem.train) if num_train is None else num_train
    parts = [(loo, size), (val, len(problem.val))]
    defined = [(score, size) for score, size in parts if score is not None]
    if not defined:
        return None
    return sum(score * size for score, size in defined) / sum(size for _, size in defined)


def temperature(problem: Problem, loo: Tensor) -> float:
    """The factor of class scores whose softmax has the smallest leave-one-out log loss.

    Ridge regression shrinks its outputs, more so with a larger penalty. The squared error rewards
    an operator for being shrunk less; a calibrated log loss only rewards what it knows. The factor
    0 is a guess, so that no rung is worse than guessing: with many classes a rung that was would be
    beaten by any other that says less.
    """
    if not problem.classes:
        return 1.0
    y, rows = problem.y[problem.train], sample(len(loo), ROWS)
    if rows is not None:
        loo, y = loo[rows], y[rows]

    def loss(factor: float) -> float:
        out = Readout.of(problem, factor)(loo)
        return float(cross_entropy(out, y, problem.class_weight))

    return min(TEMPERATURES, key=loss)


@dataclass(frozen=True, eq=False)
class Readout:
    """From what ridge regression says to what the objective reads.

    Numbers are in the unit of the targets. Classes have calibrated logits. Where the objective
    counts every class the same, a class is likely if its value is above its share of the labels.
    Otherwise the logits of a value that is its class's share are the logarithms of the shares: with
    one factor for values and shares together, less shrinkage alone would look like evidence where
    classes are rare.
    """

    factor: float  # of classes
    centre: Tensor | None  # (C,) the classes' shares
    prior: Tensor | None  # (C,) their logits
    scale: Scale | None  # of numbers

    @classmethod
    def of(cls, problem: Problem, factor: float) -> "Readout":
        """The readout of a problem, with its :func:`temperature`."""
        is_balanced = problem.class_weight is not None
        if not problem.classes:
            return cls(factor, None, None, problem.scale)
        centre = problem.targets.mean(dim=0)
        # Half a label more for every class: a class without a training label is not impossible.
        counts = problem.targets.sum(dim=0) + 0.5
        prior = (counts / counts.sum()).log()
        return cls(factor, centre, torch.zeros_like(prior) if is_balanced else prior, None)

    def __call__(self, values: Tensor) -> Tensor:  # (n, C) -> (n, C), 64 bits
        """Logits, or numbers."""
        values = values.double()
        if self.scale is not None:
            return self.scale.decode(values)
        assert self.centre is not None
        assert self.prior is not None
        return self.prior + self.factor * (values - self.centre)


def losses(problem: Problem, parts: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """The loss of every label: log loss of classes, or the objective's errors of numbers.

    Args:
        problem: Whose labels they are.
        parts: Pairs of outputs (n, C) and true values.
    """
    out, y = (torch.cat(side) for side in zip(*parts, strict=True))
    if problem.classes:
        return cross_entropy(out, y, problem.class_weight, reduction="none")
    return torch.from_numpy(problem.objective.errors(out.numpy(), y.numpy()))
