"""A sparse matrix times features: the only place with a loop over edges."""

import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pgso.graph.memo import is_transformed
from pgso.graph.pattern import Pattern

if TYPE_CHECKING:
    from pgso.graph.graph import Graph

with warnings.catch_warnings():  # torch warns once a process that CSR is in beta: that is now
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 0], [], [], (1, 1))

DOTS_IN_CACHE = 2**19  # values up to which products of rows are made before they are added


def _multiply(rowptr: Tensor, col: Tensor, values: Tensor, x: Tensor) -> Tensor:
    if x.dtype == torch.float64 and x.device.type == "cpu":
        # embedding_bag has no vectorised kernel for doubles.
        size = (rowptr.numel() - 1, x.size(0))
        return torch.sparse_csr_tensor(rowptr, col, values, size, check_invariants=False) @ x
    with torch.no_grad():  # what torch.nn.functional.embedding_bag calls, mode "sum"
        options = (False, 0, False, values, True)
        out: Tensor = torch.embedding_bag(x.contiguous(), col, rowptr, *options)[0]
    return out


# Traced programs call this operator. Eager code does not: a call costs as much as a small product.
_product = torch.library.custom_op("pgso::product", _multiply, mutates_args=())


@_product.register_fake
def _(rowptr: Tensor, col: Tensor, values: Tensor, x: Tensor) -> Tensor:
    return x.new_empty(rowptr.numel() - 1, x.size(1))


def product(pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:  # (nnz,), (m, F) -> (n, F)
    """The matrix with these values on the pattern, times x, without gradients: O(nnz F).

    A row of the result is the sum of a weighted bag of rows of x, which is what ``embedding_bag``
    is fast at: no buffer per edge, and twice the speed of torch's own sparse product.
    """
    assert pattern.rowptr is not None
    if x.size(1) == 0 or x.size(0) == 0 or values.numel() == 0:
        return x.new_zeros(pattern.shape[0], x.size(1))
    multiply = _product if torch.compiler.is_compiling() else _multiply
    out: Tensor = multiply(pattern.rowptr, pattern.col, values.to(x.dtype), x)
    return out


class _WeightedProduct(torch.autograd.Function):
    """Differentiable in the values and in x; its backward passes are differentiable again.

    Values are (nnz, H) and x is (n, H, C): each head has its own values.
    """

    @staticmethod
    def forward(values: Tensor, x: Tensor, graph: "Graph") -> Tensor:
        return products(graph, values, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        values, x, ctx.graph = inputs
        ctx.save_for_backward(values, x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        values, x = ctx.saved_tensors
        grad_values = grad_x = None
        if ctx.needs_input_grad[0]:
            grad_values = _EdgeDots.apply(g, x, ctx.graph).to(values.dtype)
        if ctx.needs_input_grad[1]:
            if torch.is_grad_enabled():
                grad_x = _WeightedProduct.apply(turn(values, ctx.graph), g, ctx.graph.T)
            else:  # of the reversed graph only the pattern is needed
                grad_x = products(ctx.graph, values, g, transposed=True)
        return grad_values, grad_x, None


def products(graph: "Graph", values: Tensor, x: Tensor, transposed: bool = False) -> Tensor:
    """Each head's matrix, or its transpose, times the head of x; without gradients.

    Values are (nnz, H), x and the result (n, H, C).
    """
    pattern = graph.transposed if transposed else graph.pattern
    turned = turn(values, graph) if transposed else values
    if x.size(1) == 1:
        return product(pattern, turned.flatten(), x.squeeze(1)).unsqueeze(1)
    by_head = zip(turned.t().contiguous(), x.unbind(1), strict=True)
    return torch.stack([product(pattern, head, part) for head, part in by_head], dim=1)


class _EdgeDots(torch.autograd.Function):
    """``left[row] · right[col]`` of every entry and head: the gradient of a product's values."""

    @staticmethod
    def forward(left: Tensor, right: Tensor, graph: "Graph") -> Tensor:
        return edge_dots(left, right, graph.pattern)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        left, right, ctx.graph = inputs
        ctx.save_for_backward(left, right)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        left, right = ctx.saved_tensors
        grad_left = _WeightedProduct.apply(g, right, ctx.graph)
        grad_right = _WeightedProduct.apply(turn(g, ctx.graph), left, ctx.graph.T)
        return grad_left, grad_right, None


def edge_dots(left: Tensor, right: Tensor, pattern: Pattern) -> Tensor:  # 2 (n, H, C) -> (nnz, H)
    """``left[row] · right[col]`` of every entry and head, without gradients."""
    _, heads, width = left.shape
    left, right = left.flatten(1), right.flatten(1)
    block = max(1, 2**20 // max(left.size(1), 1))  # buffers of a few megabytes

    def of(row: Tensor, col: Tensor) -> Tensor:
        rows, cols = left.index_select(0, row), right.index_select(0, col)
        if heads == 1:
            return row_dots(rows, cols).unsqueeze(1)
        return rows.mul_(cols).view(-1, heads, width).sum(dim=2)

    blocks = zip(pattern.row.split(block), pattern.col.split(block), strict=True)
    return torch.cat([of(row, col) for row, col in blocks])


def turn(values: Tensor, graph: "Graph") -> Tensor:
    """The values of a graph's entries in the order of the transpose's."""
    return values.index_select(0, graph.transposition)


def weighted_product(
    graph: "Graph",
    values: Tensor,  # (nnz,) or (nnz, H)
    x: Tensor,  # (n, F) or (n, H, C)
) -> Tensor:  # of x's shape
    """The matrix with these values on the graph's pattern, times x; differentiable in both.

    With heads, head h of x is multiplied by the matrix of head h of the values. The gradient of
    every single value costs O(nnz F): use it where edges learn (attention, edge weights), and
    an operator where only the seven scalars do.
    """
    pattern = graph.pattern
    if pattern.rowptr is None or is_transformed():  # torch knows all derivatives of these
        messages = values.unsqueeze(-1) * x.index_select(0, pattern.col)
        return x.new_zeros(pattern.shape[0], *x.shape[1:]).index_add(0, pattern.row, messages)
    if x.dim() == 3:
        heads: Tensor = _WeightedProduct.apply(values, x, graph)
        return heads
    out: Tensor = _WeightedProduct.apply(values.unsqueeze(1), x.unsqueeze(1), graph)
    return out.squeeze(1)


def row_dots(left: Tensor, right: Tensor) -> Tensor:
    """The dot product of each row of ``left`` with the same row of ``right``, in 32 bits or more.

    As a batch of 1 x F times F x 1 products it needs no buffer of the size of its inputs; where
    such a buffer stays in the cache, it is quicker.
    """
    if left.dtype in (torch.float16, torch.bfloat16):
        left, right = left.float(), right.float()
    if left.numel() <= DOTS_IN_CACHE:
        dots: Tensor = torch.linalg.vecdot(left, right)
        return dots
    return torch.bmm(left.unsqueeze(1), right.unsqueeze(2)).flatten()
