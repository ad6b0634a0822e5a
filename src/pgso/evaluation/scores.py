"""How predictions are right and wrong: confusion, curves, and whether probabilities hold."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from pgso.objectives.objective import Array, average_precision, roc_auc
from pgso.records.record import (
    Bin,
    Calibration,
    Confusion,
    Detection,
    Evaluation,
    LabelScore,
    Scatter,
    Threshold,
)

MOST_CLASSES = 50  # of a confusion matrix
MOST_POINTS = 300  # of a scatter plot
GRID = np.linspace(0, 1, 51)  # of ROC, precision-recall and lift curves
COSTS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # of a miss, in false alarms
COLDEST, HOTTEST = 0.05, 20.0  # temperatures
BINS = 10


def evaluation_of(
    answer: str,
    outputs: dict[str, Array],
    answers: dict[str, Array],
    names: tuple[str, ...],
    positive: int | None = None,
) -> Evaluation:
    """Counts and curves of the test set, or of validation where there is no test set.

    The temperature comes from the part ``val`` of outputs and answers in any case. Of two classes
    the second is positive unless another one is named.
    """
    part = "test" if len(answers["test"]) else "val"
    out, y = outputs[part], answers[part]
    found: dict[str, Any]
    if answer == "class":
        temperature = fit_temperature(outputs["val"], answers["val"])
        found = _of_classes(out, y, names, temperature, 1 if positive is None else positive)
    elif answer == "labels":
        temperature = fit_temperature(*_as_two_classes(outputs["val"], answers["val"]))
        found = _of_labels(out, y, names, temperature)
    elif answer == "value":
        found = {"scatter": tuple(_scatter(*each) for each in zip(out.T, y.T, names, strict=True))}
    else:
        is_link = np.zeros(out.shape, dtype=bool)
        is_link[:, 0] = True
        found = {"detection": detection(out.ravel(), is_link.ravel(), "link")}
    return Evaluation(part=part, examples=len(y), **found)


def _of_classes(
    logits: Array, y: Array, classes: tuple[str, ...], temperature: float, positive: int
) -> dict[str, Any]:  # (n, classes), (n,)
    """Confusion, calibration, and detection: of two classes the positive, of more their mean."""

    def chosen(T: float) -> tuple[Array, Array]:
        p = probabilities(logits, T)
        return p.max(axis=1), p.argmax(axis=1) == y

    found: dict[str, Any] = {"calibration": _calibration(temperature, chosen)}
    if len(classes) > MOST_CLASSES:
        return found
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (y, logits.argmax(axis=1)), 1)
    found["confusion"] = Confusion(classes=classes, counts=tuple(map(tuple, counts.tolist())))
    if len(classes) != 2:
        p = probabilities(logits)
        curves = [detection(p[:, c], y == c, name) for c, name in enumerate(classes)]
        return found | {"detection": _averaged(curves, "class")}
    margin = logits[:, positive] - logits[:, 1 - positive]
    curve = detection(margin, y == positive, classes[positive])
    if curve is not None:
        costs = thresholds(probabilities(logits, temperature)[:, positive], y == positive)
        curve = curve.model_copy(update={"costs": costs})
    return found | {"detection": curve}


def _of_labels(
    logits: Array, y: Array, labels: tuple[str, ...], temperature: float
) -> dict[str, Any]:  # (n, labels), (n, labels) of 0, 1 or NaN
    """Scores of each label, curves averaged over labels, and calibration of all cells together."""
    curves, scores = [], []
    for c, name in enumerate(labels):
        is_known = np.isfinite(y[:, c])
        z, has_it = logits[is_known, c], y[is_known, c] == 1
        curves.append(detection(z, has_it, name))
        both = {"roc_auc": roc_auc(z, has_it), "average_precision": average_precision(z, has_it)}
        count = int(has_it.sum())
        scores.append(LabelScore(label=name, positives=count, examples=len(z), **both))
    cells, has = _as_two_classes(logits, y)
    found = {"detection": _averaged(curves, "label"), "labels": tuple(scores[:MOST_CLASSES])}
    said = _calibration(temperature, lambda T: (probabilities(cells, T)[:, 1], has == 1))
    return {"calibration": said, **found}


def _as_two_classes(logits: Array, y: Array) -> tuple[Array, Array]:  # (k, 2), (k,)
    """The known cells of several labels as examples of two classes: without the label, with it."""
    is_known = np.isfinite(y)
    z = logits[is_known]
    return np.stack([np.zeros_like(z), z], axis=1), y[is_known].astype(np.int64)


def detection(scores: Array, is_positive: Array, name: str) -> Detection | None:
    """ROC, precision-recall and lift curves; None where there is one class only.

    Precision at a recall is the best that any threshold with at least this recall has.
    """
    positives, negatives = int(is_positive.sum()), int((~is_positive).sum())
    if not positives or not negatives or not np.isfinite(scores).all():
        return None
    order = np.argsort(-scores, kind="stable")
    ranked = is_positive[order]
    last_of_ties = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.append(0, np.cumsum(ranked)[last_of_ties])
    false = np.append(0, np.cumsum(~ranked)[last_of_ties])
    recall = hits / positives
    roc = np.interp(GRID, false / negatives, recall)
    precision = hits[1:] / (hits + false)[1:]
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.minimum(np.searchsorted(recall[1:], GRID - 1e-12), len(precision) - 1)
    share = GRID[1:]  # of the examples: those with the highest scores; ties are taken in part
    lift = np.interp(share, (hits + false) / len(scores), recall) / share
    return Detection(
        positive=name,
        share=positives / len(scores),
        recall=tuple(np.round(roc, 5).tolist()),
        precision=tuple(np.round(best_from_here[at], 5).tolist()),
        lift=tuple(np.round(lift, 5).tolist()),
    )


def _averaged(curves: Sequence[Detection | None], noun: str) -> Detection | None:
    """The mean curves over classes or labels, each against the rest."""
    known = [curve for curve in curves if curve is not None]
    if not known:
        return None
    means = {
        name: tuple(np.mean([getattr(curve, name) for curve in known], axis=0).round(5).tolist())
        for name in ("recall", "precision")
    }
    nouns = "classes" if noun == "class" else "label" if len(known) == 1 else "labels"
    share = float(np.mean([curve.share for curve in known]))
    return Detection(positive=f"a {noun}, mean of {len(known)} {nouns}", share=share, **means)


def thresholds(p: Array, is_positive: Array) -> tuple[Threshold, ...]:
    """Whom to flag if a miss costs so many false alarms: those with p > 1 / (1 + cost)."""
    found = []
    for cost in COSTS:
        flagged = p > 1 / (1 + cost)
        hits = int((flagged & is_positive).sum())
        rates = {"flagged": float(flagged.mean()), "recall": hits / max(int(is_positive.sum()), 1)}
        precision = hits / int(flagged.sum()) if flagged.any() else None
        one = Threshold(cost=cost, threshold=1 / (1 + cost), **rates, precision=precision)
        found.append(one)
    return tuple(found)


def _scatter(out: Array, y: Array, target: str) -> Scatter:
    finite = np.flatnonzero(np.isfinite(y) & np.isfinite(out))
    shown = finite[:: max(1, -(-len(finite) // MOST_POINTS))]
    truth, predicted = (
        tuple(float(f"{value:.5g}") for value in column[shown].tolist()) for column in (y, out)
    )
    return Scatter(target=target, truth=truth, predicted=predicted)


def fit_temperature(logits: Array, y: Array) -> float:  # (n, classes), (n,)
    r"""The T that makes the validation labels most probable (Guo et al. 2017); 1 without any.

    It minimises :math:`\frac{1}{2} (\log T)^2 - \sum_i \log \operatorname{softmax}(z_i / T)_{y_i}`,
    whose first term keeps T near 1 where there are few labels.

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

    def loss(log_temperature: float) -> float:
        fit = log_softmax(z / np.exp(log_temperature), axis=1)[np.arange(len(y)), y].sum()
        return float(log_temperature**2 / 2 - fit)

    best = minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded")
    return float(np.exp(best.x))


def probabilities(logits: Array, temperature: float = 1.0) -> Array:  # (n, classes)
    """Softmax of logits / T."""
    values: Array = softmax(logits.astype(np.float64) / temperature, axis=1)
    return values


def _calibration(temperature: float, judged: Callable[[float], tuple[Array, Array]]) -> Calibration:
    """Bins without and with a temperature; ``judged`` gives probabilities and who was right."""
    before, after = (binned(*judged(T)) for T in (1.0, temperature))
    error = {"error_before": calibration_error(before), "error_after": calibration_error(after)}
    return Calibration(temperature=temperature, **error, before=before, after=after)


def binned(p: Array, is_right: Array) -> tuple[Bin, ...]:
    """Ten bins of equal width by a probability: of the chosen class, or of a label."""
    bin_of = np.minimum((p * BINS).astype(int), BINS - 1)
    return tuple(
        Bin(int(inside.sum()), float(p[inside].sum()), int(is_right[inside].sum()))
        for inside in (bin_of == k for k in range(BINS))
    )


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """How far confidence and the share of right answers are apart, weighted by the bins' sizes."""
    total = sum(entry.size for entry in bins)
    return round(sum(abs(b.confidence - b.right) for b in bins) / max(total, 1), 12)
