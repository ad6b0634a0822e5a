"""Several matrices on one pattern, read as one matrix: a product with all of them is one call."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pgso.graph.pattern import Pattern

if TYPE_CHECKING:
    from pgso.graph.graph import Graph

IN_CACHE = 2**20  # entries of all heads that are quicker to handle at once


@dataclass(frozen=True, eq=False)
class HeadPattern:
    """The entries of H matrices on one pattern, as one matrix of (n H) x (m H).

    Row i H + h has the entries of head h in row i. Its columns are j H + h, so features of shape
    (m, H, C) are multiplied as they lie in memory.
    """

    rowptr: Tensor  # (n H + 1,) where each row's entries start
    col: Tensor  # (nnz H,) the column of each entry
    order: Tensor  # (nnz H,) where each entry stands among values of shape (nnz, H)


def head_pattern(graph: "Graph", heads: int, transposed: bool = False) -> HeadPattern:
    """The pattern of so many heads, or of their transposes; made once for each graph."""
    both = graph.memo(("heads", heads), lambda: _head_patterns(graph, heads))
    return both[transposed]


def _head_patterns(graph: "Graph", heads: int) -> tuple[HeadPattern, HeadPattern]:
    """In O(nnz H), by numpy: its small operations take half of torch's time; on the CPU only."""
    runs = _Runs(graph.pattern, heads)
    reverse = runs if graph.transposed is graph.pattern else _Runs(graph.transposed, heads)
    in_order = np.arange(graph.transposition.numel(), dtype=runs.col.dtype)
    turned = graph.transposition.numpy()
    return runs.at(in_order), reverse.at(turned)


class _Runs:
    """The entries of each row, once for every head, and head after head within a row."""

    def __init__(self, pattern: Pattern, heads: int) -> None:
        assert pattern.rowptr is not None
        end, col = pattern.rowptr.numpy(), pattern.col.numpy()
        first, size = end[:-1, None], np.diff(end)
        head = np.arange(heads, dtype=end.dtype)
        start = first * heads + size[:, None] * head  # (n, H)
        length = size.repeat(heads)  # of the run of each row and head
        self.heads, self.rowptr = heads, np.append(start, end[-1:] * heads)
        self.entry = np.arange(len(col) * heads, dtype=end.dtype)
        self.entry -= (start - first).ravel().repeat(length)
        self.head = np.tile(head, len(size)).repeat(length)
        self.col = self._with_head(col)

    def _with_head(self, of_entries: Any) -> Any:
        numbers = of_entries.take(self.entry)
        numbers *= self.heads
        numbers += self.head
        return numbers

    def at(self, places: Any) -> HeadPattern:
        """The pattern of values that stand at these places."""
        arrays = (self.rowptr, self.col, self._with_head(places))
        return HeadPattern(*(torch.from_numpy(array) for array in arrays))
