"""Torch's modes: which derivatives may be asked for, and computing outside of all modes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
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


@contextmanager
def for_any_mode(*inputs: Any) -> Iterator[None]:
    """Tensors made within it are ordinary constants: in inference mode and ``torch.func``, too.

    Args:
        inputs: What the tensors are made of, as in :func:`outside_transforms`.
    """
    with torch.inference_mode(False), torch.no_grad(), outside_transforms(*inputs):
        yield


def outside_transforms(*inputs: Any) -> AbstractContextManager[Any]:
    """Computations within it are not seen by the transforms of ``torch.func``.

    A transform wraps every tensor that is made inside it, and a wrapped tensor is of no use once
    the transform has ended. So what is remembered is made outside of all transforms.

    Args:
        inputs: What the tensors are made of. If one of them is wrapped, it exists inside its
            transform only, and the computation stays there.
    """
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return nullcontext()
    if any(is_wrapped(value) for value in inputs):
        return nullcontext()
    return temporarily_clear_interpreter_stack()


def is_wrapped(value: Any) -> bool:
    """Whether this is a tensor that belongs to a transform of ``torch.func``."""
    return isinstance(value, Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(value)
