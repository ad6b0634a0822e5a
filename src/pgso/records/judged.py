r"""What judging labels say about a run, and one decision from the labels of many runs.

Every judged label i of every seed s gives one paired difference d_si: how much better the
challenger does there. Labels of one seed share its network, and a label that several seeds judge
is one label, so the differences are not independent. The variance of their mean counts both
(two-way clustering, Cameron, Gelbach and Miller 2011):

.. math::
    V = V_\text{labels} + V_\text{seeds} - V_\text{both}, \qquad
    V_c = N^{-2} \sum_{g \in c} \Big( \sum_{(s, i) \in g} (d_{si} - \bar d) \Big)^2

and the t-value of the mean has as many degrees of freedom as Satterthwaite's formula says.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from pgso.objectives import Objective

Array = np.ndarray[Any, Any]
GROUPS = 100  # of labels that are left out together where a score is not a mean over labels
FEWEST = 10  # different labels; with fewer nothing is claimed
DIGITS = 5


class Judged(BaseModel):
    """Outcomes of the labels that judge: of no epoch, S or candidate that was chosen on them."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")

    items: tuple[int, ...]  # indices of nodes, graphs or pairs
    outcomes: tuple[float, ...] = ()  # 1 and 0 for right and wrong, or minus the error
    outputs: tuple[tuple[float, ...], ...] = ()  # where the score is not a mean over labels
    answers: tuple[Any, ...] = ()  # the truth beside them

    @classmethod
    def of(cls, objective: Objective, items: Array, out: Array, y: Array) -> "Judged":
        """What outputs (n, C) say about items (n,) whose truth is y."""
        names = tuple(int(item) for item in items)
        if objective.has_positive and objective.positive == 0:  # written as the second class
            out, y = out[:, ::-1], 1 - y
        if objective.evidence == "bootstrap":
            rounded = np.asarray(out, dtype=np.float64).round(DIGITS)
            return cls(items=names, outputs=_rows(rounded), answers=tuple(np.asarray(y).tolist()))
        right = objective.evidence == "sign"
        values = objective.is_right(out, y) if right else -objective.errors(out, y)
        return cls(items=names, outcomes=tuple(np.asarray(values, np.float64).round(6).tolist()))


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


def clustered_confidence(d: Array, items: Array, seeds: Array) -> float:  # (N,), (N,), (N,)
    """One minus the one-sided p-value of the mean of d, whose labels and seeds come in clusters."""
    mean = float(d.mean())
    variances, freedoms = [], []
    for clusters in (items, seeds):
        _, cluster = np.unique(clusters, return_inverse=True)
        sums = np.bincount(cluster, weights=d - mean)
        count = len(sums)
        scale = count / (count - 1) if count > 1 else 0.0  # one cluster has no spread
        variances.append(scale * float((sums**2).sum()) / len(d) ** 2)
        freedoms.append(max(count - 1, 1))
    alone = float(((d - mean) ** 2).sum()) / len(d) ** 2
    variance = max(sum(variances) - alone, *variances, alone)
    if variance <= 0:
        return float(mean > 0)
    shares = sum(
        (v / variance) ** 2 / freedom for v, freedom in zip(variances, freedoms, strict=True)
    )
    freedom = min(max(1 / shares, 1.0), float(len(d))) if shares > 0 else float(len(d))
    from scipy.stats import t as student  # slow to import

    return float(student.cdf(mean / variance**0.5, freedom))


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


def _rows(values: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in values.reshape(len(values), -1).tolist())


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
