"""Operators with entries where A + I has entries, and the operator with given entries."""

from abc import abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import EdgeList, Graph, turn, weighted_product
from pgso.graph.graph import sparse_matrix
from pgso.gso.operator import ShiftOperator, flatten, unflatten

if TYPE_CHECKING:
    import scipy.sparse


class OnPattern(ShiftOperator):
    """An operator whose matrix has entries where A + I has (or A, between two sets of nodes)."""

    graph: Graph | EdgeList

    @abstractmethod
    def entries(self, dtype: torch.dtype | None = None) -> Tensor:  # (nnz,)
        """The matrix's values on ``graph.pattern``; differentiable. By default in ``dtype``."""

    def with_entries(self, entries: Tensor) -> "EntryShift":  # (nnz,)
        """An operator with other entries, such as masked ones, on the same pattern."""
        return EntryShift(self.graph, entries)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the entries: A's, or S's where that is wider."""
        return self.__dict__.get("_type") or self.graph.dtype

    def _dtype(self, dtype: torch.dtype | None) -> torch.dtype:
        return self.dtype if dtype is None else dtype

    def to_torch_sparse(self) -> Tensor:
        """The matrix as a torch.sparse COO tensor, differentiable in S."""
        pattern = self._graph().pattern
        index = torch.stack([pattern.row, pattern.col]).long()
        return sparse_matrix(index, self.entries(), self.shape)

    def to_scipy(self) -> "scipy.sparse.csr_array":
        """The matrix for scipy, over the graph's own index arrays: only its entries are new."""
        from scipy.sparse import csr_array

        pattern = self._graph().pattern
        assert pattern.rowptr is not None
        arrays = (self.entries(torch.float64).detach(), pattern.col, pattern.rowptr)
        return csr_array(tuple(part.numpy(force=True) for part in arrays), shape=self.shape)

    def to_dense(self) -> Tensor:
        """The matrix, differentiable in S: O(n²) memory."""
        entries, pattern = self.entries(), self.graph.pattern
        position = pattern.row.long() * self.shape[1] + pattern.col
        rest = entries.shape[1:]
        dense = entries.new_zeros(self.shape[0] * self.shape[1], *rest).index_add(
            0, position, entries
        )
        return dense.view(*self.shape, *rest)

    def diagonal(self) -> Tensor:
        """The diagonal entries."""
        pattern = self._graph().pattern
        if not pattern.is_square:
            raise InputError(f"a rectangle of shape {self.shape} has no diagonal")
        return self.entries()[pattern.diagonal]

    @property
    def is_symmetric(self) -> bool:
        """Whether the matrix is its own transpose, up to rounding."""
        if not isinstance(self.graph, Graph) or not self.graph.is_undirected:
            return False
        entries, graph = self.entries().detach(), self.graph
        tolerance = 8 * torch.finfo(entries.dtype).eps
        return torch.allclose(entries, turn(entries, graph), rtol=tolerance, atol=0.0)

    def _graph(self) -> Graph:
        if not isinstance(self.graph, Graph):
            raise InputError("this needs a prepared graph: make it with Graph.from_edge_index")
        return self.graph


class EntryShift(OnPattern):
    """The matrix with these entries on a graph's pattern; each of them may learn.

    Explainers' masks, learned edge weights and traced edge lists make one. Its gradients cost a
    dot product per edge.

    Args:
        graph: The graph.
        entries: The values on its pattern, (nnz,).
        alpha: The part of γ's diagonal that acts on the targets' own features in a pair,
            (targets,): m1 D^e1 + m3. Without it there are no pairs.
    """

    def __init__(
        self, graph: Graph | EdgeList, entries: Tensor, alpha: Tensor | None = None
    ) -> None:
        self._set(graph=graph, shape=graph.shape, device=graph.device)
        self._set(_values=entries, _alpha=alpha)

    _values: Tensor
    _alpha: Tensor | None

    def entries(self, dtype: torch.dtype | None = None) -> Tensor:
        """The values as given."""
        return self._values.to(self._dtype(dtype))

    def _matmul(self, x: Tensor) -> Tensor:
        return weighted_product(self.graph, self._values.to(x.dtype), x)

    def _apply_pair(self, source: Tensor, target: Tensor | None) -> Tensor:
        """The entries times x_source, and α ∘ x_target, where the target may be None."""
        if self._alpha is None:
            return super()._apply_pair(source, target)
        rows, columns = self.shape
        self._check(source, columns)
        flat, beside = flatten(source), None
        if target is not None:
            self._check(target, rows)
            beside = flatten(target)
            check_widths(flat, beside)
        out, alpha = self._matmul(flat), self._alpha.to(flat.dtype).unsqueeze(1)
        if not self.graph.is_bipartite:  # α is among the entries, where it is on the sources
            out = out - alpha * flat
        return unflatten(out if beside is None else out + alpha * beside, source)

    @property
    def T(self) -> "EntryShift":
        """The transpose."""
        graph = self._graph()
        return EntryShift(graph.T, turn(self._values, graph))


def check_widths(source: Tensor, target: Tensor) -> None:
    """Refuse a pair of features (n, F) and (m, F') that cannot be added."""
    if target.size(1) != source.size(1):
        raise InputError(
            f"x_source has {source.size(1)} columns, x_target has {target.size(1)}; map both to "
            "the same number first"
        )
