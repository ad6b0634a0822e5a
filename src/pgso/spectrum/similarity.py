"""Theorem 1: γ(A, S) is similar to a symmetric matrix, so its spectrum is real."""

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph.degrees import received_weight
from pgso.gso.algebra import Scaled, Sum, is_multiple_of_identity
from pgso.gso.node_shift import NodeShift
from pgso.gso.operator import ShiftOperator
from pgso.gso.polynomials import Polynomial
from pgso.spectrum.certified import OnGraph, Parameters, certified, twin


def symmetrised(graph: OnGraph, S: Parameters = None) -> Tensor:  # (n, n), torch.sparse COO
    r"""The symmetric matrix with γ's eigenvalues, Theorem 1 (Appendix A.1).

    .. math::
        T^{-1} \gamma(A, \mathcal{S})\, T
        = m_1 D_a^{e_1} + m_2 D_a^{(e_2 + e_3)/2} A_a D_a^{(e_2 + e_3)/2} + m_3 I_n,
        \qquad T = D_a^{(e_2 - e_3)/2}

    If w is an eigenvector of it, T w (see :func:`symmetriser`) is one of γ.

    Args:
        graph: An operator on an undirected graph (another is refused with an offending edge), or
            an expression of such, whose matrix is then formed, a constant in double precision; or
            a graph, followed by S.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset.

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
    return T.to(op.graph.dtype) if isinstance(op, NodeShift) else T


def roots(op: ShiftOperator) -> Tensor:  # (n,)
    """T in double precision. A polynomial of γ has γ's eigenvectors, and so γ's T."""
    if isinstance(op, NodeShift):
        return _roots_of(op)
    if isinstance(op, (Scaled, Polynomial)):
        return roots(op.of)
    if isinstance(op, Sum) and not op.is_symmetric:
        return roots(op.right if is_multiple_of_identity(op.left) else op.left)
    return torch.ones(op.shape[0], dtype=torch.float64, device=op.device)


def _roots_of(shift: NodeShift) -> Tensor:  # (n,)
    factors = shift.factors()
    left, right = factors.outer.abs() if factors.m2.dim() else factors.left, factors.right
    coupled = (left > 0) & (right > 0)
    one_way = ((left > 0) != (right > 0)) & (received_weight(shift.graph) > 0)  # type: ignore[arg-type]
    if bool(one_way.any()):
        node = int(one_way.to(torch.int8).argmax())
        raise InputError(
            f"node {node} has d + a ≤ 0 and one of e2, e3 is exactly 0: γ is then no scaled "
            "symmetric matrix, and its eigenvectors do not follow from one (its eigenvalues do); "
            "move the exponent off 0, or a up"
        )
    return (torch.where(coupled, left, 1.0) / torch.where(coupled, right, 1.0)).sqrt()
