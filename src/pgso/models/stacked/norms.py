"""Norms with weights per replica. A replica computes as if alone, to the digit."""

from typing import Any

import torch
from torch import Tensor, nn

from pgso.models.stacked.layout import Layout, parts_of


class StackedBatchNorm(nn.Module):
    """Batch norm of every replica by itself."""

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, norms: list[nn.BatchNorm1d], layout: Layout) -> None:
        super().__init__()
        self.layout = layout
        self.eps, self.momentum = norms[0].eps, norms[0].momentum
        self.weight = nn.Parameter(torch.stack([norm.weight.detach() for norm in norms]))
        self.bias = nn.Parameter(torch.stack([norm.bias.detach() for norm in norms]))
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.register_buffer(name, torch.stack([getattr(norm, name) for norm in norms]))

    def forward(self, x: Tensor) -> Tensor:  # (R, n, F) or (N, F)
        """Subtract the mean over nodes and divide by the deviation, scale and shift."""
        if self.training:
            self.num_batches_tracked += 1
        statistics = (self.running_mean, self.running_var, self.training, self.momentum, self.eps)
        sizes = self.layout.sizes_of(x)
        out: Tensor = _BatchNorms.apply(x, self.weight, self.bias, statistics, sizes)
        return out


class _BatchNorms(torch.autograd.Function):
    """Torch's batch norm, replica by replica: the arrays of one replica may stay in the cache."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, statistics: Any, sizes: Any
    ) -> Tensor:
        *running, training, momentum, eps = statistics
        out, mean, deviation = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias)
        width = weight.size(1) if training else 0
        rows = (parts_of(x, sizes), parts_of(out, sizes))
        values = (weight, bias, *running, mean[:, :width], deviation[:, :width])
        by_replica = (*rows, *(part.unbind() for part in values))
        for x_r, out_r, w, b, run_mean, run_var, mean_r, dev_r in zip(*by_replica, strict=True):
            torch.native_batch_norm(
                x_r, w, b, run_mean, run_var, training, momentum, eps, out=(out_r, mean_r, dev_r)
            )
        ctx.save_for_backward(x, weight, mean, deviation)
        ctx.statistics, ctx.sizes = statistics, sizes
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, *values = ctx.saved_tensors
        *running, training, _, eps = ctx.statistics
        weight, mean, deviation = (value.unbind() for value in values)
        means, variances = (value.unbind() for value in running)
        rows = (parts_of(grads[0], ctx.sizes), parts_of(x, ctx.sizes))
        by_replica = zip(*rows, weight, means, variances, mean, deviation, strict=True)
        backward = torch.ops.aten.native_batch_norm_backward
        made = [backward(*arrays, training, eps, [True, True, True]) for arrays in by_replica]
        to_x, to_weight, to_bias = zip(*made, strict=True)
        wholes = torch.cat(to_x).view(x.shape), torch.stack(to_weight), torch.stack(to_bias)
        return *wholes, None, None


class StackedLayerNorm(nn.Module):
    """Layer norm with the scale and shift of each replica."""

    def __init__(self, norms: list[nn.LayerNorm], layout: Layout) -> None:
        super().__init__()
        self.layout, self.eps = layout, norms[0].eps
        self.weight = nn.Parameter(torch.stack([norm.weight.detach() for norm in norms]))
        self.bias = nn.Parameter(torch.stack([norm.bias.detach() for norm in norms]))

    def forward(self, x: Tensor) -> Tensor:  # (R, n, F) or (N, F)
        """Replica by replica."""
        shape = self.weight.shape[1:]
        parts = zip(self.layout.parts(x), self.weight.unbind(), self.bias.unbind(), strict=True)
        made = [nn.functional.layer_norm(x_r, shape, w, b, self.eps) for x_r, w, b in parts]
        return torch.cat(made).view(x.shape)
