r"""Definition 2 and Equation (2): the only fast code in which γ's letters are written out.

γ is a diagonal, and A between two diagonals:

.. math::
    \gamma(A, \mathcal{S}) = \operatorname{Diag}(\alpha)
    + m_2 \operatorname{Diag}(l)\, (A + a I)\, \operatorname{Diag}(r), \qquad
    \alpha = m_1 D_a^{e_1} + m_3, \quad l = D_a^{e_2}, \quad r = D_a^{e_3}

Everything else is written with α, m2, l, r and a. The page's ``operator.js`` and
``report/matrices.py`` are copies, held to this file by tests; :func:`pgso.dense_pgso` is the truth.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pgso.gso.parameters import Scalar

Array = NDArray[Any]


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
        return self.alpha + self.a * self.outer * self.right

    @property
    def outer(self) -> Tensor:
        """What a row of A is multiplied with: m2 l."""
        return self.m2 * self.left


def factors(
    S: Sequence[Any],  # seven numbers, or tensors that broadcast against the degrees
    rows: Tensor,  # row sums of A: weighted in-degrees
    columns: Tensor | None = None,  # what e3 acts on, if not the row sums
) -> Factors:
    """The vectors of γ; differentiable in S and in the degrees."""
    m1, m2, m3, e1, e2, e3, a = S
    d_in = rows + a
    left = positive_power(d_in, e2)
    right = positive_power(d_in if columns is None else columns + a, e3)
    return Factors(m1 * positive_power(d_in, e1) + m3, m2, left, right, a)


def positive_power(base: Tensor, exponent: Scalar) -> Tensor:
    """``base ** exponent`` where base > 0; elsewhere 0, or 1 if the exponent is exactly 0.

    Where base ≤ 0 there is no gradient. The base is replaced *before* the power: the gradient of
    ``0 ** e`` in a learned negative ``e`` is NaN, and a mask on the result keeps the NaN.
    """
    positive = base > 0
    safe = torch.where(positive, base, 1.0)
    if isinstance(exponent, Tensor):
        elsewhere: Any = (exponent.detach() == 0).to(base.dtype)
    else:
        elsewhere = float(exponent == 0)
    return torch.where(positive, safe**exponent, elsewhere)


class FactorArrays(NamedTuple):
    """The vectors of one S as numpy arrays, by kind of node, with what their derivatives need."""

    alpha: Array
    m2: np.float64
    left: Array
    right: Array
    a: float
    outer: Array
    own: Array
    power: Array  # D_a^e1
    d_in: Array  # d + a; 1 where it is 0 or less: there is no derivative in it
    d_out: Array


@np.errstate(all="ignore")  # of a run that diverges
def array_factors(S: Tensor, rows: Tensor, columns: Tensor | None = None) -> FactorArrays:
    """:func:`factors` by numpy, whose small operations take a third of torch's time."""
    m1, m2, m3, e1, e2, e3, a = S.tolist()
    if columns is None:
        d_in, (power, left, right) = _powers(rows.numpy() + a, e1, e2, e3)
        d_out = d_in
    else:
        d_in, (power, left) = _powers(rows.numpy() + a, e1, e2)
        d_out, (right,) = _powers(columns.numpy() + a, e3)
    alpha, outer = m1 * power + m3, m2 * left
    is_square = outer.shape == right.shape  # else nodes keep nothing of themselves
    own = alpha + a * outer * right if is_square else alpha
    return FactorArrays(alpha, np.float64(m2), left, right, a, outer, own, power, d_in, d_out)


def _powers(d: Array, *exponents: float) -> tuple[Array, list[Array]]:
    """:func:`positive_power` of arrays, and the bases: 1 where they were 0 or less."""
    if d.size and d.min() > 0:
        return d, [d**e for e in exponents]
    is_positive = d > 0
    d = np.where(is_positive, d, 1.0)
    return d, [np.where(is_positive, d**e, float(e == 0)) for e in exponents]


class NodeVectors(torch.autograd.Function):
    """Some vectors of γ by node, from S, by numpy: on the CPU, for constant degrees.

    The gradient is :func:`derivatives`; its own derivatives are those of :func:`factors`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        S: Tensor,  # (7,) in double precision
        arrays: FactorArrays,
        names: tuple[str, ...],  # which of its vectors
        degrees: tuple[Tensor, Tensor | None],  # (k,) row sums, and column sums where e3 has them
        index: Tensor | None,  # (n,) the kind of each node
        dtype: torch.dtype,
    ) -> tuple[Tensor, ...]:
        ctx.save_for_backward(S)
        ctx.set_materialize_grads(False)
        ctx.arguments = arrays, names, degrees, index, dtype
        width = np.float32 if dtype == torch.float32 else np.float64
        parts = [np.asarray(getattr(arrays, name), width) for name in names]
        if index is not None:
            parts = [part.take(index.numpy()) if part.ndim else part for part in parts]
        return tuple(map(torch.from_numpy, parts))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        arrays, names, (rows, columns), index, dtype = ctx.arguments
        (S,) = ctx.saved_tensors
        to = {name: g for name, g in zip(names, grads, strict=True) if g is not None}
        if torch.is_grad_enabled():
            again = factors(S.unbind(), rows, columns)
            parts = [getattr(again, name).to(dtype) for name in to]
            if index is not None:
                parts = [part.index_select(0, index) if part.dim() else part for part in parts]
            gradient = torch.autograd.grad(parts, S, list(to.values()), create_graph=True)
            return gradient[0], None, None, None, None, None
        by_kind = {}
        for name, g in to.items():
            array = g.numpy()
            if index is not None and g.dim():
                array = np.bincount(index.numpy(), weights=array, minlength=rows.numel())
            by_kind[name] = array.astype(np.float64, copy=False)
        seven = np.array(derivatives(S, arrays, **by_kind))
        return torch.from_numpy(seven), None, None, None, None, None


NOTHING = np.float64(0)  # the derivative in a vector that nobody used


@np.errstate(all="ignore")  # of a run that diverges
def derivatives(
    S: Tensor,  # (7,)
    vectors: FactorArrays,
    alpha: Any = NOTHING,
    m2: Any = NOTHING,
    left: Any = NOTHING,
    right: Any = NOTHING,
    a: Any = NOTHING,
    own: Any = None,
    outer: Any = NOTHING,
) -> list[float]:  # 7
    r"""dL/dS from L's derivatives in the vectors, each summed over the nodes of a kind.

    With :math:`\partial d^e / \partial e = d^e \log d` and
    :math:`\partial d^e / \partial a = e\, d^e / d`, where d = d_i + a; both are 0 where d ≤ 0.
    """
    m1, _, _, e1, e2, e3, _ = S.tolist()
    v, to_a = vectors, float(a)
    log_in = np.log(v.d_in)
    log_out = log_in if v.d_out is v.d_in else np.log(v.d_out)
    if own is not None:  # α + a m2 l r
        alpha = alpha + own
        to_a += (v.outer * v.right) @ own
        outer = outer + v.a * v.right * own
        right = right + v.a * v.outer * own
    in_power = v.power * alpha
    in_left, in_right = (left + v.m2 * outer) * v.left, right * v.right
    to_a += ((m1 * e1 * in_power + e2 * in_left) / v.d_in).sum() + e3 * (in_right / v.d_out).sum()
    seven = (
        in_power.sum(),
        (v.left * outer).sum() + m2,
        alpha.sum(),
        m1 * (log_in @ in_power),
        log_in @ in_left,
        log_out @ in_right,
        to_a,
    )
    return [float(value) for value in seven]
