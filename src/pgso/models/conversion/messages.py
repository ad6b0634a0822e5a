"""Messages that depend on the edge, weighed by γ's entries: GATConv, GATv2Conv, GINEConv."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric import nn as pyg
from torch_geometric.utils import add_self_loops, remove_self_loops

from pgso.graph import Graph
from pgso.gso.formula import factors
from pgso.gso.parameters import PGSOParameters
from pgso.models.conversion.layer import (
    ADJACENCY,
    ATTENDED,
    WITH_SELF,
    Converted,
    converts,
    two_sets,
)
from pgso.models.conversion.reading import as_edges


def is_sampled(graph: Any) -> bool:
    """Whether it holds some of the neighbours only."""
    return isinstance(graph, Graph) and graph.sample is not None


def importance(graph: Graph, pairs: Tensor) -> Tensor:  # (E,)
    """How many edges each pair stands for; the pairs that are no self-loops are in its order."""
    assert graph.sample is not None
    counts = torch.ones_like(pairs[0], dtype=graph.dtype)
    no_loop = graph.pattern.row != graph.pattern.col
    counts[pairs[0] != pairs[1]] = graph.sample.importance[no_loop].to(graph.dtype)
    return counts


def whole_degree(graph: Graph, loops: float) -> Tensor:  # (n,)
    """How many edges each node has in the whole graph, self-loops counting ``loops``."""
    assert graph.sample is not None
    whole, nodes = graph.sample.graph, graph.sample.nodes
    assert whole.pattern.rowptr is not None
    degree = (whole.pattern.rowptr[nodes + 1] - whole.pattern.rowptr[nodes] - 1).to(graph.dtype)
    if whole.loops is not None:
        degree = degree + loops * (whole.loops[nodes] != 0)
    return degree.to(graph.device)


class _Weighed(Converted):
    """Messages times γ's entries on edges, plus γ's diagonal times the node's own features."""

    takes_pairs = True

    def coefficients(
        self,
        num_nodes: tuple[int, int],  # targets, sources
        one_set: bool,  # whether these are the same nodes
        pairs: Tensor,  # (2, E)
        attended: bool,  # whether the a on γ's diagonal goes to the messages of self-loops
        loops: float,  # A's weight of a self-loop
        graph: Any,  # what the pairs were read from
        empty: float = 1.0,  # the degree of nodes without edges, as in ``Reading``
    ) -> tuple[Tensor, Tensor]:  # (E, 1), (targets, 1)
        r""":math:`m_2 D_a^{e_2} A_a D_a^{e_3}` edge by edge, and :math:`m_1 D_a^{e_1} + m_3`."""
        source, target = pairs.unbind()
        S = self.gso.S.double()
        is_loop = source == target
        each = torch.ones_like(source, dtype=S.dtype)
        if one_set or attended:
            each = each.masked_fill(is_loop, loops)
        rows = each.new_zeros(num_nodes[0]).index_add(0, target, each)
        columns = None
        if not one_set:
            columns = each.new_zeros(num_nodes[1]).index_add(0, source, each)
            columns = torch.where(columns > 0, columns, empty)
        if is_sampled(graph):
            rows = whole_degree(graph, loops).to(S.dtype)
            each = each * importance(graph, pairs).to(S.dtype)
        found = factors(S.unbind(), torch.where(rows > 0, rows, empty), columns)
        diagonal = found.alpha
        if attended:
            each = torch.where(is_loop, each + found.a, each)
        elif one_set:
            diagonal = found.own
        entries = (found.outer[target] * each * found.right[source]).unsqueeze(1)
        if self.explain:
            entries = self.explain_message(entries, num_nodes[0])  # type: ignore[attr-defined]
        return entries, diagonal.unsqueeze(1)


class _Attention(_Weighed):
    r"""Attention :math:`\alpha` modulates the edges of γ, head by head (docs/conventions.md)."""

    nodes_along = 0
    add_self_loops: bool
    concat: bool
    bias: Tensor | None
    dropout: float
    edge_updater: Any
    fill_value: Any
    res: Any
    training: bool

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """A + I, attended to; A if the layer adds no self-loops."""
        return ATTENDED if layer.add_self_loops else ADJACENCY

    def edges(
        self, num_nodes: tuple[int, int], edge_index: Any, edge_attr: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The edges attended to, with fresh self-loops if the layer adds them."""
        pairs, _, _ = as_edges(*self.directed(edge_index, None))
        if self.add_self_loops:
            pairs, edge_attr = remove_self_loops(pairs, edge_attr)
            pairs, edge_attr = add_self_loops(pairs, edge_attr, self.fill_value, min(num_nodes))
        return pairs, edge_attr

    def attention(self, graph: Any, pairs: Tensor, num_nodes: int, **inputs: Any) -> Tensor:
        """PyG's coefficients (E, H); in a sampled graph they estimate those of all neighbours."""
        given = pairs if self.flow == "source_to_target" else pairs.flip(0)  # PyG turns them
        if not is_sampled(graph):
            alpha: Tensor = self.edge_updater(given, **inputs)
            return alpha
        dropout, self.dropout = self.dropout, 0.0  # it comes after the softmax, here too
        try:
            alpha = self.edge_updater(given, **inputs)
        finally:
            self.dropout = dropout
        counted = alpha * importance(graph, pairs).to(alpha.dtype).unsqueeze(1)
        sums = alpha.new_zeros(num_nodes, alpha.size(1)).index_add(0, pairs[1], counted)
        return functional.dropout(alpha / sums[pairs[1]], dropout, self.training)

    def propagate_heads(
        self,
        x: Tensor | None,  # (targets, in_channels)
        heads: tuple[Tensor, Tensor | None],  # (sources, H, C), (targets, H, C)
        num_nodes: tuple[int, int],
        one_set: bool,
        alpha: Tensor,  # (E, H)
        pairs: Tensor,  # (2, E)
        graph: Any,
        with_attention: bool | None,
    ) -> Any:  # (n, H * C) or (n, C), and if asked for the edges with their alpha
        """γ_att of the heads, joined as the layer joins them."""
        loops = 0.0 if self.add_self_loops else 1.0  # fresh self-loops are a's, not A's
        source, target = heads
        entries, diagonal = self.coefficients(
            num_nodes,
            one_set,
            pairs,
            attended=True,
            loops=loops,
            graph=graph,
            empty=loops,
        )
        weight = (alpha * entries).to(source.dtype).unsqueeze(-1)
        own = source.new_zeros(num_nodes[0], *source.shape[1:])
        if target is not None:
            own = target * diagonal.to(target.dtype).unsqueeze(-1)
        out = own.index_add(0, pairs[1], weight * source.index_select(0, pairs[0]))
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        if self.res is not None and x is not None:
            out = out + self.res(x)
        if self.bias is not None:
            out = out + self.bias
        if not with_attention:
            return out
        if isinstance(graph, Tensor) and graph.layout != torch.strided:  # as PyG: a matrix
            size = (num_nodes[0], num_nodes[1], alpha.size(1))
            return out, torch.sparse_coo_tensor(
                pairs.flip(0), alpha, size, check_invariants=False
            ).coalesce()
        return out, (pairs, alpha)


def both(num_nodes: int | tuple[int, int]) -> tuple[int, int]:
    """(targets, sources) of n nodes, or of two sets of them."""
    return num_nodes if isinstance(num_nodes, tuple) else (num_nodes, num_nodes)


@converts(pyg.GATConv)
class GATPGSO(_Attention, pyg.GATConv):
    """GAT's attention on the edges of γ."""

    def forward(
        self,
        x: Any,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        size: Any = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """As PyG's ``GATConv``; attention weights are those that γ's entries then multiply."""
        source, target, nodes = two_sets(x, size, self.flow)
        num_nodes, shape = both(nodes), (-1, self.heads, self.out_channels)
        pairs, edge_attr = self.edges(num_nodes, edge_index, edge_attr)
        lin = self.lin if self.lin is not None else self.lin_src
        heads = lin(source).view(shape)
        other = heads
        if target is not source or self.lin is None:
            lin = self.lin if self.lin is not None else self.lin_dst
            other = None if target is None else lin(target).view(shape)
        to_target = None if other is None else (other * self.att_dst).sum(dim=-1)
        logits = ((heads * self.att_src).sum(dim=-1), to_target)
        inputs = {"alpha": logits, "edge_attr": edge_attr, "size": num_nodes[::-1]}
        alpha = self.attention(edge_index, pairs, num_nodes[0], **inputs)
        return self.propagate_heads(
            target,
            (heads, other),
            num_nodes,
            target is source,
            alpha,
            pairs,
            edge_index,
            return_attention_weights,
        )


@converts(pyg.GATv2Conv)
class GATv2PGSO(_Attention, pyg.GATv2Conv):
    """GATv2's attention on the edges of γ."""

    def forward(
        self,
        x: Any,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """As PyG's ``GATv2Conv``; attention weights as for ``GATConv``."""
        source, target, nodes = two_sets(x, None, self.flow)
        num_nodes, shape = both(nodes), (-1, self.heads, self.out_channels)
        pairs, edge_attr = self.edges(num_nodes, edge_index, edge_attr)
        left = self.lin_l(source).view(shape)
        right = left
        if target is not source or not self.share_weights:
            right = None if target is None else self.lin_r(target).view(shape)
        inputs = {"x": (left, right), "edge_attr": edge_attr}
        alpha = self.attention(edge_index, pairs, num_nodes[0], **inputs)
        return self.propagate_heads(
            target,
            (left, left if target is source else right),
            num_nodes,
            target is source,
            alpha,
            pairs,
            edge_index,
            return_attention_weights,
        )


@converts(pyg.GINEConv)
class GINEPGSO(_Weighed, pyg.GINEConv):
    r"""γ's off-diagonal entries weigh the messages relu(x_j + e_ij), its diagonal the node itself.

    As in :class:`GINPGSO`, ε X is added and the MLP follows.
    """

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """A + I; eps stays where it is."""
        return WITH_SELF

    def forward(
        self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None
    ) -> Tensor:
        """As PyG's ``GINEConv``."""
        source, target, nodes = two_sets(x, size, self.flow)
        pairs, _, _ = as_edges(*self.directed(edge_index, None))
        num_nodes = both(nodes)
        entries, diagonal = self.coefficients(
            num_nodes, target is source, pairs, attended=False, loops=1.0, graph=edge_index
        )
        messages = self.message(source.index_select(-2, pairs[0]), edge_attr)
        size = (*messages.shape[:-2], num_nodes[0], messages.size(-1))
        out = messages.new_zeros(size)
        if target is not None:
            out = diagonal.to(target.dtype) * target
        out = out.index_add(-2, pairs[1], entries.to(messages.dtype) * messages)
        answer: Tensor = self.nn(out if target is None else out + self.eps * target)
        return answer
