"""Linear maps of replicas whose numbers of rows differ: X is (N, F), W is (R, out, in)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

ALIGNMENT = 64  # bytes: where torch's arrays begin


class RaggedProducts(torch.autograd.Function):
    """X_r W_rᵀ + b_r, with the gradients in the order of factors that torch takes for one."""

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any,
        x: Tensor,  # (N, in)
        weight: Tensor,  # (R, out, in)
        bias: Tensor | None,  # (R, 1, out)
        sizes: Sequence[int],
    ) -> Tensor:  # (N, out)
        ctx.save_for_backward(x, weight)
        ctx.sizes = sizes
        out = x.new_empty(x.size(0), weight.size(1))
        onto = [None] * len(sizes) if bias is None else bias.unbind()
        columns = (x.split(sizes), weight.unbind(), onto, out.split(sizes))
        for x_r, weight_r, bias_r, out_r in zip(*columns, strict=True):
            _multiply(_aligned(x_r), _aligned(weight_r).t(), out_r, bias_r)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, weight and bias."""
        x, weight = ctx.saved_tensors
        to_x, to_weight, to_bias = None, torch.empty_like(weight), None
        parts = [_aligned(part) for part in grads[0].split(ctx.sizes)]
        if ctx.needs_input_grad[0]:
            to_x = torch.empty_like(x)
            for g, weight_r, out in zip(parts, weight.unbind(), to_x.split(ctx.sizes), strict=True):
                _multiply(g, _aligned(weight_r), out)
        for g, x_r, out in zip(parts, x.split(ctx.sizes), to_weight.unbind(), strict=True):
            _multiply(g.t(), _aligned(x_r), out)
        if ctx.needs_input_grad[2]:
            to_bias = _sums(parts)
        return to_x, to_weight, to_bias, None


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

    A run alone multiplies arrays that begin there. The library that multiplies matrices adds in
    another order where one does not. Rows of 16 numbers or a multiple always do.
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
