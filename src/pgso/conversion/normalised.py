"""Layers of GCN's operator, of its powers, and of the Laplacian.

GCNConv, LGConv, GCN2Conv and ClusterGCNConv apply it once; SGConv, TAGConv, MixHopConv, APPNP and
ARMAConv again and again; ChebConv takes polynomials of the rescaled Laplacian.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric import nn as pyg

from pgso.conversion.layer import ADJACENCY, SUMS, Converted, converts, one_set
from pgso.conversion.messages import is_sampled
from pgso.conversion.reading import Reading, as_edges, is_sparse
from pgso.graph import Graph, weighted_product
from pgso.gso.parameters import PGSOParameters
from pgso.gso.shift import shift

# fmt: off
LAPLACIANS = {
    #                      m1   m2   m3   e1   e2    e3    a
    None:  PGSOParameters(1.0, -1.0, 0.0, 1.0, 0.0,  0.0,  1.0),  # (D + I) - (A + I)
    "sym": PGSOParameters(0.0, -1.0, 1.0, 0.0, -0.5, -0.5, 0.0),  # I - D^-1/2 A D^-1/2
    "rw":  PGSOParameters(0.0, -1.0, 1.0, 0.0, 0.0, -1.0,  0.0),  # I - A D^-1
}
# PyG's Laplacian has no self-loops and takes the degrees of the sources.
READINGS = {
    None:  Reading("drop", "outgoing"),
    "sym": Reading("drop", "outgoing"),
    "rw":  Reading("drop", "outgoing", empty=1.0),  # 1 stands for the degree 0
}
# fmt: on


class Normalised(Converted):
    """D_a^-1/2 A_a D_a^-1/2, where a is the weight of the self-loops that the layer adds."""

    lins: Any  # of layers that take powers of it
    normalize: bool = True  # whether degrees divide the edges

    @staticmethod
    def fill(layer: Any) -> float:
        """The weight of the self-loops that the layer adds: 0 for none."""
        if not getattr(layer, "add_self_loops", False):  # TAGConv adds none
            return 0.0
        return 2.0 if getattr(layer, "improved", False) else 1.0

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        if not getattr(layer, "normalize", True):
            return ADJACENCY
        return PGSOParameters(0.0, 1.0, 0.0, 0.0, -0.5, -0.5, Normalised.fill(layer))

    @property
    def reading(self) -> Reading:
        if not self.normalize:
            return SUMS
        fill = Normalised.fill(self)  # a self-loop of the graph takes the place of the added one
        return Reading("fill", fill=fill) if fill else Reading()

    def type_of(self, out: Tensor, x: Tensor, edge_weight: Tensor | None) -> torch.dtype:
        """The type of PyG's messages, whose weights are not narrowed by autocast."""
        if edge_weight is not None:
            return torch.promote_types(out.dtype, edge_weight.dtype)
        return torch.promote_types(out.dtype, x.dtype) if self.normalize else out.dtype

    def powers_of(
        self, x: Tensor, edge_index: Any, edge_weight: Tensor | None
    ) -> Iterator[Tensor]:  # (..., n, out_channels) each
        """γ^k X W_k for each of the layer's linear maps, k from 0."""
        yield self.lins[0](x)
        operator = self.on(edge_index, edge_weight, x.size(-2))
        for linear in self.lins[1:]:
            x = self.gso(x, operator)
            yield linear(x)


@converts(pyg.GCNConv)
class GCNPGSO(Normalised, pyg.GCNConv):
    r""":math:`\gamma(A, \mathcal{S}) X W + b`."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        x = one_set(x, edge_index)
        out = self.shift(self.lin(x), edge_index, edge_weight)
        out = out.to(self.type_of(out, x, edge_weight))
        return out if self.bias is None else out + self.bias


@converts(pyg.LGConv)
class LGPGSO(Normalised, pyg.LGConv):
    r""":math:`\gamma(A, \mathcal{S}) X`."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        return self.shift(one_set(x, edge_index), edge_index, edge_weight)


@converts(pyg.GCN2Conv)
class GCN2PGSO(Normalised, pyg.GCN2Conv):
    r""":math:`((1 - \alpha) \gamma(A, \mathcal{S}) X + \alpha X_0) ((1 - \beta) I + \beta W)`.

    :math:`X_0` may have weights of its own.
    """

    def forward(
        self, x: Tensor, x_0: Tensor, edge_index: Any, edge_weight: Tensor | None = None
    ) -> Tensor:
        x = (1 - self.alpha) * self.shift(one_set(x, edge_index), edge_index, edge_weight)
        x_0 = self.alpha * x_0[: x.size(0)]
        if self.weight2 is None:
            return self.mapped(x + x_0, self.weight1)
        return self.mapped(x, self.weight1) + self.mapped(x_0, self.weight2)

    def mapped(self, x: Tensor, weight: Tensor) -> Tensor:
        """X ((1 - β) I + β W)."""
        return torch.addmm(x, x, weight, beta=1 - self.beta, alpha=self.beta)


@converts(pyg.ClusterGCNConv)
class ClusterGCNPGSO(Converted, pyg.ClusterGCNConv):
    r""":math:`\gamma(A, \mathcal{S}) X W + b + X W_{root}`.

    γ starts from :math:`\lambda D_1^{-1} + D_1^{-1} A_1`, which uses :math:`m_1`.
    """

    @staticmethod
    def turns(layer: Any) -> bool:
        return False  # PyG's degrees do not turn with the flow

    @property
    def reading(self) -> Reading:
        return Reading("drop")  # the layer has self-loops of its own

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        if not layer.add_self_loops:
            return "with add_self_loops=False it works only where every node has one self-loop"
        return super().obstacle(layer)

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


@converts(pyg.TAGConv)
class TAGPGSO(Normalised, pyg.TAGConv):
    r""":math:`\sum_k \gamma(A, \mathcal{S})^k X W_k + b`."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        out: Tensor = sum(self.powers_of(one_set(x, edge_index), edge_index, edge_weight))  # type: ignore[assignment]
        return out if self.bias is None else out + self.bias


@converts(pyg.MixHopConv)
class MixHopPGSO(Normalised, pyg.MixHopConv):
    r""":math:`\big[\gamma(A, \mathcal{S})^p X W_p\big]_{p \in P} + b`, side by side."""

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        if max(layer.powers) == 0:
            return "with powers=[0] it does not use the graph"
        return super().obstacle(layer)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        mapped = list(self.powers_of(one_set(x, edge_index), edge_index, edge_weight))
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
                x = self.gso(x, operator) * (1 - self.alpha) + self.alpha * first
            return x
        edges = self.reading.edges(*self.directed(edge_index, edge_weight), x.size(-2))
        on_edges = self.gso.on(edges, masked=False)
        entries = on_edges.entries(torch.promote_types(x.dtype, torch.float32))
        if self.explain:
            mask = self.edge_mask().to(entries.dtype)
            entries = entries * torch.cat([mask, mask.new_ones(edges.num_nodes)])
        present = self.present(edges)
        for _ in range(self.K):
            dropped = functional.dropout(entries[present], self.dropout)
            entries = entries.index_put((present,), dropped)
            out = weighted_product(edges, entries.to(x.dtype), x)
            x = out * (1 - self.alpha) + self.alpha * first
        return x

    def present(self, edges: Graph) -> Tensor:  # (E + n,)
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
        return out.mean(dim=-3)


@converts(pyg.ChebConv)
class ChebPGSO(Converted, pyg.ChebConv):
    r""":math:`\sum_k T_k\big(2 \gamma(A, \mathcal{S}) / \lambda_{max} - I\big) X W_k + b`.

    Where no ``lambda_max`` is given it is PyG's estimate for the Laplacian γ starts from.
    """

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        if len(layer.lins) == 1:
            return "with K=1 it does not use the graph"
        return super().obstacle(layer)

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        return LAPLACIANS[layer.normalization]

    @staticmethod
    def turns(layer: Any) -> bool:
        return bool(layer.normalization != "rw")  # its A D^-1 is D^-1 A in the reversed flow

    @property
    def reading(self) -> Reading:
        """The reading that goes with the Laplacian; its degrees do not turn with the flow."""
        reading = READINGS[self.normalization]
        return reading if self.flow == "source_to_target" else replace(reading, degree="sum")

    def forward(
        self,
        x: Tensor,
        edge_index: Any,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        lambda_max: Any = None,
    ) -> Tensor:
        x = one_set(x, edge_index)
        scale = self.scale(x, edge_index, edge_weight, batch, lambda_max)
        operator = self.on(edge_index, edge_weight, x.size(-2))

        def hat(x: Tensor) -> Tensor:
            return scale * self.gso(x, operator) - x

        before, now = x, x
        out: Tensor = self.lins[0](x)
        for k, linear in enumerate(self.lins[1:]):
            before, now = now, hat(now) if k == 0 else 2 * hat(now) - before
            out = out + linear(now)
        return out if self.bias is None else out + self.bias

    def scale(
        self,
        x: Tensor,
        edge_index: Any,
        edge_weight: Tensor | None,
        batch: Tensor | None,
        lambda_max: Any,
    ) -> Tensor:  # () or (n, 1)
        """2 / λ_max, for all nodes or for each."""
        if lambda_max is None and is_sampled(edge_index):  # the whole graph's, as its degrees are
            whole = edge_index.sample.graph
            name = ("lambda_max", self.normalization, self.flow)
            lambda_max = whole.memo(name, lambda: self.estimate(whole, None, whole.num_nodes))
        elif lambda_max is None:
            lambda_max = self.estimate(edge_index, edge_weight, x.size(-2))
        lambda_max = torch.as_tensor(lambda_max, dtype=x.dtype, device=x.device)
        if batch is not None and lambda_max.numel() > 1:
            lambda_max = lambda_max[batch].unsqueeze(-1)
        return torch.where(lambda_max == 0, 0.0, 2.0 / lambda_max)

    def estimate(self, edge_index: Any, edge_weight: Tensor | None, num_nodes: int) -> Tensor:  # ()
        """PyG's λ_max: twice the largest entry of the Laplacian γ starts from."""
        edges = self.reading.edges(*self.directed(edge_index, edge_weight), num_nodes)
        largest: Tensor = shift(edges, self.start(self)).entries().max()  # type: ignore[attr-defined]
        return 2 * largest
