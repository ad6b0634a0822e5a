"""Layers that add or average: SAGEConv, GraphConv, LEConv, GINConv, SimpleConv, RGCNConv."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric import nn as pyg
from torch_geometric.nn.dense.linear import Linear

from pgso.conversion.layer import (
    ADJACENCY,
    ATTENDED,
    MEAN,
    MEANS,
    SUMS,
    WITH_SELF,
    Converted,
    converts,
    one_set,
    two_sets,
)
from pgso.conversion.reading import Reading, as_edges, is_traced
from pgso.errors import InputError
from pgso.graph.memo import Memo, for_any_mode
from pgso.gso.parameters import PGSOParameters

_parts: Memo[Memo[dict[int, Tensor]]] = Memo()  # by edge_index, edge_type (docs/speed.md)


class SumOrMean(Converted):
    """A, or D^-1 A where D counts edges."""

    aggregations = ("add", "sum", "mean", "MeanAggregation()", "SumAggregation()")
    aggr: str

    @staticmethod
    def averages(layer: Any) -> bool:
        """Whether the layer divides by the number of edges."""
        return layer.aggr in ("mean", "MeanAggregation()")

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return MEAN if SumOrMean.averages(layer) else ADJACENCY

    @staticmethod
    def pair(source: Tensor, target: Tensor | None, nodes: int | tuple[int, int]) -> Any:
        """γ's input: a pair (sources, targets) between two sets of nodes, otherwise the sources.

        Targets whose width differs from the sources' have no place in γ's own terms.
        """
        if not isinstance(nodes, tuple):
            return source
        fits = target is not None and target.size(-1) == source.size(-1)
        return source, target if fits else None

    def shift_and_map(
        self,
        linear: Any,
        pair: Any,  # what γ is applied to, see ``pair``
        edge_index: Any,
        edge_weight: Tensor | None,
        nodes: int | tuple[int, int],
    ) -> Tensor:  # (..., targets, out_channels)
        """γ X W + b: γ and W commute, so the product is taken on the narrower side of W.

        A layer in W's place that is not PyG's ``Linear``, or has hooks, gets γ X as it is.
        """
        hooked = getattr(linear, "_forward_hooks", None) or linear._forward_pre_hooks
        if type(linear) is not Linear or hooked or linear.in_channels <= linear.out_channels:
            return linear(self.shift(pair, edge_index, edge_weight, num_nodes=nodes))
        parts = pair if isinstance(pair, tuple) else (pair,)
        mapped = [None if x is None else functional.linear(x, linear.weight) for x in parts]
        narrow: Any = tuple(mapped) if isinstance(pair, tuple) else mapped[0]
        out = self.shift(narrow, edge_index, edge_weight, num_nodes=nodes)
        out = out if linear.bias is None else out + linear.bias
        return out.to(mapped[0].dtype)  # type: ignore[union-attr]

    @property
    def reading(self) -> Reading:
        return MEANS if SumOrMean.averages(self) else SUMS  # a mean's degree counts edges


@converts(pyg.SAGEConv)
class SAGEPGSO(SumOrMean, pyg.SAGEConv):
    r""":math:`\gamma(A, \mathcal{S}) X W_l + b + X W_r`."""

    takes_pairs = True

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> Tensor:
        source, target, nodes = two_sets(x, size, self.flow, edge_index)
        sent = self.lin(source).relu() if self.project else source
        pair = self.pair(sent, target, nodes)
        out = self.shift_and_map(self.lin_l, pair, edge_index, None, nodes)
        if self.root_weight and target is not None:
            out = out + self.lin_r(target)
        return functional.normalize(out, p=2.0, dim=-1) if self.normalize else out


@converts(pyg.GraphConv)
class GraphPGSO(SumOrMean, pyg.GraphConv):
    r""":math:`\gamma(A, \mathcal{S}) X W_{rel} + b + X W_{root}`."""

    takes_pairs = True

    def forward(
        self, x: Any, edge_index: Any, edge_weight: Tensor | None = None, size: Any = None
    ) -> Tensor:
        source, target, nodes = two_sets(x, size, self.flow, edge_index)
        pair = self.pair(source, target, nodes)
        out = self.shift_and_map(self.lin_rel, pair, edge_index, edge_weight, nodes)
        return out if target is None else out + self.lin_root(target)


@converts(pyg.LEConv)
class LEPGSO(SumOrMean, pyg.LEConv):
    r""":math:`\gamma(A, \mathcal{S}) X W_1 - D X W_2 + X W_3`, with D as it is."""

    aggregations = Converted.aggregations

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        x = one_set(x, edge_index)
        sent = self.shift(self.lin1(x), edge_index, edge_weight)
        pairs, weight, _ = as_edges(*self.directed(edge_index, edge_weight))
        weights = torch.ones_like(pairs[1], dtype=x.dtype) if weight is None else weight.to(x.dtype)
        if self.explain:  # PyG masks the messages x_j W1 - x_i W2
            weights = weights * self.edge_mask().to(x.dtype)
        degree = x.new_zeros(x.size(-2)).index_add(0, pairs[1], weights).to(sent.dtype)
        return sent - degree.unsqueeze(-1) * self.lin2(x) + self.lin3(x)


@converts(pyg.GINConv)
class GINPGSO(SumOrMean, pyg.GINConv):
    r""":math:`\operatorname{MLP}(\gamma(A, \mathcal{S}) X + \varepsilon X)`, with γ from A + I."""

    aggregations = Converted.aggregations
    takes_pairs = True

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return WITH_SELF  # eps stays where it is, so that the layer's checkpoints fit

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> Tensor:
        source, target, nodes = two_sets(x, size, self.flow, edge_index)
        out = self.shift(self.pair(source, target, nodes), edge_index, num_nodes=nodes)
        return self.nn(out if target is None else out + self.eps * target)


@converts(pyg.SimpleConv)
class SimplePGSO(SumOrMean, pyg.SimpleConv):
    r""":math:`\gamma(A, \mathcal{S}) X`, and the targets beside it if they are concatenated.

    A sum with the targets and added self-loops are part of γ from the start: m3 = 1 and a = 1.
    """

    takes_pairs = True

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        S = SumOrMean.start(layer)
        if layer.combine_root == "self_loop":
            return ATTENDED if S == ADJACENCY else S._replace(a=1.0)
        return S._replace(m3=1.0) if layer.combine_root == "sum" else S

    @property
    def reading(self) -> Reading:
        if self.combine_root == "self_loop" and self.averages(self):
            return Reading(degree="count")  # no degree is 0
        return MEANS if self.averages(self) else SUMS

    def forward(
        self, x: Any, edge_index: Any, edge_weight: Tensor | None = None, size: Any = None
    ) -> Tensor:
        source, target, nodes = two_sets(x, size, self.flow, edge_index)
        if self.combine_root == "self_loop" and isinstance(nodes, tuple):
            raise InputError("self-loops join nodes of one set, and x is a pair; give one tensor")
        pair = self.pair(source, target, nodes)
        out = self.shift(pair, edge_index, edge_weight, num_nodes=nodes)
        if self.combine_root != "cat" or target is None:
            return out
        return torch.cat([target, out], dim=-1)


@converts(pyg.RGCNConv)
class RGCNPGSO(SumOrMean, pyg.RGCNConv):
    r""":math:`\sum_r \gamma(A_r, \mathcal{S}_r) X W_r + X W_0 + b`, one term per relation r."""

    nodes_along = 0
    takes_pairs = True
    can_share = False  # each relation has edges of its own

    @staticmethod
    def num_hops(layer: Any) -> int:
        """With ``operator="mpgso"`` every relation has an S, and a readable m2, of its own."""
        return int(layer.num_relations)

    def forward(self, x: Any, edge_index: Any, edge_type: Tensor | None = None) -> Tensor:
        """As PyG's ``RGCNConv``: x may be a pair, indices of embeddings, or None for all."""
        if edge_type is None:
            raise InputError("RGCNConv needs edge_type, the number of each edge's relation")
        source, target, nodes = self.inputs(x, edge_index)
        embeds = not source.is_floating_point()
        if embeds and self.num_blocks is not None:
            raise InputError("RGCNConv with num_blocks takes features, not indices")
        pairs, _, _ = as_edges(edge_index, None)
        out = torch.zeros(target.size(0), self.out_channels, device=target.device)  # PyG's type
        weights = self.weight  # (R, in, out), or (R, blocks, in / blocks, out / blocks)
        if self.num_bases is not None:
            mixed = self.comp @ weights.view(self.num_bases, -1)
            weights = mixed.view(self.num_relations, self.in_channels_l, self.out_channels)
        for kind, (gso, weight) in enumerate(zip(self.hops, weights, strict=True)):
            edges = self.part(pairs, edge_type, kind)
            mask = edge_type == kind if self.explain else None
            rows = self.pair(
                weight[source] if embeds else source, None if embeds else target, nodes
            )
            term = gso(rows, self.on(edges, None, nodes, gso, mask))  # type: ignore[arg-type]
            if self.num_blocks is not None:
                blocks = term.view(-1, weight.size(0), weight.size(1))
                term = torch.einsum("abc,bcd->abd", blocks, weight).flatten(1)
            elif not embeds:
                term = term @ weight
            out = out + term
        if self.root is not None:
            out = out + (target @ self.root if target.is_floating_point() else self.root[target])
        return out if self.bias is None else out + self.bias

    def inputs(self, x: Any, edge_index: Any) -> tuple[Tensor, Tensor, int | tuple[int, int]]:
        """Features or indices of sources and targets, and how many nodes there are."""
        every = torch.arange(self.in_channels_l, device=self.weight.device)
        if x is None:
            return every, every, every.numel()
        if isinstance(x, tuple) and x[0] is None:
            x = (every, x[1])
        parts = x if isinstance(x, tuple) else (x, x)
        columns = tuple(part if part.dim() > 1 else part.unsqueeze(-1) for part in parts)
        same = parts[0] is parts[1]
        _, _, nodes = two_sets(columns[0] if same else columns, None, self.flow, edge_index)
        return *parts, nodes

    def part(self, pairs: Tensor, edge_type: Tensor, kind: int) -> Tensor:  # (2, edges of it)
        """The edges of one relation, the same tensor for the same edges."""
        if is_traced():
            return pairs[:, edge_type == kind]
        by_kind = _parts.of(pairs, Memo).of(edge_type, dict)
        if kind not in by_kind:  # another layer may have fewer relations
            with for_any_mode(pairs, edge_type):
                by_kind[kind] = pairs[:, edge_type == kind]
        return by_kind[kind]
