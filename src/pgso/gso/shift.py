"""``pgso.shift`` and ``pgso.apply_pgso``: γ(A, S) from a graph and seven numbers."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pgso.errors import InputError, UnknownNameError
from pgso.graph import EdgeList, Graph, Relations, can_be_read
from pgso.graph.inputs import check_features, check_pair
from pgso.gso.formula import factors
from pgso.gso.node_shift import ChannelShift, NodeShift, OnPattern
from pgso.gso.operator import Features, ShiftOperator
from pgso.gso.parameters import NAMES, PRESETS, PGSOParameters, Scalar

DEGREES = ("row", "both")


def shift(
    graph: Any,
    S: str | Sequence[Scalar] | Tensor,
    edge_weight: Tensor | None = None,  # (E,), with an edge_index only
    degrees: str = "row",
) -> ShiftOperator:
    r"""γ(A, S) on one graph: an immutable value with ``@``, ``.T`` and more.

    Args:
        graph: A :class:`Graph`, an ``edge_index`` of shape (2, E) or a sparse A.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset; or a tensor
            of shape (7, n, 1) for a value per node, (7, 1, F) for a value per channel.
        edge_weight: Weights of the edges of an ``edge_index``.
        degrees: ``"row"``: both powers are of row sums, as in the paper; ``"both"``: e2 acts on row
            sums and e3 on column sums. They are the same on undirected graphs. Between two sets of
            nodes e3 always acts on column sums: the sources have no rows.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> laplacian = shift(path, "laplacian")
        >>> laplacian @ torch.tensor([1., 2., 4.])
        tensor([-1., -1.,  2.])
    """
    if degrees not in DEGREES:
        raise UnknownNameError("degrees", degrees, DEGREES)
    prepared = Graph.of(graph, edge_weight)
    if isinstance(S, Tensor) and S.dim() == 3:
        n = prepared.num_nodes  # S[k] broadcasts against features (n, F) along one of the two
        if S.size(0) != len(NAMES) or S.size(1) not in (1, n) or 1 not in S.shape[1:]:
            raise InputError(
                f"S must have shape (7,), (7, {n}, 1) for a value per node or "
                f"(7, 1, F) for a value per channel of these features, got {tuple(S.shape)}"
            )
        if can_be_read(S) and not bool(S.detach().isfinite().all()):
            raise InputError("S must be finite, got a value that is not")
        S = S.clone()  # what becomes of the caller's tensor changes nothing
    elif can_be_read(S):
        vector = S if isinstance(S, Tensor) and S.dim() == 1 else None
        checked = PGSOParameters.of(S if vector is None else vector.tolist())  # and finite
        S = checked if vector is None else vector
    is_constant = isinstance(S, Tensor) and S.dim() == 3 and not S.requires_grad
    are_numbers = not isinstance(S, Tensor) and not any(map(torch.is_tensor, S))
    return unchecked_shift(prepared, S, degrees, fixed=is_constant or are_numbers)


def unchecked_shift(
    graph: Graph,
    S: Sequence[Any] | Tensor,
    degrees: str,
    per_head: bool = False,
    fixed: bool = False,
) -> OnPattern:
    """As :func:`shift`, for a prepared graph and an S that is known to be right."""
    columns, dtype = None, graph.dtype
    if graph.is_bipartite or (degrees == "both" and not graph.is_own_transpose):
        columns = graph.column_sums
    for part in [S] if isinstance(S, Tensor) else S:  # entries are as wide as the widest of both
        if isinstance(part, Tensor) and part.is_floating_point():
            dtype = torch.promote_types(dtype, part.dtype)
    if not isinstance(S, Tensor):
        S = torch.stack([torch.as_tensor(one, dtype=torch.float64) for one in S])
    if S.dim() < 3:
        S = S.to(graph.row_sums.device, torch.float64, copy=True)  # in one piece, which is quick
        return NodeShift(graph, S, columns=columns, fixed=fixed, dtype=dtype)
    S = S.to(graph.device)
    check_one_set(graph)
    if per_head or S.size(-1) > 1 or S.size(1) != graph.num_nodes:
        return ChannelShift(graph, S, columns=columns, per_head=per_head, dtype=dtype)
    tables = factors(S.double().squeeze(-1).unbind(), graph.row_sums, columns)
    return NodeShift(graph, tables=tables, fixed=fixed, dtype=dtype)


def check_one_set(graph: Graph) -> None:
    """Refuse two sets of nodes where S has many values."""
    if graph.is_bipartite:
        raise InputError("an S per node or channel needs one set of nodes; take one S per layer")


def apply_pgso(
    x: Features,  # (n, F), (n,) or (..., n, F), or a pair (x_source, x_target)
    graph: Graph | Tensor,
    S: str | Sequence[Scalar] | Tensor,
    edge_weight: Tensor | None = None,  # (E,), with an edge_index only
    degrees: str = "row",
) -> Tensor:  # of x's shape
    r"""The PGSO times features, Equation (2).

    .. math::
        (\gamma(A, \mathcal{S}) x)_i = m_1 (D_a)_i^{e_1} x_i
        + m_2 \sum_j (D_a)_i^{e_2} (A_a)_{ij} (D_a)_j^{e_3} x_j + m_3 x_i

    Costs O(E F) time and no buffer per edge and feature. Where d_i + a ≤ 0 the power is 0 (1 if
    the exponent is 0), and its gradient is 0. Differentiable in x, in S, and in the edge weights if
    they ask for it. The other arguments are those of :func:`pgso.shift`.
    """
    return shift(graph_for(num_nodes_of(x), graph, edge_weight), S, degrees=degrees).times(x)


def graph_for(num_nodes: Any, graph: Any, edge_weight: Tensor | None = None) -> Any:
    """The prepared graph of this many nodes; while tracing, the edges as they are."""
    if isinstance(graph, (Graph, Relations)) and edge_weight is None:
        return graph
    if torch.compiler.is_compiling():
        return EdgeList.of(graph, edge_weight, num_nodes)
    return Graph.of(graph, edge_weight, num_nodes)


def num_nodes_of(x: Features) -> int | tuple[int, int] | None:
    """N of features; (targets, sources) of a pair of them, None where one is missing."""
    if not isinstance(x, (tuple, list)):
        return check_features(x)
    source, target = check_pair(x)
    if target is source:
        return check_features(source)
    return None if target is None else (check_features(target), check_features(source))


def nearest_preset(
    graph: Graph, S: str | Sequence[Scalar] | Tensor, degrees: str = "row"
) -> tuple[str, float]:  # name, distance in [0, 1]
    r"""The preset that is closest to γ(A, S) as a matrix, up to a factor.

    .. math::
        \min_c \lVert \gamma(A, \mathcal{S}) - c\, P \rVert_F
        \, / \, \lVert \gamma(A, \mathcal{S}) \rVert_F

    Tuples are not compared, since different S may be the same matrix (m1 D^0 and m3 I), and a
    factor is left out, since the next weight matrix can absorb it.
    """
    floats = PGSOParameters.of(S).as_floats()
    entries = unchecked_shift(graph, floats, degrees).entries(torch.float64)
    size = entries.norm()
    best = ("zeros", 0.0 if float(size) == 0 else 1.0)
    for name, preset in PRESETS.items():
        other = unchecked_shift(graph, preset, degrees).entries(torch.float64)
        norms = float(size * other.norm())
        if norms <= 1e-12 * float(size):  # a Laplacian of self-loops alone is rounding
            continue
        cosine = min(abs(float(entries @ other)) / norms, 1.0)
        distance = max(0.0, 1 - cosine**2) ** 0.5
        if distance < best[1] - 1e-9:
            best = (name, round(distance, 6))
    return best
