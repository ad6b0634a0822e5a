"""Graph diffusion: personalised PageRank and the heat kernel, sparse from start to end."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import ive
from torch import Tensor

from pgso.errors import InputError, UnknownNameError
from pgso.graph import Graph, Pattern, product

Kind = Literal["ppr", "heat"]
AT_ONCE = 2**24  # entries of a block of rows: 64 MB, most of which is never touched
COLUMNS = 32  # columns of a dense block: few enough for the processor's cache
ROUNDING = 1e-5  # above the rounding of alternating sums in single precision; below: double
SPARSE_STEPS = 3  # steps of a series with sparse rows; after them too many nodes are reached


def diffusion(
    graph: Graph | Tensor,
    kind: Kind = "ppr",
    *,
    alpha: float = 0.15,
    t: float = 5.0,
    eps: float = 1e-3,
    top_k: int | None = None,
) -> Graph:
    r"""The graph of a diffusion on this one (Gasteiger et al., 2019), with self-loops.

    .. math::
        \Pi = \alpha \sum_k (1 - \alpha)^k T^k \quad \text{or} \quad
        \Pi = e^{-t} \sum_k \frac{t^k}{k!} T^k, \qquad
        T = D_1^{-1/2} (A + I) D_1^{-1/2}

    Every entry is within eps of the exact one, and those found below eps / 2 are left out: PyG's
    ``GDC`` with ``normalization_out=None``, since γ has its own normalisation. No n x n matrix is
    formed: mass of ``"ppr"`` spreads from blocks of nodes, and what is too small to matter stays
    where it is; ``"heat"`` is computed from a few nodes at a time.

    Args:
        graph: Undirected, with weights of 0 or more.
        kind: ``"ppr"`` for personalised PageRank, ``"heat"`` for the heat kernel.
        alpha: The share of ``"ppr"`` that returns to the start with each step.
        t: How long ``"heat"`` spreads.
        eps: The accuracy; the time of ``"ppr"`` grows as 1/eps, and a row has up to 2/eps entries.
        top_k: Also keep no more than this many entries of a row, and of their mirror images.
    """
    graph = Graph.of(graph)
    if kind not in ("ppr", "heat"):
        raise UnknownNameError("diffusion", kind, ("ppr", "heat"))
    if not graph.is_undirected:
        raise InputError(
            "diffusion needs an undirected graph; "
            "make it undirected with torch_geometric.utils.to_undirected"
        )
    if graph.weight is not None and bool((graph.weight < 0).any()):
        raise InputError("diffusion needs weights of 0 or more: mass cannot spread along others")
    for name, value in (("alpha", alpha), ("eps", eps)):
        if not 0 < value < 1:
            raise InputError(f"{name} must be between 0 and 1, got {value}")
    if not (t > 0 and math.isfinite(t)):
        raise InputError(f"t must be positive, got {t}")
    if top_k is not None and top_k < 1:
        raise InputError(f"top_k must be 1 or more, got {top_k}")
    n, device, graph = graph.num_nodes, graph.device, graph.to("cpu")
    pattern = graph.pattern
    A = graph.entries.detach().double().index_add(0, pattern.diagonal, torch.ones(n).double())
    d = graph.degree.detach().double().numpy(force=True) + 1
    arrays = (part.numpy(force=True) for part in (A, pattern.col, pattern.rowptr))  # type: ignore[union-attr]
    half = sp.diags_array(d**-0.5)
    T64 = sp.csr_array(half @ sp.csr_array(tuple(arrays), shape=(n, n)) @ half)
    T, root_d = T64.astype(np.float32), np.sqrt(d).astype(np.float32)
    if kind == "heat":
        T = T if eps >= ROUNDING else T64
        series = _chebyshev(t, eps / 2)
        starts = (np.arange(first, min(first + COLUMNS, n)) for first in range(0, n, COLUMNS))
        blocks = [_largest(_heat(pattern, T, s, series, eps / 2), top_k) for s in starts]
    else:
        size = max(1, min(n, AT_ONCE // max(n, 1)))

        def rows(first: int) -> Any:
            start = np.arange(first, min(first + size, n))
            mass = _ppr(T, start, root_d, eps / 2, alpha)
            places = np.flatnonzero(mass >= eps / 2)  # rows follow one another in one line
            entries = (mass[places], (places // n, places % n))
            return _largest(sp.csr_array(entries, shape=(start.size, n)), top_k)

        with ThreadPoolExecutor(os.cpu_count()) as pool:  # scipy's products run side by side
            blocks = list(pool.map(rows, range(0, n, size)))
    if not blocks:
        return graph.to(device)
    P = sp.vstack(blocks, format="csr").astype(np.float32)
    # Entries are never too high, so of an entry and its mirror image the larger one is closer. For
    # rows that start at a hub, the mirror image is the accurate one.
    return Graph.from_scipy(P.maximum(P.T).tocsr()).to(device)


def _ppr(T: Any, start: Any, root_d: Any, eps: float, alpha: float) -> Any:
    """Push residuals above eps √(d_v / d_s) to neighbours: Andersen, Chung and Lang (2006)."""
    n = T.shape[0]
    p, r = (np.zeros(start.size * n, dtype=np.float32) for _ in range(2))  # rows in one line
    moved = sp.eye_array(n, dtype=np.float32, format="csr")[start]
    while moved.nnz:
        p[_places(moved)] += alpha * moved.data
        reached = (1 - alpha) * (moved @ T)
        places = _places(reached)
        reached.data += r[places]
        # The smallest value that matters, for each stored entry: eps √(d_v / d_s).
        limit = eps * root_d[reached.indices] / _repeat(root_d[start], reached)
        large = reached.data >= limit
        r[places] = np.where(large, 0, reached.data)
        moved = _where(reached, large)
    return p


def _heat(pattern: Pattern, T: Any, start: Any, series: list[float], eps: float) -> Any:
    """Rows of the heat kernel by Chebyshev's series (Clenshaw's recurrence), entries below eps out.

    After few steps nodes reach so many others that products with whole columns are faster.
    """
    ones = sp.eye_array(T.shape[0], dtype=T.dtype, format="csr")[start]
    b = before = 0 * ones
    factors = series[:0:-1]
    for factor in factors[:SPARSE_STEPS]:
        before, b = b, 2 * (b @ T) - before + factor * ones
    values = torch.from_numpy(T.data)
    b, before = (torch.from_numpy(part.T.toarray(order="C")) for part in (b, before))
    for factor in factors[SPARSE_STEPS:]:
        before, b = b, product(pattern, values, b).mul_(2).sub_(before)
        b[start, range(start.size)] += factor
    out = product(pattern, values, b).sub_(before)
    out[start, range(start.size)] += series[0]
    diffused = out.numpy(force=True)
    node, row = np.divmod(np.flatnonzero(diffused >= eps), start.size)
    return sp.csr_array((diffused[node, row], (row, node)), shape=ones.shape)


def _chebyshev(t: float, eps: float) -> list[float]:
    r"""Coefficients of :math:`e^{-t(1 - x)}` on [-1, 1], up to those that sum to less than eps.

    They are :math:`e^{-t} I_0(t)` and :math:`2 e^{-t} I_k(t)`.
    """
    series = [float(ive(0, t))]
    while 1 - sum(series) > eps:  # all are positive, and at x = 1 they sum to 1
        series.append(2 * float(ive(len(series), t)))
    return series


def _places(matrix: Any) -> Any:
    """Where the stored entries stand if rows follow one another in one line."""
    return _repeat(np.arange(matrix.shape[0]) * matrix.shape[1], matrix) + matrix.indices


def _largest(rows: Any, top_k: int | None) -> Any:
    """The k largest entries of each row."""
    if top_k is None:
        return rows
    order = np.lexsort((-rows.data, _repeat(np.arange(rows.shape[0]), rows)))
    rank = np.arange(order.size) - _repeat(rows.indptr[:-1], rows)
    keep = np.zeros(order.size, dtype=bool)
    keep[order] = rank < top_k
    return _where(rows, keep)


def _where(matrix: Any, keep: Any) -> Any:
    """The stored entries that are to be kept."""
    total = np.concatenate([[0], np.cumsum(keep)])
    return sp.csr_array(
        (matrix.data[keep], matrix.indices[keep], total[matrix.indptr]), shape=matrix.shape
    )


def _repeat(by_row: Any, matrix: Any) -> Any:
    """A value per row as one per stored entry."""
    return np.repeat(by_row, np.diff(matrix.indptr))
