"""Is the learned operator really better than the fixed one? What validation says, with chance."""

import torch
from scipy.special import bdtrc
from torch import Tensor

from pgso.training.metrics import score

ROUNDS = 1000


def confidence_in_gain(
    metric: str,
    fixed: Tensor,  # (n, C) class scores
    learned: Tensor,  # (n, C) of the same examples
    y: Tensor,  # (n,)
) -> float:
    """How sure validation examples are that the learned operator scores higher.

    Both are scored on the same examples: accuracies by an exact test, which a lucky handful does
    not mislead; any other metric by a bootstrap.

    Example:
        >>> y = torch.tensor([0, 1] * 20)
        >>> right, wrong = torch.eye(2)[y], torch.eye(2)[1 - y]
        >>> confidence_in_gain("accuracy", wrong[:4], right[:4], y[:4])  # 1 - 1 / 2 ** 4
        0.9375
        >>> confidence_in_gain("roc_auc", wrong, right, y)
        1.0
    """
    if metric == "accuracy":
        return _sign_test(*(each.argmax(dim=1) == y for each in (fixed, learned)))
    return _bootstrap(metric, fixed, learned, y)


def _sign_test(before: Tensor, after: Tensor) -> float:
    """One minus the probability of as many examples put right among those that changed, by chance.

    The exact one-sided form of McNemar's test.
    """
    put_right, put_wrong = int((after & ~before).sum()), int((before & ~after).sum())
    return 1 - float(bdtrc(put_right - 1, put_right + put_wrong, 0.5))


def _bootstrap(metric: str, fixed: Tensor, learned: Tensor, y: Tensor) -> float:
    """The share of resampled validation sets on which the learned operator scores higher.

    Equal scores count half; samples without a score (one class only) do not count.
    """
    generator = torch.Generator().manual_seed(0)  # the same evidence, the same decision
    wins, rounds = 0.0, 0
    for _ in range(ROUNDS):
        drawn = torch.randint(y.numel(), (y.numel(),), generator=generator)
        before, after = (score(metric, each[drawn], y[drawn]) for each in (fixed, learned))
        if before is not None and after is not None:
            wins += 0.5 if after == before else float(after > before)
            rounds += 1
    return wins / rounds if rounds else 0.0
