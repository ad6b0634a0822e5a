"""A raw ``edge_index`` passed again and again is prepared once, as long as it lives."""

import weakref
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from pgso.errors import InputError
from pgso.graph.checks import check_edge_index
from pgso.graph.graph import Graph
from pgso.graph.structure import Structure


@dataclass
class _Remembered:
    """What was made of an edge_index: its structure, and the graph of the last weights on it."""

    version: int
    num_nodes: int
    structure: Structure
    graph: Graph | None = None
    weight: "weakref.ref[Tensor] | None" = field(default=None)
    weight_version: int = -1

    def fits(self, edge_index: Tensor, num_nodes: int) -> bool:
        return self.version == edge_index._version and self.num_nodes == num_nodes

    def graph_with(self, edge_weight: Tensor | None) -> Graph:
        if edge_weight is not None and (edge_weight.requires_grad or edge_weight.is_inference()):
            # The graph then holds an autograd history that one backward pass uses up.
            return Graph.from_structure(self.structure, edge_weight)
        known = None if self.weight is None else self.weight()
        version = -1 if edge_weight is None else edge_weight._version
        if self.graph is None or known is not edge_weight or version != self.weight_version:
            self.graph = Graph.from_structure(self.structure, edge_weight)
            self.weight = None if edge_weight is None else weakref.ref(edge_weight)
            self.weight_version = version
        return self.graph


_remembered: "WeakIdKeyDictionary" = WeakIdKeyDictionary()


def as_graph(
    graph: Graph | Tensor,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
) -> Graph:
    """The prepared graph of whatever stands for one: a ``Graph``, an ``edge_index``, a sparse A.

    An ``edge_index`` is recognised by identity and version (in-place changes count), and
    forgotten with the tensor.
    """
    if isinstance(graph, Graph):
        if edge_weight is not None:
            raise InputError(
                "edge_weight goes with an edge_index; a Graph has its own weights: "
                "Graph.from_edge_index(edge_index, edge_weight)"
            )
        return graph
    if isinstance(graph, Tensor) and graph.layout != torch.strided:
        return Graph.from_torch_sparse(graph)
    if hasattr(graph, "edge_index") and not isinstance(graph, Tensor):
        return Graph.from_data(graph)
    if not isinstance(graph, Tensor) or graph.is_inference():
        return Graph.from_edge_index(graph, edge_weight, num_nodes)
    known: _Remembered | None = _remembered.get(graph)
    if known is None or not known.fits(graph, known.num_nodes if num_nodes is None else num_nodes):
        count = check_edge_index(graph, num_nodes)
        source, target = graph.long()
        known = _Remembered(graph._version, count, Structure.of(source, target, count))
        _remembered[graph] = known
    return known.graph_with(edge_weight)
