"""Do probabilities mean what they say? One temperature, fitted on validation."""

import numpy as np
from scipy.optimize import minimize_scalar

from pgso.data.arrays import Array
from pgso.records.evaluation import Bin

COLDEST, HOTTEST = 0.05, 20.0
BINS = 10


def fit_temperature(
    logits: Array,  # (n, classes)
    y: Array,  # (n,)
) -> float:
    r"""The T that makes the validation labels most probable (Guo et al. 2017).

    .. math::
        T = \arg\min_T \; -\sum_i \log \operatorname{softmax}(z_i / T)_{y_i}
            + \tfrac{1}{2} (\log T)^2

    The last term keeps T near 1 where there are few labels. Which class is most probable does not
    change. 1 without examples.

    Example:
        >>> bold = np.array([[4.0, 0.0]] * 300 + [[0.0, 4.0]] * 100)  # right three times of four
        >>> T = fit_temperature(bold, np.zeros(400, dtype=int))
        >>> round(float(probabilities(bold, T)[0, 0]), 2)
        0.75
    """
    is_known = y >= 0
    z, y = logits[is_known].astype(np.float64), y[is_known]
    if not len(y) or not np.isfinite(z).all():
        return 1.0
    rows = np.arange(len(y))

    def loss(log_temperature: float) -> float:
        fit = _log_softmax(z / np.exp(log_temperature))[rows, y].sum()
        return float(log_temperature**2 / 2 - fit)

    best = minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded")
    return float(np.exp(best.x))


def probabilities(logits: Array, temperature: float = 1.0) -> Array:  # (n, classes)
    """Softmax of logits / T."""
    values: Array = np.exp(_log_softmax(logits.astype(np.float64) / temperature))
    return values


def bins_of(p: Array, y: Array) -> tuple[Bin, ...]:
    """Ten bins of equal width by the confidence in the most probable class."""
    return _binned(p.max(axis=1), p.argmax(axis=1) == y)


def _binned(confidence: Array, right: Array) -> tuple[Bin, ...]:
    bin_of = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return tuple(
        Bin(int(inside.sum()), float(confidence[inside].sum()), int(right[inside].sum()))
        for inside in (bin_of == k for k in range(BINS))
    )


def bins_of_labels(p: Array, y: Array) -> tuple[Bin, ...]:
    """Ten bins of equal width by the probability of a label; right are those that have it.

    Example:
        >>> bins_of_labels(np.array([0.15, 0.12]), np.array([0, 1]))[1]
        Bin(size=2, confidence=0.27, right=1)
    """
    return _binned(p, y == 1)


def as_two_classes(logits: Array, y: Array) -> tuple[Array, Array]:  # (k, 2), (k,)
    """The known cells of several labels as examples of two classes: without the label, with it.

    Args:
        logits: (n, labels), of the label.
        y: (n, labels) 0, 1 or NaN where it is unknown.
    """
    is_known = np.isfinite(y)
    z = logits[is_known]
    return np.stack([np.zeros_like(z), z], axis=1), y[is_known].astype(np.int64)


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """How far confidence and the share of right answers are apart, weighted by the bins' sizes.

    Example:
        >>> calibration_error((Bin(4, 3.6, 2),))
        0.4
    """
    total = sum(entry.size for entry in bins)
    return round(sum(abs(b.confidence - b.right) for b in bins) / max(total, 1), 12)


def _log_softmax(z: Array) -> Array:
    z = z - z.max(axis=1, keepdims=True)
    values: Array = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return values
