"""Extreme eigenvalues and eigenvectors of γ(A, S) by Lanczos on its symmetric twin, Theorem 1."""

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from pgso.errors import InputError, UnknownNameError
from pgso.gso.operator import ShiftOperator
from pgso.spectrum.certified import OnGraph, Parameters, certified, twin
from pgso.spectrum.interval import gershgorin_interval
from pgso.spectrum.krylov import NotConvergedError as NotConvergedError
from pgso.spectrum.krylov import extreme_pairs
from pgso.spectrum.similarity import roots

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]
Which = Literal["both", "smallest", "largest"]

ENDS = ("both", "smallest", "largest")
DENSE_BELOW = 1_000  # nodes up to which a dense eigh is faster than Lanczos
DENSE_LIMIT = 10_000  # nodes up to which all eigenvalues may be asked for: 800 MB


@dataclass(frozen=True, eq=False, repr=False)
class Eigenpairs:
    """Eigenvalues of γ in ascending order, their eigenvectors, and how well they fit."""

    values: Array  # (k,)
    vectors: Array  # (n, k) of γ itself, columns of length 1
    residuals: Array  # (k,) ‖γ v - λ v‖

    def __repr__(self) -> str:
        low, high = self.values[0], self.values[-1]
        return f"Eigenpairs({len(self.values)} from {low:.4g} to {high:.4g})"

    def to_frame(self) -> "pandas.DataFrame":
        """One row per eigenvalue, with its residual; vectors stay in ``vectors``."""
        import pandas

        return pandas.DataFrame({"eigenvalue": self.values, "residual": self.residuals})

    def _repr_html_(self) -> str:
        html: str = self.to_frame().to_html(max_rows=10)
        return html


def eigenvalues(
    graph: OnGraph,
    S: Parameters = None,
    k: int | None = 6,
    which: Which = "both",
    tol: float = 1e-6,
    max_iterations: int = 10_000,
) -> Array:  # (k,)
    """Eigenvalues of an undirected graph's PGSO, ascending: see :func:`eigenpairs`.

    Example:
        >>> import torch
        >>> from pgso import Graph
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> (eigenvalues(path, "laplacian", k=2) + 0.0).round(6)  # 0, 1 and 3 are all
        array([0., 3.])
    """
    return _symmetric_pairs(certified(graph, S), k, which, tol, max_iterations)[0]


def eigenpairs(
    graph: OnGraph,
    S: Parameters = None,
    k: int | None = 6,
    which: Which = "both",
    tol: float = 1e-8,
    max_iterations: int = 10_000,
) -> Eigenpairs:
    r"""Eigenvalues and eigenvectors of an undirected graph's PGSO, without forming a dense matrix.

    Lanczos runs on :func:`symmetrised`, whose eigenvectors w give γ's own as
    :math:`v = D_a^{(e_2 - e_3)/2} w`. Repeated eigenvalues are found as often as they occur: the
    pairs found are taken out of the operator and it is searched again until nothing is left
    beyond them. Up to a thousand nodes a dense ``eigh`` is used instead.

    Args:
        graph: An operator on an undirected graph (a directed one is refused with an offending
            edge), or an expression of such; or a graph, followed by S.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset.
        k: How many, or ``None`` for all (up to ten thousand nodes); a graph of fewer nodes has
            no more than one for each.
        which: ``"smallest"``, ``"largest"``, or ``"both"``: half of k from either end, the odd
            one from the upper.
        tol: Allowed residual, relative to half the width of Theorem 2's interval. It bounds the
            error of an eigenvalue, which is usually its square.
        max_iterations: Restarts of Lanczos before giving up.

    Raises:
        NotConvergedError: If ``max_iterations`` are not enough, or if what was found is no
            eigenpair of γ: residuals are always checked.
    """
    op = certified(graph, S)
    values, w = _symmetric_pairs(op, k, which, tol, max_iterations)
    v = roots(op).numpy(force=True)[:, None] * w
    v /= np.linalg.norm(v, axis=0)
    return Eigenpairs(values, v, np.linalg.norm(op.to_scipy() @ v - v * values, axis=0))


def _symmetric_pairs(
    op: ShiftOperator,
    k: int | None,
    which: str,
    tol: float,
    max_iterations: int,
) -> tuple[Array, Array]:  # (k,), (n, k)
    n = op.shape[0]
    if which not in ENDS:
        raise UnknownNameError("end of the spectrum", which, ENDS)
    if k is None and n > DENSE_LIMIT:
        raise InputError(
            f"all {n} eigenvalues would need a dense matrix; ask for k of them, or for the density"
        )
    if isinstance(k, bool) or not isinstance(k, Integral | None):
        raise InputError(f"k must be a whole number or None, got {k!r}")
    k = n if k is None else min(int(k), n)
    if k < 1:
        raise InputError(f"k must be at least 1, for a graph of at least one node, got {k}")
    symmetric = twin(op)
    matrix = symmetric.to_scipy()
    diagonal = matrix.diagonal()
    if n > DENSE_BELOW and np.count_nonzero(matrix.data) == np.count_nonzero(diagonal):
        return _diagonal_pairs(diagonal, k, which)  # nothing for Lanczos to iterate on
    if n > DENSE_BELOW and k <= n // 4:
        low, high = (float(end.detach()) for end in gershgorin_interval(symmetric))
        # Scaled into [1, 3], so that tol means the same for every S; ARPACK may lose eigenvalue 0.
        width = (high - low) / 2
        centre = low - width
        scaled = csr_array(matrix - centre * eye_array(n, format="csr")) / width
        values, w = extreme_pairs(scaled, k, which, tol, max_iterations)
        return values * width + centre, w
    if n > DENSE_LIMIT:
        raise InputError(f"k = {k} of {n} eigenvalues is too many for Lanczos; ask for fewer")
    values, w = np.linalg.eigh(matrix.toarray())
    chosen = _ends(n, k, which)
    return values[chosen], w[:, chosen]


def _diagonal_pairs(diagonal: Array, k: int, which: str) -> tuple[Array, Array]:
    nodes = np.argsort(diagonal, kind="stable")[_ends(diagonal.size, k, which)]
    w = np.zeros((diagonal.size, k))
    w[nodes, np.arange(k)] = 1.0
    return diagonal[nodes], w


def _ends(size: int, k: int, which: str) -> NDArray[np.intp]:
    """The places of the k wanted ones among ``size`` ascending values."""
    low = {"smallest": k, "largest": 0, "both": k // 2}[which]
    places: NDArray[np.intp] = np.r_[0:low, size - (k - low) : size]
    return places
