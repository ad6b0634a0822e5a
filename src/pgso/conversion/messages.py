"""Messages that depend on the edge, weighed by γ's entries: GINEConv, PNAConv."""

from typing import Any

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


class Weighed(Converted):
    """Messages times γ's entries on edges, plus γ's diagonal times the node's own features."""

    takes_pairs = True

    @property
    def reading(self) -> Reading:
        """As the graph is: ``coefficients`` says what its self-loops are."""
        return Reading()

    def pairs(self, edge_index: Any) -> Tensor:  # (2, E)
        """Sources and targets in the order of the edge features, for both directions of flow."""
        pairs, _, _ = as_edges(edge_index, None)
        if self.flow == "source_to_target":
            return pairs
        self.directed(edge_index, None)  # refuses what has no other direction
        return pairs.flip(0)

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
        weights = torch.ones_like(source, dtype=S.dtype)
        if one_set or attended:
            weights = weights.masked_fill(is_loop, loops)
        rows = weights.new_zeros(num_nodes[0]).index_add(0, target, weights)
        columns = None
        if not one_set:
            columns = weights.new_zeros(num_nodes[1]).index_add(0, source, weights)
            columns = torch.where(columns > 0, columns, empty)
        if is_sampled(graph):
            rows = whole_degree(graph, loops).to(S.dtype)
            weights = weights * importance(graph, pairs).to(S.dtype)
        scales = factors(S.unbind(), torch.where(rows > 0, rows, empty), columns)
        diagonal = scales.alpha
        if attended:
            weights = torch.where(is_loop, weights + scales.a, weights)
        elif one_set:
            diagonal = scales.own
        entries = (scales.outer[target] * weights * scales.right[source]).unsqueeze(1)
        if self.explain:
            entries = self.explain_message(entries, num_nodes[0])  # type: ignore[attr-defined]
        return entries, diagonal.unsqueeze(1)


def both(num_nodes: int | tuple[int, int]) -> tuple[int, int]:
    """(targets, sources) of n nodes, or of two sets of them."""
    return num_nodes if isinstance(num_nodes, tuple) else (num_nodes, num_nodes)


@converts(pyg.GINEConv)
class GINEPGSO(Weighed, pyg.GINEConv):
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
        source, target, nodes = two_sets(x, size, self.flow, edge_index)
        pairs = self.pairs(edge_index)
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

    nodes_along = 0
    takes_pairs = False

    @staticmethod
    def replaced_index(layer: Any) -> int | None:
        """Which of the aggregators γ replaces."""
        kinds = [type(one) for one in PNAPGSO.aggregators(layer)]
        for kind in (aggr.MeanAggregation, aggr.SumAggregation):
            if kind in kinds:
                return kinds.index(kind)
        return None

    @staticmethod
    def aggregators(layer: Any) -> list[Any]:
        """Mean, max, ... as modules."""
        return list(getattr(layer.aggr_module.aggr, "aggrs", [layer.aggr_module.aggr]))

    @classmethod
    def nonlinear(cls, layer: Any) -> str | None:
        """Minima, maxima and spreads alone leave no place for an operator."""
        if cls.replaced_index(layer) is None:
            return "none of its aggregators is a mean or a sum, whose place γ could take"
        return None

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """D^-1 A, where D counts edges, or A."""
        replaced = PNAPGSO.aggregators(layer)[PNAPGSO.replaced_index(layer) or 0]
        return MEAN if isinstance(replaced, aggr.MeanAggregation) else ADJACENCY

    def forward(self, x: Tensor, edge_index: Any, edge_attr: Tensor | None = None) -> Tensor:
        """As PyG's ``PNAConv``."""
        x = one_set(x, edge_index)
        n, pairs = x.size(0), self.pairs(edge_index)
        x = x.view(n, self.towers if self.divide_input else 1, self.F_in)
        if not self.divide_input:
            x = x.repeat(1, self.towers, 1)
        entries, diagonal = self.coefficients(
            (n, n), True, pairs, attended=False, loops=1.0, graph=edge_index
        )
        messages = self.message(x[pairs[1]], x[pairs[0]], edge_attr)
        shifted = diagonal.unsqueeze(-1).to(x.dtype) * x
        weighed = (entries.unsqueeze(-1).to(messages.dtype) * messages).to(shifted.dtype)
        shifted = shifted.index_add(0, pairs[1], weighed)
        if self.explain:
            messages = self.explain_message(messages, n)
        aggregates = list(
            self.aggr_module.aggr(messages, pairs[1], dim_size=n, dim=0).split(self.F_in, dim=-1)
        )
        aggregates[self.replaced_index(self) or 0] = shifted
        joined, scalers = torch.cat(aggregates, dim=-1), self.aggr_module
        d = degree(pairs[1], n, dtype=joined.dtype).view(-1, 1, 1)
        scaled = [joined * SCALERS[name](d, scalers) for name in scalers.scaler]
        out = torch.cat([x, *scaled], dim=-1)
        towers = [network(out[:, tower]) for tower, network in enumerate(self.post_nns)]
        answer: Tensor = self.lin(torch.cat(towers, dim=1))
        return answer
