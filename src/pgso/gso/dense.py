"""Equation (1), readable: the PGSO as a dense matrix, the truth fast code is tested against."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.errors import InputError, UnknownNameError
from pgso.graph.inputs import weight_type
from pgso.gso.formula import positive_power
from pgso.gso.parameters import Scalar
from pgso.gso.presets import resolve

DEGREES = ("row", "both")


def dense_pgso(
    adjacency: Tensor,  # (n, n)
    S: str | Sequence[Scalar] | Tensor,
    degrees: str = "row",
) -> Tensor:  # (n, n)
    r"""The PGSO as a matrix, Equation (1): O(n²).

    .. math::
        \gamma(A, \mathcal{S}) = m_1 D_a^{e_1} + m_2 D_a^{e_2} A_a D_a^{e_3} + m_3 I_n,
        \qquad A_a = A + a I_n, \quad D_a = \operatorname{Diag}(A_a \mathbf{1}_n)

    Entry ``[i, j]`` of A is the weight of the edge from j to i. With ``degrees="both"``, e3 acts on
    column sums. Differentiable in A and in S.

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
    if degrees not in DEGREES:
        raise UnknownNameError("degrees", degrees, DEGREES)
    if not adjacency.is_floating_point():
        adjacency = adjacency.to(weight_type())
    m1, m2, m3, e1, e2, e3, a = resolve(S)
    identity = torch.eye(adjacency.size(0), dtype=adjacency.dtype, device=adjacency.device)
    A_a = adjacency + a * identity
    d_in = A_a.sum(dim=1)
    d_out = A_a.sum(dim=0) if degrees == "both" else d_in

    def power(d: Tensor, exponent: Scalar) -> Tensor:
        return positive_power(d, exponent).diag()

    return m1 * power(d_in, e1) + m2 * power(d_in, e2) @ A_a @ power(d_out, e3) + m3 * identity
