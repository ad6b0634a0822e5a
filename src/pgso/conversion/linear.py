"""Layers whose messages are the features of the sender: sums, means, GCN's operator, Laplacians.

SAGEConv, GraphConv, LEConv, GINConv, SimpleConv and RGCNConv add or average. GCNConv, LGConv,
GCN2Conv and ClusterGCNConv apply GCN's operator once; SGConv, TAGConv, MixHopConv, APPNP and
ARMAConv again and again; ChebConv takes polynomials of the rescaled Laplacian.
"""

from dataclasses import replace
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
    Given,
    Reading,
    as_edges,
    converts,
    is_sparse,
    one_set,
    two_sets,
)
from pgso.errors import InputError
from pgso.graph.memo import Memo, for_any_mode, is_traced
from pgso.gso.parameters import PGSOParameters
from pgso.gso.shift import shift

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
        mapped: Any = [None if x is None else functional.linear(x, linear.weight) for x in parts]
        narrow = tuple(mapped) if isinstance(pair, tuple) else mapped[0]
        out = self.shift(narrow, edge_index, edge_weight, num_nodes=nodes)
        return (out if linear.bias is None else out + linear.bias).to(mapped[0].dtype)

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
        is_beside = self.combine_root == "cat" and target is not None
        return torch.cat([target, out], dim=-1) if is_beside else out  # type: ignore[list-item]


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
        nodes: Any = self.in_channels_l
        every = source = target = torch.arange(nodes, device=self.weight.device)
        if x is not None:
            source, target = x if isinstance(x, tuple) else (x, x)
            source = every if source is None else source
            parts = [part if part.dim() > 1 else part.unsqueeze(-1) for part in (source, target)]
            both = parts[0] if source is target else parts
            nodes = two_sets(both, None, self.flow, edge_index)[2]
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
            mask = edge_type == kind if self.explain else None
            by_kind = {} if is_traced() else _parts.of(pairs, Memo).of(edge_type, dict)
            if kind not in by_kind:  # the same tensor for the same edges: its graph is known
                with for_any_mode(pairs, edge_type):
                    by_kind[kind] = pairs[:, edge_type == kind]
            inputs: Any = (weight[source], None) if embeds else (source, target)
            operator = self.on(by_kind[kind], None, nodes, gso, mask)  # type: ignore[arg-type]
            term = gso(self.pair(inputs[0], inputs[1], nodes), operator)
            if self.num_blocks is not None:
                blocks = term.view(-1, weight.size(0), weight.size(1))
                term = torch.einsum("abc,bcd->abd", blocks, weight).flatten(1)
            elif not embeds:
                term = term @ weight
            out = out + term
        if self.root is not None:
            out = out + (target @ self.root if target.is_floating_point() else self.root[target])
        return out if self.bias is None else out + self.bias


# fmt: off
LAPLACIANS = {  # with PyG's reading: no self-loops, and the degrees of the sources
    #                       m1   m2   m3   e1    e2    e3    a
    None:  (PGSOParameters(1.0, -1.0, 0.0, 1.0,  0.0,  0.0, 1.0),  # (D + I) - (A + I)
            Reading("drop", "outgoing")),
    "sym": (PGSOParameters(0.0, -1.0, 1.0, 0.0, -0.5, -0.5, 0.0),  # I - D^-1/2 A D^-1/2
            Reading("drop", "outgoing")),
    "rw":  (PGSOParameters(0.0, -1.0, 1.0, 0.0,  0.0, -1.0, 0.0),  # I - A D^-1, 1 for a degree 0
            Reading("drop", "outgoing", empty=1.0)),
}
# fmt: on


class Normalised(Converted):
    """D_a^-1/2 A_a D_a^-1/2, where a is the weight of the self-loops that the layer adds."""

    normalize: bool = True  # whether degrees divide the edges

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        if not getattr(layer, "normalize", True):
            return ADJACENCY
        fill = 2.0 if getattr(layer, "improved", False) else 1.0
        a = fill if getattr(layer, "add_self_loops", False) else 0.0  # TAGConv adds none
        return PGSOParameters(0.0, 1.0, 0.0, 0.0, -0.5, -0.5, a)

    @property
    def reading(self) -> Reading:
        if not self.normalize:
            return SUMS
        fill: Any = Normalised.start(self).a  # a self-loop of the graph takes its place
        return Reading("fill", fill=fill) if fill else Reading()

    def given(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None) -> Given:
        """γ on the graph; autocast does not narrow the weights that PyG normalises in x's type."""
        dtype = x.dtype if self.normalize else None
        if edge_weight is not None:
            dtype = edge_weight.dtype
        return Given(self.on(edge_index, edge_weight, x.size(-2)), dtype)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        x = one_set(x, edge_index)
        return self.pygs.forward(self, x, self.given(x, edge_index, edge_weight))


SIMPLE: dict[Any, Any] = {  # PyG's own ``forward`` as it is; ``unless`` of each
    pyg.GCNConv: Converted.unless,
    pyg.LGConv: Converted.unless,
    pyg.TAGConv: Converted.unless,
    pyg.ARMAConv: Converted.unless,
    pyg.MixHopConv: (
        lambda layer: max(layer.powers) == 0,
        "with powers=[0] it does not use the graph",
    ),
    pyg.APPNP: (lambda layer: layer.dropout > 0, "its dropout acts on γ's entries; drop features"),
}
for _kind, _unless in SIMPLE.items():
    _name = f"{_kind.__name__.removesuffix('Conv')}PGSO"
    _members = {"__module__": __name__, "unless": _unless}
    globals()[_name] = converts(_kind)(type(_name, (Normalised, _kind), _members))


@converts(pyg.GCN2Conv)
class GCN2PGSO(Normalised, pyg.GCN2Conv):
    r""":math:`((1 - \alpha) \gamma(A, \mathcal{S}) X + \alpha X_0) ((1 - \beta) I + \beta W)`.

    :math:`X_0` may have weights of its own.
    """

    def forward(  # type: ignore[override]
        self, x: Tensor, x_0: Tensor, edge_index: Any, edge_weight: Tensor | None = None
    ) -> Tensor:
        x = one_set(x, edge_index)
        return self.pygs.forward(self, x, x_0, self.given(x, edge_index, edge_weight))

    def propagated(self, given: Given, x: Tensor, **ignored: Any) -> Tensor:
        return super().propagated(given, x).clone()  # PyG goes on with it in place


@converts(pyg.ClusterGCNConv)
class ClusterGCNPGSO(Converted, pyg.ClusterGCNConv):
    r""":math:`\gamma(A, \mathcal{S}) X W + b + X W_{root}`.

    γ starts from :math:`\lambda D_1^{-1} + D_1^{-1} A_1`, which uses :math:`m_1`.
    """

    unless = (
        lambda layer: not layer.add_self_loops,
        "with add_self_loops=False it works only where every node has one self-loop",
    )

    @staticmethod
    def turns(layer: Any) -> bool:
        return False  # PyG's degrees do not turn with the flow

    @property
    def reading(self) -> Reading:
        return Reading("drop")  # the layer has self-loops of its own

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return PGSOParameters(float(layer.diag_lambda), 1.0, 0.0, -1.0, -1.0, 0.0, 1.0)

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        """As PyG's ``ClusterGCNConv``; the values of a sparse A are no weights."""
        x = one_set(x, edge_index)
        if is_sparse(edge_index):
            edge_index = as_edges(edge_index, None)[0]
        return self.lin_out(self.shift(x, edge_index)) + self.lin_root(x)


@converts(pyg.SGConv)
class SGPGSO(Normalised, pyg.SGConv):
    r""":math:`\gamma(A, \mathcal{S}^K) \cdots \gamma(A, \mathcal{S}^1) X W + b`."""

    @staticmethod
    def num_hops(layer: Any) -> int:
        return int(layer.K)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``SGConv``; with ``cached`` the graph is remembered, not the features."""
        x = one_set(x, edge_index)
        if edge_weight is not None:
            x = x.to(torch.promote_types(x.dtype, edge_weight.dtype))  # as PyG's messages are
        on = {gso: self.on(edge_index, edge_weight, x.size(-2), gso) for gso in {*self.hops}}
        for gso in self.hops:
            x = gso(x, on[gso])
        return self.lin(x)


@converts(pyg.ChebConv)
class ChebPGSO(Converted, pyg.ChebConv):
    r""":math:`\sum_k T_k\big(2 \gamma(A, \mathcal{S}) / \lambda_{max} - I\big) X W_k + b`.

    Where no ``lambda_max`` is given it is PyG's estimate for the Laplacian γ starts from.
    """

    unless = (lambda layer: len(layer.lins) == 1, "with K=1 it does not use the graph")

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return LAPLACIANS[layer.normalization][0]

    @staticmethod
    def turns(layer: Any) -> bool:
        return bool(layer.normalization != "rw")  # its A D^-1 is D^-1 A in the reversed flow

    @property
    def reading(self) -> Reading:
        """The reading that goes with the Laplacian; its degrees do not turn with the flow."""
        reading = LAPLACIANS[self.normalization][1]
        return reading if self.flow == "source_to_target" else replace(reading, degree="sum")

    def forward(self, x: Tensor, edge_index: Any, *further: Any, **named: Any) -> Tensor:
        return self.pygs.forward(self, one_set(x, edge_index), edge_index, *further, **named)

    def __norm__(
        self,
        edge_index: Any,
        num_nodes: int,
        edge_weight: Tensor | None,
        normalization: str | None,
        lambda_max: Any,
        dtype: torch.dtype,
        batch: Tensor | None,
    ) -> tuple[Given, Tensor]:
        """γ, and 2 / λ_max, for all nodes or for each: what PyG's ``forward`` begins with."""
        operator = self.on(edge_index, edge_weight, num_nodes)
        if lambda_max is None and getattr(edge_index, "sample", None) is not None:
            raise InputError("ChebConv on a sample needs lambda_max, that of the whole graph")
        if lambda_max is None:  # PyG's: twice the largest entry of the Laplacian γ starts from
            edges = self.reading.edges(*self.directed(edge_index, edge_weight), num_nodes)
            lambda_max = 2 * shift(edges, self.start(self)).entries().max()  # type: ignore[attr-defined]
        lambda_max = torch.as_tensor(lambda_max, dtype=dtype, device=operator.device)
        if batch is not None and lambda_max.numel() > 1:
            lambda_max = lambda_max[batch].unsqueeze(-1)
        return Given(operator), torch.where(lambda_max == 0, 0.0, 2.0 / lambda_max)

    def propagated(  # type: ignore[override]
        self, given: Given, x: Tensor, norm: Tensor
    ) -> Tensor:
        return norm * self.gso(x, given.operator) - x
