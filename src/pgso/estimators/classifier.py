"""``PGSOClassifier``: a graph network with a learned operator that fits and predicts."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from pgso.data.arrays import Array, Split
from pgso.data.inputs import read_labels
from pgso.errors import InputError
from pgso.estimators.estimator import NodeEstimator


class PGSOClassifier(ClassifierMixin, NodeEstimator):
    """Classify the nodes of a graph, and learn which operator the graph wants.

    It takes options of :class:`pgso.RunSpec`. Of the labelled nodes, ``validation_fraction`` of
    each class choose the epoch (and with ``operator="auto"`` whether to learn the operator at
    all); the others are trained on. Prediction works on the same graph or on another.

    Args:
        conv: The base architecture: ``"gcn"``, ``"sgc"``, ``"gat"``, ``"gin"``, ``"bank"``,
            ``"filter"``.
        operator: ``"fixed"``, ``"pgso"`` (one S), ``"mpgso"`` (one per layer), ``"found"`` (by
            :func:`pgso.find`) or ``"auto"``.
        preset: Where S starts: a name, seven numbers, or None for the architecture's own.
        hidden_channels: Width of the hidden layers.
        num_layers: Number of layers.
        dropout: Before every layer.
        norm: ``"batch"``, ``"layer"`` or None.
        residual: Whether a linear map of each layer's input is added to its output.
        epochs: How often all training nodes are gone through.
        lr: Learning rate.
        exponent_lr: The learning rate of the exponents e1, e2, e3.
        weight_decay: Pull of all weights towards zero.
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

    def _split(self, y: Array, random: np.random.RandomState) -> Split:
        """Some of each class validate, at least one where there are two; all others train."""
        fraction = self._fraction()
        parts: tuple[list[Array], list[Array]] = ([], [])
        for c in range(y.max() + 1):
            members = random.permutation(np.flatnonzero(y == c))
            cut = min(max(round(fraction * len(members)), 1), len(members) - 1)
            parts[0].append(members[cut:])
            parts[1].append(members[:cut])
        train, val = (np.sort(np.concatenate(part)) for part in parts)
        if not len(val):
            raise InputError("y needs a class with two labelled nodes: one trains, one validates")
        return train, val, np.zeros(0, dtype=np.int64)
