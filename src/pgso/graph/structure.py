"""Which entries a graph's matrices have: the sparsity pattern of A + I, and its transpose."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Pattern:
    """The entries of an n x n matrix in compressed sparse rows, every diagonal entry among them.

    Row i is the target of an edge and column j its source, as in ``A[i, j]``.
    """

    rowptr: Tensor | None  # (n + 1,) where each row's entries start; None if they are not sorted
    row: Tensor  # (nnz,) the row of each entry
    col: Tensor  # (nnz,) the column of each entry, ascending within a row
    diagonal: Tensor  # (n,) where the entry (i, i) stands; int64

    @property
    def num_nodes(self) -> int:
        """The number n of rows."""
        return self.diagonal.numel()

    @classmethod
    def of(cls, row: Tensor, col: Tensor, diagonal: Tensor) -> "Pattern":
        """Compress sorted entries; indices are stored in 32 bits where they fit."""
        n = diagonal.numel()
        fits = max(row.numel(), n) < torch.iinfo(torch.int32).max
        dtype = torch.int32 if fits else torch.int64
        rowptr = torch.zeros(n + 1, dtype=dtype, device=row.device)
        rowptr[1:] = torch.bincount(row, minlength=n).cumsum(0)
        return cls(rowptr, row.to(dtype), col.to(dtype), diagonal)

    def to(self, device: torch.device | str | None) -> "Pattern":
        """The same pattern on another device."""
        return Pattern(
            None if self.rowptr is None else self.rowptr.to(device),
            self.row.to(device),
            self.col.to(device),
            self.diagonal.to(device),
        )


@dataclass(frozen=True, eq=False)
class Structure:
    """A pattern, its transpose, and which of its entries each input edge went to.

    It depends on the edges alone: the same structure serves any weights on them.
    """

    pattern: Pattern
    transposed: Pattern  # the same object where the pattern is symmetric
    transposition: Tensor  # (nnz,) where each entry of ``transposed`` stands in ``pattern``
    position: Tensor  # (E,) the entry that each input edge adds to

    @property
    def is_symmetric(self) -> bool:
        """Whether every edge has its reverse."""
        return self.transposed is self.pattern

    @classmethod
    def of(cls, source: Tensor, target: Tensor, num_nodes: int) -> "Structure":
        """Sort the edges by target, then source, merging duplicates: O(E log E).

        Args:
            source: j of each edge, int64, checked to be in range by the caller.
            target: i of each edge.
            num_nodes: n.
        """
        n = num_nodes
        nodes = torch.arange(n, device=source.device)
        key = torch.cat([target * n + source, nodes * (n + 1)])  # the diagonal comes last
        key, order = torch.sort(key)
        key, slot = torch.unique_consecutive(key, return_inverse=True)
        position = torch.empty_like(order)
        position[order] = slot
        row = torch.div(key, max(n, 1), rounding_mode="floor")
        col = key - row * n
        pattern = Pattern.of(row, col, position[source.numel() :])

        # Entries sorted by (row, col) become sorted by (col, row) by one stable sort on col.
        row_t, transposition = torch.sort(pattern.col, stable=True)
        col_t = pattern.row.index_select(0, transposition)
        if torch.equal(row_t, pattern.row) and torch.equal(col_t, pattern.col):
            transposed = pattern
        else:
            place = torch.empty_like(transposition)
            place[transposition] = torch.arange(place.numel(), device=place.device)
            transposed = Pattern.of(row_t, col_t, place[pattern.diagonal])
        return cls(
            pattern, transposed, transposition.to(pattern.row.dtype), position[: source.numel()]
        )
