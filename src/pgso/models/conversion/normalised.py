"""Layers that normalise as GCN does: GCNConv, SGConv, TAGConv, APPNP."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric import nn as pyg

from pgso.graph import EdgeList
from pgso.gso.entries import EntryShift, OnPattern
from pgso.gso.module import PGSO
from pgso.gso.parameters import PGSOParameters
from pgso.models.conversion.layer import ADJACENCY, SUMS, Converted, converts, one_set
from pgso.models.conversion.reading import Reading


class _Normalised(Converted):
    """D_a^-1/2 A_a D_a^-1/2, where a is the weight of the self-loops that the layer adds."""

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        """Without a hop there is nothing to learn."""
        if getattr(layer, "K", 1) == 0:
            return "with K=0 it does not use the graph"
        return super().obstacle(layer)

    @staticmethod
    def fill(layer: Any) -> float:
        """The weight of the self-loops that the layer adds: 0 for none."""
        if not getattr(layer, "add_self_loops", False):  # TAGConv adds none
            return 0.0
        return 2.0 if getattr(layer, "improved", False) else 1.0

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """GCN's operator with its a, or A if the layer does not normalise."""
        if not getattr(layer, "normalize", True):
            return ADJACENCY
        return PGSOParameters(0.0, 1.0, 0.0, 0.0, -0.5, -0.5, _Normalised.fill(layer))

    @property
    def reading(self) -> Reading:
        """A self-loop in the graph takes the place of the one that the layer would add."""
        if not getattr(self, "normalize", True):
            return SUMS
        fill = _Normalised.fill(self)
        return Reading("fill", fill=fill) if fill else Reading()


@converts(pyg.GCNConv)
class GCNPGSO(_Normalised, pyg.GCNConv):
    r""":math:`\gamma(A, \mathcal{S}) X W + b`."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``GCNConv``."""
        out = self.shift(self.lin(one_set(x)), edge_index, edge_weight)
        return out if self.bias is None else out + self.bias


@converts(pyg.SGConv)
class SGPGSO(_Normalised, pyg.SGConv):
    r""":math:`\gamma(A, \mathcal{S}^K) \cdots \gamma(A, \mathcal{S}^1) X W + b`."""

    @staticmethod
    def num_hops(layer: Any) -> int:
        """One operator per hop (docs/conventions.md)."""
        return int(layer.K)

    def adopt(self, operators: list[PGSO]) -> None:
        """One operator per hop, which may be the same."""
        super().adopt(operators)
        self.hops = nn.ModuleList(operators)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``SGConv``; with ``cached`` the graph is remembered, not the features."""
        x = one_set(x)
        for gso in self.hops:
            x = self.shift(x, edge_index, edge_weight, gso)
        out: Tensor = self.lin(x)
        return out


@converts(pyg.TAGConv)
class TAGPGSO(_Normalised, pyg.TAGConv):
    r""":math:`\sum_k \gamma(A, \mathcal{S})^k X W_k + b`."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``TAGConv``."""
        out: Tensor = self.lins[0](one_set(x))
        operator = self.on(edge_index, edge_weight, x.size(-2))
        for linear in self.lins[1:]:
            x = self.gso(x, operator)
            out = out + linear(x)
        return out if self.bias is None else out + self.bias


@converts(pyg.APPNP)
class APPNPPGSO(_Normalised, pyg.APPNP):
    r""":math:`H \leftarrow (1 - \alpha) \gamma(A, \mathcal{S}) H + \alpha X`, K times."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``APPNP``; its dropout acts on γ's entries, again at every hop."""
        first = one_set(x)
        if not self.training or self.dropout == 0:
            operator = self.on(edge_index, edge_weight, x.size(-2))
            for _ in range(self.K):
                x = self.mix(self.gso(x, operator), first)
            return x
        edges = self.reading.edges(*self.directed(edge_index, edge_weight), x.size(-2))
        on_edges: OnPattern = self.gso.on(edges, masked=False)  # type: ignore[assignment]
        entries = on_edges.entries(torch.promote_types(x.dtype, torch.float32))
        if self.explain:
            mask = self.edge_mask().to(entries.dtype)
            entries = entries * torch.cat([mask, mask.new_ones(edges.num_nodes)])
        present = self.present(edges)
        for _ in range(self.K):
            dropped = functional.dropout(entries[present], self.dropout)
            entries = entries.index_put((present,), dropped)
            x = self.mix(EntryShift(edges, entries) @ x, first)
        return x

    def mix(self, x: Tensor, first: Tensor) -> Tensor:
        """Teleport."""
        out: Tensor = x * (1 - self.alpha) + self.alpha * first
        return out

    def present(self, edges: EdgeList) -> Tensor:  # (E + n,)
        """The entries of PyG's own operator, in its order: both draw the same random numbers."""
        row, col = edges.pattern.row, edges.pattern.col
        on_diagonal = torch.arange(row.numel(), device=row.device) >= row.numel() - edges.num_nodes
        if self.reading.loops == "fill":
            return on_diagonal | (row != col)
        return ~on_diagonal
