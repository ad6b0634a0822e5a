"""Is the learned operator really better than the fixed one? What validation says, with chance."""

import numpy as np
import torch
from scipy.special import bdtrc, stdtr
from torch import Tensor

from pgso.objectives import Objective
from pgso.objectives.objective import Array

ROUNDS = 1000


def confidence_in_gain(
    objective: Objective,
    fixed: Tensor,  # (n, outputs), in the unit of the targets
    learned: Tensor,  # (n, outputs) of the same examples
    y: Tensor,  # (n,) or (n, outputs)
) -> float:
    """How sure validation examples are that the learned operator is better.

    Both are scored on the same examples, by the test that the objective names: accuracies by an
    exact test, which a lucky handful does not mislead; errors of numbers by a paired t-test; any
    other score by a bootstrap.

    Example:
        >>> from pgso.objectives import OBJECTIVES
        >>> y = torch.tensor([0, 1] * 20)
        >>> right, wrong = torch.eye(2)[y], torch.eye(2)[1 - y]
        >>> accuracy, roc_auc = OBJECTIVES["accuracy"], OBJECTIVES["roc_auc"]
        >>> confidence_in_gain(accuracy, wrong[:4], right[:4], y[:4])  # 1 - 1 / 2 ** 4
        0.9375
        >>> confidence_in_gain(roc_auc, wrong, right, y)
        1.0
    """
    before, after, answers = (values.numpy(force=True) for values in (fixed, learned, y))
    if objective.evidence == "sign":
        return _sign_test(*(objective.is_right(values, answers) for values in (before, after)))
    if objective.evidence == "errors":
        return _t_test(*(objective.errors(values, answers) for values in (before, after)))
    return _bootstrap(objective, before, after, answers)


def _sign_test(before: Array, after: Array) -> float:
    """One minus the probability that chance puts as many of the changed answers right.

    The exact one-sided form of McNemar's test.
    """
    put_right = int(np.count_nonzero(after & ~before))
    put_wrong = int(np.count_nonzero(before & ~after))
    return 1 - float(bdtrc(put_right - 1, put_right + put_wrong, 0.5))


def _t_test(before: Array, after: Array) -> float:
    """One minus the one-sided p of the paired t-test that errors have become smaller."""
    gain = before - after
    n = len(gain)
    if n < 2 or not gain.any():
        return 0.0
    error = float(gain.std(ddof=1)) / np.sqrt(n)
    return float(stdtr(n - 1, gain.mean() / error)) if error > 0 else float(gain.mean() > 0)


def _bootstrap(objective: Objective, fixed: Array, learned: Array, y: Array) -> float:
    """The share of resampled validation sets on which the learned operator scores better.

    Equal scores count half; samples without a score (one class only) do not count.
    """
    generator = torch.Generator().manual_seed(0)  # the same evidence, the same decision
    wins, rounds = 0.0, 0
    for _ in range(ROUNDS):
        drawn = torch.randint(len(y), (len(y),), generator=generator).numpy()
        before, after = (objective.score(outputs[drawn], y[drawn]) for outputs in (fixed, learned))
        if before is not None and after is not None:
            gain = objective.merit(after) - objective.merit(before)
            wins += 0.5 if gain == 0 else float(gain > 0)
            rounds += 1
    return wins / rounds if rounds else 0.0
