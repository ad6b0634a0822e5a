"""Attention by operations that torch knows: any entries, any derivative, not fast."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from pgso.graph import EdgeList, Graph, weighted_product
from pgso.graph.edge_values import softmax_over_edges, source_values, target_values


class Scales(NamedTuple):
    """The vectors in γ_att x = α ∘ x + left ∘ (att ∘ (A + Diag(a))) (right ∘ x), each (H, n)."""

    left: Tensor  # m2 D_a^e2
    right: Tensor  # D_a^e3
    alpha: Tensor  # m1 D_a^e1 + m3, as in pgso.gso.formula (not the attention)
    a: Tensor


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
