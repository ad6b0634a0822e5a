"""A layer of polynomials in the rescaled Laplacian: ChebConv."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric import nn as pyg

from pgso.gso.parameters import PGSOParameters
from pgso.gso.shift import shift
from pgso.models.conversion.layer import Converted, converts, one_set
from pgso.models.conversion.messages import is_sampled
from pgso.models.conversion.reading import Reading

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


@converts(pyg.ChebConv)
class ChebPGSO(Converted, pyg.ChebConv):
    r""":math:`\sum_k T_k\big(2 \gamma(A, \mathcal{S}) / \lambda_{max} - I\big) X W_k + b`.

    Where no ``lambda_max`` is given it is PyG's estimate for the Laplacian γ starts from.
    """

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        """One term alone is no polynomial in the Laplacian."""
        if len(layer.lins) == 1:
            return "with K=1 it does not use the graph"
        return super().obstacle(layer)

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """The Laplacian of the layer's normalisation."""
        return LAPLACIANS[layer.normalization]

    @staticmethod
    def turns(layer: Any) -> bool:
        """PyG's A D^-1 is D^-1 A in the reversed flow."""
        return bool(layer.normalization != "rw")

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
        """As PyG's ``ChebConv``."""
        x = one_set(x, edge_index)
        scale = self.scale(x, edge_index, edge_weight, batch, lambda_max)

        operator = self.on(edge_index, edge_weight, x.size(-2))

        def hat(x: Tensor) -> Tensor:
            out: Tensor = scale * self.gso(x, operator) - x
            return out

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
