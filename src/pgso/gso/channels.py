"""γ x where every channel, or every head of channels, has an S of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from pgso.errors import InputError
from pgso.graph import (
    EdgeList,
    Graph,
    Pattern,
    gradients_again,
    is_transformed,
    learns,
    product,
    turn,
    weighted_product,
)
from pgso.gso.formula import Factors, factors
from pgso.gso.gradients import entries_of
from pgso.gso.node_shift import OnPattern
from pgso.gso.operator import Features, flatten, unflatten

COLUMNS = 32  # multiplied at once: what they are gathered from stays in the cache
ROWS = 8192  # of a block: what is computed from its rows stays in the cache
MOST_CLASSES = 4096  # degrees up to which tables by degree are worth their sums
MOST_OWN = 100.0  # own / left and own / right up to which their gradients keep enough digits


class ChannelShift(OnPattern):
    """One γ per channel: own ∘ x + left ∘ A (right ∘ x) with vectors per node and channel.

    Args:
        graph: The graph.
        S: Shape (7, 1, C): a value for each of C channels.
        columns: What e3 acts on, if not the row sums of A.
        per_head: Whether the C columns of S are heads, each for as many neighbouring channels.
        transposed: Whether this is γᵀ. ``graph`` is the graph of γ in both cases.
    """

    S: Tensor
    columns: Tensor | None
    per_head: bool
    transposed: bool

    def __init__(
        self,
        graph: Graph | EdgeList,
        S: Tensor,
        columns: Tensor | None = None,
        per_head: bool = False,
        transposed: bool = False,
    ) -> None:
        self._set(graph=graph, shape=graph.shape, device=graph.device)
        self._set(S=S, columns=columns, per_head=per_head, transposed=transposed)
        self._set(_type=torch.promote_types(graph.dtype, S.dtype))

    def times(self, x: Features) -> Tensor:
        """γ x, channel by channel."""
        if not isinstance(x, Tensor):
            return super().times(x)
        self._check(x, self.shape[1])
        width = 1 if x.dim() == 1 else x.size(-1)
        flat = flatten(x)
        S = self._spread(width).to(torch.promote_types(x.dtype, torch.float32))
        S = S.repeat(1, 1, flat.size(1) // max(width, 1))
        return unflatten(self._times(flat.to(S.dtype), S).to(x.dtype), x)

    def _matmul(self, x: Tensor) -> Tensor:
        return self.times(x)

    def _spread(self, width: int) -> Tensor:  # (7, 1, width)
        """The S of each channel, where C columns serve ``width / C`` neighbouring channels each."""
        count = self.S.size(-1)
        if not self.per_head and width != count:
            raise InputError(
                f"S must have shape (7,), (7, {self.shape[0]}, 1) for a value per node or "
                f"(7, 1, {width}) for a value per channel of these features, "
                f"got {tuple(self.S.shape)}"
            )
        if width % count:
            raise InputError(f"{count} heads cannot share {width} channels: choose a multiple")
        return self.S.repeat_interleave(width // count, dim=-1)

    def _times(self, x: Tensor, S: Tensor) -> Tensor:
        graph = self.graph
        constant = graph.weight is None or not learns(graph.weight)
        if not constant or not isinstance(graph, Graph) or _traced():
            return self._differentiable(x, self._tables(S, None))
        classes = None if self.columns is not None else _classes(graph)
        tables = self._tables(S, classes)
        if not _tell_apart(tables):
            return self._differentiable(x, tuple(_spread(table, classes) for table in tables))
        operator = graph.T if self.transposed else graph
        out: Tensor = _PerChannel.apply(x, *tables, operator, classes)
        return out

    def _tables(self, S: Tensor, classes: "DegreeClasses | None") -> tuple[Tensor, Tensor, Tensor]:
        """own, left and right by node, or by class of nodes; γᵀ has the last two exchanged."""
        vectors = self._factors(S, classes)
        pair = (vectors.outer, vectors.right)
        left, right = reversed(pair) if self.transposed else pair
        return vectors.own, left, right

    def factors(self, dtype: torch.dtype = torch.float64) -> Factors:
        """α, m2, l, r and a by node and column of S: (n, C), or (1, C) where nodes are alike."""
        return self._factors(self.S.to(dtype), None)

    def _factors(self, S: Tensor, classes: "DegreeClasses | None") -> Factors:
        rows = self.graph.row_sums.unsqueeze(1) if classes is None else classes.degree
        columns = self.columns
        if columns is not None:
            columns = columns.unsqueeze(1).to(S.dtype)
        return factors(S.unbind(), rows.to(S.dtype), columns)

    def _differentiable(self, x: Tensor, tables: tuple[Tensor, ...]) -> Tensor:
        """The formula by operations that torch knows: any derivative, not fast."""
        own, left, right = tables
        graph, A = self.graph, self.graph.entries.to(x.dtype)
        if self.transposed:
            graph, A = self._graph().T, turn(A, self._graph())
        return own * x + left * weighted_product(graph, A, right * x)

    def entries(self, dtype: torch.dtype | None = None) -> Tensor:  # (nnz, C)
        """The entries of each channel's matrix."""
        S = self.S.to(torch.float64)
        vectors = self._factors(S, None)
        size = (self.graph.num_nodes, S.size(-1))
        own, left, right = (
            part.expand(size) for part in (vectors.own, vectors.outer, vectors.right)
        )
        entries = entries_of(self.graph, own, left, right).to(self._dtype(dtype))
        return turn(entries, self._graph()) if self.transposed else entries

    def diagonal(self) -> Tensor:  # (n, C)
        """The diagonal entries of each channel's matrix."""
        return self.T.diagonal() if self.transposed else super().diagonal()

    def to_dense(self) -> Tensor:  # (n, n, C)
        """The matrix of each channel, along the last dimension."""
        if self.transposed:
            return self.T.to_dense().transpose(0, 1)
        return super().to_dense()

    def to_torch_sparse(self) -> Tensor:
        """Refused: it is one matrix per channel."""
        raise self._many()

    def to_scipy(self) -> NoReturn:
        """Refused: it is one matrix per channel."""
        raise self._many()

    def _many(self) -> InputError:
        return InputError(
            f"this operator is {self.S.size(-1)} matrices, one for each channel or head: "
            "to_dense() has them all, and pgso.shift(graph, S[:, 0, c]) is one of them"
        )

    @property
    def T(self) -> "ChannelShift":
        """The transposed operator of every channel."""
        return ChannelShift(self.graph, self.S, self.columns, self.per_head, not self.transposed)

    @property
    def is_symmetric(self) -> bool:
        """Whether every channel's matrix is symmetric."""
        graph = self.graph
        undirected = isinstance(graph, Graph) and graph.is_undirected
        return undirected and bool((self.S[4] == self.S[5]).all())


def _traced() -> bool:
    """A traced or transformed program cannot look at numbers."""
    return torch.compiler.is_compiling() or is_transformed()


def _tell_apart(tables: tuple[Tensor, Tensor, Tensor]) -> bool:
    """Whether gradients may take left ∘ A (right ∘ x) as the difference γ x - own ∘ x.

    Where left or right is small beside own, the difference would be a rounding error.
    """
    own, left, right = (table.detach().abs() for table in tables)
    smaller = torch.minimum(left, right)
    return bool(((smaller > 0) & (own <= MOST_OWN * smaller)).all())


def _spread(table: Tensor, classes: "DegreeClasses | None") -> Tensor:
    """One row per node, from one row per class of nodes."""
    return table if classes is None else table.index_select(0, classes.index)


class _PerChannel(torch.autograd.Function):
    """own ∘ x + left ∘ A (right ∘ x) with tables (U, F) by degree, or (n, F) without classes.

    Gradients as in :mod:`pgso.gso.gradients`. A pass over n x F numbers that makes a new array
    costs a third of a product. So forward and backward make one new array each, and work on blocks
    of rows otherwise.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        own: Tensor,
        left: Tensor,
        right: Tensor,
        graph: Graph,
        classes: "DegreeClasses | None",
    ) -> Tensor:
        out = _around(graph.entries, graph.pattern, x, own, left, right, classes)
        ctx.graph, ctx.classes = graph, classes
        ctx.save_for_backward(x, out, own, left, right)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,), graph, classes = grads, ctx.graph, ctx.classes
        x, y, own, left, right = ctx.saved_tensors
        if torch.is_grad_enabled():

            def compute(x: Tensor, *tables: Tensor) -> Tensor:
                o, outer, inner = (_spread(table, classes) for table in tables)
                return o * x + outer * weighted_product(graph, A, inner * x)

            A, inputs = graph.entries.to(x.dtype), (x, own, left, right)
            return *gradients_again(compute, inputs, ctx.needs_input_grad[:4], g), None, None
        A = graph.entries if graph.is_undirected else turn(graph.entries, graph)
        z = _around(A, graph.transposed, g, own, right, left, classes)
        to_y, to_z, to_own = (torch.zeros_like(table) for table in (left, right, own))
        for block, _ in _blocks(g, classes):
            _collect(to_y, g[block], y[block], block, classes)
            _collect(to_z, x[block], z[block], block, classes)
            _collect(to_own, g[block], x[block], block, classes)
        own_part = own * to_own
        return z, to_own, (to_y - own_part) / left, (to_z - own_part) / right, None, None


def _around(
    A: Tensor,  # (nnz,)
    pattern: Pattern,
    x: Tensor,  # (n, F)
    own: Tensor,  # (U, F), or (n, F) without classes
    left: Tensor,
    right: Tensor,
    classes: "DegreeClasses | None",
) -> Tensor:  # (n, F)
    """Own ∘ x + left ∘ A (right ∘ x), a few columns at a time, in blocks of rows."""
    A = A.to(x.dtype)
    out, scaled = torch.empty_like(x), x.new_empty(x.size(0), min(COLUMNS, x.size(1)))
    by_columns = (array.split(COLUMNS, dim=1) for array in (x, out, own, left, right))
    for x_c, out_c, own_c, left_c, right_c in zip(*by_columns, strict=True):
        scaled = scaled[:, : x_c.size(1)]
        for block, rows in _blocks(x, classes):
            torch.mul(rows(right_c), x_c[block], out=scaled[block])
        v = product(pattern, A, scaled)
        for block, rows in _blocks(x, classes):
            out_c[block] = v[block].mul_(rows(left_c)).addcmul_(rows(own_c), x_c[block])
    return out


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


def _classes(graph: Graph) -> DegreeClasses | None:
    return graph.memo("channel_classes", lambda: DegreeClasses.of(graph.row_sums))


def _blocks(x: Tensor, classes: DegreeClasses | None) -> Iterator[tuple[slice, Any]]:
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
