"""Sums and products of operators: applied to features, never formed."""

import math
from collections.abc import Sequence
from functools import reduce, singledispatch
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import can_be_read
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import as_float


class Expression(ShiftOperator):
    """An operator made of others.

    They are handed the features in the shape in which they came: with an S per channel, the last
    dimension must stay the channels.
    """

    @property
    def parts(self) -> list[ShiftOperator]:
        """The operators that it is made of."""
        return [getattr(self, name) for name in ("of", "left", "right") if hasattr(self, name)]

    def of_parts(self, parts: Sequence[ShiftOperator]) -> Self:
        """The same expression of other operators."""
        other, made_of = object.__new__(type(self)), self.__getstate__()
        names = (name for name in ("of", "left", "right") if name in made_of)
        other._set(**made_of | dict(zip(names, parts, strict=True)))
        return other

    @property
    def T(self) -> ShiftOperator:
        """The same expression of transposes."""
        turned = self.of_parts([part.T for part in self.parts])
        turned._set(shape=self.shape[::-1])
        return turned

    @property
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        """The widest type of the operators in it."""
        widest: torch.dtype = reduce(torch.promote_types, (part.dtype for part in self.parts))
        return widest

    @property
    def is_symmetric(self) -> bool:
        """Whether all parts are; what happens to be symmetric is not recognised."""
        return all(part.is_symmetric for part in self.parts)

    @property
    def is_certifiable(self) -> bool:
        return all(part.is_certifiable for part in self.parts)

    def diagonal(self) -> Tensor:
        """The diagonal entries; of products from the dense matrix, with O(n²) memory."""
        entries = self.to_dense().diagonal()  # (n,), or (C, n) if there are channels
        return entries if entries.dim() == 1 else entries.t()


class Scaled(Expression):
    """c times an operator; c is a number or a 0-d tensor."""

    factor: Any
    of: ShiftOperator

    def __init__(self, factor: Any, of: ShiftOperator) -> None:
        self._set(factor=finite_factor(factor), of=of, shape=of.shape, device=of.device)

    def _matmul(self, x: Tensor) -> Tensor:
        return self.factor * self.of.times(x)  # type: ignore[no-any-return]

    def to_dense(self) -> Tensor:
        return self.factor * self.of.to_dense()  # type: ignore[no-any-return]

    def to_scipy(self) -> csr_array:
        return csr_array(float(self.factor) * self.of.to_scipy())

    def diagonal(self) -> Tensor:
        return self.factor * self.of.diagonal()  # type: ignore[no-any-return]


def finite_factor(factor: Any) -> Any:
    """What an operator may be multiplied or divided by: a finite number, or a 0-d tensor."""
    scaled = "an operator is multiplied or divided by a"
    if isinstance(factor, ShiftOperator):
        raise InputError(f"{scaled} number; operators are multiplied by @: op @ other")
    if getattr(factor, "ndim", 0):
        raise InputError(f"{scaled} number, got {tuple(factor.shape)}")
    if isinstance(factor, (np.generic, np.ndarray)):
        factor = factor.item()
    if not isinstance(factor, (int, float, Tensor)):
        raise InputError(f"{scaled} number, got {factor!r}")
    if isinstance(factor, Tensor):
        factor = factor.clone()  # what becomes of the caller's tensor changes nothing
    if can_be_read(factor):
        try:
            is_finite = math.isfinite(as_float(factor))
        except OverflowError:
            is_finite, factor = False, "an integer beyond 10^308"
        if not is_finite:
            raise InputError(f"{scaled} finite number, got {factor}")
    return factor


class Identity(Expression):
    """I: what a shift by a number, or a power of 0, is made of. Its spectrum is {1}."""

    dtype: torch.dtype = torch.get_default_dtype()

    def __init__(self, like: ShiftOperator) -> None:
        if like.shape[0] != like.shape[1]:
            raise InputError(f"there is no identity of shape {like.shape}")
        self._set(shape=like.shape, device=like.device, dtype=like.dtype)

    def _matmul(self, x: Tensor) -> Tensor:
        return x

    def to_dense(self) -> Tensor:
        return torch.eye(self.shape[0], dtype=self.dtype, device=self.device)

    def to_scipy(self) -> csr_array:
        return eye_array(self.shape[0], format="csr")

    def diagonal(self) -> Tensor:
        return torch.ones(self.shape[0], dtype=self.dtype, device=self.device)


class Sum(Expression):
    """The sum of two operators of one shape."""

    left: ShiftOperator
    right: ShiftOperator

    def __init__(self, left: ShiftOperator, right: ShiftOperator) -> None:
        if left.shape != right.shape:
            raise InputError(
                f"operators of shapes {left.shape} and {right.shape} cannot be added: they must "
                "act on the same nodes"
            )
        self._set(left=left, right=right, shape=left.shape, device=left.device)

    def _matmul(self, x: Tensor) -> Tensor:
        return self.left.times(x) + self.right.times(x)

    def to_dense(self) -> Tensor:
        left, right = aligned(self.left.to_dense(), self.right.to_dense())
        return left + right

    def to_scipy(self) -> csr_array:
        return csr_array(self.left.to_scipy() + self.right.to_scipy())

    def diagonal(self) -> Tensor:
        left, right = aligned(self.left.diagonal(), self.right.diagonal())
        return left + right

    @property
    def is_certifiable(self) -> bool:
        """Whether the spectrum follows: both are symmetric, or both are polynomials of one γ."""
        base = common_base(self)
        if base is not None and base.is_certifiable:
            return True
        return self.is_symmetric and super().is_certifiable


class Product(Expression):
    """One operator after another: (P Q) x = P (Q x)."""

    left: ShiftOperator
    right: ShiftOperator

    def __init__(self, left: ShiftOperator, right: ShiftOperator) -> None:
        if left.shape[1] != right.shape[0]:
            raise InputError(
                f"an operator of shape {left.shape} cannot follow one of shape {right.shape}"
            )
        shape = (left.shape[0], right.shape[1])
        self._set(left=left, right=right, shape=shape, device=left.device)

    def _matmul(self, x: Tensor) -> Tensor:
        return self.left.times(self.right.times(x))

    @property
    def T(self) -> ShiftOperator:
        """(P Q)ᵀ = Qᵀ Pᵀ."""
        return Product(self.right.T, self.left.T)

    def to_dense(self) -> Tensor:
        return dense_product(self.left.to_dense(), self.right.to_dense())

    def to_scipy(self) -> csr_array:
        return csr_array(self.left.to_scipy() @ self.right.to_scipy())

    @property
    def is_symmetric(self) -> bool:
        """Whether both are polynomials of one symmetric operator; others are not recognised."""
        base = common_base(self)
        return base is not None and base.is_symmetric

    @property
    def is_certifiable(self) -> bool:
        """Whether both are polynomials of one operator with a certified spectrum."""
        base = common_base(self)
        return base is not None and base.is_certifiable


def aligned(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Two matrices, or two diagonals, in one type; both with channels last if one has channels."""
    dtype = torch.promote_types(left.dtype, right.dtype)
    most = max(left.dim(), right.dim())
    left, right = (one.view(*one.shape, *[1] * (most - one.dim())) for one in (left, right))
    return left.to(dtype), right.to(dtype)


def dense_product(left: Tensor, right: Tensor) -> Tensor:  # (n, k[, C]), (k, m[, C]) -> (n, m[, C])
    """The product of two matrices; channel by channel if one of them has channels."""
    left, right = aligned(left, right)
    return left @ right if left.dim() == 2 else torch.einsum("ijc,jkc->ikc", left, right)


def common_base(op: ShiftOperator) -> ShiftOperator | None:
    """The operator that an expression is a polynomial of; None if it has several, or is c I."""
    first, *others = bases_of(op) or (None,)
    return None if first is None or any(not first.equals(other) for other in others) else first


@singledispatch
def bases_of(op: ShiftOperator) -> list[ShiftOperator]:
    """The operators that an expression is made of by sums, products and multiples."""
    return [op]


@bases_of.register
def _(op: Expression) -> list[ShiftOperator]:
    return [base for part in op.parts for base in bases_of(part)]
