"""D_a, its powers and what their derivatives need: the vectors over nodes in Equation (2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pgso.graph import EdgeList, Graph
from pgso.gso.parameters import Scalar


@dataclass(frozen=True, eq=False)
class Powers:
    """D_a^e1, D_a^e2 and D_a^e3, each (n,), and 0 where d_i + a ≤ 0.

    As :func:`pgso.gso.dense.positive_power`, with the mask found once.
    """

    d_a: Tensor  # (n,) 1 where it would not be positive
    positive: Tensor | None  # (n,) None: everywhere
    D1: Tensor
    D2: Tensor
    D3: Tensor

    def masked(self, values: Tensor) -> Tensor:
        """Values of the nodes where the power is one, and 0 elsewhere."""
        return values if self.positive is None else torch.where(self.positive, values, 0.0)

    def derivative_rows(self) -> Tensor:  # (7, n)
        """What q, p and r are summed with: see the gradients of :func:`pgso.apply_pgso`."""
        # Where d_a is next to nothing, sums over 1/d_a would overflow, and 0 times ∞ is no number.
        log_d = self.d_a.log()
        inverse = (1 / self.d_a).clamp(max=torch.finfo(self.d_a.dtype).max ** 0.5)
        D1 = self.D1
        ones = torch.ones_like(D1)
        return torch.stack([ones, D1, D1 * log_d, D1 * inverse, self.D2 * self.D3, log_d, inverse])


def numbers(values: Tensor) -> Sequence[Any]:
    """Scalars to compute with: plain floats, which are quicker, unless someone is watching.

    A gradient (of a gradient) needs 0-d tensors, and so does a traced program.
    """
    if values.dim() != 1 or torch.is_grad_enabled() or torch.compiler.is_compiling():
        return values.unbind()
    return values.tolist()


def powers_of(
    graph: Graph | EdgeList, dtype: torch.dtype, a: Scalar, exponents: Sequence[Scalar]
) -> Powers:
    """D_a and its powers."""
    d_a = graph.degree.to(dtype) + a
    positive = d_a > 0
    if isinstance(a, float) and bool(positive.all()):
        return Powers(d_a, None, *(d_a**e for e in exponents))
    safe = torch.where(positive, d_a, 1.0)
    return Powers(safe, positive, *(torch.where(positive, safe**e, 0.0) for e in exponents))
