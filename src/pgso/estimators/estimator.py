"""``PGSOClassifier`` and ``PGSORegressor``: fit on the labelled nodes of a graph, predict all."""

import warnings
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from pgso.bases import BASES
from pgso.data.arrays import Array, Split
from pgso.data.inputs import as_tensor, read_features, read_graph, read_labels
from pgso.data.pyg import graph_task
from pgso.data.tables.reader import frame_table
from pgso.data.task import IN_MEMORY
from pgso.errors import InputError, UnknownNameError
from pgso.finding import find
from pgso.gso.parameters import PGSOParameters
from pgso.objectives import OBJECTIVES
from pgso.records import RunSpec
from pgso.training.fit import fit_task
from pgso.training.session import take_best

HEADS = ("trained", "closed_form")
OWN = ("head", "validation_fraction", "random_state", "positive")  # options that no spec has
NOBODY = np.zeros(0, dtype=np.int64)


class NodeEstimator(BaseEstimator):
    """What the classifier and the regressor share: options, fitting either head, other graphs."""

    head: str
    random_state: Any
    validation_fraction: Any
    objective: str | None
    positive: Any

    def __init__(
        self,
        conv: str = "gcn",
        operator: str = "pgso",
        preset: Any = None,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        norm: str | None = None,
        residual: bool = False,
        epochs: int = 200,
        lr: float = 0.01,
        exponent_lr: float = 0.005,
        weight_decay: float = 5e-4,
        validation_fraction: float = 0.2,
        random_state: Any = 0,
        head: str = "trained",
        terms: Any = None,
        objective: str | None = None,
        class_weights: str | None = None,
        positive: Any = None,
    ) -> None:
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def _fit(self, graph: Any, X: Any, y: Array, **answers: Any) -> None:
        """Fit the head that was asked for; ``answers`` say what y is (:func:`graph_task`)."""
        if self.head not in HEADS:
            raise UnknownNameError("head", self.head, HEADS)
        random = check_random_state(self.random_state)
        closed = self.head == "closed_form"
        if closed:
            labelled = np.flatnonzero(np.isfinite(y).all(axis=1) if y.ndim == 2 else y >= 0)
            split = (labelled, NOBODY, NOBODY)
        else:
            seed = int(random.randint(2**31))
            choices = {k: v for k, v in self.get_params(deep=False).items() if k not in OWN}
            spec = RunSpec(dataset=IN_MEMORY, seed=seed, **choices)
            split = self._split(y, random)
        task = graph_task(graph, X, y, split, **answers)
        task = task.scored_by(self.objective, self.positive)
        if closed:
            finding = find(task)
            self.record_: Any = finding.record
            learned = [finding.best.S] if finding.best.S else []
            self.model_: Any = finding.head()
            self.scale_, self.base_ = None, None  # the head gives numbers in their unit
        else:
            session, record = fit_task(spec, task)
            if record.epoch is None:
                raise InputError(f"training failed: {record.error}; try a smaller lr")
            if record.status == "diverged":
                message = f"{record.error}; what is kept is epoch {record.epoch}"
                warnings.warn(message, ConvergenceWarning, stacklevel=3)
            self.record_, learned = record, list(record.parameters)
            self.model_, self.base_ = take_best(session), session.spec.base
            self.scale_ = session.criterion.scale
        self.operator_ = tuple(PGSOParameters(*S) for S in learned)
        self.preparation_ = task.preparation  # of a frame with words, dates or gaps
        self.n_features_in_ = task.num_features if self.preparation_ is None else X.shape[1]
        check_columns(self, X, fitting=True)
        self.graph_, self.x_ = task.graph, task.x
        self.labels_, self.has_features_ = y, X is not None

    def _outputs(self, graph: Any, X: Any) -> Tensor:  # (n, outputs)
        """Logits, or numbers in the unit of the targets."""
        check_is_fitted(self, "record_")
        check_columns(self, X)
        x, structure = self.x_, self.graph_ if graph is None else graph
        if X is None and graph is not None and self.has_features_:
            raise InputError("another graph needs its own X; the model was fitted with features")
        if X is not None and self.preparation_ is None:
            x = as_tensor(read_features(X))
        elif X is not None and self.preparation_ is not None:  # prepared as the one that was fitted
            if not hasattr(X, "columns"):
                raise InputError("the model was fitted with a frame; give one of the same columns")
            table = frame_table(X.reset_index(drop=True), Path("X"))
            x = as_tensor(self.preparation_.apply(table))
        if x.size(1) != self.x_.size(1):
            raise InputError(f"X has {x.size(1)} columns, the model takes {self.x_.size(1)}")
        self.model_.eval()
        with torch.no_grad():
            prepared = read_graph(structure, x.size(0))
            if self.base_ is not None:  # the matrix in A's place that the network was trained on
                prepared = BASES[self.base_](prepared)
            out: Tensor = self.model_(x, prepared)
        return out if self.scale_ is None else self.scale_.decode(out)

    def _split(self, y: Array, random: np.random.RandomState) -> Split:
        """Some of each class, or of the nodes with a number, validate; all others train."""
        fraction: Any = self.validation_fraction
        if not (isinstance(fraction, Real) and 0 < float(fraction) < 1):
            raise InputError(f"validation_fraction must lie between 0 and 1, got {fraction!r}")
        groups, needed = [np.isfinite(y).any(axis=-1)], "two nodes with known numbers"
        if y.ndim == 1:
            groups, needed = [y == c for c in range(y.max() + 1)], "a class with two labelled nodes"
        train: list[Array] = []
        val: list[Array] = []
        for group in groups:
            members = random.permutation(np.flatnonzero(group))
            cut = min(max(round(float(fraction) * len(members)), 1), max(len(members) - 1, 0))
            train.append(members[cut:])
            val.append(members[:cut])
        if not sum(map(len, val)):
            raise InputError(f"y needs {needed}: one trains, one validates")
        return np.sort(np.concatenate(train)), np.sort(np.concatenate(val)), NOBODY


def check_columns(estimator: Any, X: Any, fitting: bool = False) -> None:
    """Remember the names and the number of a table's columns, or refuse others than ``fit`` saw."""
    if fitting and hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    if X is None or not hasattr(X, "columns"):
        return
    names = list(X.columns)
    if fitting and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    seen = list(getattr(estimator, "feature_names_in_", names))
    if seen != names:
        raise InputError(
            f"the columns of X must be those that fit saw, in their order: "
            f"{', '.join(seen)}; got {', '.join(map(str, names))}"
        )


class PGSOClassifier(ClassifierMixin, NodeEstimator):
    """Classify the nodes of a graph, and learn which operator the graph wants.

    It takes options of :class:`pgso.RunSpec`. Of the labelled nodes, ``validation_fraction`` of
    each class choose the epoch (and with ``operator="auto"`` whether to learn the operator at
    all); the others are trained on. Prediction works on the same graph or on another.

    Args:
        conv: The base architecture: a name out of ``pgso list convs``.
        operator: ``"fixed"``, ``"pgso"`` (one S), ``"mpgso"`` (one per layer), ``"found"`` (by
            :func:`pgso.find`) or ``"auto"``.
        preset: Where S starts: a name, seven numbers, or None for the architecture's own.
        residual: Whether a linear map of each layer's input is added to its output.
        exponent_lr: The learning rate of the exponents e1, e2, e3.
        validation_fraction: The share of the labelled nodes that choose the epoch.
        random_state: Of the initial weights, dropout, and the choice of validation nodes.
        head: ``"trained"``, a network; or ``"closed_form"``, the rung that :func:`pgso.find` keeps:
            seconds, every labelled node fits and judges, and the other options do not count.
        terms: Of ``conv="bank"``, such as ``("self", "gcn")``.
        objective: The score that chooses the epoch, a name of ``pgso list objectives``; by default
            accuracy (of a regressor R²).
        class_weights: ``"balanced"``: every class counts the same in the loss; None: every label.
        positive: Of two classes, the one that average precision is about; by default the rarer.

    Attributes:
        classes_: The labels, sorted.
        operator_: The learned S, one :class:`pgso.PGSOParameters` per operator; of a finding the
            kept one, and none where the features alone are kept.
        record_: The run: scores, curves, the nearest named operator; or the finding.

    Example:
        >>> import networkx
        >>> club = networkx.karate_club_graph()
        >>> y = [club.nodes[member]["club"] for member in club]
        >>> y[5:30] = [None] * 25  # nine members have told us
        >>> model = PGSOClassifier(epochs=20).fit(club, None, y)
        >>> str(model.predict()[33]), len(model.operator_)
        ('Officer', 1)
    """

    def fit(self, graph: Any, X: Any, y: Any) -> "PGSOClassifier":
        """Learn from the labelled nodes.

        Args:
            graph: A :class:`pgso.Graph`, an ``edge_index``, a scipy sparse or networkx graph.
            X: Features, one row per node, dense or scipy sparse; None for the identity. A frame
                with words, dates or gaps is prepared as a folder's table is.
            y: One label per node, of any type; -1, None or NaN where it is unknown.
        """
        classes, codes = read_labels(y)
        if len(classes) < 2:
            raise InputError(f"y needs two classes or more, got {len(classes)}; -1 means unknown")
        self._fit(graph, X, codes, classes=tuple(str(name) for name in classes))
        self.classes_ = classes
        return self

    def predict(self, graph: Any = None, X: Any = None) -> Array:  # (n,)
        """The most probable label of every node; of the fitted graph if none is given."""
        codes = self.predict_proba(graph, X).argmax(axis=1)  # refused before it is fitted
        out: Array = self.classes_[codes]
        return out

    def predict_proba(self, graph: Any = None, X: Any = None) -> Array:  # (n, C)
        """The probability of each of ``classes_`` for every node."""
        out: Array = self._outputs(graph, X).softmax(dim=1).numpy()
        return out

    def score(self, graph: Any = None, X: Any = None, y: Any = None) -> float:
        """The share of labelled nodes that are predicted right; of the fitted ones by default."""
        predicted = self.predict_proba(graph, X).argmax(axis=1)
        names, codes = (self.classes_, self.labels_) if y is None else read_labels(y)
        if len(codes) != len(predicted):
            if y is None:
                raise InputError("another graph needs its own y to be scored")
            raise InputError(f"y has {len(codes)} labels, the graph {len(predicted)} nodes")
        known = codes >= 0
        if not known.any():
            raise InputError("y has no known label to compare with")
        return float((self.classes_[predicted[known]] == names[codes[known]]).mean())


class PGSORegressor(RegressorMixin, NodeEstimator):
    """Predict one or several numbers of the nodes of a graph.

    As :class:`pgso.PGSOClassifier`, with the same options and attributes, and R² as the score.

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
        """Learn from the nodes whose numbers are known, as :meth:`PGSOClassifier.fit` does.

        y has the shape (n,) or (n, targets), with NaN or None where a number is unknown.
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
