r"""Prediction sets of classes and intervals of numbers: split conformal prediction.

A model gives every answer a *strangeness*: :math:`1 - p` of a class, :math:`|y - \hat y|` of a
number. On n labels that the model was not fitted to, let q be the
:math:`\lceil (n + 1) c \rceil`-th smallest strangeness of the true answers. A new item's set holds
the answers that are no stranger than q. If new items and these labels are exchangeable, the truth
is in the set with probability c or more (Vovk et al. 2005; Lei et al. 2018).

Outputs are (n, C) probabilities of classes or (n, T) numbers; y are (n,) classes or (n, T) numbers,
NaN where one is missing. With ``log``, errors of numbers are those of their logarithms.
"""

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import softmax

from pgso.data.arrays import Array
from pgso.errors import InputError

LEVEL = 0.9  # of the sets that tables and pages show
FEWEST = 20  # labels of validation that sets are made from; fewer are joined by others


def strangeness(out: Array, y: Array, log: bool = False) -> Array:  # (n,) or (n, T)
    """How strange the true answers are, the smallest first.

    Example:
        >>> strangeness(np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0, 0])).round(1)
        array([0.1, 0.7])
    """
    if y.ndim == 1:
        return np.sort(1 - out[np.arange(len(y)), y])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sort(np.abs(np.log(out) - np.log(y) if log else out - y), axis=0)


def threshold(strange: Array, coverage: float) -> float:  # (n,) sorted; NaN counts as missing
    """The q of a coverage c: infinite where the labels are too few for it.

    Example:
        >>> threshold(np.arange(1.0, 10.0), 0.8), threshold(np.arange(3.0), 0.9)
        (8.0, inf)
    """
    if not 0 < coverage < 1:
        raise InputError(f"coverage must be above 0 and below 1, such as 0.9; got {coverage!r}")
    finite = strange[~np.isnan(strange)]
    rank = math.ceil((len(finite) + 1) * coverage - 1e-9)
    return float(finite[rank - 1]) if rank <= len(finite) else math.inf


def class_sets(probabilities: Array, strange: Array, coverage: float) -> Array:  # (n, C) booleans
    """Which classes are in the set of each item. The likeliest one always is."""
    held = 1 - probabilities <= threshold(strange, coverage)
    held[np.arange(len(held)), probabilities.argmax(axis=1)] = True
    return held


def intervals(
    values: Array, strange: Array, coverage: float, log: bool = False
) -> tuple[Array, Array]:  # (n, T), (n, T)
    """The ends of each number's interval; with logarithms it is a factor up and down."""
    width = np.array([threshold(column, coverage) for column in strange.T])
    if log:
        with np.errstate(over="ignore"):
            return values * np.exp(-width), values * np.exp(width)
    return values - width, values + width


def measured(out: Array, y: Array, strange: Array, log: bool = False) -> dict[str, float] | None:
    """How often sets hold the truth on labels of a test set (``held``), and how large they are.

    The size is in classes per set, or the mean width of an interval. None where labels are too few.
    """
    if y.ndim == 1:
        sets = class_sets(out, strange, LEVEL)
        held, sizes = sets[np.arange(len(y)), y], sets.sum(axis=1)
    else:
        low, high = intervals(out, strange, LEVEL, log)
        is_known = np.isfinite(y)
        held, sizes = ((low <= y) & (y <= high))[is_known], (high - low)[is_known]
    size = float(sizes.mean()) if len(held) else math.nan
    if not math.isfinite(size):
        return None
    return {"asked": LEVEL, "held": float(held.mean()), "labels": len(held), "size": size}


def calibrated(
    outputs: Mapping[str, Array],  # of a network: logits (n, C) or numbers (n, T)
    answers: Mapping[str, Array],
    temperature: float = 1.0,
    log: bool = False,
) -> tuple[Array, dict[str, float] | None]:
    """The strangeness of validation labels, and what the sets made from it hold on test.

    Validation has chosen the epoch too: on new data a little less than was asked for may be held.
    """
    out, y = dict(outputs), dict(answers)
    for part in ("val", "test"):
        is_class, values = y[part].ndim == 1, out[part].astype(np.float64)
        out[part] = softmax(values / temperature, axis=1) if is_class else values
        y[part] = y[part].astype(np.int64 if is_class else np.float64)
    strange = strangeness(out["val"], y["val"], log)
    return strange, measured(out["test"], y["test"], strange, log)
