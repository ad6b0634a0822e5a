"""γ x where S has a value per node or per channel: one product with A between scalings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from pgso.graph import EdgeList, Graph, Pattern, for_any_mode, product, row_dots, weighted_product
from pgso.gso.shapes import scales

COLUMNS = 32  # multiplied at once: what they are gathered from stays in the cache
ROWS = 8192  # of a block: what is computed from its rows stays in the cache
MOST_CLASSES = 4096  # degrees up to which tables by degree are worth their sums
MOST_OWN = 100.0  # own / left up to which rounding lets left be told from the sum


def propagate_vectors(
    x: Tensor,  # (n, F)
    graph: Graph | EdgeList,
    S: Tensor,  # (7, n, 1) or (7, 1, F)
) -> Tensor:  # (n, F)
    """γ(A, S) x with the S of each node, or of each channel; differentiable in x and S."""
    dtype, x = x.dtype, x.to(S.dtype)
    out: Tensor
    constant = graph.weight is None or not graph.weight.requires_grad
    if not constant or not isinstance(graph, Graph):
        return _differentiable(x, scales(S, graph.degree.unsqueeze(1)), graph).to(dtype)
    classes = _classes(graph) if S.size(-1) > 1 else None
    tables = scales(S, graph.degree.unsqueeze(1) if classes is None else classes.degree)
    if not _tell_apart(*tables):
        out = _differentiable(x, [_spread(table, classes) for table in tables], graph)
    elif S.size(-1) == 1:
        out = _PerNode.apply(x, *tables, graph)
    else:
        out = _PerChannel.apply(x, *tables, graph, classes)
    return out.to(dtype)


def _tell_apart(left: Tensor, right: Tensor, own: Tensor) -> bool:
    """Whether left ∘ A (right ∘ x) can be had back from γ x, whose gradients then need no more.

    It is a difference to own ∘ x, which would be a rounding error where left or right is small.
    """
    if torch.compiler.is_compiling():  # a traced program cannot look at S
        return False
    smaller = torch.minimum(left.detach().abs(), right.detach().abs())
    return bool(((smaller > 0) & (own.detach().abs() <= MOST_OWN * smaller)).all())


def _spread(table: Tensor, classes: "DegreeClasses | None") -> Tensor:
    """The values of each node, from those of each class."""
    return table if classes is None else table.index_select(0, classes.index)


def _differentiable(x: Tensor, tables: Sequence[Tensor], graph: Graph | EdgeList) -> Tensor:
    """The formula of :func:`scales` by operations that torch knows: any derivative, not fast."""
    if isinstance(graph, Graph):
        A = graph.entries
    elif graph.weight is not None:
        A = graph.weight
    else:
        A = torch.ones_like(graph.pattern.row, dtype=x.dtype)
        A = A.index_fill(0, graph.pattern.diagonal, 0)
    left, right, own = tables
    return own * x + left * weighted_product(graph, A.to(x.dtype), right * x)


def _gradients(ctx: Any, g: Tensor, classes: "DegreeClasses | None" = None) -> tuple[Tensor, ...]:
    """The gradients of x, left, right and own in a form that can be differentiated again."""
    x, _, *tables = ctx.saved_tensors
    out = _differentiable(x, [_spread(table, classes) for table in tables], ctx.graph)
    return torch.autograd.grad(out, (x, *tables), g, create_graph=True)


class _PerNode(torch.autograd.Function):
    """own ∘ x + left ∘ A (right ∘ x) with columns (n, 1): one product, all in its entries.

    As for scalars, the gradients are row dots of g, x, y = γ x and z = γᵀ g:
    left ∘ dL/dleft = g · y - own ∘ (g · x), and right ∘ dL/dright = x · z - own ∘ (g · x).
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, left: Tensor, right: Tensor, own: Tensor, graph: Graph
    ) -> Tensor:
        entries = _scaled(graph, left, right, own, False)
        y = product(graph.pattern, entries, x)
        ctx.graph = graph
        ctx.save_for_backward(x, y, left, right, own)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        if torch.is_grad_enabled():
            return *_gradients(ctx, g), None
        x, y, left, right, own = ctx.saved_tensors
        g = g.contiguous()
        z = product(ctx.graph.transposed, _scaled(ctx.graph, right, left, own, True), g)
        q, p, r = (row_dots(*pair).unsqueeze(1) for pair in ((g, x), (g, y), (x, z)))
        return z, (p - own * q) / left, (r - own * q) / right, q, None


class _PerChannel(torch.autograd.Function):
    """own ∘ x + left ∘ A (right ∘ x) with tables (U, F) by degree, or (n, F) without classes.

    A pass over n x F numbers costs a third of a product if its result is a new array, and little
    if it is not: there is one new array each way, and the rest happens in parts of arrays.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        left: Tensor,
        right: Tensor,
        own: Tensor,
        graph: Graph,
        classes: "DegreeClasses | None",
    ) -> Tensor:
        out = _around(_entries(graph, x.dtype), graph.pattern, x, left, right, own, classes)
        ctx.graph, ctx.classes = graph, classes
        ctx.save_for_backward(x, out, left, right, own)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,), graph, classes = grads, ctx.graph, ctx.classes
        if torch.is_grad_enabled():
            return *_gradients(ctx, g, classes), None, None
        x, y, left, right, own = ctx.saved_tensors
        A = _entries(graph, g.dtype)
        if not graph.is_undirected:
            A = A.index_select(0, graph.transposition)
        z = _around(A, graph.transposed, g, right, left, own, classes)
        to_y, to_z, to_own = (torch.zeros_like(table) for table in (left, right, own))
        for block, _ in _blocks(g, classes):
            _collect(to_y, g[block], y[block], block, classes)
            _collect(to_z, x[block], z[block], block, classes)
            _collect(to_own, g[block], x[block], block, classes)
        return z, (to_y - own * to_own) / left, (to_z - own * to_own) / right, to_own, None, None


def _around(
    A: Tensor,  # (nnz,)
    pattern: Pattern,
    x: Tensor,  # (n, F)
    left: Tensor,  # (U, F), or (n, F) without classes
    right: Tensor,
    own: Tensor,
    classes: "DegreeClasses | None",
) -> Tensor:  # (n, F)
    """The formula of :func:`scales`, a few columns at a time, in blocks of rows."""
    out, scaled = torch.empty_like(x), x.new_empty(x.size(0), min(COLUMNS, x.size(1)))
    by_columns = (array.split(COLUMNS, dim=1) for array in (x, out, left, right, own))
    for x_c, out_c, left_c, right_c, own_c in zip(*by_columns, strict=True):
        scaled = scaled[:, : x_c.size(1)]
        for block, rows in _blocks(x, classes):
            torch.mul(rows(right_c), x_c[block], out=scaled[block])
        v = product(pattern, A, scaled)
        for block, rows in _blocks(x, classes):
            out_c[block] = v[block].mul_(rows(left_c)).addcmul_(rows(own_c), x_c[block])
    return out


def _scaled(
    graph: Graph, left: Tensor, right: Tensor, own: Tensor, transposed: bool
) -> Tensor:  # (nnz,)
    """The entries of Diag(own) + Diag(left) A Diag(right), or with Aᵀ on the transposed pattern."""
    pattern, A = graph.pattern, _entries(graph, left.dtype)
    if transposed:
        pattern = graph.transposed
        A = A if graph.is_undirected else A.index_select(0, graph.transposition)
    entries = left.flatten().index_select(0, pattern.row)
    entries.mul_(right.flatten().index_select(0, pattern.col)).mul_(A)
    return entries.index_add_(0, pattern.diagonal, own.flatten())


@dataclass(frozen=True, eq=False)
class DegreeClasses:
    """Nodes by degree: of an unweighted graph there are few, so powers are taken once for each."""

    degree: Tensor  # (U, 1) ascending
    index: Tensor  # (n,) the class of each node
    order: tuple[Tensor, ...]  # of each block of rows: its rows by class
    start: tuple[Tensor, ...]  # (U,) of each block: where each class starts in that order

    @classmethod
    def of(cls, degree: Tensor) -> "DegreeClasses | None":
        """None if there are too many of them for sums by class to pay."""
        values, index = degree.unique(return_inverse=True)
        if values.numel() > min(MOST_CLASSES, degree.numel() / 2):
            return None
        order, start = [], []
        for block in index.split(ROWS):
            count = torch.bincount(block, minlength=values.numel())
            order.append(block.argsort(stable=True))
            start.append(count.cumsum(0) - count)
        return cls(values.unsqueeze(1), index, tuple(order), tuple(start))


_CLASSES: "WeakKeyDictionary[Graph, DegreeClasses | None]" = WeakKeyDictionary()


_ENTRIES: "WeakKeyDictionary[Graph, Tensor]" = WeakKeyDictionary()


def _entries(graph: Graph, dtype: torch.dtype) -> Tensor:  # (nnz,)
    """A on the pattern of A + I, kept while the graph lives where it would be made anew."""
    if graph.weight is not None:
        return graph.weight.to(dtype)
    if graph not in _ENTRIES:
        with for_any_mode():
            _ENTRIES[graph] = graph.entries
    return _ENTRIES[graph].to(dtype)


def _classes(graph: Graph) -> DegreeClasses | None:
    if graph not in _CLASSES:
        with for_any_mode():
            _CLASSES[graph] = DegreeClasses.of(graph.degree)
    return _CLASSES[graph]


def _blocks(x: Tensor, classes: DegreeClasses | None) -> Any:
    """Slices of rows, each with the function that cuts them out of a table."""
    for first in range(0, x.size(0), ROWS):
        block = slice(first, first + ROWS)
        if classes is None:
            yield block, lambda table, block=block: table[block]
        else:
            yield block, lambda table, at=classes.index[block]: table.index_select(0, at)


def _collect(
    table: Tensor, one: Tensor, other: Tensor, block: slice, classes: DegreeClasses | None
) -> None:
    """Add the products of a block's rows to the rows of a table, by class."""
    if classes is None:
        torch.mul(one, other, out=table[block])
        return
    number = block.start // ROWS
    table += embedding_bag(classes.order[number], one * other, classes.start[number], mode="sum")
