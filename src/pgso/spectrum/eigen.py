"""Extreme eigenvalues and eigenvectors of γ(A, S) by Lanczos on its symmetric twin, Theorem 1."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from pgso.errors import InputError, PGSOError, UnknownNameError
from pgso.gso.operator import ShiftOperator, Shown
from pgso.spectrum.certified import OnGraph, Parameters, certified, roots, twin
from pgso.spectrum.interval import gershgorin_interval

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Which = Literal["both", "smallest", "largest"]

# How many of k eigenvalues are of the upper end:
UPPER = {"both": lambda k: k - k // 2, "smallest": lambda k: 0, "largest": lambda k: k}
DENSE_BELOW = 1_000  # nodes up to which a dense eigh is faster than Lanczos
DENSE_LIMIT = 10_000  # nodes up to which all eigenvalues may be asked for: 800 MB
COARSE = 1e-3  # accuracy of a first look at what is left of the spectrum
BELOW = 0.5  # where eigenvalues of [1, 3] are moved once they are found
SAME = 1e-5  # overlap from which on two vectors are not of different eigenpairs
ATTEMPTS = 3  # with other starts and larger spaces, where ARPACK fails
INSTEAD = "ask for another k or tol, or look at the density instead"


class NotConvergedError(PGSOError, ArithmeticError):
    """Lanczos did not converge to the eigenvalues asked for; the message says what to try."""


@dataclass(frozen=True, eq=False, repr=False)
class Eigenpairs(Shown):
    """Eigenvalues of γ in ascending order, their eigenvectors, and how well they fit."""

    values: Array  # (k,)
    vectors: Array  # (n, k) of γ itself, columns of length 1
    residuals: Array  # (k,) ‖γ v - λ v‖

    def __repr__(self) -> str:
        return f"Eigenpairs({len(self.values)} from {self.values[0]:.4g} to {self.values[-1]:.4g})"

    def to_frame(self) -> "pandas.DataFrame":
        """One row per eigenvalue, with its residual; vectors stay in ``vectors``."""
        import pandas

        return pandas.DataFrame({"eigenvalue": self.values, "residual": self.residuals})

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(max_rows=10)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the eigenvalues in ascending order: matplotlib axes in, axes out."""
        from pgso.drawing import plot_eigenvalues

        return plot_eigenvalues(self.values, ax)


def eigenvalues(
    graph: OnGraph,
    S: Parameters = None,
    k: int | None = 6,
    which: Which = "both",
    tol: float = 1e-6,
    max_iterations: int = 10_000,
) -> Array:  # (k,)
    """Eigenvalues of an undirected graph's PGSO, ascending: see :func:`eigenpairs`."""
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
        graph: An operator, or a graph followed by S: see :func:`gershgorin_interval`.
        S: Of a graph.
        k: How many, or ``None`` for all (up to ten thousand nodes).
        which: ``"smallest"``, ``"largest"``, or ``"both"``: half of k from either end, the odd
            one from the upper.
        tol: Allowed residual, relative to half the width of Theorem 2's interval. It bounds the
            error of an eigenvalue, which is usually its square.
        max_iterations: Restarts of Lanczos before giving up with a :class:`NotConvergedError`.
    """
    op = certified(graph, S)
    values, w = _symmetric_pairs(op, k, which, tol, max_iterations)
    v = roots(op).numpy(force=True)[:, None] * w
    v /= np.linalg.norm(v, axis=0)
    return Eigenpairs(values, v, np.linalg.norm(op.to_scipy() @ v - v * values, axis=0))


def _symmetric_pairs(
    op: ShiftOperator, k: int | None, which: str, tol: float, max_iterations: int
) -> tuple[Array, Array]:  # (k,), (n, k)
    n = op.shape[0]
    if which not in UPPER:
        raise UnknownNameError("end of the spectrum", which, UPPER)
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
    upper = UPPER[which](k)
    chosen = np.r_[0 : k - upper, n - upper : n]  # the places of the k among n ascending values
    if n > DENSE_BELOW and np.count_nonzero(matrix.data) == np.count_nonzero(diagonal):
        nodes = np.argsort(diagonal, kind="stable")[chosen]
        w = np.zeros((n, k))
        w[nodes, np.arange(k)] = 1.0
        return diagonal[nodes], w  # nothing for Lanczos to iterate on
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
    return values[chosen], w[:, chosen]


def extreme_pairs(
    matrix: csr_array,  # symmetric, eigenvalues in [1, 3]
    k: int,
    which: str,
    tol: float,
    max_iterations: int,
) -> tuple[Array, Array]:  # (k,), (n, k)
    """One search for both ends, then one for each end, since the first can miss eigenvalues.

    What the lower end has found is taken out before the upper one is searched: both may reach into
    the eigenspace of one eigenvalue that is most of the spectrum.
    """
    n, low = matrix.shape[0], k - UPPER[which](k)
    search = partial(_search, max_iterations=max_iterations, random=np.random.default_rng(0))
    values, w = upper, u = np.empty(0), np.empty((n, 0))
    rest: csr_array | LinearOperator = matrix
    if 0 < low < k:  # half the time of two searches
        values, w = search(matrix, k, tol, which="BE")
        (values, upper), (w, u) = np.split(values, [low]), np.split(w, [low], axis=1)
    if low:  # the smallest eigenvalues are the largest ones of 4 - matrix
        reflected = csr_array(4 * eye_array(n, format="csr") - matrix)
        values, w = _largest(reflected, low, tol, search, (4 - values)[::-1], w[:, ::-1])
        values, w = (4 - values)[::-1], w[:, ::-1]
        rest = _deflated(matrix, values, w)
        if u.size and np.abs(w.T @ u).max() > SAME:
            upper, u = upper[:0], u[:, :0]
    if low < k:
        upper, u = _largest(rest, k - low, tol, search, upper, u)
        values, w = np.r_[values, upper], np.c_[w, u]
    check_pairs(matrix, values, w, tol)
    return values, w


def _largest(
    matrix: csr_array | LinearOperator,
    k: int,
    tol: float,
    search: Callable[..., tuple[Array, Array]],
    values: Array,  # (k,) found already, or (0,)
    w: Array,  # (n, k)
) -> tuple[Array, Array]:  # (k,) ascending, (n, k)
    """The k largest eigenvalues, repeated ones as often as they occur."""
    if not values.size:
        values, w = search(matrix, k, tol)
    for _ in range(k + ATTEMPTS):  # each time at least one of the k is replaced by a larger one
        accuracy, start = max(tol, COARSE), np.zeros(matrix.shape[0])
        # A single Krylov space holds one vector of each eigenspace: what is left may be as large.
        rest = _deflated(matrix, values, w)
        while True:
            probe, u = search(rest, 1, accuracy, start=start)
            error = np.linalg.norm(rest @ u - u * probe, axis=0)
            # What was left out may reach past the least value kept only by rounding.
            if not probe[-1] + error[-1] > values[0] + max(2 * tol, 1e-12):
                return values, w
            if accuracy <= tol:
                break
            # There may be more: search again from there, with more accuracy.
            accuracy, start = max(tol, accuracy / 10), 10 * u.sum(axis=1)
        more, u = search(rest, k, tol)
        order = np.argsort(np.r_[values, more])[-k:]
        values, w = np.r_[values, more][order], np.c_[w, u][:, order]
    raise NotConvergedError(f"the {k} outermost eigenvalues do not settle; {INSTEAD}")


def _search(
    operator: Any,
    count: int,
    tol: float,
    max_iterations: int,
    random: np.random.Generator,
    start: Array | float = 0.0,
    which: str = "LA",  # ARPACK's word; "BE" takes both ends
) -> tuple[Array, Array]:
    """The largest eigenvalues that one Krylov space holds, ascending."""
    n, reason = operator.shape[0], ""
    for attempt in range(ATTEMPTS):  # ARPACK may fail where there are few distinct eigenvalues
        try:
            values, w = eigsh(
                operator,
                count,
                which=which,
                tol=tol,
                maxiter=max_iterations,
                ncv=min(n, (1 + attempt) * max(32, 2 * count + 1)),
                # A new start each time: what it shares with an eigenspace is found and removed.
                v0=start + random.standard_normal(n) * n**-0.5,
            )
        except ArpackNoConvergence as error:
            raise NotConvergedError(
                f"only {len(error.eigenvalues)} of {count} eigenvalues converged in "
                f"{max_iterations} iterations; raise max_iterations, loosen tol ({tol:g}), "
                f"{INSTEAD}"
            ) from None
        except ArpackError as error:
            reason = str(error)
            continue
        order = np.argsort(values)
        return values[order], w[:, order]
    raise NotConvergedError(f"ARPACK gave up on {count} eigenvalues ({reason}); {INSTEAD}")


def _deflated(matrix: csr_array | LinearOperator, values: Array, w: Array) -> LinearOperator:
    """The matrix with these eigenvalues moved to 1/2: below all others, which lie in [1, 3]."""
    moved = lambda x: matrix @ x - w @ (((values - BELOW) * w).T @ x)  # noqa: E731
    return LinearOperator(matrix.shape, matvec=moved, matmat=moved, dtype=matrix.dtype)


def check_pairs(matrix: csr_array, values: Array, w: Array, tol: float) -> None:
    """Refuse pairs that are no eigenpairs, or one pair that is there twice."""
    allowed = max(10 * tol, 1e-10)
    residual = np.linalg.norm(matrix @ w - w * values, axis=0).max()
    overlap = np.abs(w.T @ w - np.eye(len(values))).max()
    if not (residual <= allowed and overlap <= max(allowed, SAME)):
        raise NotConvergedError(
            f"the eigenvalues found do not fit the operator (residual {residual:.1e}, overlap "
            f"{overlap:.1e}, allowed {allowed:.1e}); {INSTEAD}"
        )
