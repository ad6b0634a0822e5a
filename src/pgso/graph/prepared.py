"""A cache: an ``edge_index`` that is passed again is not prepared again (docs/remembered.md)."""

import weakref
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph.checks import check_edge_index, declared_nodes
from pgso.graph.derivatives import learns
from pgso.graph.graph import Graph, NumNodes
from pgso.graph.memo import Memo, for_any_mode, is_wrapped, state_of
from pgso.graph.pattern import Structure
from pgso.graph.readers import edges_of_data


@dataclass(frozen=True, eq=False)
class _Weighted:
    """The graph of some weights on a structure; replaced as a whole when the weights change."""

    structure: Structure
    graph: Graph | None = None
    weight: "weakref.ref[Tensor] | None" = None
    state: tuple[Any, ...] | None = None

    def with_weight(self, edge_weight: Tensor | None) -> "_Weighted":
        """This entry if it has these weights; otherwise a new entry that has them."""
        if edge_weight is None:
            if self.graph is not None and self.weight is None:
                return self
            return _Weighted(self.structure, Graph.from_structure(self.structure))
        state = state_of(edge_weight)
        same = self.weight is not None and self.weight() is edge_weight and state == self.state
        if self.graph is not None and same:
            return self
        graph = Graph.from_structure(self.structure, edge_weight)
        return _Weighted(self.structure, graph, weakref.ref(edge_weight), state)


class _Sizes:
    """The graphs of one edge_index, by num_nodes."""

    def __init__(self) -> None:
        self.entries: dict[NumNodes | None, _Weighted] = {}

    def graph(
        self, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: NumNodes | None
    ) -> Graph:
        num_nodes = declared_nodes(edge_index) if num_nodes is None else num_nodes
        entry = self.entries.get(num_nodes)
        if entry is None:
            with for_any_mode(edge_index):
                shape = check_edge_index(edge_index, num_nodes)
                source, target = edge_index.long()
                square = not isinstance(num_nodes, tuple)
                entry = _Weighted(Structure.of(source, target, shape, square))
        if edge_weight is not None and (
            not isinstance(edge_weight, Tensor)  # refused there
            or learns(edge_weight)
            or edge_weight.is_inference()
            or is_wrapped(edge_weight)
        ):
            # The graph then holds an autograd history that one backward pass uses up.
            self.entries[num_nodes] = entry
            return Graph.from_structure(entry.structure, edge_weight)
        with for_any_mode(edge_index):
            entry = entry.with_weight(edge_weight)
        self.entries[num_nodes] = entry
        assert entry.graph is not None
        return entry.graph


_edges: Memo[_Sizes] = Memo()  # by edge_index
_matrices: Memo[Graph] = Memo()  # by sparse A


def as_graph(
    graph: Graph | Tensor,
    edge_weight: Tensor | None = None,
    num_nodes: NumNodes | None = None,
) -> Graph:
    """The prepared graph of a ``Graph``, an ``edge_index``, a sparse A or PyG data.

    An ``edge_index`` or sparse A is recognised by identity and state (see
    :func:`pgso.graph.memo.state_of`), and forgotten with the tensor.
    """
    if isinstance(graph, Tensor) and graph.layout == torch.strided and not graph.is_inference():
        return _edges.of(graph, _Sizes).graph(graph, edge_weight, num_nodes)
    sparse = isinstance(graph, Tensor) and graph.layout != torch.strided
    if not (sparse or isinstance(graph, Graph) or hasattr(graph, "edge_index")):
        return Graph.from_edge_index(graph, edge_weight, num_nodes)
    if edge_weight is not None:
        raise InputError(
            f"edge_weight goes with an edge_index; a {type(graph).__name__} has its own weights: "
            "Graph.from_edge_index(edge_index, edge_weight)"
        )
    if isinstance(graph, Graph):
        return graph
    if not sparse:
        return as_graph(*edges_of_data(graph))
    if learns(graph):
        return Graph.from_torch_sparse(graph)
    return _matrices.of(graph, lambda: Graph.from_torch_sparse(graph))
