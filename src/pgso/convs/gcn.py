"""GCN-PGSO: Section 3.3, example 1."""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from pgso.convs.architecture import CONVS, Conv, OnGraph, shifts_on, transform_and_propagate
from pgso.convs.sparse_features import Linear, as_features
from pgso.gso.module import PGSO


@CONVS.register("gcn")
class GCNConv(Conv):
    r"""Graph convolution with a learnable shift operator (Section 3.3, example 1).

    .. math::
        H^{(l+1)} = \gamma(A, \mathcal{S}) H^{(l)} W^{(l)}

    With the preset ``"gcn"`` and ``learn=False`` this is PyG's ``GCNConv``.

    Args:
        in_channels: Features per node, or -1 to find out on first use.
        gso: The operator, which layers may share; by default a learned one of its own.
        bias: Whether to add a bias; ``"inside"`` has it in the linear map, which starts as torch's
            own: γ (H W + b), so that S learns from the start at zeros, too.
    """

    preset = "gcn"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        gso: PGSO | str | None = None,
        bias: bool | Literal["inside"] = True,
    ) -> None:
        super().__init__(in_channels, out_channels, gso)
        if bias == "inside":
            self.lin, self.bias = Linear(in_channels, out_channels), None
            return
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def forward(
        self,
        x: Any,  # features (n, in_channels), or a pair of them (x_source, x_target)
        edge_index: OnGraph,
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # (n, out_channels)
        """Transform and propagate, on whichever side is narrower."""
        if self.lin.bias is not None:
            (operator,) = shifts_on(
                self.operators, as_features(x), edge_index, edge_weight, self.explain is not False
            )
            return self.gso(self.lin(as_features(x)), operator)  # type: ignore[no-any-return]
        out = transform_and_propagate(
            x, edge_index, edge_weight, self.operators, self.lin, self.explain is not False
        )
        return out if self.bias is None else out + self.bias
