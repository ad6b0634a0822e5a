"""Layers with attention, which γ's entries multiply: GATConv, GATv2Conv, TransformerConv."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric import nn as pyg
from torch_geometric.utils import add_self_loops, remove_self_loops, softmax

from pgso.conversion.layer import ADJACENCY, ATTENDED, converts
from pgso.conversion.messages import Ends, Weighed, importance, is_sampled
from pgso.conversion.reading import Handed, is_sparse
from pgso.gso.parameters import PGSOParameters


class _Attention(Weighed):
    r"""Attention :math:`\alpha` modulates the edges of γ, head by head (docs/conventions.md)."""

    nodes_along = 0
    add_self_loops = False
    concat: bool
    dropout: float
    fill_value: Any
    heads: int
    out_channels: int
    training: bool

    def attended(
        self, x: Any, size: Any, edge_index: Any, edge_attr: Tensor | None
    ) -> tuple[Tensor, Ends, Tensor]:
        """γ_att of the heads, side by side or their mean; the edges; and their α."""
        ends, edge_attr = self.ends(x, size, edge_index, edge_attr)
        if self.add_self_loops:  # PyG fills loops before it turns edges
            turned = self.flow != "source_to_target"
            pairs, edge_attr = remove_self_loops(
                ends.pairs.flip(0) if turned else ends.pairs, edge_attr
            )
            count = min(ends.num_nodes)
            pairs, edge_attr = add_self_loops(pairs, edge_attr, self.fill_value, count)
            ends = ends._replace(pairs=pairs.flip(0) if turned else pairs)
        messages, own, alpha, acts = self.attend(ends, edge_attr)
        loops = 0.0 if self.add_self_loops else 1.0  # fresh self-loops are a's, not A's
        out = self.weigh(messages, own, ends, acts, loops)
        return out.flatten(1) if self.concat else out.mean(dim=1), ends, alpha

    def attend(
        self,
        ends: Ends,
        edge_attr: Tensor | None,  # (E, D)
    ) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
        """Messages (E, H, C), targets (n, H, C), and α (E, H) as PyG returns it and as it acts."""
        raise NotImplementedError

    def of_all_neighbours(self, alpha: Tensor, ends: Ends) -> Tensor:
        """α (E, H); in a sampled graph an estimate of it among all neighbours."""
        if not is_sampled(ends.graph):
            return alpha
        counted = alpha * importance(ends.graph, ends.pairs).to(alpha.dtype).unsqueeze(1)
        sums = alpha.new_zeros(ends.num_nodes[0], alpha.size(1))
        return alpha / sums.index_add(0, ends.pairs[1], counted)[ends.pairs[1]]

    def by_head(self, values: Tensor) -> Tensor:  # (n, H * C) -> (n, H, C)
        """Each head's channels."""
        return values.view(-1, self.heads, self.out_channels)


class _WithLoops(_Attention):
    """GAT's way: self-loops may be added, and a residual; PyG's own code finds α."""

    bias: Tensor | None
    edge_updater: Any
    res: Any

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return ATTENDED if layer.add_self_loops else ADJACENCY

    def attend(
        self, ends: Ends, edge_attr: Tensor | None
    ) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
        heads, other, inputs = self.heads_of(ends)
        given = ends.pairs if self.flow == "source_to_target" else ends.pairs.flip(0)
        dropout, sampled = self.dropout, is_sampled(ends.graph)
        vars(self)["dropout"] = 0.0 if sampled else dropout  # it comes after the softmax, see below
        try:
            alpha = self.edge_updater(given, edge_attr=edge_attr, **inputs)
        finally:
            vars(self)["dropout"] = dropout
        if sampled:
            alpha = self.of_all_neighbours(alpha, ends)
            alpha = functional.dropout(alpha, dropout, self.training)
        return heads.index_select(0, ends.pairs[0]), other, alpha, alpha

    def heads_of(self, ends: Ends) -> tuple[Tensor, Tensor | None, dict[str, Any]]:
        """Source and target features by head, and what PyG's attention is computed from."""
        raise NotImplementedError

    def finished(
        self, x: Any, size: Any, edge_index: Any, edge_attr: Tensor | None, with_alpha: bool | None
    ) -> Any:  # (n, H * C) or (n, C), and if asked for the edges with their α
        """The heads joined, with residual and bias."""
        out, ends, alpha = self.attended(x, size, edge_index, edge_attr)
        if self.res is not None and ends.target is not None:
            out = out + self.res(ends.target)
        if self.bias is not None:
            out = out + self.bias
        if not with_alpha:
            return out
        if is_sparse(edge_index):  # as PyG: a matrix, and its values
            shape = (*edge_index.shape[:2], alpha.size(1))
            matrix = torch.sparse_coo_tensor(
                ends.pairs.flip(0), alpha, shape, check_invariants=False
            )
            matrix = matrix.coalesce()
            return out, (matrix, matrix.values())
        return out, (ends.pairs if self.flow == "source_to_target" else ends.pairs.flip(0), alpha)


@converts(pyg.GATConv)
class GATPGSO(_WithLoops, pyg.GATConv):
    """GAT's attention on the edges of γ; logits are sums of what both ends say.

    Attention weights that it returns are those that γ's entries then multiply.
    """

    def forward(
        self,
        x: Any,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        size: Any = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        return self.finished(x, size, edge_index, edge_attr, return_attention_weights)

    def heads_of(self, ends: Ends) -> tuple[Tensor, Tensor | None, dict[str, Any]]:
        one, other = (self.lin_src, self.lin_dst) if self.lin is None else (self.lin, self.lin)
        heads = self.by_head(one(ends.source))
        targets: Tensor | None = heads
        if not ends.one_set or self.lin is None:
            targets = None if ends.target is None else self.by_head(other(ends.target))
        to_target = None if targets is None else (targets * self.att_dst).sum(dim=-1)
        logits = ((heads * self.att_src).sum(dim=-1), to_target)
        return heads, targets, {"alpha": logits, "size": ends.num_nodes[::-1]}


@converts(pyg.GATv2Conv)
class GATv2PGSO(_WithLoops, pyg.GATv2Conv):
    """GATv2's attention on the edges of γ; logits are of what both ends say together."""

    def forward(
        self,
        x: Any,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        return self.finished(x, None, edge_index, edge_attr, return_attention_weights)

    def heads_of(self, ends: Ends) -> tuple[Tensor, Tensor | None, dict[str, Any]]:
        left = self.by_head(self.lin_l(ends.source))
        right: Tensor | None = left
        if not ends.one_set or not self.share_weights:
            right = None if ends.target is None else self.by_head(self.lin_r(ends.target))
        return left, left if ends.one_set else right, {"x": (left, right)}


@converts(pyg.TransformerConv)
class TransformerPGSO(_Attention, pyg.TransformerConv):
    """Scaled dot-product attention on the edges of γ, whose diagonal acts on the values.

    Targets of another width than the sources have no values: γ has no diagonal there.
    """

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return ADJACENCY

    def forward(
        self,
        x: Any,
        edge_index: Any,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        out, ends, alpha = self.attended(x, None, edge_index, edge_attr)
        if self.root_weight:
            root = self.lin_skip(ends.target)
            if self.lin_beta is None:
                out = out + root
            else:
                beta = self.lin_beta(torch.cat([out, root, out - root], dim=-1)).sigmoid()
                out = beta * root + (1 - beta) * out
        if return_attention_weights is None:  # PyG asks whether it was given, not for its value
            return out
        return out, (edge_index.given if isinstance(edge_index, Handed) else edge_index, alpha)

    def attend(
        self, ends: Ends, edge_attr: Tensor | None
    ) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
        source, target, (sends, receives), num_nodes, _ = ends
        assert target is not None, "without targets there are no queries, in PyG neither"
        queries = self.by_head(self.lin_query(target))
        keys = self.by_head(self.lin_key(source))[sends]
        values = self.by_head(self.lin_value(source))
        own: Tensor | None = values
        if not ends.one_set:
            fits = target.size(-1) == source.size(-1)
            own = self.by_head(self.lin_value(target)) if fits else None
        values = values[sends]
        if self.lin_edge is not None:
            features = self.by_head(self.lin_edge(edge_attr))
            keys, values = keys + features, values + features
        elif edge_attr is not None:  # PyG adds it to the values as it is
            values = values + edge_attr
        logits = (queries[receives] * keys).sum(dim=-1) / math.sqrt(self.out_channels)
        alpha = softmax(logits, receives, num_nodes=num_nodes[0])
        alpha = self.of_all_neighbours(alpha, ends)
        return values, own, alpha, functional.dropout(alpha, self.dropout, self.training)
