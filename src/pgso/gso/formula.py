r"""Definition 2 and Equation (2): the only fast code in which γ's letters are written out.

γ is a diagonal, and A between two diagonals:

.. math::
    \gamma(A, \mathcal{S}) = \operatorname{Diag}(\alpha)
    + m_2 \operatorname{Diag}(l)\, (A + a I)\, \operatorname{Diag}(r), \qquad
    \alpha = m_1 D_a^{e_1} + m_3, \quad l = D_a^{e_2}, \quad r = D_a^{e_3}

Everything else (products, bounds, attention, conversion) is written with α, m2, l, r and a. The
page's ``operator.js`` and ``report/matrices.py`` are copies, held to this file by the tests. The
slow truth is :func:`pgso.dense_pgso`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pgso.gso.parameters import Scalar

Power = Callable[[Any, Any], Tensor]


class Factors(NamedTuple):
    """α, l and r of one S, one value per node (or node and channel), with its m2 and a."""

    alpha: Tensor  # m1 D_a^e1 + m3
    m2: Tensor
    left: Tensor  # D_a^e2
    right: Tensor  # D_a^e3
    a: Tensor

    @property
    def own(self) -> Tensor:
        """What a node keeps of itself if it has no self-loop: α + m2 a l r."""
        return torch.addcmul(self.alpha, self.a * self.outer, self.right)

    @property
    def outer(self) -> Tensor:
        """What a row of A is multiplied with: m2 l."""
        return self.m2 * self.left


def factors(
    S: Sequence[Any],  # seven numbers, or tensors that broadcast against the degrees
    rows: Tensor,  # row sums of A: weighted in-degrees
    columns: Tensor | None = None,  # what e3 acts on, if not the row sums
    power: Power = torch.pow,
) -> Factors:
    """The vectors of γ; differentiable in S and in the degrees."""
    m1, m2, m3, e1, e2, e3, a = S
    d_in = rows + a
    if columns is None:  # small graphs take their time for each operation: one power, not three
        exponents = torch.stack([e1, e2, e3])
        exponents = exponents.unsqueeze(1) if exponents.dim() == 1 else exponents
        D1, left, right = positive_power(d_in, exponents, power).unbind()
    else:
        D1, left = positive_power(d_in, e1), positive_power(d_in, e2)
        right = positive_power(columns + a, e3)
    return Factors(m1 * D1 + m3, m2, left, right, a)


def positive_power(base: Tensor, exponent: Scalar, power: Power = torch.pow) -> Tensor:
    """``base ** exponent`` where base > 0; elsewhere 0, or 1 if the exponent is exactly 0.

    Where base ≤ 0 there is no gradient. The base is replaced *before* the power, not the result
    after it: the gradient of ``0 ** e`` in a learned negative ``e`` is NaN, and a mask on the
    result keeps the NaN.

    Example:
        >>> positive_power(torch.tensor([4., 0., -4.]), -0.5)
        tensor([0.5000, 0.0000, 0.0000])
        >>> positive_power(torch.tensor([4., 0., -4.]), 0.0)
        tensor([1., 1., 1.])
    """
    positive = base > 0
    safe = torch.where(positive, base, 1.0)
    if isinstance(exponent, Tensor):
        elsewhere: Any = (exponent.detach() == 0).to(base.dtype)
    else:
        elsewhere = float(exponent == 0)
    return torch.where(positive, power(safe, exponent), elsewhere)
