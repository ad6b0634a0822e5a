"""Which derivatives torch may ask for: backwards, forwards, or by ``torch.func``."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd import forward_ad


def learns(value: Tensor) -> bool:
    """Whether a derivative in it may be asked for: backwards, or forwards if it has a tangent."""
    if value.requires_grad or not is_transformed():
        return value.requires_grad
    return forward_ad.unpack_dual(value).tangent is not None


def is_transformed() -> bool:
    """Whether ``torch.func`` or forward-mode differentiation is at work."""
    return not torch.compiler.is_compiling() and (
        torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
    )


def gradients_again(
    compute: Callable[..., Tensor], inputs: Sequence[Tensor], needed: Sequence[bool], g: Tensor
) -> list[Tensor | None]:
    """What a Function's backward returns, by operations whose derivatives have derivatives.

    Args:
        compute: What the Function computes of its inputs.
        inputs: Taken as they are, although one may have been made of another.
        needed: Which of them have a gradient.
        g: The gradient of the output.
    """
    apart = [value.view_as(value) for value in inputs]
    learned = [value for value, yes in zip(apart, needed, strict=True) if yes]
    found = iter(torch.autograd.grad(compute(*apart), learned, g, create_graph=True))
    return [next(found) if yes else None for yes in needed]
