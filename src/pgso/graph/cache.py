"""A raw ``edge_index`` passed again and again is prepared once, as long as it lives."""

import weakref
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pgso.errors import InputError
from pgso.graph.checks import check_edge_index
from pgso.graph.graph import Graph
from pgso.graph.memo import Memo, for_any_mode
from pgso.graph.readers import edges_of_data
from pgso.graph.structure import Structure


@dataclass
class _Prepared:
    """An edge_index on n nodes: its structure, and the graph of the last weights on it."""

    structure: Structure
    graph: Graph | None = None
    weight: "weakref.ref[Tensor] | None" = None
    weight_version: int = -1

    def graph_with(self, edge_weight: Tensor | None) -> Graph:
        if edge_weight is not None and (
            not isinstance(edge_weight, Tensor)  # refused there
            or edge_weight.requires_grad
            or edge_weight.is_inference()
        ):
            # The graph then holds an autograd history that one backward pass uses up.
            return Graph.from_structure(self.structure, edge_weight)
        known = None if self.weight is None else self.weight()
        version = -1 if edge_weight is None else edge_weight._version
        if self.graph is None or known is not edge_weight or version != self.weight_version:
            with for_any_mode():
                self.graph = Graph.from_structure(self.structure, edge_weight)
            self.weight = None if edge_weight is None else weakref.ref(edge_weight)
            self.weight_version = version
        return self.graph


@dataclass
class _Sizes:
    """What was made of an edge_index, by the num_nodes it was asked with."""

    sizes: dict[int | None, _Prepared] = field(default_factory=dict)

    def prepared(self, edge_index: Tensor, num_nodes: int | None) -> _Prepared:
        if num_nodes not in self.sizes:
            count = check_edge_index(edge_index, num_nodes)
            if count not in self.sizes:
                with for_any_mode():
                    source, target = edge_index.long()
                    self.sizes[count] = _Prepared(Structure.of(source, target, count))
            self.sizes[num_nodes] = self.sizes[count]
        return self.sizes[num_nodes]


_edges: Memo[_Sizes] = Memo()  # by edge_index
_matrices: Memo[Graph] = Memo()  # by sparse A


def as_graph(
    graph: Graph | Tensor,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
) -> Graph:
    """The prepared graph of whatever stands for one: a ``Graph``, an ``edge_index``, a sparse A.

    An ``edge_index`` or sparse A is recognised by identity and version (in-place changes count),
    and forgotten with the tensor.
    """
    if isinstance(graph, Tensor) and graph.layout == torch.strided and not graph.is_inference():
        return _edges.of(graph, _Sizes).prepared(graph, num_nodes).graph_with(edge_weight)
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
    if graph.requires_grad:
        return Graph.from_torch_sparse(graph)
    return _matrices.of(graph, lambda: Graph.from_torch_sparse(graph))
