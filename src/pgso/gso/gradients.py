r"""The product with γ and its exact gradients: one sparse product each way, nothing per edge.

Let :math:`P = \operatorname{Diag}(o) + \operatorname{Diag}(l)\, A\, \operatorname{Diag}(r)` with
vectors o, l, r over the nodes and a constant A, and let y = P x. The entries of P stand on the
pattern of A + I, so y is one sparse product, and so is the gradient of x, which is z = Pᵀ g.

The gradients of o, l and r need dot products of rows only. Let q = g · x (row by row). Then

.. math::
    \frac{\partial L}{\partial o} = q, \qquad
    l \frac{\partial L}{\partial l} = g \cdot (y - o\, x) = g \cdot y - o\, q, \qquad
    r \frac{\partial L}{\partial r} = x \cdot (z - o\, g) = x \cdot z - o\, q.

No gradient per edge is formed, and nothing is kept but x and y. The price is a difference: where
o x is much larger than the rest of y, it loses digits. The caller then leaves o out of P and adds
o x itself (``NodeShift`` decides). How o, l and r depend on S stands
in :mod:`pgso.gso.formula`.
"""

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from pgso.graph import Graph, product, row_dots, turn
from pgso.graph.degrees import with_edges


class Held:
    """P at one o, l and r: what all layers that share an operator use.

    What only gradients need is computed on first use.
    """

    def __init__(self, graph: Graph, own: Tensor | None, left: Tensor, right: Tensor) -> None:
        self.graph, self.own, self.left, self.right = graph, own, left, right
        with torch.no_grad():
            self.values = entries_of(graph, own, left, right)  # (nnz,)

    @cached_property
    def turned(self) -> Tensor:  # (nnz,)
        """The entries of Pᵀ: the same in another order."""
        return turn(self.values, self.graph)

    @cached_property
    def divisors(self) -> tuple[Tensor, Tensor]:  # (targets,), (sources,)
        """The l and r that gradients are divided by; infinite where the gradient is 0.

        It is 0 where d + a ≤ 0, and where a node has no edge. There the differences of the
        formula at the top would leave a rounding error; without o there is no difference.
        """
        graph, found = self.graph, []
        for by, pattern in ((self.left, graph.pattern), (self.right, graph.transposed)):
            present = None if self.own is None else with_edges(graph, pattern)
            is_used = by != 0 if present is None else (by != 0) & present
            found.append(torch.where(is_used, by, torch.inf))
        return found[0], found[1]


def entries_of(
    graph: Graph, own: Tensor | None, left: Tensor, right: Tensor, A: Tensor | None = None
) -> Tensor:  # (nnz,) or (nnz, H)
    """The entries of Diag(own) + Diag(left) A Diag(right) on the graph's pattern.

    Differentiable in the vectors, (n,) or (n, H) for entries per head, and in A, (nnz,), which is
    the graph's if it is None.
    """
    pattern = graph.pattern
    entries = left.index_select(0, pattern.row) * right.index_select(0, pattern.col)
    if A is None and graph.weight is None and graph.loops is None and own is not None:
        return entries.index_copy(0, pattern.diagonal, own)
    A = (graph.entries if A is None else A).to(entries.dtype)
    entries = entries * (A if A.dim() == entries.dim() else A.unsqueeze(1))
    return entries if own is None else entries.index_add(0, pattern.diagonal, own)


class Propagation(torch.autograd.Function):
    """y = (Diag(own) + Diag(left) A Diag(right)) x: see the top of this file."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,  # (sources, F)
        own: Tensor | None,  # (n,)
        left: Tensor,  # (targets,)
        right: Tensor,  # (sources,)
        held: Held,  # of these vectors
    ) -> Tensor:  # (targets, F)
        out = product(held.graph.pattern, held.values, x)
        ctx.held, ctx.learned = held, any(ctx.needs_input_grad[1:4])
        # A fixed operator keeps nothing of the size of x alive.
        ctx.save_for_backward(own, left, right, *((x, out) if ctx.learned else ()))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, own, left and right; they can be differentiated again."""
        (g,), graph = grads, ctx.held.graph
        own, left, right, *features = ctx.saved_tensors
        again = torch.is_grad_enabled()
        if again:
            z: Tensor = Propagation.apply(g, own, right, left, Held(graph.T, own, right, left))
        else:
            z = product(graph.transposed, ctx.held.turned, g)
        if not ctx.learned:
            return z, None, None, None, None
        x, y = features
        to_left = row_dots(g, y).to(left.dtype)
        to_right = row_dots(x, z).to(right.dtype)
        q = None
        if own is not None:
            q = row_dots(g, x).to(own.dtype)
            own_part = own * q
            to_left, to_right = to_left - own_part, to_right - own_part
        held = Held(graph, own, left, right) if again else ctx.held
        return z, q, to_left / held.divisors[0], to_right / held.divisors[1], None
