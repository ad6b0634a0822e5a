"""How good class scores are: accuracy, and the area under the ROC curve."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor


def score(metric: str, logits: Tensor, y: Tensor) -> float | None:
    """The metric in [0, 1]; None where it is not defined (no examples, or one class only)."""
    if y.numel() == 0:
        return None
    if metric == "roc_auc":
        return roc_auc(logits[:, 1] - logits[:, 0], y == 1)
    return float((logits.argmax(dim=1) == y).double().mean())


def score_parts(metric: str, logits: Tensor, y: Tensor, sizes: Sequence[int]) -> list[float | None]:
    """:func:`score` of consecutive parts of the examples; accuracies are counted in one go.

    Example:
        >>> score_parts("accuracy", torch.eye(3), torch.tensor([0, 1, 1]), [1, 2, 0])
        [1.0, 0.5, None]
    """
    parts = [*sizes]
    if metric == "roc_auc":
        return [
            score(metric, *part) for part in zip(logits.split(parts), y.split(parts), strict=True)
        ]
    right = (logits.argmax(dim=1) == y).numpy(force=True)
    ends = [*accumulate(parts)]
    return [
        int(np.count_nonzero(right[end - size : end])) / size if size else None
        for size, end in zip(parts, ends, strict=True)
    ]


def roc_auc(scores: Tensor, positive: Tensor) -> float | None:
    """The probability that a positive scores above a negative, ties counting half.

    scikit-learn's own takes longer than a training step on a small graph; this is the
    rank-sum formula it is tested against.

    Example:
        >>> roc_auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([False, False, True, True]))
        0.75
    """
    num_positive = int(positive.sum())
    num_negative = positive.numel() - num_positive
    if num_positive == 0 or num_negative == 0:
        return None
    _, group, counts = torch.unique(scores, return_inverse=True, return_counts=True)
    last_rank = counts.cumsum(0).double()
    rank = last_rank - (counts.double() - 1) / 2  # the mean rank of equal scores
    rank_sum = float(rank[group][positive].sum())
    return (rank_sum - num_positive * (num_positive + 1) / 2) / (num_positive * num_negative)
