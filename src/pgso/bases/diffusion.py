"""Graph diffusion: personalised PageRank and the heat kernel, sparse from start to end."""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch

from pgso.errors import InputError, UnknownNameError
from pgso.graph import Graph

Kind = Literal["ppr", "heat"]
BLOCK = 2_000  # starting nodes that are spread from at once


def diffusion(
    graph: Graph,
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
    formed: mass spreads from blocks of nodes, and what is too small to matter stays where it is.

    Args:
        graph: Undirected, with weights of 0 or more.
        kind: ``"ppr"`` for personalised PageRank, ``"heat"`` for the heat kernel.
        alpha: The share of ``"ppr"`` that returns to the start with each step.
        t: How long ``"heat"`` spreads.
        eps: The accuracy; the time grows as 1/eps, and a row has up to 2/eps entries.
        top_k: Also keep no more than this many entries of a row, and of their mirror images.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> diffusion(path, "ppr", eps=1e-8).to_torch_sparse().to_dense()
        tensor([[0.4443, 0.3040, 0.1834],
                [0.3040, 0.5036, 0.3040],
                [0.1834, 0.3040, 0.4443]])
    """
    _check(graph, kind, alpha, t, eps, top_k)
    n, pattern = graph.num_nodes, graph.pattern
    A = graph.entries.detach().double().index_add(0, pattern.diagonal, torch.ones(n).double())
    d = graph.degree.detach().double().numpy(force=True) + 1
    indices, rowptr = (part.numpy(force=True) for part in (pattern.col, pattern.rowptr))  # type: ignore[union-attr]
    T = sp.csr_array((A.numpy(force=True), indices, rowptr), shape=(n, n))
    T = _scaled(T, d**-0.5, d**-0.5).astype(np.float32)
    spread: Callable[..., Any] = (
        partial(_ppr, alpha=alpha) if kind == "ppr" else partial(_heat, terms=_taylor(t, eps / 2))
    )

    def rows(first: int) -> Any:
        start = np.arange(first, min(first + BLOCK, n))
        found = spread(T, start, np.sqrt(d).astype(np.float32), eps / 2)
        return _kept(found, eps / 2, top_k)

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # scipy's products run side by side
        P = sp.vstack(list(pool.map(rows, range(0, n, BLOCK))), format="csr")
    # Nothing is ever counted too high, so that of an entry and its mirror image the larger is
    # closer; where a row starts at a hub it is the mirror image that keeps the accuracy.
    return Graph.from_scipy(P.maximum(P.T).tocsr())


def _ppr(T: Any, start: Any, root_d: Any, eps: float, alpha: float) -> Any:
    """Push what lies at a node, as far as it matters: Andersen, Chung and Lang (2006), in blocks.

    With a residual r below eps √(d_v / d_s), what is still to come at v is too: T √d = √d.
    """
    r = _ones_at(start, T.shape[0])
    p = sp.csr_array(r.shape, dtype=np.float32)
    while True:
        large = r.data >= eps * root_d[r.indices] / _repeat(root_d[start], r)
        if not large.any():
            return p
        moved = _where(r, large)
        p = p + alpha * moved
        r = _where(r, ~large) + (1 - alpha) * (moved @ T)


def _heat(T: Any, start: Any, root_d: Any, eps: float, terms: list[tuple[float, float]]) -> Any:
    """Taylor's series term by term, each without what is too small to matter."""
    term = _ones_at(start, T.shape[0])
    p = sp.csr_array(term.shape, dtype=np.float32)
    for place, (factor, share) in enumerate(terms):
        term = factor * (term @ T if place else term)
        large = term.data >= share * eps * root_d[term.indices] / _repeat(root_d[start], term)
        term = _where(term, large)
        p = p + term
    return p


def _taylor(t: float, eps: float) -> list[tuple[float, float]]:
    r"""By term: its factor to the one before, and the share of eps that may be left out there.

    What is left out of term k comes back :math:`\psi_k = \sum_m t^m k! / (m + k)!` times in later
    ones. The number of entries is least for shares :math:`\propto \sqrt{\theta_k / \psi_k}`.
    """
    theta = [math.exp(-t)]
    while sum(theta) < 1 - eps / 10:
        theta.append(theta[-1] * t / len(theta))
    tail = np.cumsum(theta[::-1])[::-1]  # theta_k psi_k
    shares = 0.9 * np.array(theta) / np.sqrt(tail) / np.sqrt(tail).sum()
    factors = [theta[0], *(t / k for k in range(1, len(theta)))]
    return list(zip(factors, shares.tolist(), strict=True))


def _kept(rows: Any, eps: float, top_k: int | None) -> Any:
    """Rows without entries below eps, and beyond the k largest of each."""
    rows = _where(rows, rows.data >= eps)
    if top_k is None:
        return rows
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((-rows.data, row))
    rank = np.arange(order.size) - np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
    keep = np.zeros(order.size, dtype=bool)
    keep[order] = rank < top_k
    return _where(rows, keep)


def _where(matrix: Any, keep: Any) -> Any:
    """The stored entries that are to be kept."""
    total = np.concatenate([[0], np.cumsum(keep)])
    return sp.csr_array(
        (matrix.data[keep], matrix.indices[keep], total[matrix.indptr]), shape=matrix.shape
    )


def _ones_at(columns: Any, n: int) -> Any:
    ones, rows = np.ones(columns.size, dtype=np.float32), np.arange(columns.size + 1)
    return sp.csr_array((ones, columns, rows), shape=(columns.size, n))


def _repeat(by_row: Any, matrix: Any) -> Any:
    """A value per row as one per stored entry."""
    return np.repeat(by_row, np.diff(matrix.indptr))


def _scaled(matrix: Any, rows: Any, columns: Any) -> Any:
    data = matrix.data * _repeat(rows, matrix) * columns[matrix.indices]
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _check(graph: Graph, kind: str, alpha: float, t: float, eps: float, top_k: int | None) -> None:
    if kind not in ("ppr", "heat"):
        raise UnknownNameError("diffusion", kind, ("ppr", "heat"))
    if not graph.is_undirected:
        raise InputError(
            "diffusion needs an undirected graph; "
            "make it undirected with torch_geometric.utils.to_undirected"
        )
    if graph.weight is not None and bool((graph.weight < 0).any()):
        raise InputError("diffusion needs weights of 0 or more: mass cannot spread along others")
    if not 0 < alpha < 1:
        raise InputError(f"alpha must be between 0 and 1, got {alpha}")
    if not (t > 0 and math.isfinite(t)):
        raise InputError(f"t must be positive, got {t}")
    if not 0 < eps < 1:
        raise InputError(f"eps must be between 0 and 1, got {eps}")
    if top_k is not None and top_k < 1:
        raise InputError(f"top_k must be 1 or more, got {top_k}")
