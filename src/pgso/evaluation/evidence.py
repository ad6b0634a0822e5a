"""Is one model really better than another? What the labels that judge say, with chance.

One run: :func:`confidence_in_gain`. The runs of many seeds together: :func:`decide`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pgso.evaluation.statistics import FEWEST, clustered_confidence, sign_confidence, t_confidence
from pgso.objectives import Objective
from pgso.objectives.objective import Array
from pgso.records.record import Judged

if TYPE_CHECKING:
    from torch import Tensor

ROUNDS = 1000  # of the bootstrap
GROUPS = 100  # of labels that are left out together where a score is not a mean over labels


def confidence_in_gain(
    objective: Objective,
    fixed: "Tensor",  # (n, outputs), in the unit of the targets
    learned: "Tensor",  # (n, outputs) of the same examples
    y: "Tensor",  # (n,) or (n, outputs)
) -> float:
    """How sure validation examples are that the learned operator is better.

    Both are scored on the same examples, by the test that the objective names: accuracies by an
    exact test, which a lucky handful does not mislead; errors of numbers by a paired t-test; any
    other score by a bootstrap.

    Example:
        >>> import torch
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
        return sign_confidence(*(objective.is_right(values, answers) for values in (before, after)))
    if objective.evidence == "errors":
        return t_confidence(objective.errors(before, answers) - objective.errors(after, answers))
    return _bootstrap(objective, before, after, answers)


def _bootstrap(objective: Objective, fixed: Array, learned: Array, y: Array) -> float:
    """The share of resampled validation sets on which the learned operator scores better.

    Equal scores count half; samples without a score (one class only) do not count.
    """
    import torch

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


def decide(
    objective: Objective, judged: Mapping[str, Mapping[int, Judged]], needed: float
) -> tuple[str, dict[str, float]]:
    """The operator to keep, once for all seeds, and how sure the labels are of each challenger.

    The first of ``judged`` is the simple one. It stays unless the labels are as sure as needed of
    another one; of several such, the one they are most sure of is kept.
    """
    names: Sequence[str] = list(judged)
    sure = {name: confidence(objective, judged[names[0]], judged[name]) for name in names[1:]}
    better = [name for name in names[1:] if sure[name] > needed]
    return (max(better, key=lambda name: sure[name]) if better else names[0]), sure


def confidence(
    objective: Objective, before: Mapping[int, Judged], after: Mapping[int, Judged]
) -> float:
    """How sure the labels of all seeds together are that the second is better.

    Args:
        objective: What is scored.
        before: What the first one's labels say, by seed.
        after: The second one's; labels and seeds that only one of them has do not count.

    Example:
        >>> from pgso.objectives import OBJECTIVES
        >>> fixed = {s: Judged(items=range(20), outcomes=[0.0, 1.0] * 10) for s in range(5)}
        >>> better = {s: Judged(items=range(20), outcomes=[1.0] * 15 + [0.0] * 5) for s in range(5)}
        >>> 0.9 < confidence(OBJECTIVES["accuracy"], fixed, better) < 0.95  # twenty labels, not 100
        True
    """
    parts = [
        (seed, *_differences(objective, before[seed], after[seed]))
        for seed in sorted(before.keys() & after.keys())
    ]
    if not parts:
        return 0.0
    d = np.concatenate([gains for _, _, gains in parts])
    items = np.concatenate([names for _, names, _ in parts])
    seeds = np.concatenate([np.full(len(names), seed) for seed, names, _ in parts])
    if len(np.unique(items)) < FEWEST or not d.any():
        return 0.0
    return clustered_confidence(d, items, seeds)


def _differences(objective: Objective, before: Judged, after: Judged) -> tuple[Array, Array]:
    """The labels that both have, and how much better the second does on each."""
    items, one, other = np.intersect1d(before.items, after.items, return_indices=True)
    if len(items) == 0:
        return items, np.zeros(0)
    if before.outcomes:
        return items, np.asarray(after.outcomes)[other] - np.asarray(before.outcomes)[one]
    y = np.asarray(before.answers)[one]
    first, second = (
        _contributions(objective, np.asarray(judged.outputs)[rows], y)
        for judged, rows in ((before, one), (after, other))
    )
    return items, second - first


def _contributions(objective: Objective, out: Array, y: Array) -> Array:  # (n,)
    """What each label adds to a score: the jackknife's pseudo-values, whose mean is the score.

    Many labels are left out in groups, whose labels then share a value.
    """
    n = len(y)
    group = np.random.default_rng(0).permutation(n) % min(n, GROUPS)
    whole = objective.score(out, y)
    if whole is None:
        return np.zeros(n)
    contributions, groups = np.zeros(n), int(group.max()) + 1
    for number in range(groups):
        rest = group != number
        left = objective.score(out[rest], y[rest])
        value = whole if left is None else left
        sign = 1.0 if objective.larger_is_better else -1.0
        contributions[~rest] = sign * (groups * whole - (groups - 1) * value)
    return contributions
