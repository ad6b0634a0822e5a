"""D_a, its powers and what their derivatives need: the vectors over nodes in Equation (2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

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
        log_d, inverse = self.d_a.log(), 1 / self.d_a
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
    """D_a and its powers; plain ones are remembered while the graph lives.

    Layers that share S, and their backward passes, ask for the same ones again and again.
    """
    if not isinstance(a, float):
        d_a = graph.degree.to(dtype) + a
        positive = d_a > 0
        safe = torch.where(positive, d_a, 1.0)
        return Powers(safe, positive, *(torch.where(positive, safe**e, 0.0) for e in exponents))
    known = _remembered.setdefault(graph, {})
    if len(known) > MOST:
        known.clear()
    base = known.get((dtype, a))
    if base is None:
        d_a = graph.degree.detach().to(dtype) + a
        positive = d_a > 0
        base = (d_a, None) if bool(positive.all()) else (d_a.where(positive, 1.0), positive)
        known[dtype, a] = base
    safe, mask = base
    found = []
    for e in exponents:
        power = known.get((dtype, a, e))
        if power is None:
            power = safe**e if mask is None else torch.where(mask, safe**e, 0.0)
            known[dtype, a, e] = power
        found.append(power)
    return Powers(safe, mask, *found)


def derivatives_of(
    graph: Graph, dtype: torch.dtype, a: Scalar, exponents: Sequence[Scalar]
) -> tuple[Powers, Tensor]:  # and (7, n)
    """The powers and their rows of derivatives, remembered likewise."""
    powers = powers_of(graph, dtype, a, exponents)
    if not isinstance(a, float):
        return powers, powers.derivative_rows()
    known = _remembered[graph]
    rows = known.get((dtype, a, *exponents))
    if rows is None:
        rows = known[dtype, a, *exponents] = powers.derivative_rows()
    return powers, rows


MOST = 32  # vectors kept for a graph: those of an S, or of the S of a few layers
_remembered: "WeakKeyDictionary[Graph | EdgeList, dict[tuple[Any, ...], Any]]" = WeakKeyDictionary()
