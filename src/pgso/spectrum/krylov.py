"""Extreme eigenpairs of a symmetric matrix by Lanczos: right, or refused."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from pgso.errors import PGSOError

Array = NDArray[np.float64]

COARSE = 1e-3  # accuracy of a first look at what is left of the spectrum
BELOW = 0.5  # where eigenvalues of [1, 3] are moved once they are found
SAME = 1e-5  # overlap from which on two vectors are not of different eigenpairs
ATTEMPTS = 3  # with other starts and larger spaces, where ARPACK fails


class NotConvergedError(PGSOError, ArithmeticError):
    """Lanczos did not converge to the eigenvalues asked for; the message says what to try."""


def extreme_pairs(
    matrix: csr_array,  # symmetric, eigenvalues in [1, 3]
    k: int,
    which: str,
    tol: float,
    max_iterations: int,
) -> tuple[Array, Array]:  # (k,), (n, k)
    """One search for both ends, then one for each end, since the first can miss eigenvalues.

    The smallest eigenvalues are the largest ones of 4 - matrix. What the lower end has found is
    taken out before the upper one is searched. One eigenvalue may be most of the spectrum, and
    both ends reach into its eigenspace.
    """
    low = {"smallest": k, "largest": 0, "both": k // 2}[which]
    random, values, w = np.random.default_rng(0), np.empty(0), np.empty((matrix.shape[0], 0))
    upper, u, rest = values, w, matrix
    if 0 < low < k:  # half the time of two searches
        values, w = _search(matrix, k, tol, max_iterations, random, which="BE")
        (values, upper), (w, u) = np.split(values, [low]), np.split(w, [low], axis=1)
    if low:
        reflected = csr_array(4 * eye_array(matrix.shape[0], format="csr") - matrix)
        reflected_pairs = (4 - values)[::-1], w[:, ::-1]
        values, w = _largest(reflected, low, tol, max_iterations, random, *reflected_pairs)
        values, w = (4 - values)[::-1], w[:, ::-1]
        rest = _deflated(matrix, values, w)
        if u.size and np.abs(w.T @ u).max() > SAME:
            upper, u = upper[:0], u[:, :0]
    if low < k:
        upper, u = _largest(rest, k - low, tol, max_iterations, random, upper, u)
        values, w = np.r_[values, upper], np.c_[w, u]
    check_pairs(matrix, values, w, tol)
    return values, w


def _largest(
    matrix: csr_array | LinearOperator,
    k: int,
    tol: float,
    max_iterations: int,
    random: np.random.Generator,
    values: Array,  # (k,) found already, or (0,)
    w: Array,  # (n, k)
) -> tuple[Array, Array]:  # (k,) ascending, (n, k)
    """The k largest eigenvalues, repeated ones as often as they occur."""
    n = matrix.shape[0]
    if not values.size:
        values, w = _search(matrix, k, tol, max_iterations, random)
    for _ in range(k + ATTEMPTS):  # each time at least one of the k is replaced by a larger one
        accuracy, start = max(tol, COARSE), np.zeros(n)
        # A single Krylov space holds one vector of each eigenspace: what is left may be as large.
        rest = _deflated(matrix, values, w)
        while True:
            probe, u = _search(rest, 1, accuracy, max_iterations, random, start)
            error = np.linalg.norm(rest @ u - u * probe, axis=0)
            if not _belongs(probe, error, values, max(2 * tol, 1e-12)):
                return values, w
            if accuracy <= tol:
                break
            # There may be more: search again from there, with more accuracy.
            accuracy, start = max(tol, accuracy / 10), 10 * u.sum(axis=1)
        more, u = _search(rest, k, tol, max_iterations, random)
        order = np.argsort(np.r_[values, more])[-k:]
        values, w = np.r_[values, more][order], np.c_[w, u][:, order]
    raise NotConvergedError(
        f"the {k} outermost eigenvalues do not settle; ask for another k or tol, or look at the "
        "density instead"
    )


def _search(
    operator: Any,
    count: int,
    tol: float,
    max_iterations: int,
    random: np.random.Generator,
    start: Array | float = 0.0,
    which: str = "LA",  # ARPACK's word; "BE" takes both ends
) -> tuple[Array, Array]:
    """The largest eigenvalues that one Krylov space holds, ascending.

    ARPACK fails on some start vectors and sizes of the space where the matrix has very few
    distinct eigenvalues. Then it is asked again, with others.
    """
    n, reason = operator.shape[0], ""
    for attempt in range(ATTEMPTS):
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
                "ask for a larger k, or look at the density instead"
            ) from None
        except ArpackError as error:
            reason = str(error)
            continue
        order = np.argsort(values)
        return values[order], w[:, order]
    raise NotConvergedError(
        f"ARPACK gave up on {count} eigenvalues ({reason}); ask for another k, or look at the "
        "density instead"
    )


def _deflated(matrix: csr_array | LinearOperator, values: Array, w: Array) -> LinearOperator:
    """The matrix with these eigenvalues moved to 1/2: below all others, which lie in [1, 3].

    Anywhere else they could be taken for eigenvalues that are left: where most of a spectrum is
    one value, even its mean lies beyond what remains.
    """

    def moved(x: Array) -> Array:
        out: Array = matrix @ x - w @ (((values - BELOW) * w).T @ x)
        return out

    return LinearOperator(matrix.shape, matvec=moved, matmat=moved, dtype=matrix.dtype)


def _belongs(probe: Array, error: Array, values: Array, slack: float) -> bool:
    """Whether what was left out may reach past the least value kept, by more than slack."""
    return bool(probe[-1] + error[-1] > values[0] + slack)


def check_pairs(matrix: csr_array, values: Array, w: Array, tol: float) -> None:
    """Refuse pairs that are no eigenpairs, or one pair that is there twice."""
    allowed = max(10 * tol, 1e-10)
    residual = np.linalg.norm(matrix @ w - w * values, axis=0).max()
    overlap = np.abs(w.T @ w - np.eye(len(values))).max()
    if not (residual <= allowed and overlap <= max(allowed, SAME)):
        raise NotConvergedError(
            f"the eigenvalues found do not fit the operator (residual {residual:.1e}, overlap "
            f"{overlap:.1e}, allowed {allowed:.1e}); ask for another k or tol, or look at the "
            "density instead"
        )
