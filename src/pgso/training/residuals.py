"""Errors of a regression on validation, from which the interval of a prediction is made."""

import numpy as np

from pgso.training.session import Session, take_best

LEVEL = 0.9  # the share of validation targets that lie within the interval


def residual_quantiles(session: Session) -> list[float] | None:
    r"""Of every target, the half-width of an interval around predictions; None for classes.

    It is the :math:`\lceil (n + 1) \cdot 0.9 \rceil`-th smallest of the n absolute errors on
    validation (split conformal prediction, Lei et al. 2018). Validation has chosen the epoch too,
    so that on new data a little less than 90 % may lie within.
    """
    if session.task.objective.answer != "value" or not session.best_weights:
        return None
    take_best(session)
    out, _ = session.evaluate()
    val, y = (session.scoring.by_part(values)["val"] for values in (out, session.scoring.y))
    if session.spec.log_targets:
        val, y = val.log(), y.log()
    errors = (val - y).abs().numpy(force=True)
    return [_quantile(column[np.isfinite(column)]) for column in errors.T]


def _quantile(errors: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> float:
    if not len(errors):
        return float("nan")
    rank = min(int(np.ceil((len(errors) + 1) * LEVEL)), len(errors))
    return float(np.sort(errors)[rank - 1])
