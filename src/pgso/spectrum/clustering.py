"""Spectral embedding and clustering with any γ(A, S), as scikit-learn estimators."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.node_shift import NodeShift
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import PGSOParameters, Scalar
from pgso.gso.shift import shift
from pgso.spectrum.eigen import Which, eigenpairs


def regularised_adjacency(a: float) -> PGSOParameters:
    r"""The S of :math:`D_a^{-1/2} A D_a^{-1/2}`, the operator of regularised spectral clustering.

    Qin and Rohe (2013) add a to the degrees but not to the diagonal of A: m1 D_a^e1 takes the
    self-loops of A_a away again, which would hide the communities behind small components.
    """
    return PGSOParameters(-a, 1, 0, -1, -0.5, -0.5, a)


def bethe_hessian(graph: Any) -> PGSOParameters:
    r"""The S of the Bethe-Hessian :math:`(r^2 - 1) I - r A + D`, also called deformed Laplacian.

    With :math:`r^2 = \sum_i d_i^2 / \sum_i d_i - 1` it finds communities of sparse graphs as far
    down as any method can: each of its negative eigenvalues has the eigenvector of one (Saade,
    Krzakala and Zdeborová, 2014). Eigenvectors of A sit on hubs there.
    """
    d = Graph.of(graph).row_sums
    if not float(d.sum()) > 0:
        raise InputError("the Bethe-Hessian needs a graph with edges")
    r_squared = max(float(d.square().sum() / d.sum()) - 1, 0.0)
    return PGSOParameters(1, -(r_squared**0.5), r_squared - 1, 1, 0, 0, 0)


class PGSOSpectralEmbedding(TransformerMixin, BaseEstimator):
    """Node positions from the eigenvectors of γ(A, S) at the end where communities show.

    That is the upper end where m2 > 0 (adjacencies), and the lower one where m2 < 0 (Laplacians).
    They are ``embedding_``, (n, n_components), at the ascending ``eigenvalues_``.

    Args:
        n_components: How many eigenvectors.
        S: Seven numbers or the name of a preset.
        normalise_rows: Whether to put every node on the unit sphere, which removes its degree.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        S: str | Sequence[Scalar] = "gcn",
        normalise_rows: bool = True,
    ) -> None:
        self.n_components, self.S, self.normalise_rows = n_components, S, normalise_rows

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the eigenvectors of an undirected graph, as anything that ``Graph.of`` takes.

        Or of an operator on one (:func:`pgso.shift`, or an expression), which has its own S.
        """
        op = X if isinstance(X, ShiftOperator) else shift(Graph.of(X), self.S)
        n = op.shape[0]
        if not 1 <= self.n_components <= n:
            raise InputError(
                f"n_components must be between 1 and the number of nodes {n}, "
                f"got {self.n_components}"
            )
        if isinstance(op, NodeShift):  # whether eigenvalues grow as neighbours are alike
            upper = float(op.factors().m2.detach().mean()) > 0
        else:
            matrix = op.to_scipy()
            upper = bool(matrix.sum() > matrix.diagonal().sum())
        which: Which = "largest" if upper else "smallest"
        pairs = eigenpairs(op, k=self.n_components, which=which)
        # Of the two signs, scikit-learn's: the largest entry of a column is positive.
        largest = np.abs(pairs.vectors).argmax(axis=0)
        embedding = pairs.vectors * np.sign(pairs.vectors[largest, range(self.n_components)])
        if self.normalise_rows:
            length = np.linalg.norm(embedding, axis=1, keepdims=True)
            # What the eigenvectors do not reach (an isolated node) stays at the origin.
            embedding = np.where(length > 1e-10, embedding / np.maximum(length, 1e-10), 0.0)
        self.embedding_, self.eigenvalues_, self.n_features_in_ = embedding, pairs.values, n
        return self

    def fit_transform(self, X: Any, y: None = None) -> NDArray[np.float64]:  # (n, n_components)
        """Find the eigenvectors and return the positions."""
        return self.fit(X).embedding_


class PGSOSpectralClustering(ClusterMixin, BaseEstimator):
    """k-means on the eigenvectors of γ(A, S).

    On sparse graphs, ``S=bethe_hessian(graph)``, or ``S=regularised_adjacency(a)`` with a near the
    mean degree, find communities that the presets miss.

    Args:
        n_clusters: How many communities.
        S: Seven numbers or the name of a preset.
        normalise_rows: See :class:`PGSOSpectralEmbedding`.
        n_init: Starts of k-means.
        random_state: Of k-means.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        S: str | Sequence[Scalar] = "gcn",
        normalise_rows: bool = True,
        n_init: int = 10,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters, self.S, self.normalise_rows = n_clusters, S, normalise_rows
        self.n_init, self.random_state = n_init, random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Embed the graph (see :meth:`PGSOSpectralEmbedding.fit`) and group its nodes."""
        options: Any = {"S": self.S, "normalise_rows": self.normalise_rows}
        self.embedding_ = PGSOSpectralEmbedding(self.n_clusters, **options).fit_transform(X)
        self.n_features_in_ = len(self.embedding_)
        means = KMeans(self.n_clusters, n_init=self.n_init, random_state=self.random_state)
        self.labels_ = means.fit_predict(self.embedding_)
        return self
