r"""Is another rung really better? One test for all challengers together.

Every judged label i gives one paired difference d_ij: the incumbent's loss minus challenger j's.
Its t-value is t_j = mean(d_j) / (sd(d_j) / √n). The largest of many t-values is large by chance, so
it is compared with the largest of as many t-values under chance, not with the t-value of one test:

.. math::
    t_j^* = \sum_i g_i \, (d_{ij} - \bar d_j) / (\sqrt{n} \, s_j), \qquad g_i \sim N(0, 1)

(the Gaussian multiplier bootstrap). Challengers that are alike share their luck, so that this
costs less power than dividing the risk by their number. The p-value of a challenger is the share
of draws whose *largest* t* is at least t_j: the probability of one or more wrong claims is at most
the level, whichever challengers are truly no better.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student
from torch import Tensor

from pgso.data.arrays import Array

DRAWS = 4000
GROUPS = 2048  # of labels
FEWEST = 10  # labels; with fewer nothing is claimed


@dataclass(frozen=True)
class Evidence:
    """A challenger against the incumbent."""

    gain: float  # the mean difference of losses; positive: the challenger is better
    interval: tuple[float, float]  # of the gain, 95 %, for this challenger alone
    p: float  # that some challenger would look this much better by chance


def compare(incumbent: Tensor, challengers: Tensor) -> list[Evidence]:  # (n,), (M, n)
    """The evidence of each challenger's losses against the incumbent's.

    Example:
        >>> import torch
        >>> incumbent = torch.linspace(0, 1, 200)
        >>> equal, better = incumbent + 0.1 * torch.linspace(0, 60, 200).sin(), 0.5 * incumbent
        >>> [found.p < 0.05 for found in compare(incumbent, torch.stack([equal, better]))]
        [False, True]
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
        p = student.sf(t, n - 1)
    else:
        z = np.divide(centred, error[:, None] * n, out=np.zeros_like(d), where=different[:, None])
        largest = _largest_by_chance(z)
        p = (1 + (largest >= t[:, None]).sum(axis=1)) / (1 + len(largest))
    reach = 1.96 * error
    low, high = mean - reach, mean + reach
    return [
        Evidence(float(mean[j]), (float(low[j]), float(high[j])), float(p[j]))
        for j in range(len(t))
    ]


def _largest_by_chance(z: Array) -> Array:  # (M, n) -> (DRAWS,)
    """The largest t-value of each draw; z are the centred differences over √n s."""
    n = z.shape[1]
    generator = np.random.default_rng(0)  # the same evidence, the same decision
    if n > GROUPS:  # labels that share a draw: as good as one each, if there are many groups
        order = generator.permutation(n)
        starts = np.linspace(0, n, GROUPS, endpoint=False, dtype=np.int64)
        z = np.add.reduceat(z[:, order], starts, axis=1)
    draws = (generator.standard_normal((z.shape[1], 500), np.float32) for _ in range(DRAWS // 500))
    largest = np.concatenate([(z.astype(np.float32) @ draw).max(axis=0) for draw in draws])
    # Student's tails instead of Gaussian ones: with few labels s_j is itself uncertain.
    return largest * np.sqrt(_inflation(generator, n, len(largest)))


def _inflation(generator: np.random.Generator, n: int, draws: int) -> Array:
    freedom = max(n - 1, 1)
    return freedom / generator.chisquare(freedom, draws)
