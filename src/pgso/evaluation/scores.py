"""What a model says, and how it is right and wrong: confusion, curves, calibration."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch import Tensor, nn

from pgso.data import Task
from pgso.data.batch import Batch
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

EVALUATED_AT_ONCE = 2048  # graphs in one forward pass
MOST_CLASSES = 50  # of a confusion matrix
MOST_POINTS = 300  # of a scatter plot
GRID = np.linspace(0, 1, 51)  # of ROC, precision-recall and lift curves
COSTS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # of a miss, in false alarms
COLDEST, HOTTEST = 0.05, 20.0  # temperatures
BINS = 10


def predict_outputs(
    model: nn.Module, task: Task, items: Tensor | None = None
) -> Tensor:  # (items, outputs), of links (items, 1 + m)
    """Outputs of nodes, graphs or rows of pairs, in evaluation mode; by default of all of them."""
    model.eval()
    if task.kind == "graph":
        items = torch.arange(task.num_graphs) if items is None else items
        return torch.cat([on_batch(model, task.batch(k)) for k in items.split(EVALUATED_AT_ONCE)])
    every = slice(None) if items is None else items
    out: Tensor
    if task.kind == "link":
        assert task.pairs is not None
        out = model(task.x, task.edges, task.pairs[every])
    else:
        out = model(task.x, task.edges)[every]
    return out


def on_batch(model: nn.Module, batch: Batch) -> Tensor:  # (graphs, outputs)
    """What a network says about the graphs of a batch."""
    out: Tensor = model(batch.x, batch.graph, None, batch.batch, batch.num_graphs)
    return out


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
    out, y, val = outputs[part], answers[part], (outputs["val"], answers["val"])
    found: dict[str, Any]
    if answer == "class":
        found = _of_classes(out, y, names, _temperature(*val), 1 if positive is None else positive)
    elif answer == "labels":
        found = _of_labels(out, y, names, _temperature(*_as_two_classes(*val)))
    elif answer == "value":
        found = {"scatter": tuple(_scatter(*each) for each in zip(out.T, y.T, names, strict=True))}
    else:
        is_link = np.zeros(out.shape, dtype=bool)
        is_link[:, 0] = True
        found = {"detection": detection(out.ravel(), is_link.ravel(), "link")}
    return Evaluation(part=part, examples=len(y), **found)


def _temperature(logits: Array, y: Array) -> float:  # (n, classes), (n,)
    """The temperature that suits the known labels best; 1 where there is nothing to fit it to."""
    z, classes = logits[y >= 0].astype(np.float64), y[y >= 0]
    if not len(z) or not np.isfinite(z).all():
        return 1.0
    true = np.arange(len(z)), classes
    return fit_temperature(lambda T: float(-log_softmax(z / T, axis=1)[true].sum()))


def _of_classes(
    logits: Array, y: Array, classes: tuple[str, ...], temperature: float, positive: int
) -> dict[str, Any]:  # (n, classes), (n,)
    """Confusion, calibration, and detection: of two classes the positive, of more their mean."""
    from sklearn.metrics import confusion_matrix

    z = logits.astype(np.float64)
    p, calibrated = softmax(z, axis=1), softmax(z / temperature, axis=1)
    chosen = [(side.max(axis=1), side.argmax(axis=1) == y) for side in (p, calibrated)]
    found: dict[str, Any] = {"calibration": _calibration(temperature, chosen)}
    if len(classes) > MOST_CLASSES:
        return found
    counts = confusion_matrix(y, logits.argmax(axis=1), labels=range(len(classes)))
    found["confusion"] = Confusion(classes=classes, counts=tuple(map(tuple, counts.tolist())))
    if len(classes) != 2:
        curves = [detection(p[:, c], y == c, name) for c, name in enumerate(classes)]
        return found | {"detection": _averaged(curves, "class")}
    margin = logits[:, positive] - logits[:, 1 - positive]
    curve = detection(margin, y == positive, classes[positive])
    if curve is not None:
        costs = thresholds(calibrated[:, positive], y == positive)
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
    z = cells.astype(np.float64)
    said = [(softmax(z / T, axis=1)[:, 1], has == 1) for T in (1.0, temperature)]
    return {"calibration": _calibration(temperature, said), **found}


def _as_two_classes(logits: Array, y: Array) -> tuple[Array, Array]:  # (k, 2), (k,)
    """The known cells of several labels as examples of two classes: without the label, with it."""
    is_known = np.isfinite(y)
    z = logits[is_known]
    return np.stack([np.zeros_like(z), z], axis=1), y[is_known].astype(np.int64)


def detection(scores: Array, is_positive: Array, name: str) -> Detection | None:
    """ROC, precision-recall and lift curves; None where there is one class only.

    Precision at a recall is the best that any threshold with at least this recall has.
    """
    from sklearn.metrics import roc_curve  # slow to import, and needed when a run has ended

    positives, negatives = int(is_positive.sum()), int((~is_positive).sum())
    if not positives or not negatives or not np.isfinite(scores).all():
        return None
    false, recall, _ = roc_curve(is_positive, scores, drop_intermediate=False)
    hits, alarms = recall * positives, false * negatives
    precision = hits[1:] / (hits + alarms)[1:]
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    at = np.minimum(np.searchsorted(recall[1:], GRID - 1e-12), len(precision) - 1)
    share = GRID[1:]  # of the examples: those with the highest scores; ties are taken in part
    lift = np.interp(share, (hits + alarms) / len(scores), recall) / share
    return Detection(
        positive=name,
        share=positives / len(scores),
        recall=tuple(np.interp(GRID, false, recall).round(5).tolist()),
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


def fit_temperature(log_loss: Callable[[float], float], tried: Sequence[float] = ()) -> float:
    r"""The number that scales class scores with the smallest log loss (Guo et al. 2017).

    ``log_loss`` says the loss of labels that the model was not fitted to. For ``find`` it takes a
    factor of the scores, and the best of those that are ``tried`` is returned. For networks it
    takes a temperature T that divides logits, and the one between :data:`COLDEST` and
    :data:`HOTTEST` with the smallest :math:`\frac{1}{2} (\log T)^2` + loss is returned, whose first
    term keeps T near 1 where there are few labels.

    Example:
        >>> bold = np.array([[4.0, 0.0]] * 300 + [[0.0, 4.0]] * 100)  # right three times of four
        >>> T = fit_temperature(lambda T: -log_softmax(bold / T, axis=1)[:, 0].sum())
        >>> round(float(softmax(bold / T, axis=1)[0, 0]), 2)
        0.75
    """
    if tried:
        return min(tried, key=log_loss)
    best = minimize_scalar(
        lambda log_T: log_T**2 / 2 + log_loss(np.exp(log_T)),
        bounds=(np.log(COLDEST), np.log(HOTTEST)),
        method="bounded",
    )
    return float(np.exp(best.x))


def _calibration(temperature: float, said: Sequence[tuple[Array, Array]]) -> Calibration:
    """Ten bins of equal width by a probability: of the chosen class, or of a label.

    ``said`` are probabilities and who was right, without and with the temperature. The error is how
    far confidence and the share of right answers are apart, weighted by the bins' sizes.
    """
    bins, errors = [], []
    for p, is_right in said:
        bin_of = np.minimum((p * BINS).astype(int), BINS - 1)
        rows = [bin_of == k for k in range(BINS)]
        made = [Bin(int(r.sum()), float(p[r].sum()), int(is_right[r].sum())) for r in rows]
        gaps = sum(abs(entry.confidence - entry.right) for entry in made)
        bins.append(tuple(made))
        errors.append(round(gaps / max(len(p), 1), 12))
    return Calibration(
        temperature=temperature,
        error_before=errors[0],
        error_after=errors[1],
        before=bins[0],
        after=bins[1],
    )
