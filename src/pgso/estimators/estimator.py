"""What the classifier and the regressor share: options, fitting either head, other graphs."""

import warnings
from abc import abstractmethod
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from pgso.bases import BASES
from pgso.data import Task
from pgso.data.arrays import Array, Split
from pgso.data.inputs import as_tensor, read_features, read_graph
from pgso.data.pyg import graph_task
from pgso.data.tables.reader import frame_table
from pgso.data.task import IN_MEMORY
from pgso.errors import InputError, UnknownNameError
from pgso.finding import find
from pgso.gso.parameters import PGSOParameters
from pgso.records import RunSpec
from pgso.training.fit import fit_task
from pgso.training.learning import Criterion
from pgso.training.session import take_best

if TYPE_CHECKING:
    import scipy.sparse

HEADS = ("trained", "closed_form")
OWN = ("head", "validation_fraction", "random_state", "positive")  # options that no spec has


class NodeEstimator(BaseEstimator):
    """Fit on the labelled nodes of a graph, predict all; see the subclasses."""

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
        self.conv = conv
        self.operator = operator
        self.preset = preset
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.dropout = dropout
        self.norm = norm
        self.residual = residual
        self.epochs = epochs
        self.lr = lr
        self.exponent_lr = exponent_lr
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.head = head
        self.terms = terms
        self.objective = objective
        self.class_weights = class_weights
        self.positive = positive

    @abstractmethod
    def _split(self, y: Array, random: np.random.RandomState) -> Split:
        """Which of the nodes with a known answer train, and which validate."""

    def _fit(self, graph: Any, X: Any, y: Array, **answers: Any) -> None:
        """Fit the head that was asked for; ``answers`` say what y is (:func:`graph_task`)."""
        if self.head not in HEADS:
            raise UnknownNameError("head", self.head, HEADS)
        random = check_random_state(self.random_state)
        if self.head == "closed_form":
            labelled = np.flatnonzero(np.isfinite(y).all(axis=1) if y.ndim == 2 else y >= 0)
            nobody = np.zeros(0, dtype=np.int64)
            task = self._task(graph, X, y, (labelled, nobody, nobody), answers)
            finding = find(task)
            self.record_: Any = finding.record
            S = finding.best.S
            self.operator_: tuple[PGSOParameters, ...] = (PGSOParameters(*S),) if S else ()
            self.model_: Any = finding.head()
            self.scale_, base = None, None  # the head gives numbers in their unit
        else:
            seed = int(random.randint(2**31))
            choices = {k: v for k, v in self.get_params(deep=False).items() if k not in OWN}
            spec = RunSpec(dataset=IN_MEMORY, seed=seed, **choices)
            task = self._task(graph, X, y, self._split(y, random), answers)
            session, record = fit_task(spec, task)
            if record.epoch is None:
                raise InputError(f"training failed: {record.error}; try a smaller lr")
            if record.status == "diverged":
                message = f"{record.error}; what is kept is epoch {record.epoch}"
                warnings.warn(message, ConvergenceWarning, stacklevel=3)
            self.record_ = record
            self.operator_ = tuple(PGSOParameters(*S) for S in record.parameters)
            self.model_, base = take_best(session), session.spec.base
            self.scale_ = Criterion.of(spec, task).scale
        self.preparation_ = task.preparation  # of a frame with words, dates or gaps
        self.n_features_in_ = task.num_features if self.preparation_ is None else X.shape[1]
        check_columns(self, X, fitting=True)
        self.graph_, self.x_, self.base_ = task.graph, task.x, base
        self.labels_, self.has_features_ = y, X is not None

    def _outputs(self, graph: Any, X: Any) -> Tensor:  # (n, outputs)
        """Logits, or numbers in the unit of the targets."""
        check_is_fitted(self, "record_")
        check_columns(self, X)
        x = self.x_ if X is None else as_tensor(self._features(X))
        structure = self.graph_ if graph is None else graph
        if X is None and graph is not None and self.has_features_:
            raise InputError("another graph needs its own X; the model was fitted with features")
        if x.size(1) != self.x_.size(1):
            raise InputError(f"X has {x.size(1)} columns, the model takes {self.x_.size(1)}")
        self.model_.eval()
        with torch.no_grad():
            prepared = read_graph(structure, x.size(0))
            if self.base_ is not None:  # the matrix in A's place that the network was trained on
                prepared = BASES[self.base_](prepared)
            out: Tensor = self.model_(x, prepared)
        return out if self.scale_ is None else self.scale_.decode(out)

    def _features(self, X: Any) -> "Array | scipy.sparse.csr_array":
        """X as numbers, prepared as the frame that was fitted."""
        if self.preparation_ is None:
            return read_features(X)
        if not hasattr(X, "columns"):
            raise InputError("the model was fitted with a frame; give a frame of the same columns")
        return self.preparation_.apply(frame_table(X.reset_index(drop=True), Path("X")))

    def _task(self, graph: Any, X: Any, y: Array, split: Split, answers: dict[str, Any]) -> Task:
        task = graph_task(graph, X, y, split, **answers)
        return task.scored_by(self.objective).with_positive(self.positive)

    def _fraction(self) -> float:
        fraction = self.validation_fraction
        if not isinstance(fraction, Real) or not 0 < fraction < 1:
            raise InputError(f"validation_fraction must lie between 0 and 1, got {fraction!r}")
        return float(fraction)


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
