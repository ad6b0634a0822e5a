"""Signal processing on graphs: filters, heat, PageRank, wavelets, Fourier transform, gradient.

A function f of an operator acts on eigenvalues: f(γ) = V f(Λ) V^-1. A filter here is a polynomial p
of γ with p ≈ f on the interval that certainly contains the spectrum, so it costs ``degree`` sparse
products, needs no eigenvectors, and knows how far p is from f.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from torch import Tensor

from pgso.errors import InputError, UnknownNameError
from pgso.graph import Graph
from pgso.graph.inputs import check_features
from pgso.gso.operator import ShiftOperator
from pgso.gso.polynomials import Polynomial
from pgso.gso.shift import shift  # noqa: F401  (the examples use it)
from pgso.spectrum.certified import certified, roots, row_and_column_norm
from pgso.spectrum.eigen import eigenpairs
from pgso.spectrum.interval import interval

Array = NDArray[np.float64]
Function = Callable[[Tensor], Any]

POOR = 0.01  # errors above this share of the largest value are warned about
MOST_EXACT = 5_000  # nodes up to which all eigenvectors are computed: 200 MB, a minute


class FilterWarning(UserWarning):
    """A polynomial is far from the function that it stands for."""


class Filter(Polynomial):
    """A polynomial of an operator that stands for a function of it.

    ``error`` is the largest distance between polynomial and function on the ``interval`` (measured
    at 20 points per degree) or, on a directed graph, bounded in norm. For a symmetric operator,
    ‖p(γ) x - f(γ) x‖ ≤ error ‖x‖; otherwise the condition of the eigenvectors is a factor.
    """

    error: float
    interval: tuple[float, float] | None  # certified to hold the eigenvalues; None if directed

    def __repr__(self) -> str:
        degree = len(self.coefficients) - 1
        ends = [f"{round(end, 12) + 0.0:.4g}" for end in self.interval or ()]
        where = f" on [{', '.join(ends)}]" if ends else ""
        return f"Filter(shape={self.shape}, degree={degree}{where}, error={self.error:.2g})"


def filter(op: ShiftOperator, function: Function, degree: int = 40) -> Filter:  # noqa: A001
    r"""A function of an operator, as a Chebyshev polynomial fitted on its certified interval.

    .. math::
        f(\gamma) \approx \sum_{k=0}^K c_k\, T_k\Big(\frac{2 \gamma - (h + l) I}{h - l}\Big),
        \qquad [l, h] \supseteq \text{ the spectrum of } \gamma

    The polynomial is fixed when the filter is made. Gradients of ``filter @ x`` flow into x and
    into S. A large ``error`` of the result is also a :class:`FilterWarning`.

    Args:
        op: An operator with a certified interval: γ on an undirected graph, a multiple, a
            polynomial, or a sum of symmetric ones. Another is refused with the reason.
        function: Of the eigenvalues, a tensor in double precision; finite on the interval.
        degree: K, the number of products with γ.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> low_pass = filter(shift(path, "laplacian"), lambda s: 1 / (1 + s))
        >>> low_pass @ torch.tensor([1., 0., 0.])  # solves (I + L) y = x
        tensor([0.6250, 0.2500, 0.1250])
    """
    if not callable(function):
        raise InputError(f"a filter takes a function of the eigenvalues, got {function!r}")
    degree = _checked_degree(degree)
    low, high = certified_ends(op)
    centre, half = (low + high) / 2, (high - low) / 2
    half = half if half > 1e-12 * max(1.0, abs(centre)) else max(1.0, abs(centre))

    def values(t: Array) -> Any:
        """The function at points of [-1, 1], checked."""
        # The ends stay the ends: 1 - 1e-16 may lie outside the domain of a function such as √.
        points = np.clip(centre + half * t, low, high)
        returned = function(torch.from_numpy(points))
        found = np.asarray(returned.detach().cpu() if isinstance(returned, Tensor) else returned)
        if found.shape not in ((), points.shape):
            raise InputError(
                f"the function of a filter must return a number for each of {len(points)} "
                f"eigenvalues, got shape {found.shape}"
            )
        if np.iscomplexobj(found):
            raise InputError("the function of a filter must return real numbers, got complex ones")
        found = np.broadcast_to(found, points.shape).astype(np.float64)
        if not np.isfinite(found).all():
            worst = int(np.argmin(np.isfinite(found)))
            raise InputError(
                f"the function is {found[worst]} at {points[worst]:.4g}, within the interval that "
                "may hold eigenvalues; give one that is finite there"
            )
        return found

    c: Array = chebyshev.chebinterpolate(values, degree)
    between = np.cos(np.linspace(0, np.pi, 20 * (degree + 1)))
    exact = values(between)
    error, size = np.abs(chebyshev.chebval(between, c) - exact).max(), np.abs(exact).max()
    scaled, ends = (1 / half) * op - (centre / half) * op**0, (low, high)
    return _filter(scaled, torch.from_numpy(c), "chebyshev", float(error), ends, float(size))


def heat(op: ShiftOperator, t: float = 1.0, degree: int = 40) -> Filter:
    r"""The heat kernel :math:`e^{-t \gamma}` of a Laplacian: diffusion for a time t.

    On a directed graph it is the series around the middle c of the diagonal, whose remainder is
    bounded by the norm of γ - cI: there ``error`` is a bound.
    """
    if not (isinstance(t, (int, float)) and math.isfinite(t) and t >= 0):
        raise InputError(f"the time t must be a number that is not negative, got {t!r}")
    if _square(op).is_certifiable:
        return filter(op, lambda s: torch.exp(-t * s), degree)
    diagonal = op.diagonal()
    centre = float(diagonal.min() + diagonal.max()) / 2
    shifted = op - centre * op**0
    reach = t * min(row_and_column_norm(shifted))
    count = _checked_degree(degree) + 1
    k = torch.arange(count, dtype=torch.float64)
    # e^-tc (-t)^k / k!, from logarithms: no factor overflows before the others shrink it.
    sizes = torch.exp(torch.xlogy(k, torch.tensor(t)) - torch.lgamma(k + 1) - t * centre)
    series = sizes * (-1.0) ** k
    left_out = count * math.log(max(reach, 1e-300)) - math.lgamma(count + 1) - t * centre
    shrinks_by = reach / (count + 1)  # each further term against the one before it, at most
    error = math.exp(min(left_out, 700)) / (1 - shrinks_by) if shrinks_by < 1 else math.inf
    size = math.exp(min(reach - t * centre, 700))
    return _filter(shifted, series, "monomial", error, None, size)


def ppr(op: ShiftOperator, alpha: float = 0.1, degree: int = 40) -> Filter:
    r"""Personalised PageRank :math:`\alpha (I - (1 - \alpha) P)^{-1}` of a propagation P.

    ``op`` is P itself: ``"gcn"``, ``"mean"``, or ``"transition"`` (A D^-1, which keeps the sum of
    a distribution; on a directed graph with ``degrees="both"``). On a directed graph it is the
    series :math:`\alpha \sum_k (1 - \alpha)^k P^k`, if the norm of P says that it converges:
    there ``error`` is a bound.
    """
    if not (isinstance(alpha, (int, float)) and 0 < alpha <= 1):
        raise InputError(f"alpha must be a number above 0 and at most 1, got {alpha!r}")
    if _square(op).is_certifiable:
        low, high = certified_ends(op)
        if (1 - alpha) * high >= 1:
            raise InputError(
                f"PageRank has a pole at 1 / (1 - alpha) = {1 / (1 - alpha):.4g}, within the "
                f"interval [{low:.4g}, {high:.4g}] of this operator; take a propagation with "
                "eigenvalues up to 1, such as 'gcn' or 'mean', or a larger alpha"
            )
        return filter(op, lambda s: alpha / (1 - (1 - alpha) * s), degree)
    decay = (1 - alpha) * min(row_and_column_norm(op))
    if decay >= 1 - 1e-9:
        raise InputError(
            f"the series of PageRank need not converge: (1 - alpha) times the norm of this "
            f"operator is up to {decay:.4g}; take 'mean', 'transition' with degrees='both', or a "
            "larger alpha"
        )
    k = torch.arange(_checked_degree(degree) + 1, dtype=torch.float64)
    error = alpha * decay ** len(k) / (1 - decay)
    series = alpha * (1 - alpha) ** k
    return _filter(op, series, "monomial", error, None, alpha / (1 - decay))


def wavelets(
    op: ShiftOperator, kind: str = "mexican_hat", count: int = 4, degree: int = 100
) -> tuple[Filter, ...]:
    r"""Spectral graph wavelets of a Laplacian: a low pass, then ``count`` bands, coarse to fine.

    Hammond, Vandergheynst and Gribonval (2011). Each band is :math:`g(t_j \gamma)`; the scales t_j
    follow from the certified interval [0, h].

    Args:
        op: An operator with eigenvalues from 0 up: ``"laplacian"``, ``"symmetric_laplacian"``,
            ``"random_walk_laplacian"``, or ``P**0 - P`` of a propagation P.
        kind: ``"mexican_hat"``, g(s) = s e^-s; ``"spline"``, a cubic between s² and 4 / s²; or
            ``"meyer"``, a tight frame: the squares of all filters add up to the identity.
        count: Bands beside the low pass.
        degree: Of each polynomial; more bands need more.
    """
    if kind not in BANDS:
        raise UnknownNameError("kind of wavelet", kind, BANDS)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 50:
        raise InputError(f"count must be a whole number from 1 to 50, got {count!r}")
    low, high = certified_ends(op)
    if low < -1e-9 * max(1.0, high) or high <= 0:
        raise InputError(
            f"wavelets need a Laplacian, with eigenvalues from 0 up, and those of this operator "
            f"lie in [{low:.4g}, {high:.4g}]; take 'symmetric_laplacian', or P**0 - P for a "
            "propagation P with eigenvalues up to 1"
        )
    band = BANDS[kind]
    if kind == "meyer":
        scales = 4 / (3 * high) * 2.0 ** np.arange(count - 1, -1, -1)
        low_pass: Function = lambda s: torch.cos(_meyer_angle(1.5 * scales[0] * s - 1))  # noqa: E731
    else:  # from 40 / h, which peaks near h / 20 at the latest, down to 1 / h
        scales = np.geomspace(40 / high, 1 / high, count) if count > 1 else np.array([2 / high])
        peak, width = (1.2 / math.e, 0.4) if kind == "mexican_hat" else (1.3849, 0.6)
        low_pass = lambda s: peak * torch.exp(-((20 * s / (width * high)) ** 4))  # noqa: E731
    bands = (lambda s, scale=scale: band(scale * s) for scale in scales)
    return tuple(filter(op, function, degree) for function in (low_pass, *bands))


def _meyer_angle(s: Tensor) -> Tensor:
    v = s.clamp(0, 1)
    return math.pi / 2 * v**4 * (35 - 84 * v + 70 * v**2 - 20 * v**3)


BANDS: dict[str, Function] = {
    "mexican_hat": lambda s: s * torch.exp(-s),
    # Section 8.1 of Hammond et al.: s² below 1, 4 / s² above 2, a cubic between. Its peak, 1.3849
    # at 2 - 1 / √3, is the height of the low pass.
    "spline": lambda s: torch.where(
        s < 1,
        s**2,
        torch.where(s > 2, 4 / s.clamp(min=1) ** 2, -5 + 11 * s - 6 * s**2 + s**3),
    ),
    # Leonardi and Van De Ville (2013): neighbours meet as cos and sin, so squares add up to 1.
    "meyer": lambda s: torch.sin(_meyer_angle(1.5 * s - 1)) * torch.cos(_meyer_angle(0.75 * s - 1)),
}


def gft(op: ShiftOperator, x: Tensor) -> Tensor:  # (n,) or (n, F), as x
    r"""The graph Fourier transform :math:`V^{-1} x`: a value per eigenvalue, in ascending order.

    ``spectrum.eigenvalues(op, k=None)`` are the frequencies. For a symmetric operator V is
    orthogonal. It takes all eigenvectors, so large graphs are refused: filters need none.
    """
    return _transformed(op, x, 0)


def igft(op: ShiftOperator, x: Tensor) -> Tensor:  # (n,) or (n, F), as x
    """The inverse of :func:`gft`: the signal with these values at the eigenvalues."""
    return _transformed(op, x, 1)


def _transformed(op: ShiftOperator, x: Tensor, which: int) -> Tensor:
    """V^-1 x or V x, where V = T W has the eigenvectors of γ and V^-1 = Wᵀ T^-1 (Theorem 1)."""
    op = certified(_square(op))
    n = op.shape[0]
    if n > MOST_EXACT:
        raise InputError(
            f"the Fourier transform needs all {n} eigenvectors, a dense matrix; it is made for up "
            f"to {MOST_EXACT} nodes; pgso.filter needs none, spectrum.eigenpairs gives some"
        )
    _check_signal(x, n, "nodes")

    def make() -> tuple[Tensor, Tensor]:
        T = roots(op)
        V = torch.from_numpy(eigenpairs(op, k=None).vectors).to(op.device)
        W = V / T[:, None]
        W = W / W.norm(dim=0)
        if op.is_symmetric:  # T is then constant on each component, and W has γ's eigenvectors
            T = torch.ones_like(T)
        return W.t() / T, T[:, None] * W

    return (op._once("_fourier", make)[which] @ x.double()).to(x.dtype)


def smoothness(op: ShiftOperator, x: Tensor) -> Tensor:  # (n, F) -> (F,), (n,) -> 0-d
    r"""The Rayleigh quotient :math:`x^\top \gamma x / x^\top x` of each column; 0 where x is 0.

    For a Laplacian it is the mean frequency of a signal: 0 if it is constant on each component,
    and at most the largest eigenvalue. It is defined on directed graphs too.
    """
    product, size = (x * (_square(op) @ x)).sum(0), x.square().sum(0)
    return torch.where(size > 0, product / torch.where(size > 0, size, 1.0), 0.0)


def gradient(graph: Graph | Tensor, x: Tensor) -> Tensor:  # (n, F) -> (num_edges, F)
    r"""The differences of a signal over the edges of ``graph.edge_index``, from j to i.

    .. math::
        (\nabla x)_{j \to i} = \sqrt{A_{ij} / 2}\; (x_i - x_j)

    The half makes ``divergence(graph, gradient(graph, x))`` the Laplacian D - A times x on an
    undirected graph, which stores each edge twice. On a directed graph it is the Laplacian of
    (A + Aᵀ) / 2.
    """
    graph = Graph.of(graph)
    _check_signal(x, graph.num_nodes, "nodes")
    source, target = graph.edge_index
    return _lengths(graph, x) * (x[target] - x[source])


def divergence(graph: Graph | Tensor, y: Tensor) -> Tensor:  # (num_edges, F) -> (n, F)
    """The adjoint of :func:`gradient`: what flows into each node minus what flows out."""
    graph = Graph.of(graph)
    _check_signal(y, graph.num_edges, "edges")
    (source, target), flow = graph.edge_index, _lengths(graph, y) * y
    out = flow.new_zeros(graph.num_nodes, *y.shape[1:])
    return out.index_add(0, target, flow).index_add(0, source, -flow)


def _lengths(graph: Graph, signal: Tensor) -> Tensor:  # (num_edges, 1, ...)
    """√(A_ij / 2) of the edges in the type and dimensions of the signal."""
    if graph.is_bipartite:
        raise InputError("differences over edges need one set of nodes; this graph has two")
    weight = graph.edge_weight
    if weight is None:
        weight = torch.ones(graph.num_edges, device=graph.device)
    if bool((weight < 0).any()):
        raise InputError(
            f"the gradient takes roots of weights, and {int((weight < 0).sum())} are negative"
        )
    return (weight.to(signal.dtype) / 2).sqrt().reshape(-1, *[1] * (signal.dim() - 1))


def certified_ends(op: ShiftOperator) -> tuple[float, float]:
    """The certified interval of one matrix, as numbers."""
    low, high = interval(certified(_square(op)))
    if low.dim():
        raise InputError("an operator with an S per channel has a spectrum per channel; take one")
    if not op.is_symmetric:
        roots(op)  # refuses γ without a basis of eigenvectors: f(γ) needs more than f(λ) there
    return float(low.detach()), float(high.detach())


def _check_signal(x: Tensor, count: int, what: str) -> None:
    """Refuse anything but a floating-point tensor with one row per node, or per edge."""
    check_features(x)
    if x.size(0) != count:
        raise InputError(f"the signal has {x.size(0)} rows, the graph {count} {what}")


def _square(op: ShiftOperator) -> ShiftOperator:
    if not isinstance(op, ShiftOperator):
        raise InputError(f"a filter takes an operator, got {type(op).__name__}; see pgso.shift")
    if op.shape[0] != op.shape[1]:
        raise InputError(f"a function needs a square operator, got shape {op.shape}")
    return op


def _checked_degree(degree: int) -> int:
    if not isinstance(degree, int) or isinstance(degree, bool) or not 0 <= degree <= 10_000:
        raise InputError(f"degree must be a whole number from 0 to 10,000, got {degree!r}")
    return degree


def _filter(
    of: ShiftOperator, c: Tensor, basis: str, error: float, ends: Any, size: float = math.inf
) -> Filter:
    """The filter; a warning if its error is large for a function of this size."""
    made = Filter(of, c.to(of.device), basis, {})
    made._set(error=error, interval=ends)
    if not error <= POOR * size:
        warnings.warn(
            f"a polynomial of degree {len(c) - 1} is up to {error:.2g} away from a function of "
            f"size {size:.2g}; raise degree, or take a smoother function",
            FilterWarning,
            stacklevel=3,
        )
    return made
