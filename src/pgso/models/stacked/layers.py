"""Linear maps and norms with weights per replica. A replica computes as if alone, to the digit."""

from typing import Any

import torch
from torch import Tensor, nn

from pgso.convs.architecture import OnGraph, transform_and_propagate
from pgso.convs.gcn import GCNConv
from pgso.convs.sparse_features import Features, SparseTimesDense
from pgso.graph.reach import Reach
from pgso.models.gnn import Layer


class StackedLinear(nn.Module):
    """X_r W_rᵀ + b_r for every replica r, as :class:`pgso.convs.sparse_features.Linear` for one.

    Sparse features come as copies along a diagonal, one for each replica. For them the weights are
    stored as (R, in, out), as their product needs them.
    """

    reach: Reach | None = None

    def __init__(self, weight: Tensor, bias: Tensor | None, sparse: bool) -> None:
        super().__init__()
        self.out_channels, self.in_channels = weight.shape[1:]
        self.sparse = sparse
        stored = weight.transpose(1, 2).contiguous() if sparse else weight
        self.weight = nn.Parameter(stored)
        self.bias = None if bias is None else nn.Parameter(bias.unsqueeze(1))  # (R, 1, out)

    def forward(self, x: Features) -> Tensor:  # (R, n, in) -> (R, n, out)
        """X Wᵀ + b."""
        if isinstance(x, Tensor):
            return self._dense(x, self.bias)
        out = self.times_weight(x)
        return out if self.bias is None else out + self.bias

    def times_weight(self, x: Features) -> Tensor:
        """X Wᵀ."""
        if isinstance(x, Tensor):
            return self._dense(x, None)
        assert self.sparse
        flat: Tensor = SparseTimesDense.apply(self.weight.flatten(0, 1), x)
        return flat.view(self.weight.size(0), -1, self.out_channels)

    def added_to(self, out: Tensor | None, x: Features) -> Tensor:
        """Out + X Wᵀ."""
        if isinstance(x, Tensor):
            return self._dense(x, out)
        part = self.times_weight(x)
        return part if out is None else part + out

    def _dense(self, x: Tensor, onto: Tensor | None) -> Tensor:
        assert not self.sparse
        out: Tensor = _Products.apply(x, self.weight, onto, self.reach)
        return out


class _Products(torch.autograd.Function):
    """Onto + X_r W_rᵀ, with the gradients in the order of factors that torch takes for one."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, onto: Tensor | None, reach: Reach | None
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.reach = reach
        ctx.rows = None if onto is None else onto.size(1)
        turned = weight.transpose(1, 2)
        return torch.bmm(x, turned) if onto is None else torch.baddbmm(onto, x, turned)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        x, weight = ctx.saved_tensors
        to_x = torch.bmm(g, weight) if ctx.needs_input_grad[0] else None
        whole = g if ctx.reach is None else ctx.reach.whole(g, "gradient")
        features = x if ctx.reach is None else ctx.reach.whole(x, "features")
        to_weight = torch.bmm(whole.transpose(1, 2), features)
        to_onto = whole.sum(1, keepdim=True) if ctx.rows == 1 else g
        return to_x, to_weight, None if ctx.rows is None else to_onto, None


class StackedGCN(GCNConv):
    """A GCN layer whose bias may be added to the nodes of a layer's reach only."""

    reach: Reach | None

    def forward(  # noqa: D102
        self, x: Features, edge_index: OnGraph, edge_weight: Tensor | None = None
    ) -> Tensor:
        out = transform_and_propagate(x, edge_index, edge_weight, self.operators, self.lin)
        if self.bias is None:
            return out
        if not torch.is_grad_enabled():
            return out.add_(self.bias)  # a new array would cost as much as the product
        if self.reach is None:
            return out + self.bias
        added: Tensor = _Bias.apply(out, self.bias, self.reach)
        return added


class StackedLayer(Layer):
    """A layer that needs no new arrays where no gradients are wanted: they would be large."""

    def after(self, out: Tensor, x: Features) -> Tensor:
        """Everything that follows the conv; without gradients, in the memory of its output."""
        if torch.is_grad_enabled() or not self.hidden:
            return super().after(out, x)
        if self.residual is not None:
            out.add_(self.residual(x))
        if self.norm is not None:
            out = self.norm(out)
        return out.relu_()


class _Bias(torch.autograd.Function):
    """X + b, with the gradient of b summed over all nodes in their order."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor, reach: Reach) -> Tensor:
        ctx.reach = reach
        return x + bias

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        return g, ctx.reach.whole(g, "bias").sum(1, keepdim=True), None


class StackedBatchNorm(nn.Module):
    """Batch norm of every replica by itself."""

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, norms: list[nn.BatchNorm1d]) -> None:
        super().__init__()
        self.eps, self.momentum = norms[0].eps, norms[0].momentum
        self.weight = nn.Parameter(torch.stack([norm.weight.detach() for norm in norms]))
        self.bias = nn.Parameter(torch.stack([norm.bias.detach() for norm in norms]))
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.register_buffer(name, torch.stack([getattr(norm, name) for norm in norms]))

    def forward(self, x: Tensor) -> Tensor:  # (R, n, F)
        """Subtract the mean over nodes and divide by the deviation, scale and shift."""
        if self.training:
            self.num_batches_tracked += 1
        statistics = (self.running_mean, self.running_var, self.training, self.momentum, self.eps)
        out: Tensor = _BatchNorms.apply(x, self.weight, self.bias, statistics)
        return out


class _BatchNorms(torch.autograd.Function):
    """Torch's batch norm, replica by replica: the arrays of one replica may stay in the cache."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, statistics: Any) -> Tensor:
        running_mean, running_var, training, momentum, eps = statistics
        out, mean, deviation = torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias)
        width = weight.size(1) if training else 0
        for r in range(x.size(0)):
            torch.native_batch_norm(
                x[r], weight[r], bias[r], running_mean[r], running_var[r], training, momentum, eps,
                out=(out[r], mean[r, :width], deviation[r, :width]),
            )  # fmt: skip
        ctx.save_for_backward(x, weight, mean, deviation)
        ctx.statistics = statistics
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        x, weight, mean, deviation = ctx.saved_tensors
        running_mean, running_var, training, _, eps = ctx.statistics
        to_x, to_weight, to_bias = (torch.empty_like(value) for value in (x, weight, weight))
        for r in range(x.size(0)):
            to_x[r], to_weight[r], to_bias[r] = torch.ops.aten.native_batch_norm_backward(
                g[r], x[r], weight[r], running_mean[r], running_var[r], mean[r], deviation[r],
                training, eps, [True, True, True],
            )  # fmt: skip
        return to_x, to_weight, to_bias, None


class StackedLayerNorm(nn.Module):
    """Layer norm with the scale and shift of each replica."""

    def __init__(self, norms: list[nn.LayerNorm]) -> None:
        super().__init__()
        self.eps = norms[0].eps
        self.weight = nn.Parameter(torch.stack([norm.weight.detach() for norm in norms]))
        self.bias = nn.Parameter(torch.stack([norm.bias.detach() for norm in norms]))

    def forward(self, x: Tensor) -> Tensor:  # (R, n, F)
        """Replica by replica."""
        shape = self.weight.shape[1:]
        parts = zip(x.unbind(), self.weight.unbind(), self.bias.unbind(), strict=True)
        return torch.stack(
            [nn.functional.layer_norm(x_r, shape, w, b, self.eps) for x_r, w, b in parts]
        )
