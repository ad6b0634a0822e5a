"""Theorem 2: an interval that contains every eigenvalue of γ(A, S), from degrees alone."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.gso.dense import positive_power
from pgso.gso.parameters import Scalar
from pgso.gso.presets import resolve
from pgso.spectrum.undirected import undirected


def gershgorin_interval(
    graph: Graph | Tensor,
    S: str | Sequence[Scalar] | Tensor,
) -> tuple[Tensor, Tensor]:  # 0-d each
    r"""Bounds on the spectrum of an undirected graph's PGSO, Theorem 2: O(n).

    .. math::
        C_i = m_1 (d_i + a)^{e_1} + m_2 (d_i + a)^{e_2 + e_3} (A_{ii} + a) + m_3, \qquad
        R_i = |m_2| (d_i + a)^{e_2 + e_3} \sum_{j \ne i} |A_{ij}|

    Every eigenvalue lies in :math:`[\min_i (C_i - R_i), \max_i (C_i + R_i)]`. The printed theorem
    is the case without self-loops and with non-negative weights. A node with d_i + a ≤ 0
    decouples: its row and column vanish but for m3, which is then an eigenvalue.

    Args:
        graph: Undirected; a directed one is refused with an offending edge.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset.

    Returns:
        The two ends in double precision, differentiable in S.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> low, high = gershgorin_interval(path, "gcn")  # [-(d_max - 1)/(d_max + 1), 1]
        >>> round(float(low), 4), round(float(high), 4)
        (-0.3333, 1.0)
    """
    C, R = centres_and_radii(undirected(graph), S)
    return (C - R).amin(), (C + R).amax()


def centres_and_radii(
    graph: Graph, S: str | Sequence[Scalar] | Tensor
) -> tuple[Tensor, Tensor]:  # (n,) each
    """C_i and R_i of :func:`gershgorin_interval`, the disc of each node."""
    m1, m2, m3, e1, e2, e3, a = (
        torch.as_tensor(value, dtype=torch.float64, device=graph.device) for value in resolve(S)
    )
    d_a = graph.degree.double() + a
    loops = a if graph.loops is None else graph.loops.double() + a
    scale = m2 * positive_power(d_a, e2 + e3)
    C = m1 * positive_power(d_a, e1) + scale * loops + m3
    R = scale.abs() * graph.neighbour_weight.double()
    return C, R
