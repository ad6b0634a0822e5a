"""Messages that depend on the edge, weighed by γ's entries: GATConv, GATv2Conv, GINEConv."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric import nn as pyg
from torch_geometric.utils import add_self_loops, remove_self_loops

from pgso.graph import Graph
from pgso.gso.dense import factors
from pgso.gso.parameters import PGSOParameters
from pgso.gso.presets import PRESETS
from pgso.models.conversion.layer import WITH_SELF, Converted, converts, one_set
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

    def coefficients(
        self,
        num_nodes: int,
        pairs: Tensor,  # (2, E)
        attended: bool,  # whether the a on γ's diagonal goes to the messages of self-loops
        loops: float,  # A's weight of a self-loop
        graph: Any,  # what the pairs were read from
        empty: float = 0.0,  # the degree of nodes without edges, as in ``Reading``
    ) -> tuple[Tensor, Tensor]:  # (E, 1), (n, 1)
        r""":math:`m_2 D_a^{e_2} A_a D_a^{e_3}` edge by edge, and :math:`m_1 D_a^{e_1} + m_3`."""
        source, target = pairs.unbind()
        S = self.gso.S if self.gso.S.dtype == torch.float64 else self.gso.S.float()
        *_, a = values = S.unbind()
        is_loop = source == target
        each = torch.ones_like(source, dtype=S.dtype).masked_fill(is_loop, loops)
        degree = each.new_zeros(num_nodes).index_add(0, target, each)
        if is_sampled(graph):
            degree = whole_degree(graph, loops).to(S.dtype)
            each = each * importance(graph, pairs).to(S.dtype)
        d_a = torch.where(degree > 0, degree, empty) + a
        left, right, diagonal = factors(values, d_a)
        if attended:
            each = torch.where(is_loop, each + a, each)
        else:
            diagonal = diagonal + left * right * a
        entries = (left[target] * each * right[source]).unsqueeze(1)
        if self.explain:
            entries = self.explain_message(entries, num_nodes)  # type: ignore[attr-defined]
        return entries, diagonal.unsqueeze(1)


class _Attention(_Weighed):
    r"""DESIGN decision 5: :math:`\alpha` modulates the edges of γ, head by head."""

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
        return WITH_SELF if layer.add_self_loops else PRESETS["adjacency"].as_floats()

    def edges(
        self, x: Any, edge_index: Any, edge_attr: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The edges attended to, with fresh self-loops if the layer adds them."""
        pairs, _, _ = as_edges(edge_index, None)
        if self.add_self_loops:
            pairs, edge_attr = remove_self_loops(pairs, edge_attr)
            pairs, edge_attr = add_self_loops(pairs, edge_attr, self.fill_value, x.size(0))
        return pairs, edge_attr

    def attention(self, graph: Any, pairs: Tensor, num_nodes: int, **inputs: Any) -> Tensor:
        """PyG's coefficients (E, H); in a sampled graph they estimate those of all neighbours."""
        if not is_sampled(graph):
            alpha: Tensor = self.edge_updater(pairs, **inputs)
            return alpha
        dropout, self.dropout = self.dropout, 0.0  # it comes after the softmax, here too
        try:
            alpha = self.edge_updater(pairs, **inputs)
        finally:
            self.dropout = dropout
        counted = alpha * importance(graph, pairs).to(alpha.dtype).unsqueeze(1)
        sums = alpha.new_zeros(num_nodes, alpha.size(1)).index_add(0, pairs[1], counted)
        return functional.dropout(alpha / sums[pairs[1]], dropout, self.training)

    def propagate_heads(
        self,
        x: Tensor,  # (n, in_channels)
        heads: Tensor,  # (n, H, C)
        alpha: Tensor,  # (E, H)
        pairs: Tensor,  # (2, E)
        graph: Any,
        with_attention: bool | None,
    ) -> Any:  # (n, H * C) or (n, C), and if asked for the edges with their alpha
        """γ_att of the heads, joined as the layer joins them."""
        loops = 0.0 if self.add_self_loops else 1.0  # fresh self-loops are a's, not A's
        n = heads.size(0)
        entries, diagonal = self.coefficients(
            n, pairs, attended=True, loops=loops, graph=graph, empty=loops
        )
        weight = (alpha * entries).to(heads.dtype).unsqueeze(-1)
        own = heads * diagonal.to(heads.dtype).unsqueeze(-1)
        out = own.index_add(0, pairs[1], weight * heads.index_select(0, pairs[0]))
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        if self.res is not None:
            out = out + self.res(x)
        if self.bias is not None:
            out = out + self.bias
        return (out, (pairs, alpha)) if with_attention else out


@converts(pyg.GATConv)
class GATPGSO(_Attention, pyg.GATConv):
    """GAT's attention on the edges of γ."""

    def forward(
        self,
        x: Tensor,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        size: Any = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """As PyG's ``GATConv``; attention weights are those that γ's entries then multiply."""
        x = one_set(x)
        pairs, edge_attr = self.edges(x, edge_index, edge_attr)
        heads = self.lin(x).view(-1, self.heads, self.out_channels)
        logits = ((heads * self.att_src).sum(dim=-1), (heads * self.att_dst).sum(dim=-1))
        inputs = {"alpha": logits, "edge_attr": edge_attr, "size": None}
        alpha = self.attention(edge_index, pairs, x.size(0), **inputs)
        return self.propagate_heads(x, heads, alpha, pairs, edge_index, return_attention_weights)


@converts(pyg.GATv2Conv)
class GATv2PGSO(_Attention, pyg.GATv2Conv):
    """GATv2's attention on the edges of γ."""

    def forward(
        self,
        x: Tensor,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """As PyG's ``GATv2Conv``; attention weights as for ``GATConv``."""
        x = one_set(x)
        pairs, edge_attr = self.edges(x, edge_index, edge_attr)
        left = self.lin_l(x).view(-1, self.heads, self.out_channels)
        right = left if self.share_weights else self.lin_r(x).view_as(left)
        inputs = {"x": (left, right), "edge_attr": edge_attr}
        alpha = self.attention(edge_index, pairs, x.size(0), **inputs)
        return self.propagate_heads(x, left, alpha, pairs, edge_index, return_attention_weights)


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
        self, x: Tensor, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None
    ) -> Tensor:
        """As PyG's ``GINEConv``."""
        x = one_set(x)
        pairs, _, _ = as_edges(edge_index, None)
        entries, diagonal = self.coefficients(
            x.size(-2), pairs, attended=False, loops=1.0, graph=edge_index
        )
        messages = entries.to(x.dtype) * self.message(x.index_select(-2, pairs[0]), edge_attr)
        out = (diagonal.to(x.dtype) * x).index_add(-2, pairs[1], messages)
        answer: Tensor = self.nn(out + self.eps * x)
        return answer
