"""Layers that add or average what neighbours send: SAGEConv, GraphConv, LEConv, GINConv."""

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric import nn as pyg

from pgso.gso.parameters import PGSOParameters
from pgso.models.conversion.layer import (
    ADJACENCY,
    MEAN,
    MEANS,
    SUMS,
    WITH_SELF,
    Converted,
    converts,
    one_set,
)
from pgso.models.conversion.reading import Reading, as_edges


class _SumOrMean(Converted):
    """A, or D^-1 A where D counts edges."""

    aggregations: Collection[str] = ("add", "sum", "mean", "MeanAggregation()", "SumAggregation()")
    aggr: str

    @staticmethod
    def averages(layer: Any) -> bool:
        """Whether the layer divides by the number of edges."""
        return layer.aggr in ("mean", "MeanAggregation()")

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """A or D^-1 A."""
        return MEAN if _SumOrMean.averages(layer) else ADJACENCY

    @property
    def reading(self) -> Reading:
        """Weights do not count in a mean's degree, as in PyG."""
        return MEANS if _SumOrMean.averages(self) else SUMS


@converts(pyg.SAGEConv)
class SAGEPGSO(_SumOrMean, pyg.SAGEConv):
    r""":math:`\gamma(A, \mathcal{S}) X W_l + b + X W_r`."""

    def forward(self, x: Tensor, edge_index: Any, size: Any = None) -> Tensor:
        """As PyG's ``SAGEConv``."""
        x = one_set(x)
        sent = self.lin(x).relu() if self.project else x
        out: Tensor = self.lin_l(self.shift(sent, edge_index))
        if self.root_weight:
            out = out + self.lin_r(x)
        return functional.normalize(out, p=2.0, dim=-1) if self.normalize else out


@converts(pyg.GraphConv)
class GraphPGSO(_SumOrMean, pyg.GraphConv):
    r""":math:`\gamma(A, \mathcal{S}) X W_{rel} + b + X W_{root}`."""

    def forward(
        self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None, size: Any = None
    ) -> Tensor:
        """As PyG's ``GraphConv``."""
        x = one_set(x)
        out: Tensor = self.lin_rel(self.shift(x, edge_index, edge_weight)) + self.lin_root(x)
        return out


@converts(pyg.LEConv)
class LEPGSO(_SumOrMean, pyg.LEConv):
    r""":math:`\gamma(A, \mathcal{S}) X W_1 - D X W_2 + X W_3`, with D as it is."""

    aggregations = Converted.aggregations

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``LEConv``."""
        x = one_set(x)
        sent = self.shift(self.lin1(x), edge_index, edge_weight)
        pairs, weight, _ = as_edges(edge_index, edge_weight)
        each = torch.ones_like(pairs[1], dtype=x.dtype) if weight is None else weight.to(x.dtype)
        if self.explain:  # PyG masks the messages x_j W1 - x_i W2
            each = each * self.edge_mask().to(x.dtype)
        degree = x.new_zeros(x.size(-2)).index_add(0, pairs[1], each)
        out: Tensor = sent - degree.unsqueeze(-1) * self.lin2(x) + self.lin3(x)
        return out


@converts(pyg.GINConv)
class GINPGSO(_SumOrMean, pyg.GINConv):
    r""":math:`\operatorname{MLP}(\gamma(A, \mathcal{S}) X + \varepsilon X)`, with γ from A + I."""

    aggregations = Converted.aggregations

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """A + I; eps stays where it is, so that the layer's checkpoints fit."""
        return WITH_SELF

    def forward(self, x: Tensor, edge_index: Any, size: Any = None) -> Tensor:
        """As PyG's ``GINConv``."""
        x = one_set(x)
        out: Tensor = self.nn(self.shift(x, edge_index) + self.eps * x)
        return out
