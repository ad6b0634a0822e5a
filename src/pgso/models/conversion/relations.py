"""A layer with weights for each kind of edge: RGCNConv."""

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from pgso.errors import InputError
from pgso.graph.memo import Memo
from pgso.graph.modes import for_any_mode
from pgso.gso.module import PGSO
from pgso.models.conversion.layer import converts, two_sets
from pgso.models.conversion.neighbours import SumOrMean
from pgso.models.conversion.reading import as_edges

_parts: Memo[Memo[dict[int, Tensor]]] = Memo()  # by edge_index, edge_type (docs/remembered.md)


@converts(pyg.RGCNConv)
class RGCNPGSO(SumOrMean, pyg.RGCNConv):
    r""":math:`\sum_r \gamma(A_r, \mathcal{S}_r) X W_r + X W_0 + b`, one term per relation r."""

    nodes_along = 0
    takes_pairs = True

    @staticmethod
    def num_hops(layer: Any) -> int:
        """With ``operator="mpgso"`` every relation has an S, and a readable m2, of its own."""
        return int(layer.num_relations)

    def adopt(self, operators: list[PGSO]) -> None:
        """One operator per relation, which may be the same."""
        super().adopt(operators)
        self.hops = nn.ModuleList(operators)

    def forward(self, x: Any, edge_index: Any, edge_type: Tensor | None = None) -> Tensor:
        """As PyG's ``RGCNConv``: x may be a pair, indices of embeddings, or None for all."""
        if edge_type is None:
            raise InputError("RGCNConv needs edge_type, the number of each edge's relation")
        source, target, nodes = self.inputs(x, edge_index)
        pairs, _, _ = as_edges(edge_index, None)
        out = torch.zeros(target.size(0), self.out_channels, device=target.device)  # PyG's type
        for kind, (gso, weight) in enumerate(zip(self.hops, self.weights(), strict=True)):
            edges = self.part(pairs, edge_type, kind)
            mask = edge_type == kind if self.explain else None
            out = out + self.term(source, target, nodes, edges, weight, gso, mask)
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

    def weights(self) -> Tensor:  # (R, in, out), or (R, blocks, in / blocks, out / blocks)
        """The weights of each relation."""
        if self.num_bases is None:
            every: Tensor = self.weight
            return every
        mixed: Tensor = self.comp @ self.weight.view(self.num_bases, -1)
        return mixed.view(self.num_relations, self.in_channels_l, self.out_channels)

    def part(self, pairs: Tensor, edge_type: Tensor, kind: int) -> Tensor:  # (2, edges of it)
        """The edges of one relation, the same tensor for the same edges."""
        if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
            return pairs[:, edge_type == kind]
        by_kind = _parts.of(pairs, Memo).of(edge_type, dict)
        if kind not in by_kind:  # another layer may have fewer relations
            with for_any_mode(pairs, edge_type):
                by_kind[kind] = pairs[:, edge_type == kind]
        return by_kind[kind]

    def term(
        self,
        source: Tensor,
        target: Tensor,
        nodes: int | tuple[int, int],
        edges: Tensor,
        weight: Tensor,
        gso: nn.Module,
        part: Tensor | None,
    ) -> Tensor:  # (targets, out_channels)
        """What one relation adds."""
        if not source.is_floating_point():
            if self.num_blocks is not None:
                raise InputError("RGCNConv with num_blocks takes features, not indices")
            rows = self.pair(weight[source], None, nodes)
            return self.shift(rows, edges, gso=gso, num_nodes=nodes, part=part)
        rows = self.pair(source, target, nodes)
        out = self.shift(rows, edges, gso=gso, num_nodes=nodes, part=part)
        if self.num_blocks is None:
            return out @ weight
        blocks = out.view(-1, weight.size(0), weight.size(1))
        return torch.einsum("abc,bcd->abd", blocks, weight).flatten(1)
