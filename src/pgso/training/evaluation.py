"""How a model is right and wrong at its chosen epoch, for its record."""

import numpy as np

from pgso.data.arrays import Array
from pgso.objectives.objective import average_precision, roc_auc
from pgso.records.evaluation import (
    Bin,
    Calibration,
    Confusion,
    Detection,
    Evaluation,
    LabelScore,
    Scatter,
)
from pgso.training.calibration import (
    as_two_classes,
    bins_of,
    bins_of_labels,
    calibration_error,
    fit_temperature,
    probabilities,
)
from pgso.training.session import Session, take_best

MOST_CLASSES = 50  # of a confusion matrix
MOST_POINTS = 300  # of a scatter plot
GRID = np.linspace(0, 1, 51)  # of ROC and precision-recall curves


def evaluate(session: Session) -> Evaluation | None:
    """Counts and curves of the test set, or of validation where there is no test set.

    The model has the weights of its best epoch afterwards. None without such an epoch.
    """
    if not session.best_weights:
        return None
    take_best(session)
    out, _ = session.evaluate()
    outputs = {k: v.numpy(force=True) for k, v in session.scoring.by_part(out).items()}
    answers = {
        k: v.numpy(force=True) for k, v in session.scoring.by_part(session.scoring.y).items()
    }
    part = "test" if len(answers["test"]) else "val"
    task = session.task
    if task.answer == "class":
        positive = None if task.positive is None else task.classes.index(task.positive)
        return evaluation_of_classes(outputs, answers, part, task.classes, positive)
    if task.answer == "value":
        scatter = _scatter(outputs[part], answers[part], task.targets)
        return Evaluation(part=part, examples=len(answers[part]), scatter=scatter)
    if task.answer == "link":
        rows = outputs[part]
        is_link = np.zeros(rows.shape, dtype=bool)
        is_link[:, 0] = True
        curves = detection(rows.ravel(), is_link.ravel(), "link")
        return Evaluation(part=part, examples=len(rows), detection=curves)
    return evaluation_of_labels(outputs, answers, part, task.classes)


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
