"""Layers with attention, which γ's entries multiply: GATConv, GATv2Conv, TransformerConv."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric import nn as pyg
from torch_geometric.utils import add_self_loops, remove_self_loops, softmax

from pgso.conversion.layer import ADJACENCY, ATTENDED, converts, two_sets
from pgso.conversion.messages import Weighed, both, importance, is_sampled
from pgso.gso.parameters import PGSOParameters


class _Attention(Weighed):
    r"""Attention :math:`\alpha` modulates the edges of γ, head by head (docs/conventions.md)."""

    nodes_along = 0

    def of_all_neighbours(
        self,
        alpha: Tensor,  # (E, H)
        graph: Any,
        pairs: Tensor,  # (2, E)
        num_nodes: int,
    ) -> Tensor:  # (E, H)
        """In a sampled graph: an estimate of the coefficients among all neighbours."""
        if not is_sampled(graph):
            return alpha
        counted = alpha * importance(graph, pairs).to(alpha.dtype).unsqueeze(1)
        sums = alpha.new_zeros(num_nodes, alpha.size(1)).index_add(0, pairs[1], counted)
        return alpha / sums[pairs[1]]

    def weigh_heads(
        self,
        messages: Tensor,  # (E, H, C)
        targets: Tensor | None,  # (targets, H, C)
        num_nodes: tuple[int, int],
        one_set: bool,
        alpha: Tensor,  # (E, H)
        pairs: Tensor,  # (2, E)
        graph: Any,
        loops: float = 1.0,  # A's weight of a self-loop
    ) -> Tensor:  # (targets, H, C)
        """γ_att of the heads."""
        # Between two sets only the self-loops that PyG itself adds are a's.
        attended = one_set or loops == 0.0
        entries, diagonal = self.coefficients(
            num_nodes, one_set, pairs, attended=attended, loops=loops, graph=graph, empty=loops
        )
        messages = (alpha * entries).to(messages.dtype).unsqueeze(-1) * messages
        out = messages.new_zeros(num_nodes[0], *messages.shape[1:])
        if targets is not None:
            out = targets * diagonal.to(targets.dtype).unsqueeze(-1)
        return out.index_add(0, pairs[1], messages.to(out.dtype))


class _WithLoops(_Attention):
    """GAT's way: self-loops are added, and a residual may be."""

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
        turned = self.flow != "source_to_target"
        pairs = self.pairs(edge_index)
        if self.add_self_loops:
            pairs = pairs.flip(0) if turned else pairs  # PyG fills loops before it turns edges
            pairs, edge_attr = remove_self_loops(pairs, edge_attr)
            pairs, edge_attr = add_self_loops(pairs, edge_attr, self.fill_value, min(num_nodes))
            pairs = pairs.flip(0) if turned else pairs
        return pairs, edge_attr

    def attention(self, graph: Any, pairs: Tensor, num_nodes: int, **inputs: Any) -> Tensor:
        """PyG's coefficients (E, H), with their dropout."""
        given = pairs if self.flow == "source_to_target" else pairs.flip(0)  # PyG turns them
        if not is_sampled(graph):
            alpha: Tensor = self.edge_updater(given, **inputs)
            return alpha
        dropout, self.dropout = self.dropout, 0.0  # it comes after the softmax, here too
        try:
            alpha = self.edge_updater(given, **inputs)
        finally:
            self.dropout = dropout
        alpha = self.of_all_neighbours(alpha, graph, pairs, num_nodes)
        return functional.dropout(alpha, dropout, self.training)

    def attended(
        self,
        x: Any,
        size: Any,
        edge_index: Any,
        edge_attr: Tensor | None,
        with_attention: bool | None,
    ) -> Any:  # (n, H * C) or (n, C), and if asked for the edges with their alpha
        """γ_att of the heads, joined as the layer joins them."""
        source, target, nodes = two_sets(x, size, self.flow, edge_index)
        num_nodes = both(nodes)
        pairs, edge_attr = self.edges(num_nodes, edge_index, edge_attr)
        heads, other, inputs = self.heads_of(source, target, num_nodes)
        alpha = self.attention(edge_index, pairs, num_nodes[0], edge_attr=edge_attr, **inputs)
        out = self.weigh_heads(
            heads.index_select(0, pairs[0]),
            other,
            num_nodes,
            target is source,
            alpha,
            pairs,
            edge_index,
            loops=0.0 if self.add_self_loops else 1.0,  # fresh self-loops are a's, not A's
        )
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        if self.res is not None and target is not None:
            out = out + self.res(target)
        if self.bias is not None:
            out = out + self.bias
        if not with_attention:
            return out
        if isinstance(edge_index, Tensor) and edge_index.layout != torch.strided:
            # As PyG: a matrix, and its values.
            matrix = torch.sparse_coo_tensor(
                pairs.flip(0), alpha, (*num_nodes, alpha.size(1)), check_invariants=False
            ).coalesce()
            return out, (matrix, matrix.values())
        return out, (pairs if self.flow == "source_to_target" else pairs.flip(0), alpha)

    def heads_of(
        self, source: Tensor, target: Tensor | None, num_nodes: tuple[int, int]
    ) -> tuple[Tensor, Tensor | None, dict[str, Any]]:
        """Source and target features by head, and what PyG's attention is computed from."""
        raise NotImplementedError


@converts(pyg.GATConv)
class GATPGSO(_WithLoops, pyg.GATConv):
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
        return self.attended(x, size, edge_index, edge_attr, return_attention_weights)

    def heads_of(
        self, source: Tensor, target: Tensor | None, num_nodes: tuple[int, int]
    ) -> tuple[Tensor, Tensor | None, dict[str, Any]]:
        """GAT: logits are sums of what both ends say."""
        shape = (-1, self.heads, self.out_channels)
        lin = self.lin if self.lin is not None else self.lin_src
        heads = lin(source).view(shape)
        other = heads
        if target is not source or self.lin is None:
            lin = self.lin if self.lin is not None else self.lin_dst
            other = None if target is None else lin(target).view(shape)
        to_target = None if other is None else (other * self.att_dst).sum(dim=-1)
        logits = ((heads * self.att_src).sum(dim=-1), to_target)
        return heads, other, {"alpha": logits, "size": num_nodes[::-1]}


@converts(pyg.GATv2Conv)
class GATv2PGSO(_WithLoops, pyg.GATv2Conv):
    """GATv2's attention on the edges of γ."""

    def forward(
        self,
        x: Any,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """As PyG's ``GATv2Conv``; attention weights as for ``GATConv``."""
        return self.attended(x, None, edge_index, edge_attr, return_attention_weights)

    def heads_of(
        self, source: Tensor, target: Tensor | None, num_nodes: tuple[int, int]
    ) -> tuple[Tensor, Tensor | None, dict[str, Any]]:
        """GATv2: logits are of what both ends say together."""
        del num_nodes
        shape = (-1, self.heads, self.out_channels)
        left = self.lin_l(source).view(shape)
        right = left
        if target is not source or not self.share_weights:
            right = None if target is None else self.lin_r(target).view(shape)
        return left, left if target is source else right, {"x": (left, right)}


@converts(pyg.TransformerConv)
class TransformerPGSO(_Attention, pyg.TransformerConv):
    """Scaled dot-product attention on the edges of γ, whose diagonal acts on the values.

    Targets of another width than the sources have no values: γ has no diagonal there.
    """

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """A: the layer adds no self-loops."""
        del layer
        return ADJACENCY

    def forward(
        self,
        x: Any,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """As PyG's ``TransformerConv``; attention weights as for ``GATConv``."""
        source, target, nodes = two_sets(x, None, self.flow, edge_index)
        assert target is not None, "without targets there are no queries, in PyG neither"
        num_nodes, shape = both(nodes), (-1, self.heads, self.out_channels)
        pairs = self.pairs(edge_index)
        queries, keys = self.lin_query(target).view(shape), self.lin_key(source).view(shape)
        values = root_values = self.lin_value(source).view(shape)
        if target is not source:
            fits = target.size(-1) == source.size(-1)
            root_values = self.lin_value(target).view(shape) if fits else None
        sent_keys, sent_values = keys[pairs[0]], values[pairs[0]]
        if self.lin_edge is not None:
            features = self.lin_edge(edge_attr).view(shape)
            sent_keys, sent_values = sent_keys + features, sent_values + features
        elif edge_attr is not None:  # PyG adds it to the values as it is
            sent_values = sent_values + edge_attr
        logits = (queries[pairs[1]] * sent_keys).sum(dim=-1) / math.sqrt(self.out_channels)
        alpha = softmax(logits, pairs[1], num_nodes=num_nodes[0])
        alpha = self.of_all_neighbours(alpha, edge_index, pairs, num_nodes[0])
        out = self.weigh_heads(
            sent_values,
            root_values,
            num_nodes,
            target is source,
            functional.dropout(alpha, self.dropout, self.training),
            pairs,
            edge_index,
        )
        out = self.joined(out, target)
        if return_attention_weights is None:  # PyG asks whether it was given, not for its value
            return out
        return out, (edge_index, alpha)

    def joined(self, out: Tensor, targets: Tensor) -> Tensor:  # (n, H * C) or (n, C)
        """The heads side by side or their mean, and the target's own features."""
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        if not self.root_weight:
            return out
        root: Tensor = self.lin_skip(targets)
        if self.lin_beta is None:
            return out + root
        beta = self.lin_beta(torch.cat([out, root, out - root], dim=-1)).sigmoid()
        mixed: Tensor = beta * root + (1 - beta) * out
        return mixed
