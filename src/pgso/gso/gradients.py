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
o x itself (:meth:`pgso.gso.node_shift.NodeShift.mixes` decides). How o, l and r depend on S is left
to autograd: they are vectors, and cheap.
"""

from typing import Any, TypeGuard

import torch
from torch import Tensor

from pgso.graph import Graph, is_transformed, learns, product, row_dots, turn
from pgso.graph.degrees import receivers, senders


class Held:
    """The entries of P at one o, l and r, which all layers that share an operator use.

    What only gradients need is computed on first use.
    """

    def __init__(self, graph: Graph, own: Tensor | None, left: Tensor, right: Tensor) -> None:
        self.graph, self.left, self.right = graph, left, right
        self.values = entries_of(graph, own, left, right)
        self._turned: Tensor | None = None
        self._divisors: tuple[Tensor, Tensor] | None = None

    @property
    def turned(self) -> Tensor:  # (nnz,)
        """The entries of the transpose: the same in another order."""
        if self._turned is None:
            self._turned = turn(self.values, self.graph)
        return self._turned

    @property
    def divisors(self) -> tuple[Tensor, Tensor]:  # (targets,), (sources,)
        """The l and r that gradients are divided by; infinite where the gradient is 0.

        It is 0 where d + a ≤ 0, and where a node has no edge. There the differences of the
        formula at the top would leave a rounding error.
        """
        if self._divisors is None:
            pairs = ((self.left, receivers(self.graph)), (self.right, senders(self.graph)))
            self._divisors = tuple(or_infinite(*pair) for pair in pairs)  # type: ignore[assignment]
        assert self._divisors is not None
        return self._divisors


def or_infinite(by: Tensor, present: Tensor | None) -> Tensor:
    """A divisor, infinite where it is 0 and where a node has no edge."""
    there = by != 0 if present is None else (by != 0) & present
    return torch.where(there, by, torch.inf)


def entries_of(
    graph: Any, own: Tensor | None, left: Tensor, right: Tensor
) -> Tensor:  # (nnz,) or (nnz, H)
    """The entries of Diag(own) + Diag(left) A Diag(right) on the graph's pattern.

    Differentiable in the vectors and in A. Vectors of shape (n, H) give entries per head.
    """
    pattern = graph.pattern
    entries: Tensor = left.index_select(0, pattern.row) * right.index_select(0, pattern.col)
    if graph.weight is not None or graph.loops is not None or own is None:
        A = graph.entries.to(entries.dtype)
        entries = entries * (A if entries.dim() == 1 else A.unsqueeze(1))
        return entries if own is None else entries.index_add(0, pattern.diagonal, own)
    return entries.index_copy(0, pattern.diagonal, own)


class Propagation(torch.autograd.Function):
    """y = (Diag(own) + Diag(left) A Diag(right)) x: see the top of this file."""

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any,
        x: Tensor,  # (sources, F)
        own: Tensor | None,  # (n,)
        left: Tensor,  # (targets,)
        right: Tensor,  # (sources,)
        held: Held | None,
        graph: Graph,
    ) -> Tensor:  # (targets, F)
        values = entries_of(graph, own, left, right) if held is None else held.values
        out = product(graph.pattern, values, x)
        ctx.held, ctx.graph, ctx.learned = held, graph, any(ctx.needs_input_grad[1:4])
        # A fixed operator keeps nothing of the size of x alive.
        ctx.save_for_backward(own, left, right, *((x, out) if ctx.learned else ()))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, own, left and right; they can be differentiated again."""
        (g,) = grads
        own, left, right, *features = ctx.saved_tensors
        once = ctx.held is not None and not torch.is_grad_enabled()
        if once:
            z = product(ctx.graph.transposed, ctx.held.turned, g)
        else:
            z = propagated(g, own, right, left, None, ctx.graph.T)
        if not ctx.learned:
            return z, None, None, None, None, None
        x, y = features
        to_left = row_dots(g, y).to(left.dtype)
        to_right = row_dots(x, z).to(right.dtype)
        q = None
        if own is not None:
            q = row_dots(g, x).to(own.dtype)
            own_part = own * q
            to_left, to_right = to_left - own_part, to_right - own_part
        if once:
            by_left, by_right = ctx.held.divisors
        elif own is None or torch.compiler.is_compiling():
            by_left, by_right = or_infinite(left, None), or_infinite(right, None)
        else:
            by_left = or_infinite(left, receivers(ctx.graph))
            by_right = or_infinite(right, senders(ctx.graph))
        return z, q, to_left / by_left, to_right / by_right, None, None


def propagated(
    x: Tensor,
    own: Tensor | None,
    left: Tensor,
    right: Tensor,
    held: Held | None,
    graph: Graph,
) -> Tensor:
    """Y = P x on a plain graph (:func:`is_plain`); differentiable in x and in the vectors."""
    out: Tensor = Propagation.apply(x, own, left, right, held, graph)
    return out


def is_plain(graph: Any) -> TypeGuard[Graph]:
    """Whether the fast path is right: constant A, and no transform of ``torch.func`` at work.

    Everything else (learned weights, traced edge lists, ``torch.func``, forward mode) multiplies
    with :func:`entries_of` by operations whose derivatives torch knows.
    """
    if not isinstance(graph, Graph) or is_transformed():
        return False
    return graph.weight is None or not learns(graph.weight)
