"""Messages that depend on the edge, weighed by γ's entries: GINEConv, PNAConv."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric import nn as pyg
from torch_geometric.nn import aggr
from torch_geometric.utils import degree

from pgso.conversion.layer import (
    ADJACENCY,
    MEAN,
    WITH_SELF,
    Converted,
    converts,
    one_set,
    two_sets,
)
from pgso.conversion.reading import Reading, as_edges
from pgso.graph import Graph
from pgso.gso.formula import factors
from pgso.gso.parameters import PGSOParameters


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


class Ends(NamedTuple):
    """Both ends of the edges that messages are sent along."""

    source: Tensor  # (..., sources, F)
    target: Tensor | None  # (..., targets, F); the same tensor if these are the same nodes
    pairs: Tensor  # (2, E) sources and targets, for both directions of flow
    num_nodes: tuple[int, int]  # targets, sources
    graph: Any  # what the pairs were read from

    @property
    def one_set(self) -> bool:
        """Whether sources and targets are the same nodes."""
        return self.target is self.source


class Weighed(Converted):
    """Messages times γ's entries on edges, plus γ's diagonal times the node's own features."""

    takes_pairs = True
    can_share = False

    @property
    def reading(self) -> Reading:
        return Reading()  # ``weigh`` says what self-loops are

    def ends(
        self, x: Any, size: Any, edge_index: Any, edge_attr: Tensor | None
    ) -> tuple[Ends, Tensor | None]:
        """The ends of the edges, in the order of the edge features, and these.

        As in PyG, a sparse A whose entries are vectors holds the edge features.
        """
        source, target, nodes = two_sets(x, size, self.flow, edge_index)
        pairs, values, _ = as_edges(edge_index, None)
        if edge_attr is None and values is not None and values.dim() > 1:
            edge_attr = values
        if self.flow != "source_to_target":
            self.directed(edge_index, None)  # refuses what has no other direction
            pairs = pairs.flip(0)
        both = nodes if isinstance(nodes, tuple) else (nodes, nodes)
        return Ends(source, target, pairs, both, edge_index), edge_attr

    def weigh(
        self,
        messages: Tensor,  # (..., E, F), or (E, H, C) along ``nodes_along``
        own: Tensor | None,  # (..., targets, F): what γ's diagonal acts on
        ends: Ends,
        alpha: Tensor | None = None,  # (E, H) attention, which γ's entries multiply
        loops: float = 1.0,  # A's weight of a self-loop
    ) -> Tensor:  # (..., targets, F)
        r""":math:`m_2 D_a^{e_2} (\alpha \circ A_a) D_a^{e_3}` on messages, plus the diagonal.

        The a on γ's diagonal is attended to like the edges where attention reaches self-loops:
        within one set of nodes, and between two sets where PyG adds some itself (``loops`` is 0).
        """
        (source, target), one_set, graph = ends.pairs, ends.one_set, ends.graph
        attended = alpha is not None and (one_set or loops == 0.0)
        empty = 1.0 if alpha is None else loops  # the degree of nodes without edges
        S = self.gso.S.double()
        is_loop = source == target
        weights = torch.ones_like(source, dtype=S.dtype)
        if one_set or attended:
            weights = weights.masked_fill(is_loop, loops)
        rows = weights.new_zeros(ends.num_nodes[0]).index_add(0, target, weights)
        columns = None
        if not one_set:
            columns = weights.new_zeros(ends.num_nodes[1]).index_add(0, source, weights)
            columns = torch.where(columns > 0, columns, empty)
        if is_sampled(graph):
            rows = whole_degree(graph, loops).to(S.dtype)
            weights = weights * importance(graph, ends.pairs).to(S.dtype)
        scales = factors(S.unbind(), torch.where(rows > 0, rows, empty), columns)
        if attended:
            weights = torch.where(is_loop, weights + scales.a, weights)
        diagonal = scales.own if one_set and not attended else scales.alpha
        entries = (scales.outer[target] * weights * scales.right[source]).unsqueeze(1)
        if self.explain:
            entries = self.explain_message(entries, ends.num_nodes[0])  # type: ignore[attr-defined]
        if alpha is not None:
            entries = alpha * entries
        along = self.nodes_along
        if along == 0:  # one more dimension, of channels or of a tower's features
            entries, diagonal = entries.unsqueeze(-1), diagonal.unsqueeze(-1)
        messages = entries.to(messages.dtype) * messages
        if own is None:
            size = list(messages.shape)
            size[along] = ends.num_nodes[0]
            out = messages.new_zeros(size)
        else:
            out = diagonal.unsqueeze(1).to(own.dtype) * own
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

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        if cls.replaced(layer) is None:
            return "none of its aggregators is a mean or a sum, whose place γ could take"
        return super().obstacle(layer)

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        replaced = PNAPGSO.replaced(layer)
        return ADJACENCY if replaced is None else replaced[1]

    def forward(self, x: Tensor, edge_index: Any, edge_attr: Tensor | None = None) -> Tensor:
        ends, edge_attr = self.ends(one_set(x, edge_index), None, edge_index, edge_attr)
        x, pairs, n = ends.source, ends.pairs, ends.num_nodes[0]
        x = x.view(n, self.towers if self.divide_input else 1, self.F_in)
        if not self.divide_input:
            x = x.repeat(1, self.towers, 1)
        messages = self.message(x[pairs[1]], x[pairs[0]], edge_attr)
        shifted = self.weigh(messages, x, ends)
        if self.explain:
            messages = self.explain_message(messages, n)
        aggregated = self.aggr_module.aggr(messages, pairs[1], dim_size=n, dim=0)
        aggregates = list(aggregated.split(self.F_in, dim=-1))
        replaced = self.replaced(self)
        assert replaced is not None, "or it would not have been converted"
        aggregates[replaced[0]] = shifted
        joined, scalers = torch.cat(aggregates, dim=-1), self.aggr_module
        d = degree(pairs[1], n, dtype=joined.dtype).view(-1, 1, 1)
        scaled = [joined * SCALERS[name](d, scalers) for name in scalers.scaler]
        out = torch.cat([x, *scaled], dim=-1)
        towers = [network(out[:, tower]) for tower, network in enumerate(self.post_nns)]
        return self.lin(torch.cat(towers, dim=1))
