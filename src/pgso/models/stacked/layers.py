"""Linear maps with weights per replica. A replica computes as if alone, to the digit."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from pgso.convs.architecture import OnGraph, transform_and_propagate
from pgso.convs.gcn import GCNConv
from pgso.convs.sparse_features import Features, SparseTimesDense
from pgso.graph.reach import Reach
from pgso.models.gnn import Layer
from pgso.models.stacked.layout import Layout
from pgso.models.stacked.products import TINY, ProductsOneByOne, RaggedBias, rounds_alike


class StackedLinear(nn.Module):
    """X_r W_rᵀ + b_r for every replica r, as :class:`pgso.convs.sparse_features.Linear` for one.

    Dense features are (R, n, in), or (N, in) if replicas have different numbers of rows. Sparse
    features come as copies along a diagonal, one for each replica. For them the weights are
    stored as (R, in, out), as their product needs them.
    """

    reach: Reach | None = None
    layout: Layout

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
        return self.plus_bias(self.times_weight(x))

    def plus_bias(self, out: Tensor) -> Tensor:
        """Out + b."""
        return out if self.bias is None else plus_bias(out, self.bias, self.layout)

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
        sizes = self.layout.sizes_of(x)
        if sizes is None and self._in_one_call(x):
            out: Tensor = _Products.apply(x, self.weight, onto, self.reach)
        else:
            out = ProductsOneByOne.apply(x, self.weight, onto, sizes)
        return out

    def _in_one_call(self, x: Tensor) -> bool:
        shape = (self.in_channels, self.out_channels)
        return rounds_alike(*shape) and x.size(1) * math.prod(shape) >= TINY


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
    layout: Layout

    def forward(  # noqa: D102
        self, x: Features, edge_index: OnGraph, edge_weight: Tensor | None = None
    ) -> Tensor:
        out = transform_and_propagate(x, edge_index, edge_weight, self.operators, self.lin)
        if self.bias is None:
            return out
        if self.reach is None or not torch.is_grad_enabled():
            return plus_bias(out, self.bias, self.layout)
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


def plus_bias(out: Tensor, bias: Tensor, layout: Layout) -> Tensor:
    """Out + b, in the memory of ``out`` where no gradients are wanted.

    A new array would cost as much as a product.
    """
    sizes = layout.sizes_of(out)
    if sizes is None:
        return out + bias if torch.is_grad_enabled() else out.add_(bias)
    if not torch.is_grad_enabled():
        for part, bias_r in zip(out.split(sizes), bias.unbind(), strict=True):
            part.add_(bias_r)
        return out
    added: Tensor = RaggedBias.apply(out, bias, sizes)
    return added


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
