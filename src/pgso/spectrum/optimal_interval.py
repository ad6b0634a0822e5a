"""The tightest interval of the family that Theorem 2's proof opens."""

from typing import Literal

import torch
from torch import Tensor

from pgso.errors import UnknownNameError
from pgso.graph import Graph, weighted_product
from pgso.graph.degrees import received_weight
from pgso.gso.channels import ChannelShift
from pgso.gso.node_shift import NodeShift
from pgso.spectrum.certified import OnGraph, Parameters, certified
from pgso.spectrum.expressions import expression_interval
from pgso.spectrum.interval import discs, ends, gershgorin_interval

METHODS = ("theorem2", "optimal")
REACH = 4.0  # how far beyond s = 0 and s = e2 + e3 the search goes


def interval(
    graph: OnGraph,
    S: Parameters = None,
    method: Literal["theorem2", "optimal"] = "optimal",
) -> tuple[Tensor, Tensor]:  # 0-d each
    r"""An interval that contains every eigenvalue of an undirected graph's PGSO.

    The matrix :math:`D_a^{e_3 - s}\, \gamma\, D_a^{s - e_3}` has γ's eigenvalues for every s, and
    Gershgorin's discs around the same centres :math:`C_i` (see :func:`gershgorin_interval`) with

    .. math::
        R_i(s) = |m_2| (d_i + a)^{e_2 + e_3 - s} \sum_{j \ne i} |A_{ij}| (d_j + a)^s.

    s = 0 is Theorem 2. Each R_i is a sum of exponentials of s and therefore convex, so that one
    short search finds the best s for either end: about a dozen sparse products each.

    Args:
        graph: An operator on an undirected graph (another is refused with an offending edge),
            or an expression of such; or a graph, followed by S.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset.
        method: ``"theorem2"`` as printed, or ``"optimal"``, which is never wider.

    Returns:
        The two ends in double precision, rounded outwards, differentiable in S (with s held
        where it was found).

    Example:
        >>> star = Graph.from_edge_index(torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]))
        >>> [round(float(end), 3) for end in interval(star, "adjacency", method="theorem2")]
        [-2.0, 2.0]
        >>> [round(float(end), 3) for end in interval(star, "adjacency")]  # ±√2 are eigenvalues
        [-1.414, 1.414]
    """
    if method not in METHODS:
        raise UnknownNameError("interval method", method, METHODS)
    op = certified(graph, S)
    if method == "theorem2" or isinstance(op, ChannelShift):
        return gershgorin_interval(op)
    if not isinstance(op, NodeShift):
        return expression_interval(op, interval)
    return _optimal(op)


def _optimal(op: NodeShift) -> tuple[Tensor, Tensor]:
    graph: Graph = op.graph  # type: ignore[assignment]
    low, high = gershgorin_interval(op)
    if op.S is None:  # an S per node is no power of degrees
        return low, high
    loops = None if graph.loops is None else graph.loops.double()
    C, _ = discs(op.factors(), received_weight(graph), loops)
    radii = _Radii(op)
    _, best_high = ends(C, radii(radii.best(C, +1.0)))
    best_low, _ = ends(C, radii(radii.best(C, -1.0)))
    return torch.maximum(low, best_low), torch.minimum(high, best_high)


class _Radii:
    """R_i(s) of :func:`interval` as a function of s: one sparse product a call."""

    def __init__(self, op: NodeShift) -> None:
        graph: Graph = op.graph  # type: ignore[assignment]
        vectors = op.factors()
        assert op.S is not None
        self.graph, self.scale = graph, (vectors.outer * vectors.right).abs()
        self.exponent = float((op.S[4] + op.S[5]).detach())
        d_a = graph.row_sums.detach() + op.S[6]
        self.positive, self.d_a = d_a > 0, torch.where(d_a > 0, d_a, 1.0)
        self.coupled = self.scale.detach() != 0  # the others are eigenvalues by themselves
        entries = graph.entries.detach().double().abs()
        self.sizes = entries.index_fill(0, graph.pattern.diagonal, 0)

    def __call__(self, s: float) -> Tensor:  # (n,)
        power = torch.where(self.positive, self.d_a**s, 1.0)
        inward = torch.where(self.coupled, power, 0.0).unsqueeze(1)
        total = weighted_product(self.graph, self.sizes, inward).squeeze(1)
        return self.scale / power * total

    @torch.no_grad()
    def best(self, C: Tensor, side: float) -> float:
        """The s for which the end on this side (+1: high, -1: low) is closest to the spectrum."""
        from scipy.optimize import minimize_scalar  # takes half a second to be imported

        p = self.exponent
        minimum = minimize_scalar(
            lambda s: float((side * C + self(s)).amax()),
            bounds=(min(0.0, p) - REACH, max(0.0, p) + REACH),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return float(minimum.x)
