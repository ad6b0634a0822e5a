"""Paired statistics: the t interval, the paired tests, and Holm's correction of several of them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit  # scipy.stats takes a second to be imported

LEVEL = 0.95
FEWEST_FOR_WILCOXON = 6  # with fewer, even its smallest p, 2 / 2^n, is above 0.05


class Interval(NamedTuple):
    """A confidence interval, or the certified interval of a spectrum."""

    low: float
    high: float


def spread(values: Sequence[float]) -> float | None:
    """The standard deviation with n - 1; none for a single value, and 0 for rounding errors."""
    if len(values) < 2:
        return None
    sd = float(np.std(values, ddof=1))
    largest = max(abs(value) for value in values)
    return sd if sd > 1e-12 * max(largest, 1.0) else 0.0


def t_interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    r"""Student's interval for the mean.

    .. math::
        \bar x \pm t_{n-1,\, (1 + \text{level})/2} \; s / \sqrt{n}

    Returns:
        None where the spread cannot be known: a single value, or values that are all equal,
        whose interval would have width 0 and claim a certainty that is not there.

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
    sd = spread(differences)
    if not sd:
        return None
    t = float(np.mean(differences)) / (sd / math.sqrt(len(differences)))
    return 2 * float(stdtr(len(differences) - 1, -abs(t)))


def wilcoxon_test(differences: Sequence[float]) -> float | None:
    """The two-sided p of Wilcoxon's signed-rank test, zeros left out.

    Returns:
        None with fewer than six differences that are not zero, where no outcome could reach 0.05.
    """
    # Scores are fractions of the same test set: equal differences must rank as equal.
    nonzero = [round(value, 9) for value in differences if round(value, 9) != 0]
    if len(nonzero) < FEWEST_FOR_WILCOXON:
        return None
    from scipy.stats import wilcoxon

    return float(wilcoxon(nonzero).pvalue)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction; tests that could not be made (None) do not count.

    Example:
        >>> holm([0.01, None, 0.04, 0.03])
        [0.03, None, 0.06, 0.06]
    """
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for (p, position), divisor in zip(_ascending(p_values), _divisors(p_values), strict=True):
        largest = max(largest, min(1.0, divisor * p))
        corrected[position] = largest
    return corrected


def holm_levels(p_values: Sequence[float | None], level: float = LEVEL) -> list[float]:
    """The level of each comparison's own interval, so that it agrees with Holm's tests.

    The k-th smallest of m values of p is tested at (1 - level) / (m - k + 1) until one fails;
    the rest keep the level of the one that failed. An interval of this level leaves 0 out if and
    only if its corrected p is at most 1 - level (Serlin 1993, "Holm on the range").

    Example:
        >>> [round(level, 4) for level in holm_levels([0.001, 0.03])]
        [0.975, 0.95]
        >>> [round(level, 4) for level in holm_levels([0.03, 0.04])]
        [0.975, 0.975]
    """
    levels = [level] * len(p_values)
    alpha, failed_at = 1 - level, 0
    for (p, position), divisor in zip(_ascending(p_values), _divisors(p_values), strict=True):
        divisor = failed_at or divisor
        levels[position] = 1 - alpha / divisor
        if p * divisor > alpha:
            failed_at = divisor
    return levels


def _ascending(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    return sorted((p, position) for position, p in enumerate(p_values) if p is not None)


def _divisors(p_values: Sequence[float | None]) -> range:
    return range(len(_ascending(p_values)), 0, -1)
