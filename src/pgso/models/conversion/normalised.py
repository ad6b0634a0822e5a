"""Layers that normalise as GCN does: GCNConv, LGConv, GCN2Conv, ClusterGCNConv."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric import nn as pyg

from pgso.gso.parameters import PGSOParameters
from pgso.models.conversion.layer import ADJACENCY, SUMS, Converted, converts, one_set
from pgso.models.conversion.reading import Reading, as_edges, is_sparse


class Normalised(Converted):
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
        return PGSOParameters(0.0, 1.0, 0.0, 0.0, -0.5, -0.5, Normalised.fill(layer))

    @property
    def reading(self) -> Reading:
        """A self-loop in the graph takes the place of the one that the layer would add."""
        if not self.normalizes:
            return SUMS
        fill = Normalised.fill(self)
        return Reading("fill", fill=fill) if fill else Reading()

    def type_of(self, out: Tensor, x: Tensor, edge_weight: Tensor | None) -> torch.dtype:
        """The type of PyG's messages, whose weights are not narrowed by autocast."""
        if edge_weight is not None:
            return torch.promote_types(out.dtype, edge_weight.dtype)
        return torch.promote_types(out.dtype, x.dtype) if self.normalizes else out.dtype

    @property
    def normalizes(self) -> bool:
        """Whether degrees divide the edges."""
        return bool(getattr(self, "normalize", True))


@converts(pyg.GCNConv)
class GCNPGSO(Normalised, pyg.GCNConv):
    r""":math:`\gamma(A, \mathcal{S}) X W + b`."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``GCNConv``."""
        x = one_set(x, edge_index)
        out = self.shift(self.lin(x), edge_index, edge_weight)
        out = out.to(self.type_of(out, x, edge_weight))
        return out if self.bias is None else out + self.bias


@converts(pyg.LGConv)
class LGPGSO(Normalised, pyg.LGConv):
    r""":math:`\gamma(A, \mathcal{S}) X`."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """As PyG's ``LGConv``."""
        return self.shift(one_set(x, edge_index), edge_index, edge_weight)


@converts(pyg.GCN2Conv)
class GCN2PGSO(Normalised, pyg.GCN2Conv):
    r""":math:`((1 - \alpha) \gamma(A, \mathcal{S}) X + \alpha X_0) ((1 - \beta) I + \beta W)`."""

    def forward(
        self, x: Tensor, x_0: Tensor, edge_index: Any, edge_weight: Tensor | None = None
    ) -> Tensor:
        """As PyG's ``GCN2Conv``, where X_0 may have weights of its own."""
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
        """PyG's degrees do not turn with the flow."""
        del layer
        return False

    @property
    def reading(self) -> Reading:
        """The layer replaces self-loops of the graph by its own."""
        return Reading("drop")

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        """PyG's sum of the diagonal needs a self-loop at every node."""
        if not layer.add_self_loops:
            return "with add_self_loops=False it works only where every node has one self-loop"
        return super().obstacle(layer)

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """D_1^-1 A_1, and diag_lambda times its diagonal."""
        return PGSOParameters(float(layer.diag_lambda), 1.0, 0.0, -1.0, -1.0, 0.0, 1.0)

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        """As PyG's ``ClusterGCNConv``; the values of a sparse A are no weights."""
        x = one_set(x, edge_index)
        if is_sparse(edge_index):
            edge_index = as_edges(edge_index, None)[0]
        out: Tensor = self.lin_out(self.shift(x, edge_index)) + self.lin_root(x)
        return out
