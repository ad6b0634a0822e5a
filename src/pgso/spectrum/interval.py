"""Theorem 2: an interval that contains every eigenvalue of γ(A, S), from degrees alone."""

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.graph.degrees import degree_classes, kinds_of_nodes, received_weight
from pgso.gso.channels import ChannelShift
from pgso.gso.formula import Factors, factors
from pgso.gso.node_shift import NodeShift
from pgso.spectrum.certified import OnGraph, Parameters, certified
from pgso.spectrum.expressions import expression_interval

ROUNDING = 4 * torch.finfo(torch.float64).eps  # of the few operations behind an end


def gershgorin_interval(
    graph: OnGraph,
    S: Parameters = None,
) -> tuple[Tensor, Tensor]:  # 0-d each, or (F,) each
    r"""Bounds on the spectrum of an undirected graph's PGSO, Theorem 2: O(n).

    .. math::
        C_i = m_1 (d_i + a)^{e_1} + m_2 (d_i + a)^{e_2 + e_3} (A_{ii} + a) + m_3, \qquad
        R_i = |m_2| (d_i + a)^{e_2 + e_3} \sum_{j \ne i} |A_{ij}|

    Every eigenvalue lies in :math:`[\min_i (C_i - R_i), \max_i (C_i + R_i)]`. The printed theorem
    is the case without self-loops and with non-negative weights. A node with d_i + a ≤ 0
    decouples: its row and column hold nothing but m3, which is then an eigenvalue.

    Args:
        graph: An operator on an undirected graph (another is refused with an offending edge),
            or an expression of such; or a graph, followed by S.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset. With a
            value per channel, (7, 1, F), there is an interval per channel. With a value per node,
            (7, n, 1), there is one interval if no edge joins an m2 below 0 with one above: else
            the eigenvalues need not be real, and it is refused.

    Returns:
        The two ends in double precision, rounded outwards, differentiable in S.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> low, high = gershgorin_interval(path, "gcn")  # [-(d_max - 1)/(d_max + 1), 1]
        >>> round(float(low), 4), round(float(high), 4)
        (-0.3333, 1.0)
    """
    op = certified(graph, S)
    if isinstance(op, ChannelShift):
        return _by_channel(op)
    if not isinstance(op, NodeShift):
        return expression_interval(op, gershgorin_interval)
    return ends(*centres_and_radii(op))


def ends(C: Tensor, R: Tensor) -> tuple[Tensor, Tensor]:
    """The ends of all discs together, rounded outwards: a bound may be wide, not wrong.

    An end of 24 bits or less, such as 0 or 4.5, comes from numbers as short and has no rounding
    error: it stays.
    """
    low, high = (C - R).amin(0), (C + R).amax(0)
    slack = ROUNDING * (C.detach().abs() + R.detach()).amax(0)
    return low - slack * _is_long(low), high + slack * _is_long(high)


def _is_long(end: Tensor) -> Tensor:
    return end.detach() != end.detach().float().double()


def centres_and_radii(op: NodeShift) -> tuple[Tensor, Tensor]:  # (n,) each
    """C_i and R_i of :func:`gershgorin_interval`, the disc of each node."""
    graph: Graph = op.graph  # type: ignore[assignment]
    if op.index is not None and graph.loops is None:  # one disc for nodes of one degree
        return discs(op.tables, degree_classes(graph)[0], None)  # type: ignore[index]
    loops = None if graph.loops is None else graph.loops.double()
    return discs(op.factors(), received_weight(graph), loops)


def discs(
    vectors: Factors,
    neighbours: Tensor,  # Σ_{j≠i} |A_ij|
    loops: Tensor | None,  # A_ii
) -> tuple[Tensor, Tensor]:
    """The discs of nodes with these factors."""
    scale = vectors.outer * vectors.right
    C = vectors.own if loops is None else vectors.own + scale * loops
    return C, scale.abs() * neighbours


def _by_channel(op: ChannelShift) -> tuple[Tensor, Tensor]:  # (F,) each
    """An interval per channel. Discs are computed once per kind of node, not once per node."""
    graph: Graph = op.graph  # type: ignore[assignment]
    degree, neighbours, loops = kinds_of_nodes(graph)
    vectors = factors(op.S.double().unbind(), degree.unsqueeze(1))
    by_row = None if loops is None else loops.unsqueeze(1)
    return ends(*discs(vectors, neighbours.unsqueeze(1), by_row))
