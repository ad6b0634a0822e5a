"""The losses that objectives are learned by; imported when the first one is computed."""

import torch
from torch import Tensor
from torch.nn import functional


def cross_entropy(out: Tensor, y: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Of one class each. Weights change what an example counts, not what the mean divides by."""
    if weight is None:
        return functional.cross_entropy(out, y, reduction=reduction)
    total = functional.cross_entropy(out, y, weight, reduction="sum")
    return total / len(y) if reduction == "mean" else total


def binary(out: Tensor, y: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Of yes or no, label by label; missing labels (NaN) are left out."""
    has_value = y.isfinite()
    loss = functional.binary_cross_entropy_with_logits(
        out, y.where(has_value, torch.zeros_like(y)), reduction="none", pos_weight=weight
    )
    return _reduced(loss, has_value, reduction)


def squared(out: Tensor, y: Tensor, reduction: str) -> Tensor:
    """Of numbers; missing ones (NaN) are left out."""
    has_value = y.isfinite()
    return _reduced((out - y.where(has_value, out.detach())).square(), has_value, reduction)


def absolute(out: Tensor, y: Tensor, reduction: str) -> Tensor:
    """Of numbers; missing ones (NaN) are left out."""
    has_value = y.isfinite()
    return _reduced((out - y.where(has_value, out.detach())).abs(), has_value, reduction)


def one_of_two(out: Tensor, reduction: str) -> Tensor:
    """Of links, (n, 1 + m): the first of a row is one, the others are not."""
    yes = functional.softplus(-out[:, 0])
    no = functional.softplus(out[:, 1:]).mean(dim=1)
    loss = yes + no
    return loss.mean() if reduction == "mean" else loss.sum()


def _reduced(loss: Tensor, has_value: Tensor, reduction: str) -> Tensor:
    total = (loss * has_value).sum()
    return total / has_value.sum().clamp(min=1) if reduction == "mean" else total
