"""``PGSOFeatures``: features of a node and of its surroundings, for any classifier."""

from numbers import Integral
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pgso.data.arrays import Array
from pgso.data.inputs import as_tensor, read_features, read_graph
from pgso.errors import InputError
from pgso.estimators.estimator import check_columns
from pgso.graph import Graph
from pgso.gso.parameters import PGSOParameters
from pgso.gso.shift import apply_pgso


class PGSOFeatures(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """X next to γX, γ²X, ...: what a node's surroundings look like through an operator.

    Args:
        operator: The name of a preset, seven numbers, or the ``operator_`` of a fitted
            :class:`PGSOClassifier`; several S act one after another, one per hop.
        hops: How many products.

    Example:
        >>> path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> PGSOFeatures("adjacency", hops=2).fit_transform(path)  # walks of length 0, 1, 2
        array([[1., 1., 2.],
               [1., 2., 2.],
               [1., 1., 2.]], dtype=float32)
    """

    def __init__(self, operator: Any = "gcn", hops: int = 2) -> None:
        self.operator = operator
        self.hops = hops

    def fit(self, graph: Any, X: Any = None) -> "PGSOFeatures":
        """Remember the graph and its features (a column of ones without); nothing is learned."""
        self._by_hop()
        self.graph_, self.x_ = _pair(graph, X)
        self.n_features_in_, self.has_features_ = self.x_.size(1), X is not None
        check_columns(self, X, fitting=True)
        return self

    def transform(self, graph: Any = None, X: Any = None) -> Array:  # (n, (hops + 1) F)
        """[X, γX, ..., γ^hops X] of a graph; of the fitted one if none is given."""
        check_is_fitted(self, "n_features_in_")
        check_columns(self, X)
        if X is None and graph is not None and self.has_features_:
            raise InputError("another graph needs its own X; fit was given features")
        prepared, x = self.graph_, self.x_
        if graph is not None or X is not None:
            prepared, x = _pair(self.graph_ if graph is None else graph, X)
        if x.size(1) != self.n_features_in_:
            raise InputError(f"X has {x.size(1)} columns, fit saw {self.n_features_in_}")
        columns = [x]
        for S in self._by_hop():
            columns.append(apply_pgso(columns[-1], prepared, S))
        out: Array = torch.cat(columns, dim=1).numpy(force=True)
        return out

    def fit_transform(self, graph: Any, X: Any = None) -> Array:
        """:meth:`fit`, then :meth:`transform` of the same."""
        return self.fit(graph, X).transform()

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # ((hops + 1) F,)
        """``name`` for X itself, ``name_hop1`` for γX and so on."""
        check_is_fitted(self, "n_features_in_")
        if input_features is None:
            unnamed = [f"x{i}" for i in range(self.n_features_in_)]
            input_features = getattr(self, "feature_names_in_", unnamed)
        names = [str(name) for name in input_features]
        if len(names) != self.n_features_in_:
            raise InputError(f"{self.n_features_in_} names are needed, got {len(names)}")
        hops = [f"{name}_hop{hop}" for hop in range(1, int(self.hops) + 1) for name in names]
        return np.asarray([*names, *hops], dtype=object)

    def _by_hop(self) -> list[PGSOParameters]:
        if isinstance(self.hops, bool) or not isinstance(self.hops, Integral) or self.hops < 1:
            raise InputError(f"hops must be a whole number from 1 on, got {self.hops!r}")
        several = not isinstance(self.operator, str) and np.ndim(self.operator) == 2
        chosen = [PGSOParameters.of(S) for S in (self.operator if several else [self.operator])]
        chosen *= self.hops if len(chosen) == 1 else 1
        if len(chosen) < self.hops:
            raise InputError(f"{self.hops} hops need one S, or one each; got {len(chosen)}")
        return chosen[: self.hops]


def _pair(graph: Any, X: Any) -> tuple[Graph, torch.Tensor]:
    if X is None:
        prepared = read_graph(graph)
        return prepared, torch.ones(prepared.num_nodes, 1)
    x = as_tensor(read_features(X))
    return read_graph(graph, x.size(0)), x if x.layout == torch.strided else x.to_dense()
