"""The tightest Gershgorin interval over the matrices D_a^t γ D_a^-t; Theorem 2 is one of them."""

from collections.abc import Sequence
from typing import Literal

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from pgso.errors import UnknownNameError
from pgso.graph import Graph, weighted_product
from pgso.gso.dense import positive_power
from pgso.gso.parameters import Scalar
from pgso.gso.presets import resolve
from pgso.spectrum.interval import centres_and_radii, gershgorin_interval
from pgso.spectrum.undirected import undirected

METHODS = ("theorem2", "optimal")
REACH = 4.0  # how far past the symmetric and the printed member the search goes


def interval(
    graph: Graph | Tensor,
    S: str | Sequence[Scalar] | Tensor,
    method: Literal["theorem2", "optimal"] = "optimal",
) -> tuple[Tensor, Tensor]:  # 0-d each
    r"""An interval that contains every eigenvalue of an undirected graph's PGSO.

    The matrix :math:`D_a^{e_3 - s}\, \gamma\, D_a^{s - e_3}` has γ's eigenvalues for every s, and
    Gershgorin's discs around the same centres :math:`C_i` (see :func:`gershgorin_interval`) with

    .. math::
        R_i(s) = |m_2| (d_i + a)^{e_2 + e_3 - s} \sum_{j \ne i} |A_{ij}| (d_j + a)^s.

    s = 0 is Theorem 2. Each R_i is a sum of exponentials of s, hence convex, so that one short
    search finds the best s for either end: about a dozen sparse products each.

    Args:
        graph: Undirected; a directed one is refused with an offending edge.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset.
        method: ``"theorem2"`` as printed, or ``"optimal"``, which is never wider.

    Returns:
        The two ends in double precision, differentiable in S (with s held where it was found).

    Example:
        >>> star = Graph.from_edge_index(torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]))
        >>> [round(float(end), 3) for end in interval(star, "adjacency", method="theorem2")]
        [-2.0, 2.0]
        >>> [round(float(end), 3) for end in interval(star, "adjacency")]  # ±√2 are eigenvalues
        [-1.414, 1.414]
    """
    if method not in METHODS:
        raise UnknownNameError("interval method", method, METHODS)
    graph = undirected(graph)
    low, high = gershgorin_interval(graph, S)
    if method == "theorem2":
        return low, high
    C, _ = centres_and_radii(graph, S)
    radii = _Radii(graph, S)
    high = torch.minimum(high, (C + radii(radii.best(C, +1.0))).amax())
    low = torch.maximum(low, (C - radii(radii.best(C, -1.0))).amin())
    return low, high


class _Radii:
    """R_i(s) of :func:`interval` as a function of s: one sparse product a call."""

    def __init__(self, graph: Graph, S: str | Sequence[Scalar] | Tensor) -> None:
        _, m2, _, _, e2, e3, a = (
            torch.as_tensor(value, device=graph.device).double() for value in resolve(S)
        )
        self.graph, self.m2, self.exponent = graph, m2, e2 + e3
        self.d_a = graph.degree.detach().double() + a
        entries = graph.entries.detach().double().abs()
        self.sizes = entries.index_fill(0, graph.pattern.diagonal, 0)

    def __call__(self, s: float) -> Tensor:  # (n,)
        inward = positive_power(self.d_a, s).unsqueeze(1)
        total = weighted_product(self.graph, self.sizes, inward).squeeze(1)
        return self.m2.abs() * positive_power(self.d_a, self.exponent - s) * total

    @torch.no_grad()
    def best(self, C: Tensor, side: float) -> float:
        """The s that pulls the end on this side (+1: high, -1: low) in the furthest."""
        p = float(self.exponent)
        found = minimize_scalar(
            lambda s: float((side * C + self(s)).amax()),
            bounds=(min(0.0, p) - REACH, max(0.0, p) + REACH),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return float(found.x)
