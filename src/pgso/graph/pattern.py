"""Which entries a graph's matrices have: a sparsity pattern, its transpose, a sample of it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from pgso.graph.graph import Graph


@dataclass(frozen=True, eq=False)
class Pattern:
    """The entries of a sparse matrix in compressed rows.

    Row i is the target of an edge and column j its source, as in ``A[i, j]``. A square pattern
    holds every diagonal entry. A rectangular one has no diagonal.
    """

    rowptr: Tensor | None  # (rows + 1,) where each row's entries start; None if they are not sorted
    row: Tensor  # (nnz,) the row of each entry
    col: Tensor  # (nnz,) the column of each entry, ascending within a row
    places: Tensor | None  # (n,) where the entry (i, i) stands, int64; None in a rectangle
    shape: tuple[int, int]  # rows, columns

    @property
    def diagonal(self) -> Tensor:  # (n,)
        """Where the diagonal entries stand; only a square pattern has them."""
        assert self.places is not None, "a rectangle has no diagonal"
        return self.places

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
        rowptr = None if self.rowptr is None else self.rowptr.to(device)
        places = None if self.places is None else self.places.to(device)
        return Pattern(rowptr, self.row.to(device), self.col.to(device), places, self.shape)


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
    def of(
        cls, source: Tensor, target: Tensor, shape: tuple[int, int], square: bool
    ) -> "Structure":
        """Sort edges (int64, checked to be in range) by target, then source, merging duplicates.

        In O(E log E). The shape is (targets, sources); ``square`` says that they are the same
        nodes: then the diagonal is part of the pattern.
        """
        rows, columns = shape
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
    graph's, so that γ's rows are right on average. Code that needs other degrees, or sums over
    neighbours that are not products with A (attention), uses these fields.
    """

    graph: "Graph"  # the whole graph
    nodes: Tensor  # (n,) the id of each node in the whole graph; on its device
    importance: Tensor  # (nnz,) how many edges an entry stands for; 1 on the diagonal

    def to(self, device: torch.device | str | None) -> "Sample":
        """The same sample for a graph on another device; the whole graph stays where it is."""
        return replace(self, importance=self.importance.to(device))


def inverse(permutation: Tensor) -> Tensor:
    """Where each number stands in a permutation.

    Example:
        >>> inverse(torch.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    places = torch.arange(permutation.numel(), dtype=permutation.dtype, device=permutation.device)
    return torch.empty_like(permutation).index_copy(0, permutation.long(), places)
