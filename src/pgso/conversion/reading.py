"""How a PyG layer reads a graph: which self-loops it sees and which degrees it divides by."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import EdgeList, Graph, Sample
from pgso.graph.inputs import check_edge_index, edges_of_data, edges_of_torch_sparse, weight_type
from pgso.gso.operator import ShiftOperator


@dataclass(frozen=True)
class Reading:
    """What a layer makes of the edges before its operator applies.

    Args:
        loops: ``"keep"`` self-loops as edges; ``"drop"`` them; or ``"fill"``: every node has one,
            of its own weight where it had one and of weight ``fill`` elsewhere. As γ adds ``a``
            to the diagonal, which starts at ``fill``, the graph's own diagonal holds the rest.
        degree: ``"sum"`` of the incoming weights; ``"count"`` of the incoming edges; the sum over
            ``"outgoing"`` edges.
        fill: The weight of a missing self-loop.
        empty: The degree of nodes that have none or less, for operators that do not depend on
            it at the start: with 1 they have a power that does not change as exponents learn.
    """

    loops: Literal["keep", "drop", "fill"] = "keep"
    degree: Literal["sum", "count", "outgoing"] = "sum"
    fill: float = 1.0
    empty: float | None = None

    def edges(
        self, edge_index: Any, edge_weight: Tensor | None, num_nodes: int | tuple[int, int]
    ) -> Graph:
        """The edges in their order as this layer sees them; traceable, O(E)."""
        pairs, weight, adjacency = as_edges(edge_index, edge_weight)
        source, target = pairs.unbind()
        loops = None
        if self.loops != "keep":
            assert not isinstance(num_nodes, tuple), "self-loops join nodes of one set"
            is_loop = source == target
            # PyG adds loops on top of a sparse matrix's own; an edge_index's own it replaces.
            if self.loops == "fill":
                loops = self._diagonal(pairs, weight, num_nodes, on_top=adjacency)
            whole = torch.ones_like(source, dtype=weight_type())
            weight = (whole if weight is None else weight).masked_fill(is_loop, 0)
        edges = EdgeList.of(pairs, weight, num_nodes)
        rows = edges.row_sums if loops is None else edges.row_sums + loops
        columns = edges.column_sums if edges.is_bipartite else None
        if self.degree != "sum":
            outgoing = self.degree == "outgoing"
            weights = torch.ones_like(source, dtype=rows.dtype)
            if outgoing and weight is not None:
                weights = weight.to(rows.dtype)
            rows = torch.zeros_like(rows).index_add(0, source if outgoing else target, weights)
            if columns is not None:
                columns = torch.zeros_like(columns).index_add(0, source, weights)
        if self.empty is not None:
            rows = torch.where(rows > 0, rows, self.empty)
            columns = None if columns is None else torch.where(columns > 0, columns, self.empty)
        if isinstance(edge_index, Graph) and edge_index.sample is not None:
            part = self._sampled(edge_index, edge_index.sample)
            rows, loops = part.row_sums, part.loops if self.loops == "fill" else None
        return edges.reread(rows, loops, columns)

    def _diagonal(
        self, pairs: Tensor, weight: Tensor | None, num_nodes: int, on_top: bool
    ) -> Tensor | None:  # (n,)
        """The weights of the self-loops less ``fill``; None where that is 0 for every node."""
        if weight is None:  # PyG gives every loop of an unweighted graph the weight 1
            if self.fill == 1:
                return None
            return torch.full((num_nodes,), 1 - self.fill, device=pairs.device)
        source, target = pairs.unbind()
        is_loop = source == target
        if on_top:
            loop_weight = weight.masked_fill(~is_loop, 0)
            return weight.new_zeros(num_nodes).index_add(0, target, loop_weight)
        # Of several self-loops of a node, PyG keeps the last.
        position = torch.where(is_loop, torch.arange(source.size(0), device=source.device), -1)
        last = position.new_full((num_nodes,), -1).scatter_reduce(0, target, position, "amax")
        padded = torch.cat([weight, weight.new_full((1,), self.fill)])  # -1 is the padding
        return padded[last] - self.fill

    def graph(
        self, edge_index: Any, edge_weight: Tensor | None, num_nodes: int | tuple[int, int]
    ) -> Graph:
        """The same as a prepared graph; the graph of the plain edges remembers it."""
        if isinstance(edge_index, Graph):
            plain = edge_index
        elif is_sparse(edge_index) and not isinstance(num_nodes, tuple):
            plain = Graph.of(edge_index, edge_weight)
        else:
            edge_index, edge_weight, _ = as_edges(edge_index, edge_weight)
            plain = Graph.of(edge_index, edge_weight, num_nodes)  # with its checks

        def prepare() -> Graph:
            if plain.sample is not None:
                return self._sampled(plain, plain.sample)
            edges, kept = self.edges(edge_index, edge_weight, num_nodes), plain
            if self.loops != "keep":
                pairs, _, _ = as_edges(edge_index, edge_weight)
                weight = None if edges.weight is None else edges.weight[: pairs.size(1)]
                kept = Graph.from_edge_index(pairs, weight, num_nodes)
            columns = edges.column_sums if edges.is_bipartite else None
            return kept.reread(edges.row_sums, edges.loops, columns)

        return plain if self == Reading() and not plain.is_bipartite else plain.memo(self, prepare)

    def _sampled(self, graph: Graph, sample: Sample) -> Graph:
        """Degrees and self-loops are those that the layer reads in the whole graph."""
        whole = self.graph(sample.graph, None, sample.graph.num_nodes)
        rows = whole.row_sums.index_select(0, sample.nodes).to(graph.device)
        loops = None if whole.loops is None else whole.loops.index_select(0, sample.nodes)
        if loops is None and graph.loops is not None:  # those of the sample are not read either
            loops = torch.zeros_like(graph.loops)
        return graph.reread(rows, None if loops is None else loops.to(graph.device))


class Handed(Tensor):
    """An edge_index on its way through a converted model, with operators that layers share.

    The model made them before its first layer (:class:`pgso.conversion.convert.HandDown`).
    Everything else sees an ordinary tensor, and what is computed of it is one.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    given: Tensor  # (2, E) the user's own
    version: int  # of it, when the operators were made: a change in place makes them void
    edge_weight: Tensor | None
    operators: dict[Any, ShiftOperator]


def as_edges(edge_index: Any, edge_weight: Tensor | None) -> tuple[Tensor, Tensor | None, bool]:
    """(edge_index, weights, whether it was a matrix) of anything that PyG takes as a graph."""
    if isinstance(edge_index, Handed):
        edge_index = edge_index.given  # what is remembered of it is found again
    if isinstance(edge_index, Graph) or hasattr(edge_index, "edge_index"):  # the latter: PyG's Data
        if edge_weight is not None:
            raise InputError(
                f"edge_weight goes with an edge_index; a {type(edge_index).__name__} has its own"
            )
        if isinstance(edge_index, Graph):
            return edge_index.edge_index, edge_index.edge_weight, False
        edge_index, edge_weight, _ = edges_of_data(edge_index)
    if is_sparse(edge_index):
        pairs, values, _ = edges_of_torch_sparse(edge_index, square=False)
        return pairs, values, True
    if not isinstance(edge_index, Tensor):
        check_edge_index(edge_index, None)  # which refuses it
    as_tensor = getattr(edge_index, "as_tensor", None)  # PyG's EdgeIndex
    if edge_weight is not None and edge_weight.dim() == 2:
        edge_weight = edge_weight.squeeze(1)
    if edge_weight is not None and not edge_weight.is_floating_point():
        edge_weight = edge_weight.to(weight_type())
    return edge_index if as_tensor is None else as_tensor(), edge_weight, False


def is_sparse(edge_index: Any) -> bool:
    """Whether it is a torch.sparse matrix."""
    return isinstance(edge_index, Tensor) and edge_index.layout != torch.strided


def is_traced() -> bool:
    """Whether torch writes a program of what is computed: then nothing may be remembered."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined]
