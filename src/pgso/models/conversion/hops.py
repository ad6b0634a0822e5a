"""Layers that apply GCN's operator again and again.

SGConv, TAGConv, MixHopConv, APPNP, ARMAConv.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric import nn as pyg

from pgso.graph import EdgeList
from pgso.gso.entries import EntryShift, OnPattern
from pgso.gso.module import PGSO
from pgso.models.conversion.layer import converts, one_set
from pgso.models.conversion.normalised import Normalised


@converts(pyg.SGConv)
class SGPGSO(Normalised, pyg.SGConv):
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
        x = one_set(x, edge_index)
        for gso in self.hops:
            x = self.shift(x, edge_index, edge_weight, gso)
        out: Tensor = self.lin(x)
        return out


@converts(pyg.TAGConv)
class TAGPGSO(Normalised, pyg.TAGConv):
    r""":math:`\sum_k \gamma(A, \mathcal{S})^k X W_k + b`."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``TAGConv``."""
        x = one_set(x, edge_index)
        out: Tensor = self.lins[0](x)
        operator = self.on(edge_index, edge_weight, x.size(-2))
        for linear in self.lins[1:]:
            x = self.gso(x, operator)
            out = out + linear(x)
        return out if self.bias is None else out + self.bias


@converts(pyg.MixHopConv)
class MixHopPGSO(Normalised, pyg.MixHopConv):
    r""":math:`\big[\gamma(A, \mathcal{S})^p X W_p\big]_{p \in P} + b`, side by side."""

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        """The power 0 alone is no operator."""
        if max(layer.powers) == 0:
            return "with powers=[0] it does not use the graph"
        return super().obstacle(layer)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``MixHopConv``."""
        x = one_set(x, edge_index)
        operator = self.on(edge_index, edge_weight, x.size(-2))
        mapped = [self.lins[0](x)]
        for linear in self.lins[1:]:
            x = self.gso(x, operator)
            mapped.append(linear(x))
        out = torch.cat([mapped[power] for power in self.powers], dim=-1)
        return out if self.bias is None else out + self.bias


@converts(pyg.APPNP)
class APPNPPGSO(Normalised, pyg.APPNP):
    r""":math:`H \leftarrow (1 - \alpha) \gamma(A, \mathcal{S}) H + \alpha X`, K times."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``APPNP``; its dropout acts on γ's entries, again at every hop."""
        x = one_set(x, edge_index)
        first = x = x.to(self.type_of(x, x, edge_weight))
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


@converts(pyg.ARMAConv)
class ARMAPGSO(Normalised, pyg.ARMAConv):
    r""":math:`X_{t+1} = \sigma(\gamma(A, \mathcal{S}) X_t W_t + X_0 V_t + b_t)`, in stacks."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``ARMAConv``."""
        x = one_set(x, edge_index)
        first = out = x.unsqueeze(-3)
        operator = self.on(edge_index, edge_weight, x.size(-2))
        for t in range(self.num_layers):
            t_weight = 0 if self.shared_weights else t
            weight = self.init_weight if t == 0 else self.weight[max(t_weight - 1, 0)]
            root = functional.dropout(first, self.dropout, self.training)
            out = self.gso(out @ weight, operator)
            out = out.to(self.type_of(out, x, edge_weight)) + root @ self.root_weight[t_weight]
            out = out if self.bias is None else out + self.bias[t_weight]
            out = out if self.act is None else self.act(out)
        mean: Tensor = out.mean(dim=-3)
        return mean
