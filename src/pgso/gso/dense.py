"""Equation (1), readable: the PGSO as a dense matrix, the truth fast code is tested against."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph.checks import weight_type
from pgso.gso.parameters import Scalar
from pgso.gso.presets import resolve


def dense_pgso(
    adjacency: Tensor,  # (n, n)
    S: str | Sequence[Scalar] | Tensor,
) -> Tensor:  # (n, n)
    r"""The PGSO as a matrix, Equation (1): O(n²).

    .. math::
        \gamma(A, \mathcal{S}) = m_1 D_a^{e_1} + m_2 D_a^{e_2} A_a D_a^{e_3} + m_3 I_n,
        \qquad A_a = A + a I_n, \quad D_a = \operatorname{Diag}(A_a \mathbf{1}_n)

    Args:
        adjacency: :math:`A`; entry ``[i, j]`` is the weight of the edge from j to i.
        S: :math:`\mathcal{S}`, floats or 0-d tensors, or the name of a preset.

    Returns:
        :math:`\gamma(A, \mathcal{S})`, differentiable in ``adjacency`` and in every entry of S.

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
    m1, m2, m3, e1, e2, e3, a = resolve(S)
    identity = torch.eye(adjacency.size(0), dtype=adjacency.dtype, device=adjacency.device)
    A_a = adjacency + a * identity
    d_a = A_a.sum(dim=1)

    def D_a(exponent: Scalar) -> Tensor:
        return positive_power(d_a, exponent).diag()

    return m1 * D_a(e1) + m2 * D_a(e2) @ A_a @ D_a(e3) + m3 * identity


def positive_power(base: Tensor, exponent: Scalar) -> Tensor:
    """``base ** exponent`` where base > 0, and 0 (with zero gradient) elsewhere.

    The base is replaced *before* the power, not the result after it: the gradient of
    ``0 ** e`` in a learned negative ``e`` is NaN, and a mask on the result keeps the NaN.

    Example:
        >>> positive_power(torch.tensor([4., 0., -4.]), -0.5)
        tensor([0.5000, 0.0000, 0.0000])
    """
    positive = base > 0
    safe = torch.where(positive, base, 1.0)
    return torch.where(positive, safe**exponent, 0.0)


def factors(S: Sequence[Scalar], d_a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    r"""The vectors of :math:`\gamma = own + left \circ A_a \circ right`, whatever A is.

    .. math::
        left = m_2 D_a^{e_2}, \quad right = D_a^{e_3}, \quad own = m_1 D_a^{e_1} + m_3
    """
    m1, m2, m3, e1, e2, e3, _ = S
    left, right = m2 * positive_power(d_a, e2), positive_power(d_a, e3)
    return left, right, m1 * positive_power(d_a, e1) + m3
