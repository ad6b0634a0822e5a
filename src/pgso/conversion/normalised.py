"""Layers of GCN's operator, of its powers, and of the Laplacian.

GCNConv, LGConv, GCN2Conv and ClusterGCNConv apply it once; SGConv, TAGConv, MixHopConv, APPNP and
ARMAConv again and again; ChebConv takes polynomials of the rescaled Laplacian.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric import nn as pyg

from pgso.conversion.layer import ADJACENCY, SUMS, Converted, Given, converts, one_set
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

    def given(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None) -> Given:
        """γ on the graph; autocast does not narrow the weights that PyG normalises in x's type."""
        dtype = x.dtype if self.normalize else None
        if edge_weight is not None:
            dtype = edge_weight.dtype
        return Given(self.on(edge_index, edge_weight, x.size(-2)), dtype)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        x = one_set(x, edge_index)
        out: Tensor = self.pygs.forward(self, x, self.given(x, edge_index, edge_weight))
        return out


@converts(pyg.GCNConv)
class GCNPGSO(Normalised, pyg.GCNConv):
    r""":math:`\gamma(A, \mathcal{S}) X W + b`."""


@converts(pyg.LGConv)
class LGPGSO(Normalised, pyg.LGConv):
    r""":math:`\gamma(A, \mathcal{S}) X`."""


@converts(pyg.GCN2Conv)
class GCN2PGSO(Normalised, pyg.GCN2Conv):
    r""":math:`((1 - \alpha) \gamma(A, \mathcal{S}) X + \alpha X_0) ((1 - \beta) I + \beta W)`.

    :math:`X_0` may have weights of its own.
    """

    def forward(  # type: ignore[override]
        self, x: Tensor, x_0: Tensor, edge_index: Any, edge_weight: Tensor | None = None
    ) -> Tensor:
        x = one_set(x, edge_index)
        out: Tensor = self.pygs.forward(self, x, x_0, self.given(x, edge_index, edge_weight))
        return out

    def propagated(self, given: Given, x: Tensor, **ignored: Any) -> Tensor:
        return super().propagated(given, x).clone()  # PyG goes on with it in place


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


@converts(pyg.MixHopConv)
class MixHopPGSO(Normalised, pyg.MixHopConv):
    r""":math:`\big[\gamma(A, \mathcal{S})^p X W_p\big]_{p \in P} + b`, side by side."""

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        if max(layer.powers) == 0:
            return "with powers=[0] it does not use the graph"
        return super().obstacle(layer)


@converts(pyg.APPNP)
class APPNPPGSO(Normalised, pyg.APPNP):
    r""":math:`H \leftarrow (1 - \alpha) \gamma(A, \mathcal{S}) H + \alpha X`, K times."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``APPNP``; its dropout acts on γ's entries, again at every hop."""
        if not self.training or self.dropout == 0:
            return super().forward(x, edge_index, edge_weight)
        x = one_set(x, edge_index)
        dtype = self.given(x, edge_index, edge_weight).dtype
        first = x = x if dtype is None else x.to(torch.promote_types(x.dtype, dtype))
        edges = self.reading.edges(*self.directed(edge_index, edge_weight), x.size(-2))
        on_edges = self.gso.on(edges, masked=False)
        entries = on_edges.entries(torch.promote_types(x.dtype, torch.float32))
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

    def forward(self, x: Tensor, edge_index: Any, *further: Any, **named: Any) -> Tensor:
        out: Tensor = self.pygs.forward(self, one_set(x, edge_index), edge_index, *further, **named)
        return out

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
        if lambda_max is None and is_sampled(edge_index):  # the whole graph's, as its degrees are
            whole = edge_index.sample.graph
            name = ("lambda_max", normalization, self.flow)
            lambda_max = whole.memo(name, lambda: self.estimate(whole, None, whole.num_nodes))
        elif lambda_max is None:
            lambda_max = self.estimate(edge_index, edge_weight, num_nodes)
        operator = self.on(edge_index, edge_weight, num_nodes)
        lambda_max = torch.as_tensor(lambda_max, dtype=dtype, device=operator.device)
        if batch is not None and lambda_max.numel() > 1:
            lambda_max = lambda_max[batch].unsqueeze(-1)
        return Given(operator), torch.where(lambda_max == 0, 0.0, 2.0 / lambda_max)

    def estimate(self, edge_index: Any, edge_weight: Tensor | None, num_nodes: int) -> Tensor:  # ()
        """PyG's λ_max: twice the largest entry of the Laplacian γ starts from."""
        edges = self.reading.edges(*self.directed(edge_index, edge_weight), num_nodes)
        largest: Tensor = shift(edges, self.start(self)).entries().max()  # type: ignore[attr-defined]
        return 2 * largest

    def propagated(  # type: ignore[override]
        self, given: Given, x: Tensor, norm: Tensor
    ) -> Tensor:
        return norm * self.gso(x, given.operator) - x
