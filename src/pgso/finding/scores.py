"""How good predictions are: per label for the evidence, and as one score for people."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from pgso.finding.ridge import ROWS, sample

TEMPERATURES = tuple(2 ** (k / 2) for k in range(-4, 15))


def score(metric: str, predictions: Tensor, y: Tensor) -> float | None:
    """The metric of class scores or values; None where it is not defined.

    Args:
        metric: ``"accuracy"``, ``"roc_auc"`` (both in [0, 1]) or ``"r2"``.
        predictions: (n, C).
        y: (n,) classes, or numbers.

    Example:
        >>> score("accuracy", torch.eye(3), torch.tensor([0, 1, 1]))
        0.6666666666666666
    """
    if y.numel() == 0:
        return None
    if metric == "roc_auc":
        return _roc_auc(predictions[:, 1] - predictions[:, 0], y == 1)
    if metric == "r2":
        spread = float((y.double() - y.double().mean()).square().sum())
        error = float((y.double() - predictions[:, 0].double()).square().sum())
        return 1 - error / spread if spread > 0 else None
    return float((predictions.argmax(dim=1) == y).double().mean())


def _roc_auc(scores: Tensor, positive: Tensor) -> float | None:
    """The probability that a positive scores above a negative, ties counting half."""
    num_positive = int(positive.sum())
    num_negative = positive.numel() - num_positive
    if num_positive == 0 or num_negative == 0:
        return None
    _, group, counts = torch.unique(scores, return_inverse=True, return_counts=True)
    rank = counts.cumsum(0).double() - (counts.double() - 1) / 2
    rank_sum = float(rank[group][positive].sum())
    return (rank_sum - num_positive * (num_positive + 1) / 2) / (num_positive * num_negative)


def temperature(loo: Tensor, y: Tensor) -> float:
    """The factor of class scores whose softmax has the smallest leave-one-out log loss.

    Ridge regression shrinks its outputs, more so with a larger penalty. The squared error rewards
    an operator for being shrunk less; a calibrated log loss only rewards what it knows.
    """
    rows = sample(len(y), ROWS)
    if rows is not None:
        loo, y = loo[rows], y[rows]
    losses = [float(cross_entropy(factor * loo, y)) for factor in TEMPERATURES]
    return TEMPERATURES[losses.index(min(losses))]


def losses(factor: float, parts: Sequence[tuple[Tensor, Tensor]], has_classes: bool) -> Tensor:
    """The loss of every label: calibrated log loss, or the squared error of numbers.

    Args:
        factor: The :func:`temperature`.
        parts: Pairs of predictions (n, C) and true values (n,).
        has_classes: Whether the values are classes.
    """
    if has_classes:
        found = [cross_entropy(factor * p.double(), y, reduction="none") for p, y in parts]
    else:
        found = [(p[:, 0].double() - y.double()).square() for p, y in parts]
    return torch.cat(found)
