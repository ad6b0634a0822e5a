"""Is the learned operator really better than the fixed one? What validation says, with chance."""

import torch
from torch import Tensor

from pgso.training.metrics import score

ROUNDS = 1000


def confidence_in_gain(
    metric: str,
    fixed: Tensor,  # (n, C) class scores
    learned: Tensor,  # (n, C) of the same examples
    y: Tensor,  # (n,)
) -> float:
    """The share of resampled validation sets on which the learned operator scores higher.

    A paired bootstrap: both are scored on the same examples, drawn with replacement, so it holds
    for any metric. Equal scores count half; samples without a score (one class only) do not count.

    Example:
        >>> y = torch.tensor([0, 1] * 20)
        >>> right, wrong = torch.eye(2)[y], torch.eye(2)[1 - y]
        >>> confidence_in_gain("accuracy", wrong, right, y)
        1.0
        >>> confidence_in_gain("accuracy", right, right, y)
        0.5
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
