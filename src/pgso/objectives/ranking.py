"""Scores of a ranking: the area under the ROC curve, and average precision."""

import numpy as np

from pgso.objectives.objective import Array


def roc_auc(
    scores: Array,  # (n,)
    positive: Array,  # (n,) of booleans
) -> float | None:
    """The probability that a positive scores above a negative, ties counting half.

    scikit-learn's own takes longer than a training step on a small graph; this is the
    rank-sum formula it is tested against. None where there is one class only.

    Example:
        >>> roc_auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
        0.75
    """
    num_positive = int(np.count_nonzero(positive))
    num_negative = positive.size - num_positive
    if num_positive == 0 or num_negative == 0:
        return None
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2  # the mean rank of equal scores
    rank_sum = float(rank[group][positive].sum())
    return (rank_sum - num_positive * (num_positive + 1) / 2) / (num_positive * num_negative)


def average_precision(
    scores: Array,  # (n,)
    positive: Array,  # (n,) of booleans
) -> float | None:
    """The mean precision over the ranks of the positives: scikit-learn's.

    None where there is one class only.
    """
    from sklearn.metrics import average_precision_score

    if not positive.any() or positive.all():
        return None
    return float(average_precision_score(positive, scores))
