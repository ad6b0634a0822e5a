"""Attention on the edges of the operator: all heads at once, or on large graphs one by one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeGuard

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from pgso.convs.sparse_features import dense_dropout
from pgso.errors import InputError
from pgso.graph import (
    EdgeList,
    Graph,
    Pattern,
    edge_dots,
    gradients_again,
    is_transformed,
    learns,
    product,
    products,
    row_dots,
    turn,
    weighted_product,
)
from pgso.graph.edge_values import (
    collected,
    row_softmax,
    softmax_over_edges,
    source_values,
    target_values,
)
from pgso.graph.product import IN_CACHE
from pgso.gso.channels import ChannelShift
from pgso.gso.node_shift import EntryShift, NodeShift, OnPattern
from pgso.gso.operator import ShiftOperator

Change = Callable[[Tensor], Tensor]


class Scales(NamedTuple):
    """The vectors in γ_att x = α ∘ x + left ∘ (att ∘ (A + Diag(a))) (right ∘ x), each (H, n)."""

    left: Tensor  # m2 D_a^e2
    right: Tensor  # D_a^e3
    alpha: Tensor  # m1 D_a^e1 + m3, as in pgso.gso.formula (not the attention)
    a: Tensor


class AttendedShift(OnPattern):
    r"""γ with attention on its edges, head by head (docs/conventions.md, GAT-PGSO).

    .. math::
        \gamma_{att} = \operatorname{Diag}(\alpha) + m_2 \operatorname{Diag}(l)\,
        (att \circ (A + aI))\, \operatorname{Diag}(r), \qquad
        att_{ij} = \frac{e_{ij}}{\sum_{k \in \mathcal{N}(i) \cup \{i\}} e_{ik}}, \quad
        e_{ij} = \exp \operatorname{leaky}(t_i + s_j)

    It multiplies features of shape (n, H, C).

    Args:
        operator: γ, with one S, an S per node or an S per head.
        target: t of each head, (H, n).
        source: s of each head, (H, n).
        slope: Of the leaky ReLU.
        dropout: The share of attention coefficients that is dropped.
        changes: What is done to the attention coefficients, (nnz, H), after that.
    """

    operator: ShiftOperator
    target: Tensor
    source: Tensor
    slope: float
    dropout: float
    changes: tuple[Change, ...]

    def __init__(
        self,
        operator: ShiftOperator,
        target: Tensor,
        source: Tensor,
        slope: float,
        dropout: float = 0.0,
        changes: tuple[Change, ...] = (),
    ) -> None:
        if not isinstance(operator, (NodeShift, ChannelShift)):
            raise InputError(f"attention needs γ itself, not a {type(operator).__name__}")
        heads = target.size(0)
        if isinstance(operator, ChannelShift) and operator.S.size(-1) not in (1, heads):
            raise InputError(f"attention has {heads} heads, the operator {operator.S.size(-1)}")
        self._set(operator=operator, graph=operator.graph, shape=operator.shape)
        self._set(device=operator.device, target=target, source=source, slope=slope)
        self._set(dropout=dropout, changes=changes)

    def changed(self, change: Change) -> "AttendedShift":
        """The same with one more change to its coefficients."""
        inputs = (self.operator, self.target, self.source, self.slope, self.dropout)
        return AttendedShift(*inputs, (*self.changes, change))

    def times(self, x: Any) -> Tensor:  # (n, H, C) -> (n, H, C)
        """γ_att x of every head; differentiable in all but A."""
        self._check(x.transpose(0, 1), self.shape[1])
        scales, graph = self._scales(x.dtype), self.graph
        if not self.changes and _is_constant(graph, x):
            inputs = (x, self.target, self.source, scales, graph, self.slope)
            if graph.pattern.row.numel() * x.size(1) > IN_CACHE:
                if self.dropout == 0:
                    return attend(*inputs)
            elif x.numel() > 0:
                return attend_at_once(*inputs, self._kept(x.dtype))
        return modulated(x, self._attended(scales.a), scales, graph)

    def _kept(self, dtype: torch.dtype) -> Tensor | None:  # (nnz, H)
        """What dropout multiplies each coefficient with."""
        if self.dropout == 0:
            return None
        size = (self.graph.pattern.row.numel(), self.target.size(0))
        ones = torch.ones((), dtype=dtype, device=self.device).expand(size)
        return dense_dropout(ones, self.dropout, True)

    def _matmul(self, x: Tensor) -> Tensor:
        return self.times(x)

    def _scales(self, dtype: torch.dtype) -> "Scales":
        """α, m2 l, r and a of every head."""
        factors = self.operator.factors(torch.promote_types(dtype, torch.float32))  # type: ignore[attr-defined]
        size = (self.target.size(0), self.graph.num_nodes)
        parts = (factors.outer, factors.right, factors.alpha, factors.a)
        by_head = (part.t() if part.dim() == 2 else part for part in parts)
        return Scales(*(part.to(dtype).expand(size) for part in by_head))

    def _attended(self, a: Tensor) -> Tensor:  # (nnz, H)
        """Att ∘ (A + aI) with the a of each head."""
        coefficients = attention(self.target, self.source, self.graph, self.slope)
        coefficients = dense_dropout(coefficients, self.dropout, True)
        for change in self.changes:
            coefficients = change(coefficients)
        return coefficients * with_diagonal(self.graph, a)

    def entries(self, dtype: torch.dtype | None = None) -> Tensor:  # (nnz, H)
        """The entries of each head's matrix."""
        left, right, alpha, a = self._scales(self.target.dtype)
        pattern = self.graph.pattern
        entries = left.t().index_select(0, pattern.row) * self._attended(a)
        entries = entries * right.t().index_select(0, pattern.col)
        return entries.index_add(0, pattern.diagonal, alpha.t()).to(self._dtype(dtype))

    @property
    def T(self) -> EntryShift:
        """The transpose of each head's matrix."""
        return EntryShift(self._graph().T, turn(self.entries(), self._graph()))


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


def _is_constant(graph: Graph | EdgeList, x: Tensor) -> TypeGuard[Graph]:
    """Whether the gradients are written by hand: those of a whole graph with constant edges."""
    if torch.compiler.is_compiling() or is_transformed():
        return False
    if x.dtype not in (torch.float32, torch.float64):
        return False
    constant = graph.weight is None or not learns(graph.weight)
    return isinstance(graph, Graph) and graph.sample is None and constant


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
        if torch.is_grad_enabled():

            def compute(x: Tensor, *by_head: Tensor) -> Tensor:
                return _differentiable(x, by_head, graph, slope)

            needed = ctx.needs_input_grad[:7]
            return *gradients_again(compute, (x, *by_head), needed, grad), None, None

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

    It takes the steps of :func:`attention` and :func:`modulated` in the same order, so values and
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
            return *_gradients_again(ctx, g), None, None, None
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


def _gradients_again(ctx: Any, g: Tensor) -> list[Tensor | None]:
    """The gradients by operations whose derivatives have derivatives."""
    kept = ctx.saved_tensors[9]

    def compute(x: Tensor, target: Tensor, source: Tensor, *scales: Tensor) -> Tensor:
        coefficients = attention(target, source, ctx.graph, ctx.slope)
        dropped = coefficients if kept is None else coefficients * kept
        entries = dropped * with_diagonal(ctx.graph, scales[3])
        return modulated(x, entries, Scales(*scales), ctx.graph)

    return gradients_again(compute, ctx.saved_tensors[:7], ctx.needs_input_grad[:7], g)


def attention(
    target: Tensor,  # (H, n)
    source: Tensor,  # (H, n)
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
