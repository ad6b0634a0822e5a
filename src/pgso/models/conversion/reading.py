"""How a PyG layer reads a graph: which self-loops it sees and which degrees it divides by."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from pgso.errors import InputError
from pgso.graph import EdgeList, Graph, Sample, as_graph
from pgso.graph.checks import weight_type
from pgso.graph.readers import edges_of_data, edges_of_torch_sparse


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
            it: the power of 0, which is 0, would silence the node (DESIGN convention 3).
    """

    loops: Literal["keep", "drop", "fill"] = "keep"
    degree: Literal["sum", "count", "outgoing"] = "sum"
    fill: float = 1.0
    empty: float | None = None

    def edges(self, edge_index: Any, edge_weight: Tensor | None, num_nodes: int) -> EdgeList:
        """The edges in their order as this layer sees them; traceable, O(E)."""
        pairs, weight, adjacency = as_edges(edge_index, edge_weight)
        source, target = pairs.unbind()
        loops = None
        if self.loops != "keep":
            is_loop = source == target
            # PyG adds its loops on top of those of a sparse matrix, but not of an edge_index.
            if self.loops == "fill":
                loops = self._diagonal(pairs, weight, num_nodes, on_top=adjacency)
            whole = torch.ones_like(source, dtype=weight_type())
            weight = (whole if weight is None else weight).masked_fill(is_loop, 0)
        edges = EdgeList.of(pairs, weight, num_nodes)
        degree = edges.degree if loops is None else edges.degree + loops
        if self.degree != "sum":
            outgoing = self.degree == "outgoing"
            each = torch.ones_like(source, dtype=degree.dtype) if weight is None else weight
            each = each if outgoing else torch.ones_like(each)
            degree = torch.zeros_like(degree).index_add(0, source if outgoing else target, each)
        if self.empty is not None:
            degree = torch.where(degree > 0, degree, self.empty)
        if isinstance(edge_index, Graph) and edge_index.sample is not None:
            part = self._sampled(edge_index, edge_index.sample)
            degree, loops = part.degree, part.loops if self.loops == "fill" else None
        return replace(edges, degree=degree, loops=loops)  # type: ignore[arg-type]

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
            own = weight.masked_fill(~is_loop, 0)
            return weight.new_zeros(num_nodes).index_add(0, target, own)
        # Of several self-loops of a node, PyG keeps the last.
        place = torch.where(is_loop, torch.arange(source.size(0), device=source.device), -1)
        last = place.new_full((num_nodes,), -1).scatter_reduce(0, target, place, "amax")
        padded = torch.cat([weight, weight.new_full((1,), self.fill)])  # -1 is the padding
        return padded[last] - self.fill

    def graph(self, edge_index: Any, edge_weight: Tensor | None, num_nodes: int) -> Graph:
        """The same as a prepared graph, remembered as long as ``edge_index`` lives."""
        if hasattr(edge_index, "edge_index") and not isinstance(edge_index, Graph):
            edge_index, edge_weight, _ = as_edges(edge_index, edge_weight)
        version, weight_version = _version(edge_index), _version(edge_weight)
        lasting = version is not None and weight_version is not None
        lasting &= isinstance(edge_index, (Tensor, Graph))  # anything else is refused further on
        weighted = edge_weight is not None
        key = (self, weighted, num_nodes, version, id(edge_weight), weight_version)
        known = _remembered.setdefault(edge_index, {}) if lasting else {}
        if key not in known:
            for old in [old for old in known if old[:2] == key[:2]]:  # of earlier weights
                del known[old]
            # The weights are kept with their graph, so that their id stays theirs.
            known[key] = self._prepare(edge_index, edge_weight, num_nodes), edge_weight
        graph: Graph = known[key][0]
        return graph

    def _prepare(self, edge_index: Any, edge_weight: Tensor | None, num_nodes: int) -> Graph:
        if isinstance(edge_index, Graph) and edge_index.sample is not None:
            return self._sampled(edge_index, edge_index.sample)
        pairs, weight, _ = as_edges(edge_index, edge_weight)
        plain = as_graph(pairs, weight, num_nodes)  # with its checks
        if self == Reading():
            return plain
        edges = self.edges(edge_index, edge_weight, num_nodes)
        if self.loops != "keep":
            each = None if edges.weight is None else edges.weight[: pairs.size(1)]
            plain = as_graph(pairs, each, num_nodes)
        own: Tensor | None = edges.loops
        return replace(plain, loops=plain.loops if own is None else own, degree=edges.degree)

    def _sampled(self, graph: Graph, sample: Sample) -> Graph:
        """Degrees and self-loops are those that the layer reads in the whole graph."""
        whole = self.graph(sample.graph, None, sample.graph.num_nodes)
        loops = None if whole.loops is None else whole.loops.index_select(0, sample.nodes)
        return replace(
            graph,
            degree=whole.degree.index_select(0, sample.nodes).to(graph.device),
            loops=None if loops is None else loops.to(graph.device),
        )


_remembered = WeakIdKeyDictionary()


def as_edges(edge_index: Any, edge_weight: Tensor | None) -> tuple[Tensor, Tensor | None, bool]:
    """(edge_index, weights, whether it was a matrix) of whatever stands for a graph."""
    if isinstance(edge_index, Graph) or hasattr(edge_index, "edge_index"):  # the latter: PyG's Data
        if edge_weight is not None:
            raise InputError(
                f"edge_weight goes with an edge_index; a {type(edge_index).__name__} has its own"
            )
        if isinstance(edge_index, Graph):
            return edge_index.edge_index, edge_index.edge_weight, False
        edge_index, edge_weight, _ = edges_of_data(edge_index)
    if isinstance(edge_index, Tensor) and edge_index.layout != torch.strided:
        pairs, values, _ = edges_of_torch_sparse(edge_index)
        return pairs, values, True
    as_tensor = getattr(edge_index, "as_tensor", None)  # PyG's EdgeIndex
    if edge_weight is not None and edge_weight.dim() == 2:
        edge_weight = edge_weight.squeeze(1)
    if edge_weight is not None and not edge_weight.is_floating_point():
        edge_weight = edge_weight.to(weight_type())
    return edge_index if as_tensor is None else as_tensor(), edge_weight, False


def _version(values: Any) -> int | None:
    """A number that changes with the values; None if what is made of them must not be kept."""
    if not isinstance(values, Tensor):
        return 0
    if values.is_inference() or values.requires_grad:
        return None
    return values._version
