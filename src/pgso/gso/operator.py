"""Definition 1: γ(A, S) on one graph as a value, with ``@`` and ``T``."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph.graph import sparse_matrix
from pgso.graph.inputs import check_features, check_pair

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas
    import scipy.sparse
    import scipy.sparse.linalg
    from matplotlib.axes import Axes

V = TypeVar("V")

Features = Tensor | tuple[Tensor, Tensor | None]


class Shown:
    """What can be drawn (``plot``) and has a table (``_repr_html_``): a page has both."""

    plot: Any
    _repr_html_: Any

    def report(self, path: "str | os.PathLike[str]") -> "Path":
        """Write a page with the picture and the table; it works offline."""
        from pgso.drawing import write_page

        return write_page(path, repr(self), self._repr_html_(), self.plot)


class ShiftOperator(Shown, ABC):
    """A linear operator on the nodes of a graph: γ(A, S), or an expression of such.

    It is immutable: what S, weights or edges become later does not change it. Subclasses say how
    to multiply (``_matmul``), how to transpose, and which dense matrix they are.
    """

    shape: tuple[int, int]  # rows, columns
    device: torch.device
    dtype: torch.dtype  # of ``to_dense``, ``diagonal`` and so on; products have the type of x

    def __matmul__(self, other: Any) -> Any:
        """γ x for features (n,), (n, F) or (..., n, F); γ γ' for another operator."""
        if isinstance(other, ShiftOperator):
            from pgso.gso.algebra import Product

            return Product(self, other)
        return self.times(other)

    def times(self, x: Features) -> Tensor:
        """γ x: what ``op @ x`` does, under a name that ``torch.compile`` can trace."""
        if isinstance(x, (tuple, list)):
            return self._apply_pair(*check_pair(x))
        check_features(x, self.shape[1], self.device)
        return self._matmul(x) if x.dim() > 1 else self._matmul(x.unsqueeze(1)).squeeze(1)

    def _apply_pair(self, source: Tensor, target: Tensor | None) -> Tensor:
        raise InputError(f"a {type(self).__name__} takes features of one set of nodes, got a pair")

    @abstractmethod
    def _matmul(self, x: Tensor) -> Tensor:  # (..., columns, F) -> (..., rows, F)
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

    def equals(self, other: "ShiftOperator") -> bool:
        """Whether both are the same operator by their making; equal matrices need not be."""
        return self is other

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

    def plot(
        self, node: int | None = None, ax: "Axes | None" = None, view: str = "auto", most: int = 300
    ) -> "Axes":
        """Draw the operator, or the row of one node (what it takes from whom), on matplotlib axes.

        Entries are line widths, blue above 0 and orange below; where they are many, a matrix
        (``view="graph"`` or ``"matrix"`` decides). Of a large operator at most so many nodes are
        drawn, grown from neighbour to neighbour.
        """
        from pgso.drawing import chosen_nodes, plot_operator, plot_row

        n = self.shape[0]
        if n != self.shape[1]:
            raise InputError(f"only a square operator is drawn, got shape {self.shape}")
        if node is not None:
            if not 0 <= node < n:
                raise InputError(f"the operator has the nodes 0 to {n - 1}, got {node!r}")
            return plot_row(self.T._columns([node])[:, 0], node, ax)
        nodes = chosen_nodes(_edges_behind(self), n, most)
        return plot_operator(self._columns(nodes)[nodes], nodes, n, ax, view)

    def _columns(self, nodes: Any) -> Any:  # (rows, k), numpy
        """Some columns of the matrix, without forming it."""
        one_hot = torch.zeros(self.shape[1], len(nodes), device=self.device)
        one_hot[nodes, range(len(nodes))] = 1
        with torch.no_grad():
            return self.times(one_hot).numpy(force=True)

    def to_frame(self) -> "pandas.DataFrame":
        """The entries that are not 0, one row each: target, source, entry."""
        import pandas

        matrix = self.to_scipy().tocoo()
        columns = {"target": matrix.row, "source": matrix.col, "entry": matrix.data}
        return pandas.DataFrame(columns)[matrix.data != 0].reset_index(drop=True)

    def _repr_html_(self) -> str:
        import pandas

        certified = "certified: pgso.spectrum.interval(op)"
        facts = {
            "shape": f"{self.shape[0]:,} x {self.shape[1]:,}",
            "symmetric": "yes" if self.is_symmetric else "no, or not known to be",
            "spectrum": certified if self.is_certifiable else "no theorem says that it is real",
        }
        table: str = pandas.DataFrame({repr(self): facts}).to_html()
        return table

    def __add__(self, other: "ShiftOperator") -> "ShiftOperator":
        from pgso.gso.algebra import Sum

        return Sum(self, other) if isinstance(other, ShiftOperator) else NotImplemented

    def __radd__(self, other: Any) -> "ShiftOperator":
        """0 + op, with which Python's ``sum`` starts."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: "ShiftOperator") -> "ShiftOperator":
        return self + -other if isinstance(other, ShiftOperator) else NotImplemented

    def __mul__(self, factor: Any) -> "ShiftOperator":
        from pgso.gso.algebra import Scaled

        return Scaled(factor, self)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "ShiftOperator":
        from pgso.gso.algebra import finite_factor

        divisor = finite_factor(divisor)
        if not isinstance(divisor, Tensor) and divisor == 0:
            raise InputError("an operator is divided by a number other than 0, got 0")
        return self.__mul__(1 / divisor)

    def __neg__(self) -> "ShiftOperator":
        return self * -1.0

    def __pow__(self, exponent: int) -> "ShiftOperator":
        from pgso.gso.polynomials import power

        return power(self, exponent)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"an operator is a value: {name!r} cannot be set; make another one")

    def __getstate__(self) -> dict[str, Any]:
        """What it was made of, without what it holds on top."""
        return {name: value for name, value in self.__dict__.items() if name[0] != "_"}

    def __deepcopy__(self, memo: dict[int, Any]) -> "ShiftOperator":
        """Itself: it never changes, and tensors on their way to a gradient cannot be copied."""
        return self

    def _set(self, **values: Any) -> None:
        """Fill the object in while it is being made."""
        self.__dict__.update(values)

    def _once(self, name: str, make: Callable[[], V]) -> V:
        """A value that is computed on first use and then held.

        It is computed with gradients even if the first use is under ``no_grad``: a later use may
        need them. Two threads may both compute it; their values are equal.
        """
        if torch.compiler.is_compiling():
            return make()
        if name in self.__dict__:
            return self.__dict__[name]  # type: ignore[no-any-return]
        with torch.inference_mode(False), torch.enable_grad():
            return self.__dict__.setdefault(name, make())  # type: ignore[no-any-return]


def _edges_behind(op: Any) -> Any:  # (2, E), numpy
    """The edges of the graph that an operator, or an expression of operators, acts on."""
    if hasattr(op, "graph"):
        return op.graph.edge_index.numpy(force=True)
    parts = getattr(op, "parts", None)
    return _edges_behind(parts[0]) if parts else np.empty((2, 0), dtype=np.int64)
