"""Linear maps replica by replica: X is (N, F) or (R, n, F), W is (R, out, in)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pgso.models.stacked.layout import parts_of

ALIGNMENT = 64  # bytes: where torch's arrays begin
LANES = 16  # numbers of 32 bits in so many bytes
TINY = 400  # multiplications, up to which torch has another code for one batch of products
FEW_ROWS = 16  # products of fewer rows (of 3, in our measurements) have other digits


def rounds_alike(in_channels: int, out_channels: int) -> bool:
    """Whether the digits of X Wᵀ and of its gradients depend on nothing but numbers.

    Then all replicas may be one batch of products, and rows that nobody looks at may be left out.
    The library that multiplies matrices chooses its code by shape and by where arrays begin; other
    code adds in another order. The answer is measured (docs/lockstep.md), and the tests repeat it.
    """
    return in_channels % LANES == 0 and out_channels > 1


class ProductsOneByOne(torch.autograd.Function):
    """Onto + X_r W_rᵀ, with the gradients in the order of factors that torch takes for one."""

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any,
        x: Tensor,  # (N, in), or (R, n, in)
        weight: Tensor,  # (R, out, in)
        onto: Tensor | None,  # (R, 1, out) or (R, n, out)
        sizes: Sequence[int] | None,  # None: x is (R, n, in)
    ) -> Tensor:  # (N, out), or (R, n, out)
        ctx.save_for_backward(x, weight)
        ctx.sizes, ctx.rows = sizes, None if onto is None else onto.size(1)
        out = x.new_empty(*x.shape[:-1], weight.size(1))
        summands = [None] * weight.size(0) if onto is None else onto.unbind()
        columns = (parts_of(x, sizes), weight.unbind(), summands, parts_of(out, sizes))
        for x_r, weight_r, onto_r, out_r in zip(*columns, strict=True):
            _multiply(_aligned(x_r), _aligned(weight_r).t(), out_r, onto_r)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, weight and onto."""
        x, weight = ctx.saved_tensors
        to_x, to_weight, to_onto = None, torch.empty_like(weight), None
        parts = [_aligned(part) for part in parts_of(grads[0], ctx.sizes)]
        if ctx.needs_input_grad[0]:
            to_x = torch.empty_like(x)
            columns = (parts, weight.unbind(), parts_of(to_x, ctx.sizes))
            for g, weight_r, out in zip(*columns, strict=True):
                _multiply(g, _aligned(weight_r), out)
        for g, x_r, out in zip(parts, parts_of(x, ctx.sizes), to_weight.unbind(), strict=True):
            _multiply(g.t(), _aligned(x_r), out)
        if ctx.needs_input_grad[2]:
            to_onto = _sums(parts) if ctx.rows == 1 else grads[0]
        return to_x, to_weight, to_onto, None


class RaggedBias(torch.autograd.Function):
    """X_r + b_r."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor, sizes: Sequence[int]) -> Tensor:  # noqa: D102
        ctx.sizes = sizes
        out = torch.empty_like(x)
        columns = (x.split(sizes), bias.unbind(), out.split(sizes))
        for x_r, bias_r, out_r in zip(*columns, strict=True):
            torch.add(x_r, bias_r, out=out_r)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x and bias."""
        return grads[0], _sums(grads[0].split(ctx.sizes)), None


def _sums(parts: Sequence[Tensor]) -> Tensor:  # (R, 1, F)
    return torch.stack([part.sum(0, keepdim=True) for part in parts])


def _aligned(x: Tensor) -> Tensor:
    """The array, or a copy that begins where torch's arrays begin.

    A run alone multiplies arrays that begin there. Rows of 16 numbers or a multiple always do.
    """
    return x.clone() if x.data_ptr() % ALIGNMENT else x


def _multiply(left: Tensor, right: Tensor, out: Tensor, onto: Tensor | None = None) -> None:
    """Left right + onto, written to ``out``."""
    result = torch.empty_like(out) if out.data_ptr() % ALIGNMENT else out
    if onto is None:
        torch.mm(left, right, out=result)
    else:
        torch.addmm(onto, left, right, out=result)
    if result is not out:
        out.copy_(result)
