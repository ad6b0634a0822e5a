"""What operators of several replicas, side by side as one matrix, have in common."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from pgso.gso.formula import Factors
from pgso.gso.node_shift import NodeShift


class ShiftsSideBySide(NodeShift):
    """R operators as one block-diagonal matrix. Sums over nodes round as for one of them alone.

    Autograd adds what comes from several places in the order of the operations, and a sum of sums
    is not a sum over all: so each place of the formula has values of its own.
    """

    within: Factors  # the tables again: gradients of m2 that come from own are summed separately
    m2: Tensor  # (R,) in double precision

    def _vectors(self, dtype: torch.dtype) -> tuple[Tensor | None, Tensor, Tensor]:
        def make() -> tuple[Tensor | None, Tensor, Tensor]:
            parts = (self.within.own, self.tables.outer, self.tables.right)
            own, outer, right = (self._spread(part, dtype) for part in parts)
            return own, outer, right

        return self._once(f"_vectors_{dtype}", make)

    def _inside(self, mixed: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Own; and the vectors of a product that leaves out own and m2 where nodes do not mix."""
        own, outer, right = self._vectors(dtype)
        assert own is not None
        left = torch.where(mixed, outer, self.factors(dtype).left)
        return own, torch.where(mixed, own, 0.0), left, right

    def _completed(
        self,
        mixing: Sequence[bool],
        own: Iterable[Tensor],
        x: Iterable[Tensor],
        out: Sequence[Tensor],
    ) -> Tensor:
        """The product's rows, with m2 and own ∘ x for replicas that do not mix."""
        m2 = self._once("_m2", lambda: self.m2.to(out[0].dtype).unbind())
        parts = []
        for mixes, scale, own_r, x_r, out_r in zip(mixing, m2, own, x, out, strict=True):
            parts.append(out_r if mixes else self._scaled(out_r, scale) + own_r * x_r)
        return torch.cat(parts)

    def _scaled(self, out: Tensor, m2: Tensor) -> Tensor:
        return m2 * out
