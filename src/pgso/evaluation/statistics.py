"""Is one model really better than another? Paired tests and intervals, Holm, bootstraps.

Of one run: :func:`confidence_in_gain`. Of the runs of many seeds: :func:`t_interval`,
:func:`t_test`, and where labels judge all of them together :func:`decide`. Of many candidates on
the same labels: :func:`challenge`. What pages use needs no torch.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import bdtrc, stdtr, stdtrit  # scipy.stats takes a second to be imported

from pgso.objectives import Objective
from pgso.objectives.objective import Array
from pgso.records.record import Judged

if TYPE_CHECKING:
    from torch import Tensor

LEVEL = 0.95
ROUNDS = 1000  # of the bootstrap of a score
LEFT_OUT = 100  # groups of labels that are left out together where a score is no mean over labels
DRAWS = 4000  # of the multiplier bootstrap
GROUPS = 2048  # of labels that share a draw
FEWEST = 10  # labels; with fewer nothing is claimed


class Interval(NamedTuple):
    """A confidence interval, or the certified interval of a spectrum."""

    low: float
    high: float


def spread(values: Sequence[float]) -> float | None:
    """The standard deviation with n - 1; none for a single value, and 0 for rounding errors."""
    if len(values) < 2:
        return None
    sd = float(np.std(values, ddof=1))
    return sd if sd > 1e-12 * max(np.abs(values).max(), 1.0) else 0.0


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    r"""Student's interval for the mean, :math:`\bar x \pm t_{n-1} s / \sqrt{n}`.

    None where the spread cannot be known: a single value, or values that are all equal, whose
    interval would have width 0 and claim a certainty that is not there.

    Example:
        >>> low, high = t_interval([1.0, 2.0, 3.0])
        >>> round(low, 3), round(high, 3)
        (-0.484, 4.484)
    """
    sd = spread(values)
    if not sd:
        return None
    mean, n = float(np.mean(values)), len(values)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * sd / math.sqrt(n)
    return Interval(mean - half, mean + half)


def t_test(differences: Sequence[float]) -> float | None:
    """The two-sided p of the paired t-test; none where :func:`t_interval` has none."""
    sd, n = spread(differences), len(differences)
    if not sd:
        return None
    return 2 * float(stdtr(n - 1, -abs(float(np.mean(differences)) / (sd / math.sqrt(n)))))


def t_confidence(gain: Array, one_more: bool = False) -> float:  # (n,)
    """One minus the one-sided p of the paired t-test that gains are above 0.

    With ``one_more``, of the test that 0 is one more draw from where the values come from.
    """
    n = len(gain)
    if n < 2 or not gain.any():
        return 0.0
    sd = float(gain.std(ddof=1))
    error = sd * math.sqrt(1 + 1 / n) if one_more else sd / np.sqrt(n)
    return float(stdtr(n - 1, gain.mean() / error)) if error > 0 else float(gain.mean() > 0)


def confidence_in_gain(
    objective: Objective,
    fixed: "Tensor",  # (n, outputs), in the unit of the targets
    learned: "Tensor",  # (n, outputs) of the same examples
    y: "Tensor",  # (n,) or (n, outputs)
) -> float:
    """How sure validation examples are that the learned operator is better.

    By the test that the objective names. Accuracies: the exact one-sided form of McNemar's test,
    which a lucky handful does not mislead. Errors of numbers: a paired t-test. Others: a bootstrap.
    """
    before, after, answers = (values.numpy(force=True) for values in (fixed, learned, y))
    if objective.evidence == "sign":
        was_wrong, is_wrong = (objective.errors(out, answers) for out in (before, after))
        put_right = int(np.count_nonzero(was_wrong & ~is_wrong))
        put_wrong = int(np.count_nonzero(is_wrong & ~was_wrong))
        return 1 - float(bdtrc(put_right - 1, put_right + put_wrong, 0.5))
    if objective.evidence == "errors":
        return t_confidence(objective.errors(before, answers) - objective.errors(after, answers))
    import torch

    generator = torch.Generator().manual_seed(0)  # the same evidence, the same decision
    wins = []
    for _ in range(ROUNDS):
        drawn = torch.randint(len(y), (len(y),), generator=generator).numpy()
        old, new = (objective.score(out[drawn], answers[drawn]) for out in (before, after))
        if old is not None and new is not None:  # samples of one class only have no score
            gain = objective.merit(new) - objective.merit(old)
            wins.append(0.5 if gain == 0 else float(gain > 0))
    return sum(wins) / len(wins) if wins else 0.0


def decide(
    objective: Objective, judged: Mapping[str, Mapping[int, Judged]], needed: float
) -> tuple[str, dict[str, float]]:
    """The operator to keep, once for all seeds, and how sure the labels are of each challenger.

    The first of ``judged`` stays unless the labels are as sure as needed of another one.
    """
    simple, *challengers = judged
    sure = {name: confidence(objective, judged[simple], judged[name]) for name in challengers}
    surest = max(challengers, key=lambda name: sure[name], default=simple)
    return (surest if sure.get(surest, 0.0) > needed else simple), sure


def confidence(
    objective: Objective, before: Mapping[int, Judged], after: Mapping[int, Judged]
) -> float:
    """How sure the labels of all seeds together are that the second is better.

    Labels and seeds that only one of them has do not count.
    """
    common = sorted(before.keys() & after.keys())
    if not common:
        return 0.0
    parts = []
    for seed in common:
        old, new = before[seed], after[seed]
        items, *both = np.intersect1d(old.items, new.items, return_indices=True)
        first = second = np.zeros(0)
        if len(items) and old.outcomes:
            first, second = np.asarray(old.outcomes)[both[0]], np.asarray(new.outcomes)[both[1]]
        elif len(items):
            y, outputs = np.asarray(old.answers)[both[0]], (old.outputs, new.outputs)
            first, second = (
                _contributions(objective, np.asarray(out)[rows], y)
                for out, rows in zip(outputs, both, strict=True)
            )
        parts.append((items, second - first, np.full(len(items), seed)))
    items, d, seeds = (np.concatenate(values) for values in zip(*parts, strict=True))
    if len(np.unique(items)) < FEWEST or not d.any():
        return 0.0
    return clustered_confidence(d, items, seeds)


def _contributions(objective: Objective, out: Array, y: Array) -> Array:  # (n,)
    """What each label adds to a score: the jackknife's pseudo-values, whose mean is the score.

    Many labels are left out in groups, whose labels then share a value.
    """
    group = np.random.default_rng(0).permutation(len(y)) % min(len(y), LEFT_OUT)
    whole, contributions, groups = objective.score(out, y), np.zeros(len(y)), int(group.max()) + 1
    if whole is not None:
        sign = 1.0 if objective.larger_is_better else -1.0
        for number in range(groups):
            rest = group != number
            left = objective.score(out[rest], y[rest])
            value = whole if left is None else left
            contributions[~rest] = sign * (groups * whole - (groups - 1) * value)
    return contributions


def clustered_confidence(d: Array, items: Array, seeds: Array) -> float:  # (N,), (N,), (N,)
    r"""One minus the one-sided p-value of the mean of d, whose labels and seeds come in clusters.

    Labels of one seed share its network, and a label that several seeds judge is one label, so the
    differences are not independent. The variance of their mean counts both (two-way clustering,
    Cameron, Gelbach and Miller 2011):

    .. math::
        V = V_\text{labels} + V_\text{seeds} - V_\text{both}, \qquad
        V_c = N^{-2} \sum_{g \in c} \Big( \sum_{(s, i) \in g} (d_{si} - \bar d) \Big)^2

    and the t-value of the mean has as many degrees of freedom as Satterthwaite's formula says.
    """
    mean, variances, freedoms = float(d.mean()), [], []
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
    shares = sum((v / variance) ** 2 / f for v, f in zip(variances, freedoms, strict=True))
    freedom = min(max(1 / shares, 1.0), float(len(d))) if shares > 0 else float(len(d))
    return float(stdtr(freedom, mean / variance**0.5))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction; tests that could not be made (None) do not count.

    Example:
        >>> holm([0.01, None, 0.04, 0.03])
        [0.03, None, 0.06, 0.06]
    """
    return [corrected for corrected, _ in holm_with_levels(p_values)]


def holm_with_levels(p_values: Sequence[float | None]) -> list[tuple[float | None, float]]:
    """Holm's corrected p, and the level of each comparison's own interval that agrees with it.

    The k-th smallest of m values of p is tested at 0.05 / (m - k + 1) until one fails; the
    rest keep its level (Serlin 1993, "Holm on the range").

    Example:
        >>> [(p, round(level, 4)) for p, level in holm_with_levels([0.001, 0.03])]
        [(0.002, 0.975), (0.03, 0.95)]
    """
    tests: list[tuple[float | None, float]] = [(None, LEVEL)] * len(p_values)
    known = sorted((p, position) for position, p in enumerate(p_values) if p is not None)
    largest, failed_at = 0.0, 0
    for rank, (p, position) in enumerate(known):
        left = len(known) - rank  # tests that have not been made yet
        largest = max(largest, min(1.0, left * p))
        divisor = failed_at or left
        tests[position] = largest, 1 - (1 - LEVEL) / divisor
        if p * divisor > 1 - LEVEL:
            failed_at = divisor
    return tests


@dataclass(frozen=True)
class Evidence:
    """A challenger against the incumbent."""

    gain: float  # the mean difference of losses; positive: the challenger is better
    interval: tuple[float, float]  # of the gain, 95 %, for this challenger alone
    p: float  # that some challenger would look this much better by chance


def challenge(incumbent: "Tensor", challengers: "Tensor") -> list[Evidence]:  # (n,), (M, n)
    r"""The evidence of each challenger's losses against the incumbent's: one test for all.

    Every judged label i gives one paired difference d_ij: the incumbent's loss minus challenger
    j's, with the t-value t_j. The largest of many t-values is large by chance, so it is compared
    with the largest of as many t-values under chance, by the Gaussian multiplier bootstrap:

    .. math::
        t_j^* = \sum_i g_i \, (d_{ij} - \bar d_j) / (\sqrt{n} \, s_j), \qquad g_i \sim N(0, 1)

    Challengers that are alike share their luck. The p-value of a challenger is the share of draws
    whose *largest* t* is at least t_j: the probability of one or more wrong claims is at most the
    level, whichever challengers are truly no better.
    """
    if len(challengers) == 0:
        return []
    d = (incumbent.double() - challengers.double()).numpy()  # (M, n)
    n = d.shape[1]
    mean = d.mean(axis=1)
    centred = d - mean[:, None]
    error = np.sqrt((centred**2).sum(axis=1) / max(n - 1, 1) / n)
    different = error > 1e-12
    # The same gain on every label is no chance; the same loss on every label is no gain.
    certain = np.where(np.abs(mean) > 1e-9, np.copysign(np.inf, mean), 0.0)
    t = np.divide(mean, error, out=certain, where=different)
    if n < FEWEST:
        p = np.ones(len(t))
    elif len(t) == 1:  # nothing to draw: this is Student's test
        p = stdtr(n - 1, -t)
    else:
        z = np.divide(centred, error[:, None] * n, out=np.zeros_like(d), where=different[:, None])
        generator = np.random.default_rng(0)  # the same evidence, the same decision
        if n > GROUPS:  # labels that share a draw: as good as one each, if there are many groups
            order = generator.permutation(n)
            starts = np.linspace(0, n, GROUPS, endpoint=False, dtype=np.int64)
            z = np.add.reduceat(z[:, order], starts, axis=1)
        shape, z = (z.shape[1], 500), z.astype(np.float32)
        draws = (generator.standard_normal(shape, np.float32) for _ in range(DRAWS // 500))
        largest = np.concatenate([(z @ draw).max(axis=0) for draw in draws])
        # Student's tails instead of Gaussian ones: with few labels s_j is itself uncertain.
        largest = largest * np.sqrt((n - 1) / generator.chisquare(n - 1, len(largest)))
        p = (1 + (largest >= t[:, None]).sum(axis=1)) / (1 + len(largest))
    ends = zip((mean - 1.96 * error).tolist(), (mean + 1.96 * error).tolist(), strict=True)
    return list(map(Evidence, mean.tolist(), ends, p.tolist()))
