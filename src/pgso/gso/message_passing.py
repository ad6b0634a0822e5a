"""Equation (2), fast: γ(A, S) x by one sparse product, with exact gradients in S."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pgso.graph import EdgeList, Graph, as_graph, product, row_dots, weighted_product
from pgso.graph.checks import check_features, check_rows
from pgso.gso.evaluation import Evaluation, evaluation_of
from pgso.gso.one_pass import shared
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
    """γ(A, S) x and its gradients, where A is a constant: see :func:`_node_gradients`."""

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
        z, by_node = _node_gradients(ctx, *grads)
        S = ctx.saved_tensors[0]
        return z, None if by_node is None else _gradients_of_S(ctx, S, by_node), None, None


class _PropagateNumbers(torch.autograd.Function):
    """The same where S is known in numbers: what depends on S alone is computed once for all.

    Functions without ``setup_context`` are not for ``torch.func``, but calling them takes less than
    half the time, which is what counts for small graphs.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        factors: Tensor | None,  # through which S gets its gradient
        S: Tensor,
        graph: Graph,
        transposed: bool,
        evaluation: Evaluation,
    ) -> Tensor:
        ctx.graph, ctx.transposed, ctx.evaluation = graph, transposed, evaluation
        out = _evaluated_product(x, graph, transposed, evaluation)
        if factors is not None:
            ctx.save_for_backward(S, x, out)
        else:
            ctx.save_for_backward(S)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return *_node_gradients(ctx, *grads), None, None, None, None


class _NodeFactors(torch.autograd.Function):
    """The way from S to α, μ and ν of :func:`_node_gradients`, whose values no one looks at.

    Layers that share S share them too, so that the gradients of S are summed once for all layers.
    """

    @staticmethod
    def forward(ctx: Any, S: Tensor, graph: Graph, transposed: bool, known: Evaluation) -> Tensor:
        ctx.graph, ctx.transposed, ctx.evaluation = graph, transposed, known
        ctx.S = S  # not saved: activation checkpointing would count how often
        return S.new_empty(3, graph.num_nodes)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return _gradients_of_S(ctx, ctx.S, *grads), None, None, None


def _node_gradients(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor | None]:  # (n, F), (3, n)
    """The gradients of x and of what S does to each node, if S learns.

    With γ = Diag(α) + Diag(μ) D^e2 A_a D^e3 Diag(ν), where α = m1 D^e1 + m3, μ = m2 and ν = 1, and
    with y = γ x and z = γᵀ g, the gradients of α, μ and ν are dot products of rows,

        q = g · x,   p = g · (D^e2 A_a D^e3 x) = (g · y - α q) / m2,   r = x · z - α q,

    and no gradient per edge is ever formed. The product with γᵀ is one with γ where e2 and e3 are
    exchanged, on the transposed pattern, so that it is differentiable in its turn.
    """
    S, *features = ctx.saved_tensors
    if not features:
        return _times_transpose(g, S, ctx), None

    x, y = features
    known = _evaluation_in(ctx, S)
    m2 = known.S[1]
    q = row_dots(g, x).to(S.dtype)
    if _stands_out(known, x.dtype):
        z = _times_transpose(g, S, ctx)
        alpha_q = known.alpha * q
        p = known.powers.masked(row_dots(g, y).to(S.dtype) - alpha_q) / m2
        r = known.powers.masked(row_dots(x, z).to(S.dtype) - alpha_q)
    else:  # the differences above would be rounding errors: build the parts instead
        unit = torch.cat([S.new_tensor([0.0, 1.0, 0.0]), S[3:]])
        z = _times(g, _transpose(unit), ctx.graph, not ctx.transposed)
        p = row_dots(g, _times(x, unit, ctx.graph, ctx.transposed)).to(S.dtype)
        r = m2 * row_dots(x, z).to(S.dtype)
        z = (known.alpha.unsqueeze(1) * g + m2 * z).to(g.dtype)
    return z, torch.stack([q, p, r])


def _gradients_of_S(ctx: Any, S: Tensor, by_node: Tensor) -> Tensor:  # (3, n) -> (7,)
    """The gradients of S from those of α, μ and ν: sums over nodes.

    d/de of d^e is d^e log d, and d/da of it is e d^e / d, for each of the three powers.
    """
    known = _evaluation_in(ctx, S)
    m1, m2, _, e1, e2, e3, _ = known.S
    sums = numbers((known.derivative_rows() @ by_node.t()).flatten())  # (7 * 3,)
    grad_m3, grad_m1, log_q, D1_q_by_d, D2_D3_q, _, _ = sums[0::3]
    grad_m2, *_, log_p, p_by_d = sums[1::3]
    *_, grad_e3, r_by_d = sums[2::3]
    grad_a = e1 * m1 * D1_q_by_d + m2 * e2 * p_by_d + e3 * r_by_d + m2 * D2_D3_q
    found = [grad_m1, grad_m2, grad_m3, m1 * log_q, m2 * log_p, grad_e3, grad_a]
    return _vector(found, S)


def _evaluation_in(ctx: Any, S: Tensor) -> Evaluation:
    """That of the forward pass, unless a gradient is to be had of what is computed with it."""
    if ctx.evaluation is None or torch.is_grad_enabled():
        return Evaluation(ctx.graph, S, ctx.transposed)
    evaluation: Evaluation = ctx.evaluation
    return evaluation


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
    _, factors, evaluation = shared(
        (id(S), graph, transposed), lambda: _known(S, graph, transposed)
    )
    if not torch.is_grad_enabled():
        return _evaluated_product(x, graph, transposed, evaluation)
    out: Tensor = _PropagateNumbers.apply(x, factors, S, graph, transposed, evaluation)
    return out


def _known(S: Tensor, graph: Graph, transposed: bool) -> tuple[Tensor, Tensor | None, Evaluation]:
    """All about γ; it holds S, so that no other tensor can be taken for it by its address."""
    evaluation = evaluation_of(graph, S, transposed)
    factors = None
    if S.requires_grad and torch.is_grad_enabled():
        factors = _NodeFactors.apply(S, graph, transposed, evaluation)
    return S, factors, evaluation


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
