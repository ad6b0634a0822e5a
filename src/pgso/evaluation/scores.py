"""How predictions are right and wrong: confusion, curves, and whether probabilities hold."""

import numpy as np
from scipy.optimize import minimize_scalar

from pgso.objectives.objective import Array, average_precision, roc_auc
from pgso.records.record import (
    Bin,
    Calibration,
    Confusion,
    Detection,
    Evaluation,
    LabelScore,
    Scatter,
)

MOST_CLASSES = 50  # of a confusion matrix
MOST_POINTS = 300  # of a scatter plot
GRID = np.linspace(0, 1, 51)  # of ROC and precision-recall curves
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

    Args:
        answer: What the data say about an example: ``class``, ``labels``, ``value`` or ``link``.
        outputs: Of a network, by part: ``val`` and ``test``.
        answers: The truth beside them.
        names: Of classes, labels or targets.
        positive: The number of the positive one of two classes; by default the second.
    """
    part = "test" if len(answers["test"]) else "val"
    if answer == "class":
        return evaluation_of_classes(outputs, answers, part, names, positive)
    if answer == "labels":
        return evaluation_of_labels(outputs, answers, part, names)
    out, y = outputs[part], answers[part]
    if answer == "value":
        return Evaluation(part=part, examples=len(y), scatter=_scatter(out, y, names))
    is_link = np.zeros(out.shape, dtype=bool)
    is_link[:, 0] = True
    curves = detection(out.ravel(), is_link.ravel(), "link")
    return Evaluation(part=part, examples=len(out), detection=curves)


def evaluation_of_labels(
    outputs: dict[str, Array], answers: dict[str, Array], part: str, labels: tuple[str, ...]
) -> Evaluation:
    """Scores of each label, curves averaged over labels, and calibration of all cells together.

    Args:
        outputs: Logits (n, labels) of ``val`` and of the part.
        answers: 0, 1 or NaN (n, labels) likewise.
        part: Which part is counted; the temperature comes from ``val`` in any case.
        labels: Their names.
    """
    logits, y = outputs[part], answers[part]
    curves, scores = [], []
    for c, name in enumerate(labels):
        is_known = np.isfinite(y[:, c])
        z, has_it = logits[is_known, c], y[is_known, c] == 1
        scores.append(
            LabelScore(
                label=name,
                positives=int(has_it.sum()),
                examples=len(z),
                roc_auc=roc_auc(z, has_it),
                average_precision=average_precision(z, has_it),
            )
        )
        curves.append(detection(z, has_it, name))
    temperature = fit_temperature(*as_two_classes(outputs["val"], answers["val"]))
    cells, has = as_two_classes(logits, y)
    before, after = (bins_of_labels(probabilities(cells, T)[:, 1], has) for T in (1.0, temperature))
    return Evaluation(
        part=part,
        examples=len(y),
        calibration=_calibration(temperature, before, after),
        detection=_averaged([curve for curve in curves if curve is not None], "label"),
        labels=tuple(scores[:MOST_CLASSES]),
    )


def _calibration(
    temperature: float, before: tuple[Bin, ...], after: tuple[Bin, ...]
) -> Calibration:
    return Calibration(
        temperature=temperature,
        error_before=calibration_error(before),
        error_after=calibration_error(after),
        before=before,
        after=after,
    )


def _averaged(curves: list[Detection], noun: str) -> Detection | None:
    if not curves:
        return None
    means = {
        name: tuple(np.mean([getattr(curve, name) for curve in curves], axis=0).round(5).tolist())
        for name in ("recall", "precision")
    }
    share = float(np.mean([curve.share for curve in curves]))
    count = f"{len(curves)} {noun}{'es' if noun == 'class' else 's'}"
    return Detection(positive=f"a {noun}, mean of {count}", share=share, **means)


def evaluation_of_classes(
    outputs: dict[str, Array],
    answers: dict[str, Array],
    part: str,
    classes: tuple[str, ...],
    positive: int | None = None,
) -> Evaluation:
    """Confusion, calibration, and detection: of two classes the positive, of more their mean.

    Args:
        outputs: Logits (n, classes) of ``val`` and of the part.
        answers: Classes (n,) likewise.
        part: Which part is counted; the temperature comes from ``val`` in any case.
        classes: Their names.
        positive: The number of the positive one of two; by default the second.
    """
    logits, y = outputs[part], answers[part]
    confusion = None
    if len(classes) <= MOST_CLASSES:
        counts = np.zeros((len(classes), len(classes)), dtype=int)
        np.add.at(counts, (y, logits.argmax(axis=1)), 1)
        confusion = Confusion(classes=classes, counts=tuple(map(tuple, counts.tolist())))
    temperature = fit_temperature(outputs["val"], answers["val"])
    before, after = (bins_of(probabilities(logits, T), y) for T in (1.0, temperature))
    return Evaluation(
        part=part,
        examples=len(y),
        confusion=confusion,
        calibration=_calibration(temperature, before, after),
        detection=_detection_of_classes(logits, y, classes, 1 if positive is None else positive),
    )


def _detection_of_classes(
    logits: Array, y: Array, classes: tuple[str, ...], positive: int
) -> Detection | None:
    """Of two classes the positive one; of more the mean over each against all others."""
    if len(classes) == 2:
        margin = logits[:, positive] - logits[:, 1 - positive]
        return detection(margin, y == positive, classes[positive])
    if len(classes) > MOST_CLASSES:
        return None
    p = probabilities(logits)
    curves = [detection(p[:, c], y == c, name) for c, name in enumerate(classes)]
    return _averaged([curve for curve in curves if curve is not None], "class")


def detection(scores: Array, is_positive: Array, name: str) -> Detection | None:
    """ROC and precision-recall curves; None where there is one class only.

    Precision at a recall is the best that any threshold with at least this recall has.
    """
    positives, negatives = int(is_positive.sum()), int((~is_positive).sum())
    if not positives or not negatives or not np.isfinite(scores).all():
        return None
    order = np.argsort(-scores, kind="stable")
    ranked = is_positive[order]
    last_of_ties = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(ranked)[last_of_ties]
    false = np.cumsum(~ranked)[last_of_ties]
    recall, false_rate = hits / positives, false / negatives
    precision = hits / (hits + false)
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.minimum(np.searchsorted(recall, GRID - 1e-12), len(recall) - 1)
    roc = np.interp(GRID, np.append(0.0, false_rate), np.append(0.0, recall))
    return Detection(
        positive=name,
        share=positives / len(scores),
        recall=tuple(np.round(roc, 5).tolist()),
        precision=tuple(np.round(best_from_here[at], 5).tolist()),
    )


def _scatter(out: Array, y: Array, targets: tuple[str, ...]) -> tuple[Scatter, ...]:
    panels = []
    for c, name in enumerate(targets):
        finite = np.flatnonzero(np.isfinite(y[:, c]) & np.isfinite(out[:, c]))
        shown = finite[:: max(1, -(-len(finite) // MOST_POINTS))]
        truth, predicted = (
            tuple(float(f"{value:.5g}") for value in column[shown, c].tolist())
            for column in (y, out)
        )
        panels.append(Scatter(target=name, truth=truth, predicted=predicted))
    return tuple(panels)


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
