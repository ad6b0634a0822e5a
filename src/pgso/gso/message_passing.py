"""Equation (2), fast: γ(A, S) x by one sparse product, with exact gradients in S."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pgso.graph import EdgeList, Graph, as_graph, product, row_dots, weighted_product
from pgso.graph.checks import check_features, check_rows
from pgso.gso.evaluation import Evaluation, evaluation_of
from pgso.gso.parameters import Scalar
from pgso.gso.powers import numbers
from pgso.gso.presets import resolve
from pgso.gso.shapes import check_vector, is_vector
from pgso.gso.vector_products import propagate_vectors


def apply_pgso(
    x: Tensor,  # (n, F), (n,) or (..., n, F)
    graph: Graph | Tensor,
    S: str | Sequence[Scalar] | Tensor,
    edge_weight: Tensor | None = None,  # (E,), with an edge_index only
) -> Tensor:  # of x's shape
    r"""The PGSO times features, Equation (2).

    .. math::
        (\gamma(A, \mathcal{S}) x)_i = m_1 (D_a)_i^{e_1} x_i
        + m_2 \sum_j (D_a)_i^{e_2} (A_a)_{ij} (D_a)_j^{e_3} x_j + m_3 x_i

    Costs O(E F) time and no buffer per edge and feature. Where d_i + a ≤ 0 the power is 0, and so
    is its gradient. Differentiable in x, in S, and in the edge weights if they ask for it.

    Args:
        x: Node features.
        graph: A :class:`Graph`, an ``edge_index`` of shape (2, E) or a sparse A.
        S: Seven floats or 0-d tensors, a tensor of shape (7,), or the name of a preset; or a tensor
            of shape (7, n, 1) for a value per node, (7, 1, F) for a value per channel.
        edge_weight: Weights of the edges of an ``edge_index``.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> apply_pgso(torch.tensor([1., 2., 4.]), path, "laplacian")
        tensor([-1., -1.,  2.])
    """
    if not torch.compiler.is_compiling() and not is_vector(S):
        S = resolve(S)
    prepared = graph_for(x, graph, edge_weight)
    return propagate(x, prepared, _as_vector(S, x))


def graph_for(
    x: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None = None
) -> Graph | EdgeList:
    """The prepared graph that goes with x, both checked; while tracing, the edges as they are."""
    if torch.compiler.is_compiling():
        if isinstance(graph, Graph):
            check_rows(x, graph.num_nodes, graph.device)
            return graph
        return EdgeList.of(graph, edge_weight, x.size(0) if x.dim() == 1 else x.size(-2))
    prepared = as_graph(graph, edge_weight, check_features(x))
    check_rows(x, prepared.num_nodes, prepared.device)
    return prepared


def propagate(x: Tensor, graph: Graph | EdgeList, S: Tensor) -> Tensor:
    """:func:`apply_pgso` without its checks: S is a tensor, the graph is prepared."""
    if S.dim() == 3:
        flat = _flatten(x)
        width = 1 if x.dim() == 1 else x.size(-1)
        check_vector(S, graph.num_nodes, width)
        if S.size(-1) > 1:
            S = S.repeat(1, 1, flat.size(1) // width)
        return _unflatten(propagate_vectors(flat, graph, S), x)
    learned_edges = graph.weight is not None and graph.weight.requires_grad
    if learned_edges or not isinstance(graph, Graph):
        return times_entries(pgso_entries(graph, S).to(x.dtype), graph, x)
    return _unflatten(_times(_flatten(x), S, graph, False), x)


def times_entries(
    entries: Tensor,  # (nnz,)
    graph: Graph | EdgeList,
    x: Tensor,  # (n, F), (n,) or (..., n, F)
) -> Tensor:  # of x's shape
    """The matrix with these entries on the graph's pattern, times x; differentiable in both."""
    return _unflatten(weighted_product(graph, entries, _flatten(x)), x)


def pgso_entries(
    graph: Graph | EdgeList,
    S: Tensor,  # (7,), or (7, n) unless transposed
    transposed: bool = False,
) -> Tensor:  # (nnz,)
    """γ's own entries on the pattern of A + I, in S's precision; differentiable in S and weights.

    With ``transposed``, the matrix is m1 D^e1 + m2 D^e2 Aᵀ_a D^e3 + m3 I on the transposed pattern.
    """
    return Evaluation(graph, S, transposed).entries(graph)


class _Propagate(torch.autograd.Function):
    """γ(A, S) x and its gradients, where A is a constant.

    With q, p, r the row-wise dot products of the incoming gradient g and of x with the parts of γ,

        q = g · x,   p = m2 D^e2 g · (A_a D^e3 x) = g · y - α q,   r = x · (γᵀ g) - α q,
        α = m1 D^e1 + m3,

    the gradients of S are sums over nodes: no gradient per edge is ever formed. The backward pass
    is one product with γᵀ, which is γ with e2 and e3 exchanged on the transposed pattern, so that
    it is differentiable in its turn.
    """

    @staticmethod
    def forward(x: Tensor, S: Tensor, graph: Graph, transposed: bool) -> Tensor:
        pattern = graph.transposed if transposed else graph.pattern
        return product(pattern, pgso_entries(graph, S, transposed), x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, S, ctx.graph, ctx.transposed = inputs
        ctx.evaluation = None
        if ctx.needs_input_grad[1]:
            ctx.save_for_backward(S, x, output)
        else:  # a fixed operator keeps nothing of the size of x alive
            ctx.save_for_backward(S)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        S, *features = ctx.saved_tensors
        if not features:
            return _times_transpose(g, S, ctx), None, None, None

        x, y = features
        known = ctx.evaluation
        if known is None or torch.is_grad_enabled():
            known = Evaluation(ctx.graph, S, ctx.transposed)
        m1, m2, _, e1, e2, e3, _ = known.S
        q = row_dots(g, x).to(S.dtype)
        if _stands_out(known, x.dtype):
            z = _times_transpose(g, S, ctx)
            alpha_q = known.alpha * q
            p = known.powers.masked(row_dots(g, y).to(S.dtype) - alpha_q)
            r = known.powers.masked(row_dots(x, z).to(S.dtype) - alpha_q)
            grad_m2 = None
        else:  # the differences above would be rounding errors: build the parts instead
            unit = torch.cat([S.new_tensor([0.0, 1.0, 0.0]), S[3:]])
            z = _times(g, _transpose(unit), ctx.graph, not ctx.transposed)
            p = row_dots(g, _times(x, unit, ctx.graph, ctx.transposed)).to(S.dtype)
            r = m2 * row_dots(x, z).to(S.dtype)
            p, grad_m2 = m2 * p, p.sum()
            z = (known.alpha.unsqueeze(1) * g + m2 * z).to(g.dtype)

        # d/de of d^e is d^e log d, and d/da of it is e d^e / d: for each of the three powers.
        sums = numbers((known.derivative_rows() @ torch.stack([q, p, r]).t()).flatten())  # (7 * 3,)
        grad_m3, grad_m1, log_q, D1_q_by_d, D2_D3_q, _, _ = sums[0::3]
        sum_p, *_, grad_e2, p_by_d = sums[1::3]
        *_, grad_e3, r_by_d = sums[2::3]
        if grad_m2 is None:
            grad_m2 = sum_p / m2
        grad_a = e1 * m1 * D1_q_by_d + e2 * p_by_d + e3 * r_by_d + m2 * D2_D3_q
        found = [grad_m1, grad_m2, grad_m3, m1 * log_q, grad_e2, grad_e3, grad_a]
        return z if ctx.needs_input_grad[0] else None, _vector(found, S), None, None


class _PropagateNumbers(torch.autograd.Function):
    """The same where S is known in numbers: what depends on S alone is computed once for all.

    A function without ``setup_context`` is not for ``torch.func``, but calling it takes less than
    half the time, which is what counts for small graphs.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, S: Tensor, graph: Graph, transposed: bool, evaluation: Evaluation
    ) -> Tensor:
        out = _evaluated_product(x, graph, transposed, evaluation)
        _Propagate.setup_context(ctx, (x, S, graph, transposed), out)
        ctx.evaluation = evaluation
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return *_Propagate.backward(ctx, *grads), None


def _evaluated_product(x: Tensor, graph: Graph, transposed: bool, evaluation: Evaluation) -> Tensor:
    pattern = graph.transposed if transposed else graph.pattern
    return product(pattern, evaluation.entries(graph), x)


def _vector(values: Sequence[Any], like: Tensor) -> Tensor:
    """Floats or 0-d tensors as one tensor."""
    if isinstance(values[0], float):
        return like.new_tensor([float(value) for value in values])
    return torch.stack([torch.as_tensor(value, dtype=like.dtype) for value in values])


def _times_transpose(g: Tensor, S: Tensor, ctx: Any) -> Tensor:
    """γᵀ g, on the other pattern than the forward pass."""
    graph, other = ctx.graph, not ctx.transposed
    if ctx.evaluation is None or torch.is_grad_enabled():
        return _times(g, _transpose(S), graph, other)
    pattern = graph.transposed if other else graph.pattern
    return product(pattern, ctx.evaluation.transposed_entries(graph), g)


def _times(x: Tensor, S: Tensor, graph: Graph, transposed: bool) -> Tensor:
    """γ x, or with ``transposed`` on the other pattern; recorded only if someone is watching."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        traced: Tensor = _Propagate.apply(x, S, graph, transposed)
        return traced
    evaluation = evaluation_of(graph, S, transposed)
    if not torch.is_grad_enabled():
        return _evaluated_product(x, graph, transposed, evaluation)
    out: Tensor = _PropagateNumbers.apply(x, S, graph, transposed, evaluation)
    return out


def _stands_out(evaluation: Evaluation, dtype: torch.dtype) -> bool:
    """Whether y - α x keeps enough digits of x's type to tell m2's part of γ x from it."""
    if torch.compiler.is_compiling():  # a traced program cannot look at m2
        return False
    limits = torch.finfo(dtype)
    part, alpha = evaluation.parts()
    return bool(part > limits.eps**0.2 * alpha + limits.tiny / limits.eps)


def _transpose(S: Tensor) -> Tensor:
    """The S of γᵀ: e2 and e3 change sides."""
    m1, m2, m3, e1, e2, e3, a = S.unbind()
    return torch.stack([m1, m2, m3, e1, e3, e2, a])


def _as_vector(S: Sequence[Scalar] | Tensor | str, x: Tensor) -> Tensor:
    """S as a tensor of shape (7,) in the precision that degrees are computed in."""
    if isinstance(S, str):
        S = resolve(S)
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    if not isinstance(S, Tensor):
        if not any(isinstance(value, Tensor) for value in S):
            return torch.tensor([*S], dtype=dtype, device=x.device)
        S = torch.stack([torch.as_tensor(value, dtype=dtype, device=x.device) for value in S])
    return S.to(device=x.device, dtype=dtype)


def _flatten(x: Tensor) -> Tensor:
    """Features with leading dimensions as (n, everything else): one product serves them all."""
    if x.dim() == 2:
        return x
    return x.unsqueeze(1) if x.dim() == 1 else x.movedim(-2, 0).flatten(1)


def _unflatten(out: Tensor, x: Tensor) -> Tensor:
    if x.dim() == 2:
        return out
    if x.dim() == 1:
        return out.squeeze(1)
    return out.reshape(x.size(-2), *x.shape[:-2], x.size(-1)).movedim(0, -2)
