"""γ x where S has a value per node or per channel: one product with A between scalings."""

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from pgso.graph import EdgeList, Graph, product, row_dots, weighted_product
from pgso.gso.shapes import scales

ROWS = 2048  # of a block: what is computed from its rows stays in the cache
MOST_CLASSES = 4096  # degrees up to which tables by degree are worth their sums


def propagate_vectors(
    x: Tensor,  # (n, F)
    graph: Graph | EdgeList,
    S: Tensor,  # (7, n, 1) or (7, 1, F)
) -> Tensor:  # (n, F)
    """γ(A, S) x with the S of each node, or of each channel; differentiable in x and S."""
    dtype, x = x.dtype, x.to(S.dtype)
    out: Tensor
    degree = graph.degree.unsqueeze(1)
    if not isinstance(graph, Graph) or (graph.weight is not None and graph.weight.requires_grad):
        left, right, own = scales(S, degree)
        out = _differentiable(x, left, right, own, graph)
    elif S.size(-1) == 1:
        out = _PerNode.apply(x, *scales(S, degree), graph)
    else:
        classes = _classes(graph)
        if classes is not None:
            degree = classes.degree
        out = _PerChannel.apply(x, *scales(S, degree), graph, classes)
    return out.to(dtype)


def _differentiable(
    x: Tensor, left: Tensor, right: Tensor, own: Tensor, graph: Graph | EdgeList
) -> Tensor:
    """The formula of :func:`scales` by operations that torch knows: any derivative, not fast."""
    if isinstance(graph, Graph):
        A = graph.entries
    elif graph.weight is not None:
        A = graph.weight
    else:
        A = torch.ones_like(graph.pattern.row, dtype=x.dtype)
        A = A.index_fill(0, graph.pattern.diagonal, 0)
    return own * x + left * weighted_product(graph, A.to(x.dtype), right * x)


def _gradients(ctx: Any, g: Tensor, classes: "DegreeClasses | None" = None) -> tuple[Tensor, ...]:
    """The gradients of x, left, right and own in a form that can be differentiated again."""
    x, _, *tables = ctx.saved_tensors
    left, right, own = (
        table if classes is None else table.index_select(0, classes.index) for table in tables
    )
    out = _differentiable(x, left, right, own, ctx.graph)
    return torch.autograd.grad(out, (x, *tables), g, create_graph=True)


class _PerNode(torch.autograd.Function):
    """own ∘ x + left ∘ A (right ∘ x) with columns (n, 1): their gradients are row dots."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, left: Tensor, right: Tensor, own: Tensor, graph: Graph
    ) -> Tensor:
        pattern = graph.pattern
        entries = _entries(graph, x.dtype) * right.flatten().index_select(0, pattern.col)
        v = product(pattern, entries, x)
        ctx.graph = graph
        ctx.save_for_backward(x, v, left, right, own)
        return torch.mul(x, own).addcmul_(v, left)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        if torch.is_grad_enabled():
            return *_gradients(ctx, g), None
        x, v, left, right, own = ctx.saved_tensors
        graph, pattern = ctx.graph, ctx.graph.transposed
        A = _entries(graph, g.dtype)
        if not graph.is_undirected:
            A = A.index_select(0, graph.transposition)
        g = g.contiguous()
        w = product(pattern, A * left.flatten().index_select(0, pattern.col), g)
        dots = [row_dots(*pair).unsqueeze(1) for pair in ((g, v), (x, w), (g, x))]
        z = w.mul_(right).addcmul_(g, own) if ctx.needs_input_grad[0] else None
        return z, *dots, None


class _PerChannel(torch.autograd.Function):
    """own ∘ x + left ∘ A (right ∘ x) with tables (U, F) by degree, or (n, F) without classes.

    A pass over n x F numbers costs a third of a product if its result is a new array, and little
    if it is not: there are two new arrays each way, and everything else happens in blocks.
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
        x = x.contiguous()
        out = torch.empty_like(x)
        for block, rows in _blocks(x, classes):
            torch.mul(rows(right), x[block], out=out[block])
        v = product(graph.pattern, _entries(graph, x.dtype), out)
        for block, rows in _blocks(x, classes):
            torch.mul(rows(own), x[block], out=out[block]).addcmul_(rows(left), v[block])
        ctx.graph, ctx.classes = graph, classes
        ctx.save_for_backward(x, v, left, right, own)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,), graph, classes = grads, ctx.graph, ctx.classes
        if torch.is_grad_enabled():
            return *_gradients(ctx, g, classes), None, None
        x, v, left, right, own = ctx.saved_tensors
        A = _entries(graph, g.dtype)
        if not graph.is_undirected:
            A = A.index_select(0, graph.transposition)
        g = g.contiguous()
        to_left, to_right, to_own = (torch.zeros_like(table) for table in (left, right, own))
        scaled, scratch = torch.empty_like(g), g.new_empty(min(ROWS, len(g)), g.size(1))
        for block, rows in _blocks(g, classes):
            torch.mul(rows(left), g[block], out=scaled[block])
            _collect(to_left, g[block], v[block], block, classes, scratch)
            _collect(to_own, g[block], x[block], block, classes, scratch)
        z = product(graph.transposed, A, scaled)
        for block, rows in _blocks(g, classes):
            _collect(to_right, x[block], z[block], block, classes, scratch)
            z[block].mul_(rows(right)).addcmul_(rows(own), g[block])
        return z, to_left, to_right, to_own, None, None


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
        _ENTRIES[graph] = graph.entries
    return _ENTRIES[graph].to(dtype)


def _classes(graph: Graph) -> DegreeClasses | None:
    if graph not in _CLASSES:
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
    table: Tensor,
    one: Tensor,
    other: Tensor,
    block: slice,
    classes: DegreeClasses | None,
    scratch: Tensor,
) -> None:
    """Add the products of a block's rows to the rows of a table, by class."""
    if classes is None:
        torch.mul(one, other, out=table[block])
        return
    products = torch.mul(one, other, out=scratch[: len(one)])
    number = block.start // ROWS
    table += embedding_bag(classes.order[number], products, classes.start[number], mode="sum")
