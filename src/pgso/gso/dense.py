"""Equation (1), readable: the PGSO as a dense matrix, the truth fast code is tested against."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph.inputs import weight_type
from pgso.gso.formula import positive_power
from pgso.gso.parameters import PGSOParameters, Scalar


def dense_pgso(
    adjacency: Tensor,  # (n, n)
    S: str | Sequence[Scalar] | Tensor,
) -> Tensor:  # (n, n)
    r"""The PGSO as a matrix, Equation (1): O(n²).

    .. math::
        \gamma(A, \mathcal{S}) = m_1 D_a^{e_1} + m_2 D_a^{e_2} A_a D_a^{e_3} + m_3 I_n,
        \qquad A_a = A + a I_n, \quad D_a = \operatorname{Diag}(A_a \mathbf{1}_n)

    Entry ``[i, j]`` of A is the weight of the edge from j to i. Differentiable in A and in S.

    Example:
        >>> path = torch.tensor([[0., 1., 0.], [1., 0., 1.], [0., 1., 0.]])
        >>> dense_pgso(path, "laplacian")  # D - A
        tensor([[ 1., -1.,  0.],
                [-1.,  2., -1.],
                [ 0., -1.,  1.]])
    """
    if not isinstance(adjacency, Tensor) or adjacency.layout != torch.strided:
        raise InputError("dense_pgso takes a dense n x n tensor; for a Graph use apply_pgso")
    if adjacency.dim() != 2 or adjacency.size(0) != adjacency.size(1):
        raise InputError(f"an adjacency matrix must be square, got {tuple(adjacency.shape)}")
    if adjacency.is_complex() or not bool(adjacency.detach().isfinite().all()):
        raise InputError("an adjacency matrix must hold real, finite numbers")
    if not adjacency.is_floating_point():
        adjacency = adjacency.to(weight_type())
    m1, m2, m3, e1, e2, e3, a = PGSOParameters.of(S)
    identity = torch.eye(adjacency.size(0), dtype=adjacency.dtype, device=adjacency.device)
    A_a = adjacency + a * identity
    d = A_a.sum(dim=1)
    first, left, right = (positive_power(d, exponent).diag() for exponent in (e1, e2, e3))
    return m1 * first + m2 * left @ A_a @ right + m3 * identity
