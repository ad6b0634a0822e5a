"""Theorem 1: γ(A, S) is similar to a symmetric matrix, so its spectrum is real.

Two questions are asked of an operator: its symmetric :func:`twin`, and the diagonal T between the
two (:func:`roots`). Each kind registers its answers; a new kind does so in its own file.
"""

import math
from collections.abc import Sequence
from functools import singledispatch

import numpy as np
import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.graph.degrees import received_weight
from pgso.gso.algebra import Expression, Identity, Product, Scaled, Sum, common_base
from pgso.gso.node_shift import ChannelShift, NodeShift
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import Scalar
from pgso.gso.polynomials import Polynomial
from pgso.gso.shift import shift

OnGraph = Graph | Tensor | ShiftOperator
Parameters = str | Sequence[Scalar] | Tensor | None

REMEDY = "pgso.bases.undirected(graph) gives every edge its reverse"


def symmetrised(graph: OnGraph, S: Parameters = None) -> Tensor:  # (n, n), torch.sparse COO
    r"""The symmetric matrix with γ's eigenvalues, Theorem 1 (Appendix A.1).

    .. math::
        T^{-1} \gamma(A, \mathcal{S})\, T
        = m_1 D_a^{e_1} + m_2 D_a^{(e_2 + e_3)/2} A_a D_a^{(e_2 + e_3)/2} + m_3 I_n,
        \qquad T = D_a^{(e_2 - e_3)/2}

    If w is an eigenvector of it, T w (see :func:`symmetriser`) is one of γ. Of an expression the
    matrix is formed, a constant in double precision.

    Example:
        >>> from pgso import Graph
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> symmetrised(path, "random_walk_laplacian").to_dense()
        tensor([[ 1.0000, -0.7071,  0.0000],
                [-0.7071,  1.0000, -0.7071],
                [ 0.0000, -0.7071,  1.0000]])
    """
    return twin(certified(graph, S)).to_torch_sparse()


def symmetriser(graph: OnGraph, S: Parameters = None) -> Tensor:  # (n,)
    """The diagonal of T in :func:`symmetrised`; 1 where γ has no power: T has an inverse."""
    op = certified(graph, S)
    T = roots(op)
    return T.to(op.dtype) if isinstance(op, NodeShift) else T


def operator_of(op: OnGraph, S: Parameters = None) -> ShiftOperator:
    """The operator, given as one or as a graph and S."""
    if isinstance(op, ShiftOperator):
        if S is not None:
            raise InputError("an operator has its own S; pass the operator alone")
        return op
    if S is None:
        raise InputError("pass an operator, pgso.shift(graph, S), or a graph and its S")
    return shift(op, S)


def operator_norm_bound(graph: OnGraph, S: Parameters = None) -> float:
    r"""A bound on :math:`\|\gamma\|_2`, by :math:`\sqrt{\|\gamma\|_1 \|\gamma\|_\infty}`.

    Where e2 ≠ e3, γ is not symmetric and its norm may exceed its spectral radius. It holds for
    directed graphs and for expressions, too, whose products are formed.
    """
    return math.sqrt(math.prod(row_and_column_norm(operator_of(graph, S))))


def row_and_column_norm(op: ShiftOperator) -> tuple[float, float]:
    """‖γ‖_∞ and ‖γ‖_1: the largest sum of sizes in a row and in a column."""
    sizes = abs(op.to_scipy())
    return float(sizes.sum(axis=1).max()), float(sizes.sum(axis=0).max())


def certified(op: OnGraph, S: Parameters = None) -> ShiftOperator:
    """The operator, given as one or as a graph and S; refused if the theorems do not hold for it.

    They need a symmetric A. With an S per node, m2 must have one sign wherever nodes are joined:
    two nodes with m2 = 1 and -1 already have the eigenvalues ±i.
    """
    op = operator_of(op, S)
    if isinstance(op, (NodeShift, ChannelShift)) and isinstance(op.graph, Graph):
        undirected(op.graph)
    if isinstance(op, NodeShift) and not op.is_certifiable:
        graph, m2 = op.graph, op.factors().m2.detach()
        row, col, signs = graph.pattern.row, graph.pattern.col, m2.sign()
        opposed = (signs[row] * signs[col] < 0) & (graph.entries != 0)
        entry = int(opposed.to(torch.int8).argmax())
        i, j = int(row[entry]), int(col[entry])
        raise InputError(
            f"eigenvalues need not be real: m2 is {float(m2[i]):.3g} at node {i} and "
            f"{float(m2[j]):.3g} at its neighbour {j}; bounds need neighbours of one sign"
        )
    if not isinstance(op, NodeShift | ChannelShift) and not op.is_certifiable:
        raise InputError(
            f"the spectral theory does not reach this {type(op).__name__}: it takes γ on an "
            "undirected graph, its multiples and polynomials, and sums of symmetric operators"
        )
    return op


def undirected(graph: Graph | Tensor, remedy: str = REMEDY) -> Graph:
    """The prepared graph, refused in one sentence if A is not symmetric or has no rows."""
    graph = Graph.of(graph)
    if graph.num_nodes == 0:
        raise InputError("a graph without nodes has no spectrum")
    if graph.is_bipartite:
        targets, sources = graph.shape
        raise InputError(
            "the spectral theory needs an undirected graph on one set of nodes: this one is "
            f"between {sources} sources and {targets} targets"
        )
    if not graph.is_undirected:
        A = shift(graph, "adjacency").to_scipy()
        difference = (A - A.T).tocoo()
        entry = int(np.abs(difference.data).argmax())
        i, j = difference.coords[0][entry], difference.coords[1][entry]
        i, j = (j, i) if A[i, j] == 0 else (i, j)
        edge = f"the edge {j} → {i} weighs {A[i, j]:.6g}, its reverse {A[j, i]:.6g}"
        edge = f"the edge {j} → {i} has no reverse" if A[j, i] == 0 else edge
        raise InputError(f"the spectral theory needs an undirected graph: {edge}; {remedy}")
    return graph


@singledispatch
def twin(op: ShiftOperator) -> ShiftOperator:
    """The symmetric operator with the same eigenvalues (Theorem 1): a certified one's, or itself.

    With l and r on the two sides of A, T^-1 γ T has √(l r) on both for T = Diag(√(l / r)).
    """
    assert op.is_symmetric, type(op)
    return op


@twin.register
def _(op: NodeShift) -> ShiftOperator:
    tables = op.factors()
    m2, product = tables.m2, tables.left * tables.right
    if m2.dim():  # an S per node: of each m2 its sign stays
        m2, product = m2.sign(), product * m2.abs()
    half = torch.where(product > 0, torch.where(product > 0, product, 1.0).sqrt(), 0.0)
    # What a node keeps is the same on both sides: α + m2 a l r.
    same = tables._replace(
        alpha=tables.own, m2=m2, left=half, right=half, a=torch.zeros_like(tables.a)
    )
    return NodeShift(op.graph, tables=same, dtype=op.dtype)


@twin.register
def _(op: Expression) -> ShiftOperator:
    several = len(op.parts) > 1
    if several and op.is_symmetric and not isinstance(common_base(op), NodeShift):
        return op
    # All parts are polynomials of one operator, and have its T.
    return op.of_parts([twin(part) for part in op.parts])


@twin.register
def _(op: ChannelShift) -> ShiftOperator:
    raise InputError(
        "an operator with an S per channel has a spectrum per channel; take one of them, "
        "pgso.shift(graph, S[:, 0, c])"
    )


@singledispatch
def roots(op: ShiftOperator) -> Tensor:  # (n,)
    """T of :func:`symmetrised` in double precision: 1 for a symmetric operator."""
    return torch.ones(op.shape[0], dtype=torch.float64, device=op.device)


@roots.register(Scaled)
@roots.register(Polynomial)
def _(op: Scaled | Polynomial) -> Tensor:
    return roots(op.of)  # a polynomial of γ has γ's eigenvectors, and so γ's T


@roots.register(Sum)
@roots.register(Product)
def _(op: Sum | Product) -> Tensor:
    base = None if op.is_symmetric else common_base(op)
    return roots(Identity(op) if base is None else base)


@roots.register
def _(op: NodeShift) -> Tensor:
    factors = op.factors()
    left, right = factors.outer.abs() if factors.m2.dim() else factors.left, factors.right
    coupled = (left > 0) & (right > 0)
    one_way = ((left > 0) != (right > 0)) & (received_weight(op.graph) > 0)
    if bool(one_way.any()):
        node = int(one_way.to(torch.int8).argmax())
        raise InputError(
            f"node {node} has d + a ≤ 0 and one of e2, e3 is exactly 0: γ is then no scaled "
            "symmetric matrix, and its eigenvectors do not follow from one (its eigenvalues do); "
            "move the exponent off 0, or a up"
        )
    return (torch.where(coupled, left, 1.0) / torch.where(coupled, right, 1.0)).sqrt()
