"""The graph: A in compressed sparse rows, its degrees and its transpose, immutable."""

import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import inputs
from pgso.graph.inputs import check_edge_weight, weight_type
from pgso.graph.memo import Memo, for_any_mode, is_wrapped, learns, outside_transforms
from pgso.graph.pattern import Pattern, Sample, Structure, inverse

if TYPE_CHECKING:
    import networkx
    import scipy.sparse
    from matplotlib.axes import Axes
    from torch_geometric.data import Data

V = TypeVar("V")

NumNodes = int | tuple[int, int]


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph, prepared once and then left unchanged.

    ``A[i, j]`` is the weight of the edge from source j to target i (PyTorch Geometric's direction).
    Duplicate edges are summed, self-loops stay in A. :meth:`of` makes one of anything.

    Targets and sources may be two sets of nodes (a bipartite graph): then A is a rectangle.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> path
        Graph(num_nodes=3, num_edges=4, undirected, unweighted)
        >>> path.degree
        tensor([1., 2., 1.])
    """

    pattern: Pattern  # of A + I, or of A in a bipartite graph
    transposed: Pattern  # of its transpose; the same object if every edge has its reverse
    transposition: Tensor  # (nnz,) where the transpose's entries stand in the pattern
    is_undirected: bool  # whether A is symmetric
    weight: Tensor | None  # (nnz,) A on the pattern; None: every edge weighs 1
    loops: Tensor | None  # (n,) A's diagonal; None if there are no self-loops
    row_sums: Tensor  # (n,) A's row sums in double precision: what powers are taken of
    num_edges: int  # distinct directed edges; self-loops count unless they weigh 0
    dtype: torch.dtype  # of weights and degrees
    sample: Sample | None = None  # where it comes from, if it holds some neighbours only
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False)  # see ``memo``

    @classmethod
    def of(
        cls,
        graph: Any,
        edge_weight: Tensor | None = None,  # (E,), with an edge_index only
        num_nodes: NumNodes | None = None,
    ) -> "Graph":
        """The graph of anything that is one; what was read before is not read again.

        An ``edge_index`` or sparse A is recognised by identity and state (see
        :func:`pgso.graph.memo.state_of`), and forgotten with its tensor.

        Args:
            graph: A ``Graph``; an ``edge_index`` (2, E), as a tensor, an array or lists; a square
                matrix, dense (a 2 x 2 one of integers is an ``edge_index``), torch.sparse or
                scipy's; PyG's ``Data``; or a networkx graph.
            edge_weight: Weights of the edges of an ``edge_index``.
            num_nodes: n of an ``edge_index``, as in :meth:`from_edge_index`.

        Example:
            >>> Graph.of([[0.0, 2.0], [2.0, 0.0]])
            Graph(num_nodes=2, num_edges=2, undirected, weighted)
        """
        if not isinstance(graph, Graph | Tensor):
            graph = inputs.as_array(graph)
        is_square = isinstance(graph, Tensor) and graph.dim() == 2 and len(graph) == graph.size(1)
        is_pair = is_square and len(graph) == 2 and not graph.is_floating_point()
        is_dense = isinstance(graph, Tensor) and graph.layout == torch.strided
        if is_dense and (is_pair or not is_square):  # what is neither is refused as an edge_index
            if graph.is_inference():  # it has no version, so that changes would not be seen
                return cls.from_edge_index(graph, edge_weight, num_nodes)
            by_size = _edges.of(graph, dict)
            if num_nodes not in by_size:
                with for_any_mode(graph):
                    structure = Structure.of(graph, num_nodes)
                    by_size[num_nodes] = structure, cls.from_structure(structure), Memo()
            structure, unweighted, weighted = by_size[num_nodes]
            if edge_weight is None:
                return unweighted
            constant = isinstance(edge_weight, Tensor) and not learns(edge_weight)
            if not constant or is_wrapped(edge_weight):  # one backward pass uses up their history
                return cls.from_structure(structure, edge_weight)
            return weighted.of(edge_weight, lambda: cls.from_structure(structure, edge_weight))
        if edge_weight is not None:
            raise InputError(
                f"edge_weight goes with an edge_index; a {type(graph).__name__} has its own "
                "weights: Graph.from_edge_index(edge_index, edge_weight)"
            )
        if isinstance(graph, Graph):
            return graph
        if isinstance(graph, Tensor):
            read = cls.from_dense if graph.layout == torch.strided else cls.from_torch_sparse
            return read(graph) if learns(graph) else _matrices.of(graph, lambda: read(graph))
        if hasattr(graph, "tocoo"):
            return cls.from_scipy(graph)
        if hasattr(graph, "adjacency") and hasattr(graph, "is_directed"):
            return cls.from_networkx(graph)
        return cls.of(*inputs.edges_of_data(graph))

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,  # (2, E)
        edge_weight: Tensor | None = None,  # (E,)
        num_nodes: NumNodes | None = None,
    ) -> "Graph":
        """Prepare PyTorch Geometric's ``edge_index``: row 0 holds sources, row 1 targets.

        Gradients flow through ``edge_weight`` if it asks for them. n is by default what PyG's
        ``EdgeIndex`` has as ``sparse_size``, and otherwise one more than the largest id. A pair
        (targets, sources) makes a bipartite graph between different nodes.
        """
        with outside_transforms(edge_index, edge_weight):
            return cls.from_structure(Structure.of(edge_index, num_nodes), edge_weight)

    @classmethod
    def from_data(cls, data: "Data") -> "Graph":
        """Prepare a PyTorch Geometric ``Data`` or ``Batch`` with its ``edge_weight``, if any."""
        return cls.from_edge_index(*inputs.edges_of_data(data))

    @classmethod
    def from_scipy(cls, adjacency: "scipy.sparse.sparray | scipy.sparse.spmatrix") -> "Graph":
        """Prepare a scipy sparse matrix; entry ``[i, j]`` is the weight of the edge j → i."""
        return cls.from_edge_index(*inputs.edges_of_scipy(adjacency))

    @classmethod
    def from_networkx(cls, graph: "networkx.Graph", weight: str | None = "weight") -> "Graph":
        """Prepare a networkx graph, nodes in its own order, multi-edges summed.

        ``weight`` is the edge attribute that holds weights; edges without it weigh 1.
        """
        return cls.from_edge_index(*inputs.edges_of_networkx(graph, weight))

    @classmethod
    def from_dense(cls, adjacency: Any) -> "Graph":
        """Prepare an n x n tensor, array or nested list; zeros are no edges."""
        is_list = isinstance(adjacency, list | tuple | Tensor)
        A = inputs.as_array(adjacency if is_list else np.asarray(adjacency))
        layout, n = A.layout, inputs.check_square(A.shape)
        if layout != torch.strided:
            raise InputError(f"expected a dense tensor, got {layout}; see Graph.from_torch_sparse")
        target, source = A.detach().nonzero(as_tuple=True)  # NaN counts as non-zero: refused later
        return cls.from_edge_index(torch.stack([source, target]), A[target, source], n)

    @classmethod
    def from_torch_sparse(cls, adjacency: Tensor) -> "Graph":
        """Prepare a torch.sparse tensor (COO, CSR or CSC), such as PyG's ``adj_t``."""
        return cls.from_edge_index(*inputs.edges_of_torch_sparse(adjacency))

    @classmethod
    def from_structure(cls, structure: Structure, edge_weight: Tensor | None = None) -> "Graph":
        """Put weights on a structure: O(E), differentiable in ``edge_weight``."""
        pattern, position = structure.pattern, structure.position
        nnz, diagonal = pattern.row.numel(), pattern.diagonal
        if edge_weight is None:
            entries = torch.bincount(position, minlength=nnz).to(weight_type())
        else:
            edge_weight = check_edge_weight(edge_weight, position)
            wide = edge_weight.double()  # sums of duplicates need the digits
            entries = wide.new_zeros(nnz).index_add(0, position, wide).to(edge_weight.dtype)

        plain = entries.detach() == 1
        loops, num_loops = None, 0
        if diagonal is not None:
            loops = entries[diagonal]
            num_loops = int(torch.count_nonzero(loops.detach()))
            plain[diagonal] |= loops.detach() == 0  # no self-loop, an entry of I alone
            if not num_loops and not learns(loops):  # a 0 may learn
                loops = None
        unweighted = not learns(entries) and bool(plain.all())
        weight = None if unweighted else entries

        is_undirected = mirrored = structure.transposed is pattern  # every edge has its reverse
        if mirrored and weight is not None:  # A is its transpose, up to the rounding of sums
            values = weight.detach()
            turned = values.index_select(0, structure.transposition)
            tolerance = 8 * torch.finfo(values.dtype).eps
            is_undirected = torch.allclose(values, turned, rtol=tolerance, atol=0.0)
            if not is_undirected and edge_weight is not None and bool((edge_weight < 0).any()):
                # Where weights cancel, sums are smaller than their rounding.
                sizes = torch.zeros_like(values).index_add(0, position, edge_weight.detach().abs())
                is_undirected = bool(((values - turned).abs() <= tolerance * sizes).all())
        if not mirrored and diagonal is not None and weight is not None and not learns(weight):
            # An edge of weight 0 needs no reverse: A is symmetric if it is without such edges.
            is_kept = weight != 0
            if not bool((is_kept | (pattern.row == pattern.col)).all()):
                pairs = torch.stack([pattern.col, pattern.row])[:, is_kept]
                without = cls.from_edge_index(pairs, weight[is_kept], pattern.shape[0])
                if without.is_undirected:
                    return without
        turning = (structure.transposed, structure.transposition)
        # In double precision: sums of many weights, and powers of the sums, need the digits.
        wide = entries.double()
        row_sums = wide.new_zeros(pattern.shape[0]).index_add(0, pattern.row, wide)
        count = nnz if diagonal is None else nnz - diagonal.numel() + num_loops
        return cls(pattern, *turning, is_undirected, weight, loops, row_sums, count, entries.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of A: (targets, sources)."""
        return self.pattern.shape

    @property
    def num_nodes(self) -> int:
        """The number n of nodes; in a bipartite graph, of targets."""
        return self.pattern.shape[0]

    @property
    def is_bipartite(self) -> bool:
        """Whether targets and sources are two sets of nodes."""
        return self.pattern.diagonal is None

    @property
    def device(self) -> torch.device:
        """Where the graph lives."""
        return self.row_sums.device

    @property
    def degree(self) -> Tensor:  # (n,)
        """A's row sums: weighted in-degrees, self-loops included."""
        return self.memo("degree", lambda: self.row_sums.to(self.dtype))

    @property
    def is_own_transpose(self) -> bool:
        """Whether A may stand for Aᵀ: not where weights learn, each with a gradient of its own."""
        return self.is_undirected and (self.weight is None or not learns(self.weight))

    @property
    def T(self) -> "Graph":
        """The graph with all edges reversed, whose matrix is Aᵀ.

        Nothing is sorted again: it is made once, in O(E), from the patterns that are there.
        """
        if self.is_own_transpose:
            return self
        reverse: Graph | None = self._memo["T"]() if "T" in self._memo else None
        if reverse is not None:
            return reverse
        weight, learned = self.weight, self.weight is not None and learns(self.weight)
        with torch.enable_grad() if learned else for_any_mode(weight, self.row_sums):
            reverse = replace(
                self,
                pattern=self.transposed,
                transposed=self.pattern,
                transposition=inverse(self.transposition),
                weight=None if weight is None else weight.index_select(0, self.transposition),
                row_sums=self.column_sums,
                sample=None,
            )
        reverse._memo["column_sums"] = self.row_sums
        if not torch.compiler.is_compiling():
            reverse._memo["T"] = weakref.ref(self)  # weak: a cycle would stay in memory
            if not learned:
                self._memo["T"] = lambda: reverse
        return reverse

    @property
    def column_sums(self) -> Tensor:  # (n,)
        """A's column sums in double precision: weighted out-degrees."""
        if self.is_own_transpose:
            return self.row_sums
        if self.sample is not None:  # its degrees are the whole graph's
            return self.sample.graph.column_sums.to(self.device)[self.sample.nodes]

        def make() -> Tensor:
            wide = self.entries.double()
            return wide.new_zeros(self.shape[1]).index_add(0, self.pattern.col, wide)

        return self.memo("column_sums", make)

    @property
    def entries(self) -> Tensor:  # (nnz,)
        """A's entries on the pattern of A + I: zero where only I has one."""

        def make() -> Tensor:
            entries = torch.ones_like(self.pattern.row, dtype=self.dtype)
            if self.is_bipartite:
                return entries
            loops = entries.new_zeros(self.num_nodes) if self.loops is None else self.loops
            return entries.index_copy(0, self.pattern.diagonal, loops.to(self.dtype))

        return self.memo("entries", make) if self.weight is None else self.weight

    @property
    def edge_index(self) -> Tensor:  # (2, num_edges)
        """The merged edges in PyTorch Geometric's form, sorted by target, then source."""
        keep = self._is_edge()
        return torch.stack([self.pattern.col[keep], self.pattern.row[keep]]).long()

    @property
    def edge_weight(self) -> Tensor | None:  # (num_edges,)
        """The weights that go with ``edge_index``; None if the graph is unweighted."""
        return None if self.weight is None else self.weight[self._is_edge()]

    def _is_edge(self) -> Tensor:  # (nnz,)
        keep = torch.ones_like(self.pattern.row, dtype=torch.bool)
        if not self.is_bipartite:
            keep[self.pattern.diagonal] = False if self.loops is None else self.loops.detach() != 0
        return keep

    def to(
        self,
        device: torch.device | torch.dtype | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> "Graph":
        """The same graph on another device or with weights of another type (32 or 64 bits)."""
        if isinstance(device, torch.dtype):
            device, dtype = None, device
        if dtype not in (None, torch.float32, torch.float64):
            raise InputError(
                f"a graph keeps its weights in float32 or float64, got {dtype}; "
                "features of other floating-point types need no other graph"
            )

        if device in (None, self.device) and dtype in (None, self.dtype):
            return self

        def move(values: Tensor | None) -> Tensor | None:
            return None if values is None else values.to(device=device, dtype=dtype)

        pattern = self.pattern.to(device)
        shared = self.transposed is self.pattern
        return replace(
            self,
            pattern=pattern,
            transposed=pattern if shared else self.transposed.to(device),
            transposition=self.transposition.to(device),
            weight=move(self.weight),
            loops=move(self.loops),
            row_sums=self.row_sums.to(device=device),
            dtype=self.dtype if dtype is None else dtype,
            sample=None if self.sample is None else self.sample.to(device),
        )

    def plot(self, color: Any = None, ax: "Axes | None" = None, **options: Any) -> "Axes":
        """Draw the graph, a large one in part, a dense one as a matrix: axes in, axes out.

        Args:
            color: A value per node: classes (whole numbers or words; below 0: unknown), or
                floating-point numbers (NaN: unknown).
            ax: Where to draw; by default a new figure.
            **options: ``node`` and ``hops``: only the neighbourhood of this node; ``view``:
                ``"graph"``, ``"matrix"`` or ``"auto"``; ``most``: how many nodes (300); ``seed``.
        """
        from pgso.drawing import plot_graph

        if self.is_bipartite:
            raise InputError("a graph between two sets of nodes cannot be drawn yet")
        return plot_graph(self.edge_index.numpy(force=True), self.num_nodes, color, ax, **options)

    def to_torch_sparse(self) -> Tensor:
        """A as a torch.sparse COO tensor, coalesced."""
        edges, weight = self.edge_index, self.edge_weight
        if weight is None:
            weight = torch.ones(edges.size(1), dtype=self.dtype, device=self.device)
        return sparse_matrix(edges.flip(0), weight, self.shape)

    def reread(
        self, row_sums: Tensor, loops: Tensor | None = None, column_sums: Tensor | None = None
    ) -> "Graph":
        """The same edges with other degrees (n,), and other self-loops (n,) if given."""
        weight = self.weight
        if loops is not None and weight is not None:
            weight = weight.index_copy(0, self.pattern.diagonal, loops.to(weight.dtype))
        loops = self.loops if loops is None else loops
        other = replace(self, row_sums=row_sums.double(), loops=loops, weight=weight)
        if column_sums is not None:
            other._memo["column_sums"] = column_sums.double()
        return other

    def memo(self, name: Hashable, make: Callable[[], V]) -> V:
        """A value that is computed once and kept with the graph, unless weights learn.

        What the graph was made with, such as column sums of its own, is always taken.
        """
        if name in self._memo:
            return self._memo[name]  # type: ignore[no-any-return]
        if torch.compiler.is_compiling() or (self.weight is not None and learns(self.weight)):
            return make()
        with for_any_mode(self.weight, self.row_sums):
            return self._memo.setdefault(name, make())  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memo": {}}  # a copy remembers nothing

    def __repr__(self) -> str:
        direction = "undirected" if self.is_undirected else "directed"
        weights = "unweighted" if self.weight is None else "weighted"
        nodes: NumNodes = self.num_nodes
        if self.is_bipartite:
            direction, nodes = "bipartite", self.shape
        return f"Graph(num_nodes={nodes}, num_edges={self.num_edges}, {direction}, {weights})"


def once(make: Callable[..., V]) -> Callable[..., V]:
    """Decorate a function of a graph whose values are computed once and kept with the graph."""

    @wraps(make)
    def kept(graph: Graph, *given: Hashable) -> V:
        return graph.memo((make, *given), lambda: make(graph, *given))

    return kept


# By edge_index (docs/speed.md) and number of nodes: its structure, and graphs by edge_weight.
_edges: Memo[dict[NumNodes | None, tuple[Structure, Graph, Memo[Graph]]]] = Memo()
_matrices: Memo[Graph] = Memo()  # by matrix


def sparse_matrix(index: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A torch.sparse COO tensor of entries that are sorted and distinct already."""
    return torch.sparse_coo_tensor(index, values, shape, is_coalesced=True, check_invariants=False)
