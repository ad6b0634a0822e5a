"""γ(A, S) for one S or an S per node, and other operators with entries where A + I has some."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import EdgeList, Graph, for_any_mode, learns, turn, weighted_product
from pgso.graph.degrees import degree_classes, received_weight, sent_weight
from pgso.graph.graph import sparse_matrix
from pgso.gso.formula import Factors
from pgso.gso.gradients import Held, entries_of, is_plain, propagated
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


# How much larger the diagonal part own ∘ x may be than the neighbours' part of γ x, so that their
# sum still holds enough digits of the smaller part:
MOST_OWN = 2.0  # in the mean over the nodes
MOST_OF_ONE = 64.0  # at a single node


class NodeShift(OnPattern):
    """γ(A, S) for one S, or for an S per node: A between two diagonals, plus a diagonal.

    Args:
        graph: The graph.
        tables: α, m2, l, r and a in double precision, one value per node; with ``index``, one per
            class of nodes.
        index: The class of each node, if the tables are by class.
        S: Where the tables come from, if one S is the same for all nodes.
        fixed: Whether S never learns: then no digits of its gradient can be lost.
        dtype: Of the entries; by default A's.
    """

    tables: Factors
    index: Tensor | None
    S: Tensor | None
    fixed: bool

    def __init__(
        self,
        graph: Graph | EdgeList,
        tables: Factors,
        index: Tensor | None = None,
        S: Tensor | None = None,
        fixed: bool = False,
        dtype: torch.dtype | None = None,
    ) -> None:
        self._set(graph=graph, shape=graph.shape, device=graph.device)
        self._set(tables=tables, index=index, S=S, fixed=fixed, _type=dtype)

    def with_entries(self, entries: Tensor) -> EntryShift:  # (nnz,)
        """An operator with other entries on the same pattern; it takes pairs of features, too."""
        return EntryShift(self.graph, entries, self.factors().alpha)

    def factors(self, dtype: torch.dtype = torch.float64) -> Factors:
        """α, m2, l, r and a by node; in 32 bits or more, since they are powers."""
        dtype = torch.promote_types(dtype, torch.float32)
        return self._once(
            f"_factors_{dtype}",
            lambda: Factors(*(self._spread(part, dtype) for part in self.tables)),
        )

    def _spread(self, values: Tensor, dtype: torch.dtype) -> Tensor:
        """One value per node, from one value per class of nodes."""
        if self.index is not None and values.dim() == 1:
            values = values.index_select(0, self.index)
        return values.to(dtype)

    def entries(self, dtype: torch.dtype | None = None) -> Tensor:
        """γ's values on the pattern."""
        return entries_of(self.graph, *self._vectors(torch.float64)).to(self._dtype(dtype))

    def _vectors(self, dtype: torch.dtype) -> tuple[Tensor | None, Tensor, Tensor]:
        """The vectors of P in :mod:`pgso.gso.gradients`."""

        def make() -> tuple[Tensor | None, Tensor, Tensor]:
            tables = self.tables
            own = None if self.graph.is_bipartite else self._spread(tables.own, dtype)
            return own, self._spread(tables.outer, dtype), self._spread(tables.right, dtype)

        dtype = torch.promote_types(dtype, torch.float32)
        return self._once(f"_vectors_{dtype}", make)

    def _matmul(self, x: Tensor) -> Tensor:
        graph = self.graph
        if not is_plain(graph):
            entries = entries_of(graph, *self._vectors(x.dtype))
            return weighted_product(graph, entries.to(x.dtype), x)
        own, left, right = self._vectors(x.dtype)
        if not self.fixed and not self.mixes(x.dtype):
            return self._apart(x, x, own)
        return propagated(x, own, left, right, self._held(x.dtype), graph)

    def _apart(self, source: Tensor, target: Tensor | None, own: Tensor | None) -> Tensor:
        """Own ∘ target + m2 l ∘ A (r ∘ source); the two parts are computed separately."""
        graph, dtype = self.graph, source.dtype
        by_node = self.factors(dtype)
        if is_plain(graph):
            out = propagated(source, None, by_node.left, by_node.right, None, graph)
        else:
            entries = entries_of(graph, None, by_node.left, by_node.right)
            out = weighted_product(graph, entries.to(dtype), source)
        out = _column(by_node.m2).to(dtype) * out
        if own is None or target is None:
            return out
        return out + _column(own).to(dtype) * target

    def _apply_pair(self, source: Tensor, target: Tensor | None) -> Tensor:
        """(m1 D^e1 + m3) x_target + m2 D^e2 A_a D^e3 x_source, where the target may be None."""
        rows, columns = self.shape
        self._check(source, columns)
        if target is not None:
            self._check(target, rows)
        if target is source and not self.graph.is_bipartite:
            return self.times(source)
        by_node, flat = self.factors(source.dtype), flatten(source)
        beside = None if target is None else flatten(target)
        if beside is not None:
            check_widths(flat, beside)
        out = self._apart(flat, beside, by_node.alpha)
        if not self.graph.is_bipartite:  # A_a = A + aI
            loops = by_node.own - by_node.alpha
            out = out + _column(loops).to(out.dtype) * flat
        return unflatten(out, source)

    def mixes(self, dtype: torch.dtype) -> bool:
        """Whether one product may compute own ∘ x and the neighbours' part of γ x together.

        The gradients of S are then differences (:mod:`pgso.gso.gradients`). They keep their digits
        only if own ∘ x is not much larger than the neighbours' part. Traced programs and other
        devices than the CPU cannot look at the numbers: they always compute the parts separately.
        """
        if dtype not in (torch.float32, torch.float64) or self.device.type != "cpu":
            return False
        if torch.compiler.is_compiling():
            return False
        if self.graph.is_bipartite:
            return True
        return self._once("_mixes", self._compare)

    @np.errstate(all="ignore")  # of a run that diverges
    def _compare(self) -> bool:
        tables = [part.detach().numpy() for part in self.tables]
        return bool(keeps_digits(tables, self._graph(), self.index is not None))

    def _held(self, dtype: torch.dtype) -> Held | None:
        if torch.compiler.is_compiling():
            return None

        def make() -> Held:
            with for_any_mode():
                return Held(self._graph(), *self._vectors(dtype))

        return self._once(f"_held_{torch.promote_types(dtype, torch.float32)}", make)

    @property
    def T(self) -> "ShiftOperator":
        """γᵀ, on the reversed graph: l and r change sides."""
        by_node = self.factors()
        graph = self._graph()
        if graph.is_bipartite or by_node.m2.dim():
            return EntryShift(graph.T, turn(self.entries(torch.float64), graph))
        swapped = by_node._replace(left=by_node.right, right=by_node.left)
        return NodeShift(graph.T, swapped, fixed=self.fixed, dtype=self.dtype)

    def equals(self, other: ShiftOperator) -> bool:
        """Whether both have one graph and equal tables, none of which learns."""
        if self is other:
            return True
        if not isinstance(other, NodeShift) or other.graph is not self.graph:
            return False
        pairs = list(zip(self.tables, other.tables, strict=True))
        if any(learns(part) for pair in pairs for part in pair):
            return False
        return all(torch.equal(*pair) for pair in pairs)

    @property
    def is_certifiable(self) -> bool:
        """Whether A is symmetric, and m2 has one sign wherever nodes are joined."""
        graph = self.graph
        if not isinstance(graph, Graph) or not graph.is_undirected:
            return False
        m2 = self.tables.m2
        if m2.dim() == 0:
            return True
        signs = m2.detach().sign()
        row, col = graph.pattern.row, graph.pattern.col
        opposed = signs.index_select(0, row) * signs.index_select(0, col) < 0
        return not bool((opposed & (graph.entries != 0)).any())

    @property
    def is_symmetric(self) -> bool:
        """Whether A is symmetric and e2 = e3."""
        graph = self.graph
        undirected = isinstance(graph, Graph) and graph.is_undirected
        if undirected and self.S is not None and bool(self.S[4] == self.S[5]):
            return True
        return super().is_symmetric

    def __repr__(self) -> str:
        if self.S is None:
            return super().__repr__()
        S = ", ".join(f"{value:.4g}" for value in self.S.tolist())
        return f"ShiftOperator(S=({S}), {self.graph})"

    def __getstate__(self) -> dict[str, Any]:
        names = ("graph", "shape", "device", "tables", "index", "S", "fixed", "_type")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)


def keeps_digits(
    tables: Sequence[Any],  # α, m2, l, r and a: arrays (..., n), or (..., 1) where nodes are alike
    graph: Graph,
    by_class: bool,  # whether the tables have one value per degree that occurs
) -> Any:  # (...) of booleans
    """Whether own ∘ x is not much larger than what nodes get from neighbours.

    This is numpy, whose small operations take a third of torch's time.
    """
    _, m2, left, right, _ = tables
    received, sent, number, loops = received_weight(graph), sent_weight(graph), None, 0.0
    if by_class:  # all nodes of a degree at once
        classes = degree_classes(graph)
        assert classes is not None
        received, _, number = classes
        sent = received * number
    elif graph.loops is not None:
        loops = np.abs(graph.loops.detach().numpy())
    got, given = received.detach().numpy(), sent.detach().numpy()
    typical = (right @ given)[..., None] / max(given.sum(), 1e-300)
    own, rest = own_and_rest(tables, got, typical, loops)
    usable = (own <= MOST_OF_ONE * rest).all(-1) & (np.broadcast_to(m2, left.shape) != 0).all(-1)
    if number is not None:
        own, rest = own * number.numpy(), rest * number.numpy()
    return usable & (own.sum(-1) <= MOST_OWN * rest.sum(-1))


def own_and_rest(tables: Sequence[Any], got: Any, typical: Any, loops: Any) -> tuple[Any, Any]:
    """The sizes of own ∘ x and of what a node gets, if all x are 1, as arrays.

    Args:
        tables: α, m2, l, r and a.
        got: What a node gets from others in A.
        typical: The mean r of a neighbour.
        loops: What it gets from itself in A.
    """
    alpha, m2, left, right, a = tables
    outer = m2 * left
    rest = np.abs(outer) * (got * typical + loops * right)
    # Nodes without edges or without a power have no gradient to lose.
    own = np.abs(alpha + a * outer * right) * ((got + loops > 0) & (left != 0))
    return own, rest


def _column(values: Tensor) -> Tensor:
    return values.unsqueeze(1) if values.dim() == 1 else values
