"""Messages that depend on the edge, weighed by γ's entries.

GINEConv, PNAConv, and layers with attention: GATConv, GATv2Conv, TransformerConv.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric import nn as pyg
from torch_geometric.nn import aggr
from torch_geometric.utils import degree

from pgso.conversion.layer import (
    ADJACENCY,
    ATTENDED,
    MEAN,
    WITH_SELF,
    Converted,
    Handed,
    as_edges,
    converts,
    one_set,
    two_sets,
)
from pgso.errors import InputError
from pgso.gso.formula import factors
from pgso.gso.parameters import PGSOParameters


class Ends(NamedTuple):
    """Both ends of the edges that messages are sent along."""

    source: Tensor  # (..., sources, F)
    target: Tensor | None  # (..., targets, F); the same tensor if these are the same nodes
    pairs: Tensor  # (2, E) sources and targets, for both directions of flow
    num_nodes: tuple[int, int]  # targets, sources

    @property
    def one_set(self) -> bool:
        """Whether sources and targets are the same nodes."""
        return self.target is self.source


class Weighed(Converted):
    """Messages times γ's entries on edges, plus γ's diagonal times the node's own features."""

    takes_pairs = True
    can_share = False

    def ends(
        self, x: Any, size: Any, edge_index: Any, edge_attr: Tensor | None
    ) -> tuple[Ends, Tensor | None]:
        """The ends of the edges, in the order of the edge features, and these.

        As in PyG, a sparse A whose entries are vectors holds the edge features.
        """
        if getattr(edge_index, "sample", None) is not None:
            raise InputError(
                f"{type(self).__name__} weighs messages of the whole graph; sampled batches for it "
                "come from PyG's NeighborLoader"
            )
        source, target, nodes = two_sets(x, size, self.flow, edge_index)
        pairs, values, _ = as_edges(edge_index, None)
        if edge_attr is None and values is not None and values.dim() > 1:
            edge_attr = values
        if self.flow != "source_to_target":
            self.directed(edge_index, None)  # refuses what has no other direction
            pairs = pairs.flip(0)
        both = nodes if isinstance(nodes, tuple) else (nodes, nodes)
        return Ends(source, target, pairs, both), edge_attr

    def weigh(
        self,
        messages: Tensor,  # (..., E, F), or (E, H, C) along ``nodes_along``
        own: Tensor | None,  # (..., targets, F): what γ's diagonal acts on
        ends: Ends,
        attends: bool = False,
        loops: float = 1.0,  # A's weight of a self-loop
    ) -> Tensor:  # (..., targets, F)
        r""":math:`m_2 D_a^{e_2} (\alpha \circ A_a) D_a^{e_3}` on messages, plus the diagonal.

        The a on γ's diagonal is attended to like the edges where attention reaches self-loops:
        within one set of nodes, and between two sets where PyG adds some itself (``loops`` is 0).
        """
        (source, target), one_set = ends.pairs, ends.one_set
        attended = attends and (one_set or loops == 0.0)
        S = self.gso.S.double()
        is_loop = source == target
        weights = torch.ones_like(source, dtype=S.dtype)
        if one_set or attended:
            weights = weights.masked_fill(is_loop, loops)
        rows = weights.new_zeros(ends.num_nodes[0]).index_add(0, target, weights)
        columns = None
        if not one_set:
            columns = weights.new_zeros(ends.num_nodes[1]).index_add(0, source, weights)
            columns = torch.where(columns > 0, columns, loops)  # of nodes without edges
        scales = factors(S.unbind(), torch.where(rows > 0, rows, loops), columns)
        if attended:
            weights = torch.where(is_loop, weights + scales.a, weights)
        diagonal = scales.own if one_set and not attended else scales.alpha
        entries = scales.outer[target] * weights * scales.right[source]
        if self.explain:
            masked = self.explain_message(entries.unsqueeze(1), ends.num_nodes[0])  # type: ignore[attr-defined]
            entries = masked.squeeze(1)
        along = self.nodes_along
        rest = (1,) if along else (1, 1)  # features; or heads, or towers, and their features
        messages = entries.view(-1, *rest).to(messages.dtype) * messages
        if own is None:
            size = list(messages.shape)
            size[along] = ends.num_nodes[0]
            out = messages.new_zeros(size)
        else:
            out = diagonal.view(-1, *rest).to(own.dtype) * own
        return out.index_add(along, target, messages.to(out.dtype))


@converts(pyg.GINEConv)
class GINEPGSO(Weighed, pyg.GINEConv):
    r"""γ's off-diagonal entries weigh the messages relu(x_j + e_ij), its diagonal the node itself.

    As in :class:`GINPGSO`, ε X is added and the MLP follows.
    """

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return WITH_SELF  # eps stays where it is

    def forward(
        self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None
    ) -> Tensor:
        ends, edge_attr = self.ends(x, size, edge_index, edge_attr)
        messages = self.message(ends.source.index_select(-2, ends.pairs[0]), edge_attr)
        out, target = self.weigh(messages, ends.target, ends), ends.target
        return self.nn(out if target is None else out + self.eps * target)


SCALERS = {  # of a node's aggregate, by its degree d and the averages that the layer was made with
    "identity": lambda d, _: torch.ones_like(d),
    "amplification": lambda d, mean: (d + 1).log() / mean.avg_deg_log,
    "attenuation": lambda d, mean: mean.avg_deg_log / (d.clamp(min=1) + 1).log(),
    "linear": lambda d, mean: d / mean.avg_deg_lin,
    "inverse_linear": lambda d, mean: mean.avg_deg_lin / d.clamp(min=1),
}


@converts(pyg.PNAConv)
class PNAPGSO(Weighed, pyg.PNAConv):
    """γ takes the place of the mean (of the sum, if there is no mean) among the aggregators.

    Its off-diagonal entries weigh the messages, its diagonal the node itself. The other
    aggregators (min, max, std, ...) are no linear operators and stay, and so do the scalers.
    """

    unless = (
        lambda layer: PNAPGSO.replaced(layer) is None,
        "none of its aggregators is a mean or a sum, whose place γ could take",
    )
    aggregations = None
    nodes_along = 0
    takes_pairs = False

    @staticmethod
    def replaced(layer: Any) -> tuple[int, PGSOParameters] | None:
        """Which of the aggregators γ replaces, and its S: D^-1 A, where D counts edges, or A."""
        modules = getattr(layer.aggr_module.aggr, "aggrs", [layer.aggr_module.aggr])
        kinds = [type(module) for module in modules]
        for kind, S in ((aggr.MeanAggregation, MEAN), (aggr.SumAggregation, ADJACENCY)):
            if kind in kinds:
                return kinds.index(kind), S
        return None

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return (PNAPGSO.replaced(layer) or (0, ADJACENCY))[1]

    def forward(self, x: Tensor, edge_index: Any, edge_attr: Tensor | None = None) -> Tensor:
        ends, edge_attr = self.ends(one_set(x, edge_index), None, edge_index, edge_attr)
        return self.pygs.forward(self, ends.source, ends, edge_attr)

    def propagated(  # type: ignore[override]
        self, ends: Ends, x: Tensor, edge_attr: Tensor | None
    ) -> Tensor:  # (n, towers, aggregators * scalers * F)
        """PyG's aggregates and scalers, with γ in the place of one aggregate."""
        (source, target), n, replaced = ends.pairs, ends.num_nodes[0], self.replaced(self)
        assert replaced is not None, "or it would not have been converted"
        messages = self.message(x[target], x[source], edge_attr)
        shifted = self.weigh(messages, x, ends)
        if self.explain:
            messages = self.explain_message(messages, n)
        aggregated = self.aggr_module.aggr(messages, target, dim_size=n, dim=0)
        aggregates = list(aggregated.split(self.F_in, dim=-1))
        aggregates[replaced[0]] = shifted
        joined = torch.cat(aggregates, dim=-1)
        d = degree(target, n, dtype=joined.dtype).view(-1, 1, 1)
        scalers = (SCALERS[name] for name in self.aggr_module.scaler)
        return torch.cat([joined * scaler(d, self.aggr_module) for scaler in scalers], dim=-1)


class _Attention(Weighed):
    r"""PyG's own ``forward``; γ's entries multiply the messages :math:`\alpha_{ij} x_j` by head.

    Attention weights that it returns are those that γ's entries then multiply.
    """

    nodes_along = 0
    add_self_loops = False
    message: Any

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return ATTENDED if getattr(layer, "add_self_loops", False) else ADJACENCY

    def forward(
        self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, *further: Any, **named: Any
    ) -> Any:
        edge_attr = self.ends(x, None, edge_index, edge_attr)[1]  # with its checks
        if isinstance(edge_index, Handed):
            edge_index = edge_index.given
        edges = edge_index if isinstance(edge_index, Tensor) else as_edges(edge_index, None)[0]
        vars(self)["_given"] = x, edge_index
        try:
            return self.pygs.forward(self, x, edges, edge_attr, *further, **named)
        finally:
            vars(self)["_given"] = None

    def propagated(  # type: ignore[override]
        self, edge_index: Any, size: Any = None, **inputs: Any
    ) -> Tensor:  # (n, H, C)
        """γ_att of the heads."""
        x, given = vars(self)["_given"]
        pairs = as_edges(edge_index, None)[0]  # PyG may have added self-loops
        pairs = pairs if self.flow == "source_to_target" else pairs.flip(0)
        ends = self.ends(x, size, given, None)[0]._replace(pairs=pairs)
        messages, own = self.messages(ends, **inputs)
        # Fresh self-loops are a's, not A's.
        return self.weigh(messages, own, ends, True, 0.0 if self.add_self_loops else 1.0)

    def messages(
        self, ends: Ends, x: Any, alpha: Tensor
    ) -> tuple[Tensor, Tensor | None]:  # (E, H, C), (n, H, C)
        """The messages α_ij x_j, and what γ's diagonal acts on."""
        own = x[0] if ends.one_set else x[1]
        return self.message(x[0].index_select(0, ends.pairs[0]), alpha), own


for _kind in (pyg.GATConv, pyg.GATv2Conv):
    _name = f"{_kind.__name__.removesuffix('Conv')}PGSO"
    globals()[_name] = converts(_kind)(type(_name, (_Attention, _kind), {"__module__": __name__}))


@converts(pyg.TransformerConv)
class TransformerPGSO(_Attention, pyg.TransformerConv):
    """Scaled dot-product attention on the edges of γ, whose diagonal acts on the values.

    Targets of another width than the sources have no values: γ has no diagonal there.
    """

    def messages(  # type: ignore[override]
        self, ends: Ends, query: Tensor, key: Tensor, value: Tensor, edge_attr: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        source, target = ends.pairs
        parts = query[target], key[source], value[source]
        messages = self.message(*parts, edge_attr, target, None, ends.num_nodes[0])
        own: Tensor | None = value
        if not ends.one_set:
            fits = ends.target is not None and ends.target.size(-1) == ends.source.size(-1)
            own = self.lin_value(ends.target).view_as(query) if fits else None
        return messages, own
