r"""GAT-PGSO: attention modulates the edges of the operator (docs/conventions.md).

.. math::
    \gamma_{att} = \operatorname{Diag}(\alpha) + m_2 \operatorname{Diag}(l)\,
    (att \circ (A + aI))\, \operatorname{Diag}(r), \qquad
    att_{ij} = \frac{e_{ij}}{\sum_{k \in \mathcal{N}(i) \cup \{i\}} e_{ik}}, \quad
    e_{ij} = \exp \operatorname{leaky}(t_i + s_j)

It is the factor form of :mod:`pgso.gso.node_shift` with attended values, head by head:
:func:`attention` and :func:`modulated`. On large graphs :func:`attend` needs less memory.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu
from torch_geometric.nn.inits import glorot

from pgso.convs.architecture import CONVS, Conv, OnGraph
from pgso.convs.sparse_features import Features, Linear, as_features, check_dropout, dense_dropout
from pgso.errors import InputError
from pgso.graph import (
    EdgeList,
    Graph,
    Pattern,
    is_eager,
    learns,
    product,
    row_dots,
    weighted_product,
)
from pgso.graph.edge_values import softmax_over_edges, source_values, target_values
from pgso.graph.inputs import check_rows
from pgso.gso.module import PGSO
from pgso.gso.node_shift import ChannelShift, NodeShift
from pgso.gso.operator import ShiftOperator

IN_CACHE = 2**20  # entries of all heads that are quicker to handle at once


@CONVS.register("gat")
class GATConv(Conv):
    r"""Graph attention with a learnable shift operator, head by head.

    .. math::
        \gamma_{att} = m_1 D_a^{e_1} + m_2 D_a^{e_2} (\alpha \circ A_a) D_a^{e_3} + m_3 I_n

    :math:`\alpha_{ij}` is GAT's softmax over :math:`\mathcal{N}(v_i) \cup \{v_i\}`. With the
    preset ``"gat"`` and ``learn=False`` this is PyG's ``GATConv`` (on a graph without self-loops
    of its own, which stay in A here and are replaced there).

    Args:
        in_channels: Features per node, or -1 to find out on first use.
        out_channels: Features per node and head of the result.
        gso: The operator, which layers may share; by default a learned one of its own.
        heads: The number of heads.
        concat: Whether heads are concatenated, or averaged.
        negative_slope: Of the leaky ReLU on the attention logits.
        dropout: Of the attention coefficients.
        bias: Whether to add a bias.
    """

    preset = "gat"
    attends = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        gso: PGSO | str | None = None,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, gso)
        if heads < 1:
            raise InputError(f"heads must be at least 1, got {heads}")
        if self.gso.kind == "channel":
            raise InputError('attention takes an operator per head, shape=("head", H), not channel')
        check_dropout("dropout", dropout)
        self.heads, self.concat = heads, concat
        self.negative_slope, self.dropout = negative_slope, dropout
        self.lin = Linear(
            in_channels, heads * out_channels, bias=False, weight_initializer="glorot"
        )
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        width = heads * out_channels if concat else out_channels
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        self.reset_parameters()

    @classmethod
    def layer(
        cls,
        in_channels: int,
        out_channels: int,
        gso: Any,
        to_output: bool,
        heads: int = 1,
        attention_dropout: float = 0.0,
        **options: Any,
    ) -> "GATConv":
        """Heads share the width of a hidden layer, and are averaged in the output layer."""
        options["dropout"] = attention_dropout
        if to_output:
            return cls(in_channels, out_channels, gso, heads=heads, concat=False, **options)
        if heads < 1:
            raise InputError(f"heads must be 1 or more, got {heads}")
        if out_channels % heads:
            raise InputError(
                f"{heads} heads cannot share {out_channels} hidden channels: "
                f"choose a multiple of {heads}"
            )
        return cls(in_channels, out_channels // heads, gso, heads=heads, **options)

    def reset_parameters(self) -> None:
        """Draw new weights; the operator goes back to where it started."""
        super().reset_parameters()
        glorot(self.att_src)
        glorot(self.att_dst)

    def forward(
        self,
        x: Features,  # (n, in_channels)
        edge_index: OnGraph,
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # (n, heads * out_channels), or (n, out_channels) if heads are averaged
        """Transform, attend, propagate each head with its own weights on the operator's edges."""
        x = as_features(x)
        if isinstance(x, Tensor) and x.dim() != 2:
            raise InputError(f"attention takes features of shape (n, F), got {tuple(x.shape)}")
        if self.explain:  # the mask belongs on the attended edges, once
            operator = self.gso.on(edge_index, edge_weight, False, x.size(-2))  # type: ignore[arg-type]
        else:
            (operator,) = self.on(x, edge_index, edge_weight)
        check_rows(x, operator.shape[1], operator.device)  # type: ignore[arg-type]
        hidden = self.lin(x)
        by_head = hidden.view(-1, self.heads, self.out_channels)
        scales = scales_of(operator, self.heads, hidden.dtype)
        graph: Any = operator.graph  # type: ignore[attr-defined]
        target, source = self.scores(hidden)
        dropout = self.dropout if self.training else 0.0
        if is_large(graph, by_head) and dropout == 0 and not self.explain:
            out = attend(by_head, target, source, scales, graph, self.negative_slope)
        else:
            alpha = attention(target, source, graph, self.negative_slope)
            alpha = dense_dropout(alpha, dropout, True)
            if self.explain:
                alpha = self.masked(alpha, graph, edge_index)
            out = modulated(by_head, alpha * with_diagonal(graph, scales.a), scales, graph)
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return out if self.bias is None else out + self.bias

    def scores(self, hidden: Tensor) -> tuple[Tensor, Tensor]:  # (n, H * C) -> (H, n), (H, n)
        """What each node contributes to the logits of its edges, as their target and source."""
        by_head = torch.cat([self.att_dst, self.att_src]).transpose(1, 2)  # (2, C, H)
        weight = (
            torch.diag_embed(by_head, dim1=1, dim2=2).flatten(2).flatten(0, 1)
        )  # block diagonal
        target, source = (weight @ hidden.t()).view(2, self.heads, -1).unbind()
        return target, source


class Scales(NamedTuple):
    """The vectors in γ_att x = α ∘ x + left ∘ (att ∘ (A + Diag(a))) (right ∘ x), each (H, n)."""

    left: Tensor  # m2 D_a^e2
    right: Tensor  # D_a^e3
    alpha: Tensor  # m1 D_a^e1 + m3, as in pgso.gso.formula (not the attention)
    a: Tensor


def scales_of(operator: ShiftOperator, heads: int, dtype: torch.dtype) -> Scales:
    """The vectors of an operator with one S, an S per node or an S per head."""
    if not isinstance(operator, (NodeShift, ChannelShift)):
        raise InputError(f"attention needs γ itself, not a {type(operator).__name__}")
    if isinstance(operator, ChannelShift) and operator.S.size(-1) not in (1, heads):  # type: ignore[union-attr]
        raise InputError(f"attention has {heads} heads, the operator {operator.S.size(-1)}")  # type: ignore[union-attr]
    by_node = operator.factors(dtype)
    parts = (by_node.outer, by_node.right, by_node.alpha, by_node.a)
    by_head = (part.t() if part.dim() == 2 else part for part in parts)
    return Scales(*(part.to(dtype).expand(heads, operator.shape[0]) for part in by_head))


def attention(
    target: Tensor,  # (H, n) t
    source: Tensor,  # (H, n) s
    graph: Graph | EdgeList,
    slope: float,
) -> Tensor:  # (nnz, H)
    """α of every entry and head."""
    logits = target_values(graph, target.t()) + source_values(graph, source.t())
    logits = leaky_relu(logits, slope)
    if isinstance(graph, Graph):
        return softmax_over_edges(graph, logits)
    # Edges are not merged there, but α is a softmax over nodes: each counts once.
    copies = _copies(graph).to(logits.dtype).unsqueeze(1)
    return copies * softmax_over_edges(graph, logits - copies.log())


def modulated(
    x: Tensor,  # (n, H, C)
    entries: Tensor,  # (nnz, H) α ∘ (A + Diag(a))
    scales: Scales,
    graph: Graph | EdgeList,
) -> Tensor:  # (n, H, C)
    """γ_att x; differentiable in all."""
    left, right, alpha = (part.t().unsqueeze(2) for part in scales[:3])
    return alpha * x + left * weighted_product(graph, entries, right * x)


def with_diagonal(graph: Graph | EdgeList, a: Tensor) -> Tensor:  # (H, n) -> (nnz, H)
    """A + Diag(a) with the a of each head."""
    A = graph.entries.to(a.dtype).unsqueeze(1).expand(-1, a.size(0))
    return A.index_add(0, graph.pattern.diagonal, a.t())


def _copies(edges: EdgeList) -> Tensor:  # (E + n,)
    """How often each entry's pair of nodes occurs among the entries."""
    pair = edges.pattern.row * edges.num_nodes + edges.pattern.col
    ordered = pair.sort().values
    first, after = (torch.searchsorted(ordered, pair, right=right) for right in (False, True))
    return (after - first).to(edges.dtype)


def is_large(graph: Graph | EdgeList, x: Tensor) -> TypeGuard[Graph]:  # x: (n, H, C)
    """Whether :func:`attend` is right: for many edges, constant and all there."""
    if not is_eager():
        return False
    if not isinstance(graph, Graph) or graph.pattern.row.numel() * x.size(1) <= IN_CACHE:
        return False
    if graph.sample is not None or x.dtype not in (torch.float32, torch.float64):
        return False
    return graph.weight is None or not learns(graph.weight)


def attend(
    x: Tensor,  # (n, H, C)
    target: Tensor,  # (H, n) t
    source: Tensor,  # (H, n) s
    scales: Scales,
    graph: Graph,
    slope: float,
) -> Tensor:  # (n, H, C)
    """γ_att x of every head; differentiable in all but A.

    The fast form of :func:`attention` and :func:`modulated`, for a constant A. Edges hold numbers
    of one head at a time, which are read from a vector over nodes that stays in the cache. No
    gradient per edge is formed: with l' the slope of the leaky ReLU and δ the slope of the softmax,
    dL/dt_i = Σ_j α_ij l'_ij (g_i · x_j + δ_i) is a dot product of g with a row of (α ∘ l') x, and
    dL/ds of x with one of (α ∘ l')ᵀ g.
    """
    left, right, alpha, a = scales
    if graph.weight is None:  # A is 1 on all of the pattern but its diagonal
        a = a - 1 if graph.loops is None else a - 1 + graph.loops.to(a.dtype)
    out: Tensor = _Attend.apply(x, target, source, left, right, alpha, a, graph, slope)
    return out


class _Attend(torch.autograd.Function):
    """As :func:`attend`; on an unweighted graph A is 1 on the diagonal too, and a less by 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *inputs: Any) -> Tensor:
        *by_head, graph, slope = inputs
        out = torch.empty_like(x)
        statistics = []
        for h, (t, s, left, right, alpha, a) in enumerate(zip(*by_head, strict=True)):
            e, largest = _exponentials(graph.pattern, _logits(graph.pattern, t, s), slope)
            total = product(graph.pattern, e, torch.ones_like(t).unsqueeze(1)).flatten()
            v = product(graph.pattern, _weighted(e, graph), x[:, h] * right.unsqueeze(1))
            v.div_(total.unsqueeze(1))
            share = leaky_relu(t + s, slope).sub_(largest).exp_().div_(total)  # α_ii
            diagonal = alpha + left * right * a * share
            part = torch.mul(x[:, h], diagonal.unsqueeze(1), out=out[:, h])
            part.addcmul_(v, left.unsqueeze(1))
            statistics += [v, largest, total, share]
        ctx.graph, ctx.slope = graph, slope
        ctx.save_for_backward(x, *by_head, *statistics)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,), graph, slope = grads, ctx.graph, ctx.slope
        x, *saved = ctx.saved_tensors
        by_head, statistics = saved[:6], saved[6:]
        if torch.is_grad_enabled():  # by operations whose derivatives have derivatives
            needed = ctx.needs_input_grad[:7]
            # Taken as they are, although one may have been made of another.
            inputs = [value.view_as(value) for value in (x, *by_head)]
            learned = [value for value, yes in zip(inputs, needed, strict=True) if yes]
            out = _differentiable(inputs[0], inputs[1:], graph, slope)
            found = iter(torch.autograd.grad(out, learned, grad, create_graph=True))
            return *(next(found) if yes else None for yes in needed), None, None

        to_x = torch.empty_like(x)
        to_heads = tuple(torch.empty_like(part) for part in by_head)
        to_target, to_source, to_left, to_right, to_own, to_a = to_heads
        for h, (t, s, left, right, alpha, a) in enumerate(zip(*by_head, strict=True)):
            v, largest, total, share = statistics[4 * h : 4 * h + 4]
            x_h, g = x[:, h].contiguous(), grad[:, h].contiguous()
            q, p = row_dots(g, x_h), row_dots(g, v)
            self_term = left * right * share
            to_own[h], to_a[h] = q, self_term * q
            to_left[h] = p + a * right * share * q
            to_share = a * self_term * q  # dL/dα_ii α_ii
            delta = (left * p + to_share).neg_().div_(total).unsqueeze(1)

            z = _logits(graph.pattern, t, s)
            e, _ = _exponentials(graph.pattern, leaky_relu(z, slope), 1.0, largest)
            # The sign says on which side of the bend a logit is: e ∘ l' is found from one array.
            signed = torch.where(z > 0, e, -e)
            turned = signed.index_select(0, graph.transposition)
            bent, bent_t = leaky_relu(signed, -slope), leaky_relu(turned, -slope)
            e_t = turned.abs_()
            x_right, g_left = x_h * right.unsqueeze(1), g * (left / total).unsqueeze(1)

            to_x_right = product(graph.transposed, _weighted(e_t, graph, True), g_left)
            to_right[h] = row_dots(x_h, to_x_right) + a * left * share * q
            part = torch.mul(g, (alpha + a * self_term).unsqueeze(1), out=to_x[:, h])
            part.addcmul_(to_x_right, right.unsqueeze(1))

            direct = torch.where(t + s > 0, to_share, slope * to_share)
            forth = product(graph.pattern, _weighted(bent, graph), x_right)
            ones = product(graph.pattern, bent, torch.ones_like(delta))
            to_target[h] = row_dots(g_left, forth) + (ones * delta).flatten() + direct
            back = product(graph.transposed, _weighted(bent_t, graph, True), g_left)
            deltas = product(graph.transposed, bent_t, delta)
            to_source[h] = row_dots(x_right, back) + deltas.flatten() + direct
        return to_x, *to_heads, None, None


def _logits(pattern: Pattern, t: Tensor, s: Tensor) -> Tensor:  # (n,), (n,) -> (nnz,)
    return s.index_select(0, pattern.col).add_(t.index_select(0, pattern.row))


def _exponentials(
    pattern: Pattern,
    logits: Tensor,  # (nnz,) overwritten
    slope: float,
    largest: Tensor | None = None,  # (n,) of each row
) -> tuple[Tensor, Tensor]:
    """e^(leaky(logit) - largest), and the largest leaky(logit) of each row."""
    logits = leaky_relu(logits, slope, inplace=True)
    if largest is None:
        assert pattern.rowptr is not None
        largest = torch.segment_reduce(logits, "max", offsets=pattern.rowptr.long())
    return logits.sub_(largest.index_select(0, pattern.row)).exp_(), largest


def _weighted(values: Tensor, graph: Graph, transposed: bool = False) -> Tensor:
    """Times A's entries. In an unweighted graph they are 1, on the diagonal too."""
    if graph.weight is None:
        return values
    weight = graph.weight.to(values.dtype)
    if transposed and not graph.is_undirected:
        weight = weight.index_select(0, graph.transposition)
    return values * weight


def _differentiable(x: Tensor, by_head: Sequence[Tensor], graph: Graph, slope: float) -> Tensor:
    """What :class:`_Attend` computes, by operations whose derivatives have derivatives."""
    target, source, *scales = by_head
    A = x.new_ones(graph.pattern.row.numel()) if graph.weight is None else graph.weight.to(x.dtype)
    A_a = A.unsqueeze(1).repeat(1, x.size(1)).index_add(0, graph.pattern.diagonal, scales[3].t())
    entries = attention(target, source, graph, slope) * A_a
    return modulated(x, entries, Scales(*scales), graph)
