"""Which derivatives torch may ask for: backwards, forwards, or by ``torch.func``."""

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
