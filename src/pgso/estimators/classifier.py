"""``PGSOClassifier``: a graph network with a learned operator that fits and predicts."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pgso.data import Task
from pgso.data.arrays import Array, Arrays, Split
from pgso.data.inputs import as_tensor, read_features, read_graph, read_labels
from pgso.errors import InputError
from pgso.estimators.columns import check_columns, remember_columns
from pgso.gso.parameters import PGSOParameters
from pgso.records import RunSpec
from pgso.training.checkpoint import take_best
from pgso.training.fit import fit_task

NAME = "in memory"  # what stands for the dataset in the record


class PGSOClassifier(ClassifierMixin, BaseEstimator):
    """Classify the nodes of a graph, and learn which operator the graph wants.

    Options are those of :class:`pgso.RunSpec`. Of the labelled nodes, ``validation_fraction`` of
    each class choose the epoch (and with ``operator="auto"`` whether to learn the operator at
    all); the others are trained on. Prediction works on the same graph or on another.

    Args:
        conv: The base architecture: ``"gcn"``, ``"sgc"``, ``"gat"``, ``"gin"``.
        operator: ``"fixed"``, ``"pgso"`` (one S), ``"mpgso"`` (one per layer) or ``"auto"``.
        preset: Where S starts: a name, seven numbers, or None for the architecture's own.
        hidden_channels: Width of the hidden layers.
        num_layers: Number of layers.
        dropout: Before every layer.
        norm: ``"batch"``, ``"layer"`` or None.
        residual: Whether a linear map of each layer's input is added to its output.
        epochs: How often all training nodes are gone through.
        lr: Learning rate.
        exponent_lr: That of the exponents e1, e2, e3.
        weight_decay: Pull of all weights towards zero.
        validation_fraction: The share of the labelled nodes that choose the epoch.
        random_state: Of the initial weights, dropout, and the choice of validation nodes.

    Attributes:
        classes_: The labels, sorted.
        operator_: The learned S, one :class:`pgso.PGSOParameters` per operator.
        record_: The run: scores, curves, the nearest named operator.
        n_features_in_: Columns of X.
        feature_names_in_: Their names, if X was a table that has them.

    Example:
        >>> import networkx
        >>> club = networkx.karate_club_graph()
        >>> y = [club.nodes[member]["club"] for member in club]
        >>> y[5:30] = [None] * 25  # nine members have told us
        >>> model = PGSOClassifier(epochs=20).fit(club, None, y)
        >>> str(model.predict()[33]), len(model.operator_)
        ('Officer', 1)
    """

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

    def fit(self, graph: Any, X: Any, y: Any) -> "PGSOClassifier":
        """Learn from the labelled nodes.

        Args:
            graph: A :class:`pgso.Graph`, an ``edge_index``, a scipy sparse or networkx graph.
            X: Features, one row per node, dense or scipy sparse; None for the identity.
            y: One label per node, of any type; -1, None or NaN where it is unknown.
        """
        classes, codes = read_labels(y)
        if len(classes) < 2:
            raise InputError(f"y needs two classes or more, got {len(classes)}; -1 means unknown")
        random = check_random_state(self.random_state)
        spec = self._spec(int(random.randint(2**31)))
        task = _task(graph, X, codes, classes, self._split(codes, random))
        session, record = fit_task(spec, task)
        if record.epoch is None:
            raise InputError(f"training failed: {record.error}; try a smaller lr")
        if record.status == "diverged":
            message = f"{record.error}; what is kept is epoch {record.epoch}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.classes_, self.record_ = classes, record
        self.operator_ = tuple(PGSOParameters(*S) for S in record.parameters)
        self.n_features_in_ = task.num_features
        remember_columns(self, X)
        self.model_, self.graph_, self.x_ = take_best(session), task.graph, task.x
        self.labels_, self.has_features_ = codes, X is not None
        return self

    def predict(self, graph: Any = None, X: Any = None) -> Array:  # (n,)
        """The most probable label of every node; of the fitted graph if none is given."""
        place = self.predict_proba(graph, X).argmax(axis=1)
        out: Array = self.classes_[place]
        return out

    def predict_proba(self, graph: Any = None, X: Any = None) -> Array:  # (n, C)
        """The probability of each of ``classes_`` for every node."""
        check_is_fitted(self, "record_")
        check_columns(self, X)
        x = self.x_ if X is None else as_tensor(read_features(X))
        known = self.graph_ if graph is None else graph
        if X is None and graph is not None and self.has_features_:
            raise InputError("another graph needs its own X; the model was fitted with features")
        if x.size(1) != self.n_features_in_:
            raise InputError(f"X has {x.size(1)} columns, the model takes {self.n_features_in_}")
        self.model_.eval()
        with torch.no_grad():
            logits = self.model_(x, read_graph(known, x.size(0)))
        out: Array = logits.softmax(dim=1).numpy()
        return out

    def score(self, graph: Any = None, X: Any = None, y: Any = None) -> float:
        """The share of labelled nodes that are predicted right; of the fitted ones by default."""
        check_is_fitted(self, "record_")
        place = self.predict_proba(graph, X).argmax(axis=1)
        if y is None:
            if len(place) != len(self.labels_):
                raise InputError("another graph needs its own y to be scored")
            right, known = place == self.labels_, self.labels_ >= 0
        else:
            names, codes = read_labels(y)
            if len(codes) != len(place):
                raise InputError(f"y has {len(codes)} labels, the graph {len(place)} nodes")
            known = codes >= 0
            right = np.zeros(len(codes), dtype=bool)
            right[known] = self.classes_[place[known]] == names[codes[known]]
        if not known.any():
            raise InputError("y has no known label to compare with")
        return float(right[known].mean())

    def _spec(self, seed: int) -> RunSpec:
        own = ("validation_fraction", "random_state")
        choices = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        return RunSpec(dataset=NAME, seed=seed, **choices)

    def _split(self, codes: Array, random: np.random.RandomState) -> Split:
        """Some of each class validate, at least one where there are two; all others train."""
        fraction = self.validation_fraction
        if not 0 < fraction < 1:
            raise InputError(f"validation_fraction must lie between 0 and 1, got {fraction!r}")
        parts: tuple[list[Array], list[Array]] = ([], [])
        for c in range(codes.max() + 1):
            members = random.permutation(np.flatnonzero(codes == c))
            cut = min(max(round(fraction * len(members)), 1), len(members) - 1)
            parts[0].append(members[cut:])
            parts[1].append(members[:cut])
        train, val = (np.sort(np.concatenate(part)) for part in parts)
        if not len(val):
            raise InputError("y needs a class with two labelled nodes: one trains, one validates")
        return train, val, np.zeros(0, dtype=np.int64)


def _task(graph: Any, X: Any, codes: Array, classes: Array, split: Split) -> Task:
    n = len(codes)
    x = scipy.sparse.eye_array(n, format="csr") if X is None else read_features(X)
    if x.shape[0] != n:
        raise InputError(f"X has {x.shape[0]} rows, y has {n} labels; give one of each per node")
    prepared = read_graph(graph, n)
    weight = prepared.edge_weight
    return Task.of(
        NAME,
        Arrays(
            edge_index=prepared.edge_index.numpy(force=True),
            edge_weight=None if weight is None else weight.numpy(force=True),
            x=x,
            y=codes,
            split=split,
            classes=tuple(str(name) for name in classes),
        ),
    )
