"""Polynomials of an operator in four bases, and its powers: K products, never formed."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from torch import Tensor

from pgso.errors import InputError, UnknownNameError
from pgso.gso.algebra import Expression, Identity, bases_of, dense_product
from pgso.gso.operator import ShiftOperator

MOST_HOPS = 10_000  # of a power


class Polynomial(Expression):
    """Σ_k c_k p_k(P): see :func:`polynomial`."""

    of: ShiftOperator
    coefficients: Tensor
    basis: str
    options: dict[str, float]

    def __init__(self, of: ShiftOperator, coefficients: Tensor, basis: str, options: Any) -> None:
        self._set(of=of, coefficients=coefficients, basis=basis, options=options)
        self._set(shape=of.shape, device=of.device)

    def _matmul(self, x: Tensor) -> Tensor:
        width = self.coefficients.size(-1)
        if self.coefficients.dim() == 2 and width not in (1, x.size(-1)):
            raise InputError(
                f"these coefficients are for {width} channels, the features have {x.size(-1)}"
            )
        return evaluate(self.of.times, x, self.coefficients, self.basis, **self.options)

    def to_dense(self) -> Tensor:
        """The matrix; with coefficients per channel, one for each along the last dimension."""
        matrix = self.of.to_dense()
        one = torch.eye(self.shape[0], dtype=matrix.dtype, device=self.device)
        if matrix.dim() == 3 or self.coefficients.dim() == 2:
            width = matrix.size(2) if matrix.dim() == 3 else self.coefficients.size(1)
            one = one.unsqueeze(2).expand(-1, -1, width)
        times = lambda x: dense_product(matrix, x)  # noqa: E731
        return evaluate(times, one, self.coefficients, self.basis, **self.options)

    def to_scipy(self) -> csr_array:
        matrix, c = self.of.to_scipy(), self.coefficients.double().detach().cpu()
        if c.dim() > 1:
            raise InputError("with coefficients per channel there is no one matrix")
        if self.basis == "bernstein":
            c = from_bernstein(c)
        identity = eye_array(self.shape[0], format="csr")
        terms = BASES[self.basis](lambda x: matrix @ x, identity, len(c) - 1, **self.options)
        return csr_array(sum(value * term for value, term in zip(c.tolist(), terms, strict=True)))

    @property
    def is_certifiable(self) -> bool:
        """As of the operator, whose eigenvalues λ become p(λ); per channel there is no one p."""
        return self.of.is_certifiable and self.coefficients.dim() == 1


@bases_of.register
def _(op: Polynomial) -> list[ShiftOperator]:
    """Of a polynomial of an expression, nothing is known but its own interval."""
    plain = op.coefficients.dim() == 1 and not isinstance(op.of, Expression)
    return [op.of if plain else op]


def polynomial(
    op: ShiftOperator,
    coefficients: Sequence[float] | NDArray[Any] | Tensor,  # (K + 1,) or (K + 1, F)
    basis: str = "monomial",
    **options: float,
) -> ShiftOperator:
    r"""The operator :math:`\sum_{k=0}^K c_k\, p_k(\gamma)`: K products, never formed.

    Args:
        op: An operator of square shape.
        coefficients: c_0 to c_K; with shape (K + 1, F) each channel has its own.
        basis: ``"monomial"``; or ``"chebyshev"`` (of the first kind), ``"bernstein"`` and
            ``"jacobi"``, for a spectrum in [-1, 1].
        **options: Of Jacobi's basis: ``alpha`` and ``beta``, 1 by default.

    Example:
        >>> from pgso import Graph, shift
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> A = shift(path, "adjacency")
        >>> polynomial(A, [1.0, 0.0, 1.0]) @ torch.tensor([1., 0., 0.])  # (I + A²) x
        tensor([2., 0., 1.])
    """
    if not isinstance(op, ShiftOperator):
        raise InputError(f"polynomial takes an operator, got {type(op).__name__}; see pgso.shift")
    if basis not in BASES:
        raise UnknownNameError("basis", basis, BASES)
    if op.shape[0] != op.shape[1]:
        raise InputError(f"a polynomial needs a square operator, got shape {op.shape}")
    for name in options:
        if basis != "jacobi":
            raise InputError(f"the basis {basis!r} has no options, got {name}={options[name]!r}")
        if name not in ("alpha", "beta"):
            raise UnknownNameError(f"option of basis {basis!r}", name, ("alpha", "beta"))
    if not isinstance(coefficients, Tensor):
        try:
            coefficients = torch.from_numpy(np.array(coefficients, dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(f"coefficients must be numbers, got {coefficients!r:.80}") from None
    if coefficients.dim() not in (1, 2) or coefficients.size(0) == 0:
        raise InputError(
            f"coefficients must have shape (K + 1,) or (K + 1, F), got {tuple(coefficients.shape)}"
        )
    # Copied: what becomes of the caller's tensor, such as a step of an optimiser, changes nothing.
    return Polynomial(op, coefficients.to(op.device, copy=True), basis, options)


def power(op: ShiftOperator, exponent: int) -> ShiftOperator:
    """Op @ op @ ... @ op."""
    if not isinstance(exponent, Integral) or isinstance(exponent, bool) or exponent < 0:
        raise InputError(f"an operator's exponent must be 0, 1, 2, ..., got {exponent!r}")
    if exponent > MOST_HOPS:
        raise InputError(f"a power is so many products: at most {MOST_HOPS}, got {exponent}")
    if op.shape[0] != op.shape[1]:
        raise InputError(f"a power needs a square operator, got shape {op.shape}")
    if exponent < 2:
        return Identity(op) if exponent == 0 else op
    return polynomial(op, [0.0] * int(exponent) + [1.0])


Times = Callable[[Tensor], Tensor]


def evaluate(
    times: Times, x: Tensor, coefficients: Tensor, basis: str, **options: float
) -> Tensor:  # of x's shape
    """Σ_k c_k p_k(P) x, where ``times`` is the product with P: K products, two vectors kept."""
    c = coefficients.to(torch.promote_types(x.dtype, torch.float32))
    if basis == "monomial":  # Horner's c_0 x + P (c_1 x + P (c_2 x + ...)): one running sum
        out = c[-1].to(x.dtype) * x
        for c_k in c[:-1].flip(0):
            out = times(out) + c_k.to(x.dtype) * x
        return out
    if basis == "bernstein":
        basis, c = "chebyshev", from_bernstein(c)
    terms = BASES[basis](times, x, len(c) - 1, **options)
    scaled = (c_k.to(x.dtype) * term for c_k, term in zip(c, terms, strict=True))
    return reduce(torch.add, scaled)  # type: ignore[no-any-return]


def _monomial(times: Times, x: Tensor, degree: int) -> Iterator[Tensor]:
    yield x
    for _ in range(degree):
        x = times(x)
        yield x


def _chebyshev(times: Times, x: Tensor, degree: int) -> Iterator[Tensor]:
    """T_0 = 1, T_1 = P, T_{k+1} = 2 P T_k - T_{k-1}."""
    yield x
    before, now = x, x
    for k in range(degree):
        before, now = now, times(now) if k == 0 else 2 * times(now) - before
        yield now


def _jacobi(
    times: Times, x: Tensor, degree: int, alpha: float = 1.0, beta: float = 1.0
) -> Iterator[Tensor]:
    """Jacobi's polynomials by their three-term recurrence (Abramowitz and Stegun, 22.7.1)."""
    yield x
    before, now = x, x
    for k in range(1, degree + 1):
        if k == 1:
            now = (alpha - beta) / 2 * x + (alpha + beta + 2) / 2 * times(x)
        else:
            s = 2 * k + alpha + beta
            scale = 2 * k * (k + alpha + beta) * (s - 2)
            on_product = (s - 1) * s * (s - 2) / scale
            on_now = (s - 1) * (alpha**2 - beta**2) / scale
            on_before = 2 * (k + alpha - 1) * (k + beta - 1) * s / scale
            after = on_product * times(now) + on_now * now - on_before * before
            before, now = now, after
        yield now


def bernstein(t: Tensor, degree: int) -> Tensor:  # (m,) -> (m, K + 1)
    r"""Bernstein's polynomials of one degree at some points of [-1, 1].

    .. math::
        B_{k,K}(t) = \binom{K}{k} \Big(\frac{1 - t}{2}\Big)^{K-k} \Big(\frac{1 + t}{2}\Big)^k
    """
    k = torch.arange(degree + 1, dtype=t.dtype, device=t.device)
    log_binomial = torch.lgamma(k.new_tensor(degree + 1.0)) - torch.lgamma(k + 1)
    binomial = (log_binomial - torch.lgamma(degree - k + 1)).exp()
    down, up = ((1 - t) / 2).unsqueeze(1), ((1 + t) / 2).unsqueeze(1)
    return binomial * down ** (degree - k) * up**k


def from_bernstein(coefficients: Tensor) -> Tensor:  # (K + 1, ...) -> (K + 1, ...)
    r"""The Chebyshev coefficients of :math:`\sum_k c_k B_{k,K}`.

    Evaluated as written, Bernstein's basis takes O(K²) products; so it takes K.
    """
    count = len(coefficients)
    nodes = (torch.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count).cos()
    matrix = from_values(bernstein(nodes, count - 1)).to(coefficients.device, coefficients.dtype)
    return torch.tensordot(matrix, coefficients, dims=1)  # type: ignore[no-any-return]


def from_values(values: Tensor) -> Tensor:  # (K + 1, ...) -> (K + 1, ...)
    """The Chebyshev coefficients of the polynomial with these values at Chebyshev's nodes."""
    count = values.size(0)
    k = torch.arange(count, dtype=values.dtype, device=values.device)
    matrix = torch.outer(k, torch.pi * (k + 0.5) / count).cos() * (2 / count)
    return torch.where(k == 0, 0.5, 1.0).view(-1, *[1] * (values.dim() - 1)) * (matrix @ values)


BASES: dict[str, Callable[..., Iterator[Tensor]]] = {
    "monomial": _monomial,
    "chebyshev": _chebyshev,
    "bernstein": _chebyshev,  # with other coefficients
    "jacobi": _jacobi,
}
