"""Theorem 2: an interval that contains every eigenvalue of γ(A, S), from degrees alone."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.dense import positive_power
from pgso.gso.parameters import Scalar
from pgso.gso.presets import resolve
from pgso.gso.shapes import check_vector, is_vector
from pgso.spectrum.undirected import undirected


def gershgorin_interval(
    graph: Graph | Tensor,
    S: str | Sequence[Scalar] | Tensor,
) -> tuple[Tensor, Tensor]:  # 0-d each, or (F,) each
    r"""Bounds on the spectrum of an undirected graph's PGSO, Theorem 2: O(n).

    .. math::
        C_i = m_1 (d_i + a)^{e_1} + m_2 (d_i + a)^{e_2 + e_3} (A_{ii} + a) + m_3, \qquad
        R_i = |m_2| (d_i + a)^{e_2 + e_3} \sum_{j \ne i} |A_{ij}|

    Every eigenvalue lies in :math:`[\min_i (C_i - R_i), \max_i (C_i + R_i)]`. The printed theorem
    is the case without self-loops and with non-negative weights. A node with d_i + a ≤ 0
    decouples: its row and column vanish but for m3, which is then an eigenvalue.

    Args:
        graph: Undirected; a directed one is refused with an offending edge.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset. With a
            value per channel, (7, 1, F), there is an interval per channel. With a value per node,
            (7, n, 1), there is one interval if no edge joins an m2 below 0 with one above: else
            the eigenvalues need not be real, and it is refused.

    Returns:
        The two ends in double precision, differentiable in S.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> low, high = gershgorin_interval(path, "gcn")  # [-(d_max - 1)/(d_max + 1), 1]
        >>> round(float(low), 4), round(float(high), 4)
        (-0.3333, 1.0)
    """
    graph = undirected(graph)
    if is_vector(S):
        check_vector(S, graph.num_nodes, S.size(-1))  # type: ignore[arg-type, union-attr]
    per_node = is_vector(S) and S.shape[1:] == (graph.num_nodes, 1)  # type: ignore[union-attr]
    if per_node:
        check_real(graph, S[1].flatten())  # type: ignore[union-attr]
        C, R = centres_and_radii(graph, S)
    else:  # an epoch's curve asks for this: 40 degrees are quicker than 2708 nodes
        C, R = _discs(S, *graph.kinds_of_nodes)
    low, high = (C - R).amin(0), (C + R).amax(0)
    return (low.squeeze(0), high.squeeze(0)) if per_node else (low, high)


def centres_and_radii(
    graph: Graph, S: str | Sequence[Scalar] | Tensor
) -> tuple[Tensor, Tensor]:  # (n,) each, or (n, F) with an S per channel
    """C_i and R_i of :func:`gershgorin_interval`, the disc of each node."""
    loops = None if graph.loops is None else graph.loops.double()
    return _discs(S, graph.degree.double(), graph.neighbour_weight.double(), loops)


def _discs(
    S: str | Sequence[Scalar] | Tensor,
    degree: Tensor,  # (n,)
    neighbours: Tensor,  # (n,)
    loops: Tensor | None,  # (n,)
) -> tuple[Tensor, Tensor]:
    """The discs of nodes with these d_i, Σ_{j≠i} |A_ij| and A_ii."""
    if is_vector(S):
        values = S.unbind()  # type: ignore[union-attr]
        degree, neighbours = degree.unsqueeze(1), neighbours.unsqueeze(1)
        loops = None if loops is None else loops.unsqueeze(1)
    else:
        values = resolve(S)
    m1, m2, m3, e1, e2, e3, a = (
        value.to(degree.device, torch.float64) if isinstance(value, Tensor) else float(value)
        for value in values
    )
    d_a = degree + a
    scale = m2 * positive_power(d_a, e2 + e3)
    C = m1 * positive_power(d_a, e1) + scale * (a if loops is None else loops + a) + m3
    return C, scale.abs() * neighbours


def check_real(
    graph: Graph,
    m2: Tensor,  # (n,)
) -> None:
    r"""Refuse an m2 per node under which eigenvalues need not be real.

    With left = m2 D^e2 and right = D^e3, γ is similar to a symmetric matrix by
    :math:`T = (left / right)^{1/2}` wherever all m2 have one sign. Rows with m2 = 0 hold nothing
    but their diagonal entry, an eigenvalue; the rest falls apart there. So it is enough that no
    edge joins two signs; where one does, two nodes with m2 = 1 and -1 already give ±i.
    """
    row, col = graph.pattern.row, graph.pattern.col
    signs = m2.detach().sign()
    opposed = (signs.index_select(0, row) * signs.index_select(0, col) < 0) & (graph.entries != 0)
    if bool(opposed.any()):
        place = int(opposed.to(torch.int8).argmax())
        i, j = int(row[place]), int(col[place])
        raise InputError(
            f"eigenvalues need not be real: m2 is {float(m2[i]):.3g} at node {i} and "
            f"{float(m2[j]):.3g} at its neighbour {j}; bounds need neighbours of one sign"
        )
