"""The operators of Section 4: Theorem 1 proves that their spectrum is real, Theorem 2 bounds it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.algebra import Identity, Scaled, Sum, is_multiple_of_identity
from pgso.gso.channels import ChannelShift
from pgso.gso.node_shift import NodeShift
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import Scalar
from pgso.gso.polynomials import Polynomial
from pgso.gso.shift import shift
from pgso.spectrum.assumption import undirected

OnGraph = Graph | Tensor | ShiftOperator
Parameters = str | Sequence[Scalar] | Tensor | None


def operator_of(op: OnGraph, S: Parameters = None) -> ShiftOperator:
    """The operator, given as one or as a graph and S."""
    if isinstance(op, ShiftOperator):
        if S is not None:
            raise InputError("an operator has its own S; pass the operator alone")
        return op
    if S is None:
        raise InputError("pass an operator, pgso.shift(graph, S), or a graph and its S")
    return shift(op, S)


def certified(op: OnGraph, S: Parameters = None) -> ShiftOperator:
    """The operator, given as one or as a graph and S; refused if the theorems do not hold for it.

    They need a symmetric A. With an S per node, m2 must have one sign wherever nodes are joined:
    two nodes with m2 = 1 and -1 already have the eigenvalues ±i.
    """
    op = operator_of(op if isinstance(op, ShiftOperator) else undirected(op), S)
    if isinstance(op, (NodeShift, ChannelShift)) and isinstance(op.graph, Graph):
        undirected(op.graph)
    if isinstance(op, NodeShift) and not op.is_certifiable:
        _refuse_signs(op)
    if not op.is_certifiable and not isinstance(op, ChannelShift):
        raise InputError(
            f"the spectral theory does not reach this {type(op).__name__}: it takes γ on an "
            "undirected graph, its multiples and polynomials, and sums of symmetric operators"
        )
    return op


def _refuse_signs(op: NodeShift) -> None:
    graph, m2 = op.graph, op.tables.m2.detach()
    row, col = graph.pattern.row, graph.pattern.col
    signs = m2.sign()
    opposed = (signs.index_select(0, row) * signs.index_select(0, col) < 0) & (graph.entries != 0)
    entry = int(opposed.to(torch.int8).argmax())
    i, j = int(row[entry]), int(col[entry])
    raise InputError(
        f"eigenvalues need not be real: m2 is {float(m2[i]):.3g} at node {i} and "
        f"{float(m2[j]):.3g} at its neighbour {j}; bounds need neighbours of one sign"
    )


def twin(op: ShiftOperator) -> ShiftOperator:
    r"""The symmetric operator with the same eigenvalues (Theorem 1).

    With l and r on the two sides of A, :math:`T^{-1} \gamma T` is symmetric for
    :math:`T = \operatorname{Diag}(l / r)^{1/2}`, and has :math:`(l r)^{1/2}` on both sides.
    """
    if isinstance(op, NodeShift):
        tables = op.tables
        m2, product = tables.m2, tables.left * tables.right
        if m2.dim():  # an S per node: of each m2 its sign stays
            m2, product = m2.sign(), product * m2.abs()
        half = torch.where(product > 0, torch.where(product > 0, product, 1.0).sqrt(), 0.0)
        # What a node keeps is the same on both sides: α + m2 a l r.
        same = tables._replace(
            alpha=tables.own, m2=m2, left=half, right=half, a=torch.zeros_like(tables.a)
        )
        return NodeShift(op.graph, same, op.index)
    if isinstance(op, Scaled):
        return Scaled(op.factor, twin(op.of))
    if isinstance(op, Sum):
        if is_multiple_of_identity(op.left) or is_multiple_of_identity(op.right):
            return Sum(twin(op.left), twin(op.right))
        return op
    if isinstance(op, Polynomial):
        return Polynomial(twin(op.of), op.coefficients, op.basis, op.options)
    if isinstance(op, ChannelShift):
        raise InputError(
            "an operator with an S per channel has a spectrum per channel; take one of them, "
            "pgso.shift(graph, S[:, 0, c])"
        )
    assert isinstance(op, Identity) or op.is_symmetric, type(op)
    return op
