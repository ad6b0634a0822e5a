"""Attention of all heads at once, on graphs that fit into the cache."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from pgso.convs.attention_steps import Scales, attention, modulated, with_diagonal
from pgso.graph import Graph, edge_dots, gradients_again, products
from pgso.graph.edge_values import collected, row_softmax


def attend_at_once(
    x: Tensor,  # (n, H, C)
    target: Tensor,  # (H, n) t
    source: Tensor,  # (H, n) s
    scales: Scales,
    graph: Graph,
    slope: float,
    kept: Tensor | None = None,  # (nnz, H) what dropout multiplies the coefficients with
) -> Tensor:  # (n, H, C)
    """γ_att x of every head; differentiable in all but A.

    It takes the steps of :mod:`pgso.convs.attention_steps` in the same order, so values and
    gradients have the same digits. Autograd calls a dozen functions for these steps. On a batch of
    small graphs their calls take longer than their work: a layer takes half the time here.
    """
    out: Tensor = _AttendAtOnce.apply(x, target, source, *scales, graph, slope, kept)
    return out


class _AttendAtOnce(torch.autograd.Function):
    """As :func:`attend_at_once`. The derivatives of its derivatives are those of the steps."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *inputs: Any) -> Tensor:
        target, source, left, right, alpha, a, graph, slope, kept = inputs
        pattern = graph.pattern
        logits = target.t().contiguous().index_select(0, pattern.row)
        logits += source.t().contiguous().index_select(0, pattern.col)
        coefficients = row_softmax(graph, leaky_relu(logits, slope))
        dropped = coefficients if kept is None else coefficients * kept
        # A + Diag(a) is formed on the diagonal alone: elsewhere an unweighted graph has 1.
        A, share = graph.entries.to(a.dtype), dropped.index_select(0, pattern.diagonal)
        A_a = A.index_select(0, pattern.diagonal).unsqueeze(1) + a.t()
        entries = dropped if graph.weight is None else dropped * A.unsqueeze(1)
        entries = entries.index_copy(0, pattern.diagonal, share * A_a)
        x_right = _column(right) * x
        v = products(graph, entries, x_right)
        steps = (logits, coefficients, kept, share, A_a, entries, x_right, v)
        ctx.save_for_backward(x, target, source, left, right, alpha, a, *steps)
        ctx.graph, ctx.slope = graph, slope
        return (_column(alpha) * x).add_(_column(left) * v)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,), graph, learns = grads, ctx.graph, ctx.needs_input_grad
        if torch.is_grad_enabled():
            return *_differentiable(ctx, g), None, None, None
        x, _, _, left, right, alpha, _, *steps = ctx.saved_tensors
        logits, coefficients, kept, share, A_a, entries, x_right, v = steps
        to_alpha = (g * x).sum(dim=2).t() if learns[5] else None
        to_left = (g * v).sum(dim=2).t() if learns[3] else None
        g_left = g * _column(left)
        to_entries = edge_dots(g_left, x_right, graph.pattern)
        to_x_right = products(graph, entries, g_left, transposed=True)
        to_right = (to_x_right * x).sum(dim=2).t() if learns[4] else None
        to_x = (g * _column(alpha)).add_(to_x_right.mul_(_column(right)))

        diagonal = graph.pattern.diagonal
        on_diagonal = to_entries.index_select(0, diagonal)
        to_a = (on_diagonal * share).t() if learns[6] else None
        if graph.weight is not None:
            to_entries *= graph.entries.to(x.dtype).unsqueeze(1)
        to_entries.index_copy_(0, diagonal, on_diagonal.mul_(A_a))
        if kept is not None:
            to_entries *= kept
        weighed = to_entries.mul_(coefficients)
        total = collected(graph, weighed).index_select(0, graph.pattern.row)
        to_leaky = weighed.sub_(total.mul_(coefficients))
        to_logits = torch.ops.aten.leaky_relu_backward(to_leaky, logits, ctx.slope, False)
        to_target = collected(graph, to_logits).t()
        to_source = collected(graph, to_logits, sources=True).t()
        return to_x, to_target, to_source, to_left, to_right, to_alpha, to_a, None, None, None


def _column(by_head: Tensor) -> Tensor:  # (H, n) -> (n, H, 1)
    return by_head.t().unsqueeze(2)


def _differentiable(ctx: Any, g: Tensor) -> list[Tensor | None]:
    """The gradients by operations whose derivatives have derivatives."""
    kept = ctx.saved_tensors[9]

    def compute(x: Tensor, target: Tensor, source: Tensor, *scales: Tensor) -> Tensor:
        coefficients = attention(target, source, ctx.graph, ctx.slope)
        dropped = coefficients if kept is None else coefficients * kept
        entries = dropped * with_diagonal(ctx.graph, scales[3])
        return modulated(x, entries, Scales(*scales), ctx.graph)

    return gradients_again(compute, ctx.saved_tensors[:7], ctx.needs_input_grad[:7], g)
