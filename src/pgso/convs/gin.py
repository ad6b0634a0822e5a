"""GIN-PGSO: Section 3.3, example 2, with Equation (2) in full (docs/conventions.md)."""

from typing import Any

from torch import Tensor, nn

from pgso.convs.architecture import CONVS, Conv, OnGraph, by_row, shifts_on, transform_and_propagate
from pgso.convs.sparse_features import Features, Linear, Pair, as_features, as_pair
from pgso.gso.module import PGSO


class MLP(nn.Module):
    """GIN's two-layer perceptron: linear, batch norm, ReLU, linear."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = Linear(in_channels, out_channels)
        self.norm = nn.BatchNorm1d(out_channels)
        self.second = Linear(out_channels, out_channels)

    def after_first(self, x: Tensor) -> Tensor:
        """Everything that follows the first linear map."""
        out: Tensor = self.second(by_row(self.norm, x).relu())
        return out

    def forward(self, x: Features) -> Tensor:
        """Both linear maps, with the norm and the activation between them."""
        return self.after_first(self.first(x))


@CONVS.register("gin")
class GINConv(Conv):
    r"""Graph isomorphism convolution with a learnable shift operator (Section 3.3, example 2).

    .. math::
        H^{(l+1)} = \operatorname{MLP}\big(\gamma(A, \mathcal{S}) H^{(l)}\big)

    With the preset ``"gin"`` (A + I) and ``learn=False`` this is PyG's ``GINConv`` with eps 0.

    Args:
        in_channels: Features per node, or -1 to find out on first use.
        gso: The operator, which layers may share; by default a learned one of its own.
        nn: Any module from ``in_channels`` to ``out_channels``; by default a perceptron with one
            hidden layer of ``out_channels`` units and batch norm.
    """

    preset = "gin"
    reads_out = True  # else the last perceptron had only as many hidden units as classes

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        gso: PGSO | str | None = None,
        nn: nn.Module | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, gso)
        self.nn = MLP(in_channels, out_channels) if nn is None else nn

    def forward(
        self,
        x: Features | Pair,  # (n, in_channels), or a pair (x_source, x_target)
        edge_index: OnGraph,
        edge_weight: Tensor | None = None,  # (E,)
    ) -> Tensor:  # (n, out_channels)
        """Propagate, then the perceptron; its first linear map may come before."""
        if isinstance(self.nn, MLP):
            masked = self.explain is not False
            hidden = transform_and_propagate(
                x, edge_index, edge_weight, self.operators, self.nn.first, masked
            )
            return self.nn.after_first(hidden)
        dense: Any = as_pair(x) if isinstance(x, tuple) else as_features(x).to_dense()
        if isinstance(x, tuple):
            dense = tuple(None if part is None else part.to_dense() for part in dense)
        (operator,) = shifts_on(
            self.operators, dense, edge_index, edge_weight, self.explain is not False
        )
        out: Tensor = self.nn(self.gso(dense, operator))
        return out
