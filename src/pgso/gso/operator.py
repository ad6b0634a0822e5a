"""Definition 1: γ(A, S) on one graph as a value, with ``@`` and ``T``."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import EdgeList, Graph, for_any_mode, turn, weighted_product
from pgso.graph.checks import check_features, check_rows
from pgso.graph.graph import sparse_matrix
from pgso.gso.formula import Factors
from pgso.gso.gradients import Held, entries_of, propagated

if TYPE_CHECKING:
    import scipy.sparse
    import scipy.sparse.linalg

V = TypeVar("V")

Features = Tensor | tuple[Tensor, Tensor | None]
MOST_OWN = 2.0  # own x over the rest of γ x, up to which their sum keeps the digits of both
MOST_OF_ONE = 64.0  # the same for a single node


class ShiftOperator(ABC):
    """A linear operator on the nodes of a graph: γ(A, S), or an expression of such.

    It is immutable: what S, weights or edges become later does not change it. Subclasses say how
    to multiply (``_matmul``), how to transpose, and which dense matrix they are.
    """

    shape: tuple[int, int]  # rows, columns
    device: torch.device

    def __matmul__(self, other: Any) -> Any:
        """γ x for features (n,), (n, F) or (..., n, F); γ γ' for another operator."""
        if isinstance(other, ShiftOperator):
            from pgso.gso.algebra import Product

            return Product(self, other)
        return self.times(other)

    def times(self, x: Features) -> Tensor:
        """γ x: what ``op @ x`` does, under a name that ``torch.compile`` can trace."""
        if isinstance(x, (tuple, list)):
            return self._apply_pair(*x)
        self._check(x, self.shape[1])
        return unflatten(self._matmul(flatten(x)), x)

    def _apply_pair(self, source: Tensor, target: Tensor | None) -> Tensor:
        raise InputError(f"a {type(self).__name__} takes features of one set of nodes, got a pair")

    @abstractmethod
    def _matmul(self, x: Tensor) -> Tensor:  # (columns, F) -> (rows, F)
        """The product with checked features; differentiable."""

    @property
    @abstractmethod
    def T(self) -> "ShiftOperator":
        """The transpose."""

    @abstractmethod
    def to_dense(self) -> Tensor:  # (rows, columns)
        """The matrix, differentiable in S: O(n²) memory."""

    @abstractmethod
    def diagonal(self) -> Tensor:  # (n,)
        """The diagonal entries."""

    @abstractmethod
    def to_scipy(self) -> "scipy.sparse.csr_array":
        """The matrix for scipy, in double precision; of an expression, its products are formed."""

    def to_torch_sparse(self) -> Tensor:
        """The matrix as a torch.sparse COO tensor; of an expression, a constant."""
        entries = self.to_scipy().tocoo()
        index = torch.from_numpy(np.stack([entries.row, entries.col]).astype("int64"))
        return sparse_matrix(index, torch.from_numpy(entries.data), self.shape).to(self.device)

    @property
    def is_symmetric(self) -> bool:
        """Whether the matrix is its own transpose."""
        return False

    @property
    def is_certifiable(self) -> bool:
        """Whether Theorems 1 and 2 hold: a real spectrum with certified bounds."""
        return False

    def to_linear_operator(self) -> "scipy.sparse.linalg.LinearOperator":
        """For scipy's solvers: products and transposed products in double precision."""
        from scipy.sparse.linalg import LinearOperator

        def by(operator: ShiftOperator) -> Callable[[Any], Any]:
            def times(x: Any) -> Any:
                values = torch.as_tensor(x, dtype=torch.float64, device=self.device)
                with torch.no_grad():
                    return (operator @ values).numpy(force=True)

            return times

        forth, back = by(self), by(self.T)
        return LinearOperator(
            self.shape, matvec=forth, matmat=forth, rmatvec=back, rmatmat=back, dtype="float64"
        )

    def __add__(self, other: "ShiftOperator") -> "ShiftOperator":
        from pgso.gso.algebra import Sum

        return Sum(self, other) if isinstance(other, ShiftOperator) else NotImplemented

    def __sub__(self, other: "ShiftOperator") -> "ShiftOperator":
        return self + -other if isinstance(other, ShiftOperator) else NotImplemented

    def __mul__(self, factor: Any) -> "ShiftOperator":
        from pgso.gso.algebra import Scaled

        if isinstance(factor, ShiftOperator):
            raise InputError("operators are multiplied by @: op @ other; * takes a number")
        return Scaled(factor, self)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> "ShiftOperator":
        return self.__mul__(1 / factor)

    def __neg__(self) -> "ShiftOperator":
        return self * -1.0

    def __pow__(self, exponent: int) -> "ShiftOperator":
        from pgso.gso.algebra import power

        raised: ShiftOperator = power(self, exponent)
        return raised

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"an operator is a value: {name!r} cannot be set; make another one")

    def _set(self, **values: Any) -> None:
        """Fill the object in while it is being made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _once(self, name: str, make: Callable[[], V]) -> V:
        """What is computed when first asked for, and then held.

        It has its history whoever asks first: also under ``no_grad``. Two threads may both compute
        it: they get equal values.
        """
        if torch.compiler.is_compiling():
            return make()
        if name not in self.__dict__:
            with torch.inference_mode(False), torch.enable_grad():
                object.__setattr__(self, name, make())
        value: V = self.__dict__[name]
        return value

    def _check(self, x: Tensor, rows: int) -> None:
        if not torch.compiler.is_compiling():
            check_features(x)
        check_rows(x, rows, self.device)


class OnPattern(ShiftOperator):
    """An operator whose matrix has entries where A + I has (or A, between two sets of nodes)."""

    graph: Graph | EdgeList

    @abstractmethod
    def entries(self, dtype: torch.dtype | None = None) -> Tensor:  # (nnz,)
        """The matrix's values on ``graph.pattern``; differentiable. By default in A's type."""

    def _dtype(self, dtype: torch.dtype | None) -> torch.dtype:
        return self.graph.dtype if dtype is None else dtype

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
        place = pattern.row.long() * self.shape[1] + pattern.col
        rest = entries.shape[1:]
        dense = entries.new_zeros(self.shape[0] * self.shape[1], *rest).index_add(0, place, entries)
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
    """

    def __init__(self, graph: Graph | EdgeList, entries: Tensor) -> None:
        self._set(graph=graph, shape=graph.shape, device=graph.device, _values=entries)

    _values: Tensor

    def entries(self, dtype: torch.dtype | None = None) -> Tensor:
        """The values as given."""
        return self._values.to(self._dtype(dtype))

    def _matmul(self, x: Tensor) -> Tensor:
        return weighted_product(self.graph, self._values.to(x.dtype), x)

    @property
    def T(self) -> "EntryShift":
        """The transpose."""
        graph = self._graph()
        return EntryShift(graph.T, turn(self._values, graph))


class NodeShift(OnPattern):
    """γ(A, S) for one S, or for an S per node: A between two diagonals, plus a diagonal.

    Args:
        graph: The graph.
        tables: α, m2, l, r and a in double precision, one value per node; with ``index``, one per
            class of nodes.
        index: The class of each node, if the tables are by class.
        S: Where the tables come from, if one S is the same for all nodes.
        fixed: Whether S never learns: then no digits of its gradient can be lost.
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
    ) -> None:
        self._set(graph=graph, shape=graph.shape, device=graph.device)
        self._set(tables=tables, index=index, S=S, fixed=fixed)

    def factors(self, dtype: torch.dtype = torch.float64) -> Factors:
        """α, m2, l, r and a by node; in 32 bits or more, since they are powers."""
        dtype = torch.promote_types(dtype, torch.float32)
        return self._once(
            f"_factors_{dtype}",
            lambda: Factors(*(self._spread(part, dtype) for part in self.tables)),
        )

    def _spread(self, values: Tensor, dtype: torch.dtype) -> Tensor:
        """The values of each node, from those of its class."""
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
        if not isinstance(graph, Graph) or _learns(graph.weight):
            entries = entries_of(graph, *self._vectors(x.dtype))
            return weighted_product(graph, entries.to(x.dtype), x)
        own, left, right = self._vectors(x.dtype)
        if not self.fixed and not self.mixes(x.dtype):
            return self._apart(x, x, own)
        return propagated(x, own, left, right, self._held(x.dtype), graph)

    def _apart(self, source: Tensor, target: Tensor | None, own: Tensor | None) -> Tensor:
        """Own ∘ target + m2 l ∘ A (r ∘ source), each part by itself."""
        graph, dtype = self.graph, source.dtype
        by_node = self.factors(dtype)
        if isinstance(graph, Graph) and not _learns(graph.weight):
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
        if target is source:
            return self.times(source)
        by_node, flat = self.factors(source.dtype), flatten(source)
        beside = None if target is None else flatten(target)
        out = self._apart(flat, beside, by_node.alpha)
        if not self.graph.is_bipartite:  # A_a = A + aI
            loops = by_node.own - by_node.alpha
            out = out + _column(loops).to(out.dtype) * flat
        return unflatten(out, source)

    def mixes(self, dtype: torch.dtype) -> bool:
        """Whether γ x may be one sum: what a node keeps must not drown what it gets.

        Gradients are then differences that keep their digits (:mod:`pgso.gso.gradients`). Traced
        programs and other devices than the CPU do not look at the numbers, and take the safe way.
        """
        if dtype not in (torch.float32, torch.float64) or self.device.type != "cpu":
            return False
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return False
        if self.graph.is_bipartite:
            return True
        return self._once("_mixes", self._compare)

    def _compare(self) -> bool:
        tables = [part.detach().numpy() for part in self.tables]
        return bool(keeps_digits(tables, self._graph(), self.index is not None))

    def _held(self, dtype: torch.dtype) -> Held | None:
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
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
        return NodeShift(graph.T, swapped, fixed=self.fixed)

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
        names = ("graph", "shape", "device", "tables", "index", "S", "fixed")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)


def keeps_digits(
    tables: Sequence[Any],  # α, m2, l, r and a: arrays (..., n), or (..., 1) where nodes are alike
    graph: Graph,
    by_class: bool,  # whether the tables have one value per degree that occurs
) -> Any:  # (...) of booleans
    """Whether what nodes keep of themselves does not drown what they get from others.

    In numpy, whose small operations take a third of torch's time.
    """
    alpha, m2, left, right, a = tables
    received, sent, number = graph.neighbour_weight, graph.sent_weight, None
    if by_class:  # all nodes of a degree at once
        assert graph.degree_classes is not None
        received, _, number = graph.degree_classes
        sent = received * number
    got, given = received.detach().numpy(), sent.detach().numpy()
    typical = (right @ given)[..., None] / max(given.sum(), 1e-300)
    outer = m2 * left
    rest = np.abs(outer) * got * typical
    # Nodes without edges or without a power have no gradient to lose.
    own = np.abs(alpha + a * outer * right) * ((got > 0) & (left != 0))
    usable = (own <= MOST_OF_ONE * rest).all(-1) & (np.broadcast_to(m2, left.shape) != 0).all(-1)
    if number is not None:
        own, rest = own * number.numpy(), rest * number.numpy()
    return usable & (own.sum(-1) <= MOST_OWN * rest.sum(-1))


def _learns(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _column(values: Tensor) -> Tensor:
    return values.unsqueeze(1) if values.dim() == 1 else values


def flatten(x: Tensor) -> Tensor:  # -> (n, F)
    """Features with leading dimensions as (n, everything else): one product serves them all."""
    if x.dim() == 2:
        return x
    return x.unsqueeze(1) if x.dim() == 1 else x.movedim(-2, 0).flatten(1)


def unflatten(out: Tensor, x: Tensor) -> Tensor:
    """The result of a product with :func:`flatten` in the form of x."""
    if x.dim() == 2:
        return out
    if x.dim() == 1:
        return out.squeeze(1)
    return out.reshape(out.size(0), *x.shape[:-2], x.size(-1)).movedim(0, -2)


def as_tensor(S: Sequence[Any] | Tensor, device: torch.device) -> Tensor:  # (7,)
    """Seven numbers or 0-d tensors as one tensor in double precision."""
    if isinstance(S, Tensor):
        return S.to(device=device, dtype=torch.float64)
    if not any(isinstance(value, Tensor) for value in S):
        return torch.tensor([*S], dtype=torch.float64, device=device)
    parts = [torch.as_tensor(value, dtype=torch.float64, device=device) for value in S]
    return torch.stack(parts)
