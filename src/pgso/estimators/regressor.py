"""``PGSORegressor``: numbers of nodes, by a network with a learned operator or in closed form."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from torch import Tensor

from pgso.data.arrays import Array, Split
from pgso.errors import InputError
from pgso.estimators.estimator import NodeEstimator
from pgso.objectives import OBJECTIVES


class PGSORegressor(RegressorMixin, NodeEstimator):
    """Predict one or several numbers of the nodes of a graph.

    As :class:`pgso.PGSOClassifier`, with the same options, and R² as the score.

    Attributes:
        operator_: S, one :class:`pgso.PGSOParameters` per operator; of a finding the kept one, and
            none where the features alone are kept.
        record_: The run, or the finding of ``head="closed_form"``.
        n_features_in_: Columns of X.
        feature_names_in_: Their names, if X was a table that has them.

    Example:
        >>> from pgso import load_task
        >>> task = load_task("diabetes")
        >>> y = task.y.numpy()[:, 0].copy()
        >>> y[task.test] = float("nan")  # unknown
        >>> model = PGSORegressor(head="closed_form").fit(task.graph, task.x.numpy(), y)
        >>> model.predict().shape, model.score(y=task.y.numpy()[:, 0]) > 0.4
        ((442,), True)
    """

    def fit(self, graph: Any, X: Any, y: Any) -> "PGSORegressor":
        """Learn from the nodes whose numbers are known.

        Args:
            graph: A :class:`pgso.Graph`, an ``edge_index``, a scipy sparse or networkx graph.
            X: Features, one row per node, dense or scipy sparse; None for the identity. A frame
                with words, dates or gaps is prepared as a folder's table is.
            y: Numbers of shape (n,) or (n, targets); NaN or None where one is unknown.
        """
        values = _numbers(y)
        columns = values.reshape(len(values), -1)
        names = tuple(f"target {k}" for k in range(columns.shape[1]))
        self._fit(graph, X, columns, targets=names, metric="r2")
        self.is_flat_ = values.ndim == 1
        return self

    def predict(self, graph: Any = None, X: Any = None) -> Array:  # (n,) or (n, targets)
        """The numbers of every node; of the fitted graph if none is given."""
        out: Array = self._outputs(graph, X).numpy()
        return out[:, 0] if self.is_flat_ else out

    def score(self, graph: Any = None, X: Any = None, y: Any = None) -> float:
        """R² where numbers are known, the mean over targets; of the fitted ones by default."""
        out = self._outputs(graph, X).numpy()
        truth = self.labels_ if y is None else _numbers(y)
        truth = truth.reshape(len(truth), -1)
        if truth.shape != out.shape:
            raise InputError(
                f"y has shape {truth.shape}, the predictions {out.shape}; give one row per node"
            )
        score = OBJECTIVES["r2"].score(out, truth)
        if score is None:
            raise InputError("y has no known numbers that differ, so that R² is not defined")
        return score

    def _split(self, y: Array, random: np.random.RandomState) -> Split:
        """Some of the nodes with a known number validate; all others train."""
        nodes = random.permutation(np.flatnonzero(np.isfinite(y).any(axis=1)))
        if len(nodes) < 2:
            raise InputError("y needs two nodes with known numbers: one trains, one validates")
        cut = min(max(round(self._fraction() * len(nodes)), 1), len(nodes) - 1)
        return np.sort(nodes[cut:]), np.sort(nodes[:cut]), np.zeros(0, dtype=np.int64)


def _numbers(y: Any) -> Array:
    try:
        values = np.asarray(y.numpy(force=True) if isinstance(y, Tensor) else y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("y must hold numbers, with NaN where one is unknown") from None
    if values.ndim not in (1, 2) or not values.size:
        raise InputError(f"y must have the shape (n,) or (n, targets), got {values.shape}")
    if np.isinf(values).any():
        raise InputError("y holds inf; numbers must be finite, or NaN where one is unknown")
    return values
