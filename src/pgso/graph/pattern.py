"""Which entries a graph's matrices have, and the products with them.

A sparsity pattern, its transpose, a sample of it; and the only place with a loop over edges.
"""

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pgso.graph.inputs import check_edge_index
from pgso.graph.memo import is_eager

if TYPE_CHECKING:
    from pgso.graph.graph import Graph

with warnings.catch_warnings():  # torch warns once a process that CSR is in beta: that is now
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 0], [], [], (1, 1))

DOTS_IN_CACHE = 2**19  # values up to which products of rows are made before they are added


@dataclass(frozen=True, eq=False)
class Pattern:
    """The entries of a sparse matrix in compressed rows.

    Row i is the target of an edge and column j its source, as in ``A[i, j]``. A square pattern
    holds every diagonal entry. A rectangular one has no diagonal.
    """

    rowptr: Tensor | None  # (rows + 1,) where each row's entries start; None if they are not sorted
    row: Tensor  # (nnz,) the row of each entry
    col: Tensor  # (nnz,) the column of each entry, ascending within a row
    diagonal: Any  # (n,) where the entry (i, i) stands, int64; None in a rectangle
    shape: tuple[int, int]  # rows, columns

    @classmethod
    def of(
        cls, row: Tensor, col: Tensor, diagonal: Tensor | None, shape: tuple[int, int]
    ) -> "Pattern":
        """Compress sorted entries; indices are stored in 32 bits where they fit."""
        rows, columns = shape
        fits = max(row.numel(), rows, columns) < torch.iinfo(torch.int32).max
        dtype = torch.int32 if fits else torch.int64
        rowptr = torch.zeros(rows + 1, dtype=dtype, device=row.device)
        rowptr[1:] = torch.bincount(row, minlength=rows).cumsum(0)
        return cls(rowptr, row.to(dtype), col.to(dtype), diagonal, shape)

    def to(self, device: torch.device | str | None) -> "Pattern":
        """The same pattern on another device."""
        parts = {name: getattr(self, name) for name in ("rowptr", "row", "col", "diagonal")}
        moved = {name: part.to(device) for name, part in parts.items() if part is not None}
        return replace(self, **moved)


@dataclass(frozen=True, eq=False)
class Structure:
    """A pattern, its transpose, and which of its entries each input edge went to.

    It depends on the edges alone: the same structure serves any weights on them.
    """

    pattern: Pattern
    transposed: Pattern  # the same object where the pattern is symmetric
    transposition: Tensor  # (nnz,) where each entry of ``transposed`` stands in ``pattern``
    position: Tensor  # (E,) the entry that each input edge adds to

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int | tuple[int, int] | None) -> "Structure":
        """Check edges and sort them by target, then source, merging duplicates: O(E log E).

        Unless ``num_nodes`` are (targets, sources), the diagonal is part of the pattern.
        """
        if num_nodes is None and hasattr(edge_index, "sparse_size"):  # PyG's EdgeIndex
            sources, targets = edge_index.sparse_size()
            if sources is not None and targets is not None:
                num_nodes = sources if sources == targets else (targets, sources)
        shape = rows, columns = check_edge_index(edge_index, num_nodes)
        source, target = edge_index.long()
        square = not isinstance(num_nodes, tuple)
        key = target * columns + source
        if square:  # the diagonal comes last
            key = torch.cat([key, torch.arange(rows, device=source.device) * (columns + 1)])
        key, order = torch.sort(key)
        key, slot = torch.unique_consecutive(key, return_inverse=True)
        position = torch.empty_like(order)
        position[order] = slot
        row = torch.div(key, max(columns, 1), rounding_mode="floor")
        col = key - row * columns
        diagonal = position[source.numel() :] if square else None
        pattern = Pattern.of(row, col, diagonal, shape)

        # Entries sorted by (row, col) become sorted by (col, row) by one stable sort on col.
        row_t, transposition = torch.sort(pattern.col, stable=True)
        col_t = pattern.row.index_select(0, transposition)
        same = diagonal is not None and torch.equal(row_t, pattern.row)
        if same and torch.equal(col_t, pattern.col):
            transposed = pattern
        else:
            if diagonal is not None:
                diagonal = inverse(transposition)[diagonal]
            transposed = Pattern.of(row_t, col_t, diagonal, (columns, rows))
        return cls(
            pattern, transposed, transposition.to(pattern.row.dtype), position[: source.numel()]
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """The origin of a graph whose rows hold some of the neighbours only.

    The sampled graph's weights are A's times ``importance``, and its degrees are the whole
    graph's, so that γ's rows are right on average.
    """

    graph: "Graph"  # the whole graph
    nodes: Tensor  # (n,) the id of each node in the whole graph; on its device
    importance: Tensor  # (nnz,) how many edges an entry stands for; 1 on the diagonal

    def to(self, device: torch.device | str | None) -> "Sample":
        """The same sample for a graph on another device; the whole graph stays where it is."""
        return replace(self, importance=self.importance.to(device))


def inverse(permutation: Tensor) -> Tensor:
    """Where each number stands in a permutation."""
    places = torch.arange(permutation.numel(), dtype=permutation.dtype, device=permutation.device)
    return torch.empty_like(permutation).index_copy(0, permutation.long(), places)


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
    def forward(left: Tensor, right: Tensor, graph: "Graph") -> Tensor:  # 2 (n, H, C) -> (nnz, H)
        (_, heads, width), dots = left.shape, []
        left, right = left.flatten(1), right.flatten(1)
        block = max(1, 2**20 // max(left.size(1), 1))  # buffers of a few megabytes
        pattern = graph.pattern
        for row, col in zip(pattern.row.split(block), pattern.col.split(block), strict=True):
            rows, cols = left.index_select(0, row), right.index_select(0, col)
            by_head = rows.mul_(cols).view(-1, heads, width).sum(dim=2) if heads > 1 else None
            dots.append(row_dots(rows, cols).unsqueeze(1) if by_head is None else by_head)
        return torch.cat(dots)

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
    transformed = not torch.compiler.is_compiling() and not is_eager()
    if pattern.rowptr is None or transformed:  # torch knows all derivatives of these
        messages = values.unsqueeze(-1) * x.index_select(0, pattern.col)
        return x.new_zeros(pattern.shape[0], *x.shape[1:]).index_add(0, pattern.row, messages)
    heads = (values, x) if x.dim() == 3 else (values.unsqueeze(1), x.unsqueeze(1))
    out: Tensor = _WeightedProduct.apply(*heads, graph)
    return out if x.dim() == 3 else out.squeeze(1)


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
