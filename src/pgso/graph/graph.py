"""The graph: A in compressed sparse rows, its degrees and its transpose, immutable."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from pgso.graph import readers
from pgso.graph.checks import check_edge_index, check_edge_weight, check_weight_type, weight_type
from pgso.graph.memo import for_any_mode
from pgso.graph.sample import Sample
from pgso.graph.structure import Pattern, Structure

if TYPE_CHECKING:
    import networkx
    import scipy.sparse
    from torch_geometric.data import Data

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph, prepared once and then left unchanged.

    ``A[i, j]`` is the weight of the edge from source j to target i (PyTorch Geometric's direction).
    Duplicate edges are summed, self-loops stay in A. Build one with a ``from_...`` method.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> path
        Graph(num_nodes=3, num_edges=4, undirected, unweighted)
        >>> path.degree
        tensor([1., 2., 1.])
    """

    pattern: Pattern  # of A + I
    transposed: Pattern  # of its transpose; the same object if every edge has its reverse
    transposition: Tensor  # (nnz,) where the transpose's entries stand in the pattern
    is_undirected: bool  # whether A is symmetric
    weight: Tensor | None  # (nnz,) A on the pattern; None: every edge weighs 1
    loops: Tensor | None  # (n,) A's diagonal; None if there are no self-loops
    degree: Tensor  # (n,) A's row sums: weighted in-degrees, self-loops included
    num_edges: int  # distinct directed edges; self-loops count unless they weigh 0
    sample: Sample | None = None  # where it comes from, if it holds some neighbours only
    _found: dict[str, Any] = field(default_factory=dict, init=False)  # what is computed once

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,  # (2, E)
        edge_weight: Tensor | None = None,  # (E,)
        num_nodes: int | None = None,
    ) -> "Graph":
        """Prepare PyTorch Geometric's ``edge_index``: row 0 holds sources, row 1 targets.

        Args:
            edge_index: Integer node ids; duplicates are summed.
            edge_weight: A weight for each edge; gradients flow through it if it asks for them.
            num_nodes: n; by default one more than the largest id.
        """
        num_nodes = check_edge_index(edge_index, num_nodes)
        source, target = edge_index.long()
        return cls.from_structure(Structure.of(source, target, num_nodes), edge_weight)

    @classmethod
    def from_data(cls, data: "Data") -> "Graph":
        """Prepare a PyTorch Geometric ``Data`` or ``Batch`` with its ``edge_weight``, if any."""
        return cls.from_edge_index(*readers.edges_of_data(data))

    @classmethod
    def from_scipy(cls, adjacency: "scipy.sparse.sparray | scipy.sparse.spmatrix") -> "Graph":
        """Prepare a scipy sparse matrix; entry ``[i, j]`` is the weight of the edge j → i."""
        return cls.from_edge_index(*readers.edges_of_scipy(adjacency))

    @classmethod
    def from_networkx(cls, graph: "networkx.Graph", weight: str | None = "weight") -> "Graph":
        """Prepare a networkx graph, nodes in its own order.

        Args:
            graph: Undirected edges count in both directions; multi-edges are summed.
            weight: The edge attribute that holds weights; edges without it weigh 1.
        """
        return cls.from_edge_index(*readers.edges_of_networkx(graph, weight))

    @classmethod
    def from_dense(cls, adjacency: Any) -> "Graph":
        """Prepare an n x n tensor, array or nested list; zeros are no edges."""
        return cls.from_edge_index(*readers.edges_of_dense(adjacency))

    @classmethod
    def from_torch_sparse(cls, adjacency: Tensor) -> "Graph":
        """Prepare a torch.sparse tensor (COO, CSR or CSC), such as PyG's ``adj_t``."""
        return cls.from_edge_index(*readers.edges_of_torch_sparse(adjacency))

    @classmethod
    def from_structure(cls, structure: Structure, edge_weight: Tensor | None = None) -> "Graph":
        """Put weights on a structure: O(E), differentiable in ``edge_weight``."""
        pattern, position = structure.pattern, structure.position
        n, nnz = pattern.num_nodes, pattern.row.numel()
        if edge_weight is None:
            entries = torch.bincount(position, minlength=nnz).to(weight_type())
        else:
            edge_weight = check_edge_weight(edge_weight, position)
            entries = edge_weight.new_zeros(nnz).index_add(0, position, edge_weight)
        loops = entries[pattern.diagonal]
        num_loops = int(torch.count_nonzero(loops.detach()))
        degree = entries.new_zeros(n).index_add(0, pattern.row, entries)

        plain = entries.detach() == 1
        plain[pattern.diagonal] |= loops.detach() == 0  # no self-loop, an entry of I alone
        unweighted = not entries.requires_grad and bool(plain.all())
        weight = None if unweighted else entries

        undirected = structure.is_symmetric and (
            weight is None or _nearly_equal(weight, weight.index_select(0, structure.transposition))
        )
        if not structure.is_symmetric and weight is not None and not weight.requires_grad:
            # An edge of weight 0 needs no reverse: A is symmetric if it is without such edges.
            kept = weight != 0
            if not bool((kept | (pattern.row == pattern.col)).all()):
                pairs = torch.stack([pattern.col, pattern.row])[:, kept]
                without = cls.from_edge_index(pairs, weight[kept], n)
                if without.is_undirected:
                    return without
        return cls(
            pattern=pattern,
            transposed=structure.transposed,
            transposition=structure.transposition,
            is_undirected=undirected,
            weight=weight,
            loops=loops if num_loops or loops.requires_grad else None,  # a 0 may learn
            degree=degree,
            num_edges=nnz - n + num_loops,
        )

    @property
    def num_nodes(self) -> int:
        """The number n of nodes."""
        return self.pattern.num_nodes

    @property
    def device(self) -> torch.device:
        """Where the graph lives."""
        return self.degree.device

    @property
    def dtype(self) -> torch.dtype:
        """The type of weights and degrees."""
        return self.degree.dtype

    @property
    def entries(self) -> Tensor:  # (nnz,)
        """A's entries on the pattern of A + I: zero where only I has one."""
        if self.weight is not None:
            return self.weight
        entries = self.degree.new_ones(self.pattern.row.numel())
        loops = torch.zeros_like(self.degree) if self.loops is None else self.loops
        return entries.index_copy(0, self.pattern.diagonal, loops)

    @property
    def neighbour_weight(self) -> Tensor:  # (n,)
        """Σ_{j≠i} |A_ij|: what a node gets from others, whatever the signs."""
        return self._kept("neighbour_weight", self._neighbour_weight)

    def _neighbour_weight(self) -> Tensor:
        if self.weight is None:
            assert self.pattern.rowptr is not None
            return (self.pattern.rowptr.diff() - 1).to(self.dtype)
        size = self.weight.abs().index_fill(0, self.pattern.diagonal, 0)
        return torch.zeros_like(self.degree).index_add(0, self.pattern.row, size)

    @property
    def kinds_of_nodes(self) -> tuple[Tensor, Tensor, Tensor | None]:  # (k,) each
        """d_i, Σ_{j≠i} |A_ij| and A_ii (None if all are 0), in doubles: once for nodes alike.

        Where more than the number of neighbours tells nodes apart, there is a kind per node.
        """
        return self._kept("kinds_of_nodes", self._kinds_of_nodes)

    def _kinds_of_nodes(self) -> tuple[Tensor, Tensor, Tensor | None]:
        degree, neighbours = self.degree.double(), self.neighbour_weight.double()
        if self.weight is None and self.loops is None and torch.equal(degree, neighbours):
            kinds = degree.unique()
            return kinds, kinds, None
        return degree, neighbours, None if self.loops is None else self.loops.double()

    @property
    def edge_index(self) -> Tensor:  # (2, num_edges)
        """The merged edges in PyTorch Geometric's form, sorted by target, then source."""
        keep = self._is_edge()
        return torch.stack([self.pattern.col[keep], self.pattern.row[keep]]).long()

    @property
    def edge_weight(self) -> Tensor | None:  # (num_edges,)
        """The weights that go with ``edge_index``; None if the graph is unweighted."""
        return None if self.weight is None else self.weight[self._is_edge()]

    def to(
        self,
        device: torch.device | torch.dtype | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> "Graph":
        """The same graph on another device or with weights of another type, as a tensor's ``to``.

        Weights and degrees are kept in 32 or 64 bits: sums of many weights need the digits. The
        features may be of any floating-point type, whatever the graph's.
        """
        if isinstance(device, torch.dtype):
            device, dtype = None, device
        check_weight_type(dtype)

        def move(values: Tensor | None) -> Tensor | None:
            return None if values is None else values.to(device=device, dtype=dtype)

        pattern = self.pattern.to(device)
        shared = self.transposed is self.pattern
        return Graph(
            pattern=pattern,
            transposed=pattern if shared else self.transposed.to(device),
            transposition=self.transposition.to(device),
            is_undirected=self.is_undirected,
            weight=move(self.weight),
            loops=move(self.loops),
            degree=self.degree.to(device=device, dtype=dtype),
            num_edges=self.num_edges,
            sample=None if self.sample is None else self.sample.to(device),
        )

    def to_torch_sparse(self) -> Tensor:
        """A as a torch.sparse COO tensor, coalesced."""
        edges, weight = self.edge_index, self.edge_weight
        values = self.degree.new_ones(edges.size(1)) if weight is None else weight
        size = (self.num_nodes, self.num_nodes)
        return torch.sparse_coo_tensor(edges.flip(0), values, size, is_coalesced=True)

    def _kept(self, name: str, find: Callable[[], T]) -> T:
        """What is found once for a graph; with learned weights it has a history and is not kept."""
        if self.weight is not None and self.weight.requires_grad:
            return find()
        if name not in self._found:
            with for_any_mode():
                self._found[name] = find()
        found: T = self._found[name]
        return found

    def _is_edge(self) -> Tensor:  # (nnz,)
        keep = torch.ones_like(self.pattern.row, dtype=torch.bool)
        if self.loops is None:
            keep[self.pattern.diagonal] = False
        else:
            keep[self.pattern.diagonal] = self.loops.detach() != 0
        return keep

    def __repr__(self) -> str:
        direction = "undirected" if self.is_undirected else "directed"
        weights = "unweighted" if self.weight is None else "weighted"
        return (
            f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}, {direction}, {weights})"
        )


def _nearly_equal(left: Tensor, right: Tensor) -> bool:
    """Equal up to the rounding of sums taken in another order."""
    tolerance = 8 * torch.finfo(left.dtype).eps
    return torch.allclose(left.detach(), right.detach(), rtol=tolerance, atol=0.0)
