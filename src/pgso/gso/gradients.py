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
o x itself (:meth:`pgso.gso.operator.NodeShift.mixes` decides). How o, l and r depend on S is left
to autograd: they are vectors, and cheap.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from pgso.graph import Graph, product, row_dots, turn


class Held:
    """The entries of P at one o, l and r, which all layers that share an operator use.

    The transpose's entries are the same in another order. They are found when first asked for.
    """

    def __init__(self, graph: Graph, own: Tensor | None, left: Tensor, right: Tensor) -> None:
        self.values = entries_of(graph, own, left, right)
        self._turned: Tensor | None = None

    def turned(self, graph: Graph) -> Tensor:
        """The values in the order of the transpose's entries."""
        if self._turned is None:
            self._turned = turn(self.values, graph)
        return self._turned


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
        x: Tensor,  # (sources, F)
        own: Tensor | None,  # (n,)
        left: Tensor,  # (targets,)
        right: Tensor,  # (sources,)
        held: Held | None,
        graph: Graph,
    ) -> Tensor:  # (targets, F)
        values = entries_of(graph, own, left, right) if held is None else held.values
        return product(graph.pattern, values, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep what the gradients need."""
        x, own, left, right, ctx.held, ctx.graph = inputs
        ctx.learned = any(ctx.needs_input_grad[1:4])
        if ctx.learned:
            ctx.save_for_backward(own, left, right, x, output)
        else:  # a fixed operator keeps nothing of the size of x alive
            ctx.save_for_backward(own, left, right)
        if not torch.compiler.is_compiling() and forward_ad._current_level >= 0:
            ctx.save_for_forward(x, own, left, right)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, own, left and right."""
        (g,) = grads
        own, left, right, *features = ctx.saved_tensors
        if ctx.held is None or torch.is_grad_enabled():
            z = propagated(g, own, right, left, None, ctx.graph.T)
        else:
            z = product(ctx.graph.transposed, ctx.held.turned(ctx.graph), g)
        if not ctx.learned:
            return z, None, None, None, None, None
        x, y = features
        to_left, to_right = row_dots(g, y).to(left.dtype), row_dots(x, z).to(right.dtype)
        q = None
        if own is not None:
            q = row_dots(g, x).to(own.dtype)
            kept = own * q
            to_left, to_right = to_left - kept, to_right - kept
            if not torch.compiler.is_compiling():  # there the difference is 0, but for rounding
                to_left = _where(ctx.graph.receives, to_left)
                to_right = _where(ctx.graph.sends, to_right)
        return z, q, _divided(to_left, left), _divided(to_right, right), None, None


class TransformedPropagation(Propagation):
    """The same for ``torch.func`` and forward-mode differentiation.

    ``torch.compile`` refuses functions that have rules for these, so they are in a class of their
    own.
    """

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        """The product is linear in x and in each vector."""
        x, own, left, right = ctx.saved_tensors
        to_x, to_own, to_left, to_right, *_ = tangents
        terms = []
        if to_x is not None:
            terms.append(propagated(to_x, own, left, right, None, ctx.graph))
        if to_own is not None:
            terms.append(to_own.unsqueeze(1) * x)
        if to_left is not None:
            terms.append(propagated(x, None, to_left, right, None, ctx.graph))
        if to_right is not None:
            terms.append(propagated(x, None, left, to_right, None, ctx.graph))
        return sum(terms[1:], terms[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> tuple[Tensor, int]:
        """A batch of features is another width; a batch of vectors is one product each."""
        x, own, left, right, held, graph = inputs
        if all(dim is None for dim in in_dims[1:4]):
            wide = x.movedim(in_dims[0], -1)
            out = propagated(wide.flatten(1), own, left, right, held, graph)
            return out.unflatten(1, wide.shape[1:]), 2

        def at(place: int) -> Tensor:
            pairs = zip(inputs[:4], in_dims[:4], strict=True)
            one = [value if dim is None else value.select(dim, place) for value, dim in pairs]
            return propagated(one[0], one[1], one[2], one[3], None, graph)

        return torch.stack([at(place) for place in range(info.batch_size)]), 0


def propagated(
    x: Tensor,
    own: Tensor | None,
    left: Tensor,
    right: Tensor,
    held: Held | None,
    graph: Graph,
) -> Tensor:
    """The product by the class that suits who is watching."""
    transformed = not torch.compiler.is_compiling() and (
        torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
    )
    function = TransformedPropagation if transformed else Propagation
    out: Tensor = function.apply(x, own, left, right, held, graph)
    return out


def _where(present: Tensor | None, values: Tensor) -> Tensor:
    return values if present is None else torch.where(present, values, 0.0)


def _divided(values: Tensor, by: Tensor) -> Tensor:
    """Values / by, and 0 where ``by`` is: such a node has no power, and no gradient."""
    present = by != 0
    return torch.where(present, values, 0.0) / torch.where(present, by, 1.0)
