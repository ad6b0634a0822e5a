"""What converted layers have in common: how they read a graph, and γ in the place of messages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from pgso.errors import InputError
from pgso.graph import EdgeList, Graph, Sample, is_traced
from pgso.graph.inputs import (
    check_edge_index,
    check_reversible,
    check_sparse_size,
    edges_of_data,
    edges_of_torch_sparse,
    weight_type,
)
from pgso.gso.module import PGSO, STEPS, WithoutMessages
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import PRESETS, PGSOParameters


@dataclass(frozen=True)
class Reading:
    """What a layer makes of the edges before its operator applies.

    Args:
        loops: ``"keep"`` self-loops as edges; ``"drop"`` them; or ``"fill"``: every node has one,
            of its own weight where it had one and of weight ``fill`` elsewhere.
        degree: ``"sum"`` of the incoming weights; ``"count"`` of the incoming edges; the sum over
            ``"outgoing"`` edges.
        fill: The weight of a missing self-loop, at which γ's ``a`` starts.
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
        loops = None  # the weights of the self-loops less ``fill``, which is in γ's ``a``
        if self.loops != "keep":
            assert not isinstance(num_nodes, tuple), "self-loops join nodes of one set"
            is_loop = source == target
            if self.loops == "fill" and weight is None:  # PyG's loops then weigh 1
                if self.fill != 1:
                    loops = torch.full((num_nodes,), 1 - self.fill, device=pairs.device)
            elif self.loops == "fill" and adjacency:  # PyG adds loops on top of a matrix's own
                own = weight.masked_fill(~is_loop, 0)  # type: ignore[union-attr]
                loops = own.new_zeros(num_nodes).index_add(0, target, own)
            elif self.loops == "fill":  # an edge_index's own it replaces, keeping the last
                order = torch.arange(source.size(0), device=source.device)
                place = torch.where(is_loop, order, -1)
                last = place.new_full((num_nodes,), -1).scatter_reduce(0, target, place, "amax")
                padding = weight.new_full((1,), self.fill)  # type: ignore[union-attr]
                loops = torch.cat([weight, padding])[last] - self.fill  # type: ignore[list-item]
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
    """An edge_index on its way through a model, with operators that layers share (``HandDown``).

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


ADJACENCY, WITH_SELF, MEAN = (PRESETS[name].as_floats() for name in ("adjacency", "gin", "mean"))
ATTENDED = PRESETS["gat"].as_floats()  # A + I, where attention is on I too
HOOKS = [f"_{step}_forward{pre}_hooks" for step in STEPS for pre in ("", "_pre")]
METHODS = {"forward", "update", *STEPS}  # those that say what a layer of PyG computes
# What may change after conversion; PyG sets ``propagate`` on layers that are explained.
FREE = ("explain", "forward", "gso", "hops", "propagate", "training")
SUMS = Reading(empty=1.0)  # of ADJACENCY and WITH_SELF: their degrees have exponent 0
MEANS = Reading(degree="count", empty=1.0)  # without edges a row is empty: 1 stands for its degree


class Given(NamedTuple):
    """What stands for the graph where PyG's own ``forward`` runs."""

    operator: ShiftOperator
    dtype: torch.dtype | None = None  # of PyG's weights on the edges, which its messages have too


class Converted(WithoutMessages):
    """Base of a PyG layer whose messages follow a learned operator; comes before PyG's class.

    An existing layer becomes one by exchanging its class, as ``torch.nn.utils.parametrize`` does:
    weights, options, names in the state_dict and references to the layer all stay. Where PyG's own
    ``forward`` can run, it does: it is handed γ as its graph, and calls ``propagate`` with it.
    """

    # Those for which γ starts as PyG's layer; None if ``obstacle`` says so itself.
    aggregations: Any = ("add", "sum")
    nodes_along = -2  # the dimension of x that ``forward`` takes for the nodes
    takes_pairs = False  # whether targets and sources may be two sets of nodes
    pygs: Any = None  # the class of PyG whose ``forward`` runs, if it does
    unless: Any = (lambda _: False, "")  # which layers of this kind cannot be converted, and why
    can_share = True  # whether it applies γ to the edges that it is given: layers may share it
    # PyG's own writes code for messages to a file, and puts it on the class.
    __setstate__ = nn.Module.__setstate__
    flow: str
    gso: PGSO
    explain: bool | None

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        """Why this layer cannot be converted, if so."""
        is_excluded, why = cls.unless
        if is_excluded(layer):
            return str(why)
        if cls.aggregations is not None and layer.aggr not in cls.aggregations:
            return f"its aggregation {layer.aggr!r} is no linear operator on the graph"
        if getattr(layer, "K", 1) == 0:
            return "with K=0 it does not use the graph"
        if not cls.takes_pairs and isinstance(getattr(layer, "in_channels", 0), (tuple, list)):
            return "it is made for two sets of nodes"
        if layer.node_dim != cls.nodes_along:
            return f"its node_dim is {layer.node_dim}, not {cls.nodes_along}"
        if layer.flow != "source_to_target" and not cls.turns(layer):
            return "in the flow 'target_to_source' PyG divides by degrees that γ does not have"
        if any(getattr(layer, name, None) for name in HOOKS):
            return "no messages are sent that the hooks on it could see"
        replaced = []
        for name in sorted(METHODS & vars(layer).keys()):  # PyG's explainers put some there, too
            pygs = (getattr(type(layer), f"_{kind}_{name}", None) for kind in ("orig", "jinja"))
            if getattr(vars(layer)[name], "__func__", layer) not in pygs:
                replaced.append(name)
        return f"its {' and '.join(replaced)} was replaced on this layer" if replaced else None

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """The S with which γ is the layer's own operator."""
        raise NotImplementedError

    @staticmethod
    def turns(layer: Any) -> bool:
        """Whether the reversed flow is the same layer on the reversed graph."""
        return True

    @staticmethod
    def num_hops(layer: Any) -> int:
        """The number of operators that ``operator="mpgso"`` gives the layer."""
        return 1

    @property
    def reading(self) -> Reading:
        """How the layer reads a graph; by default its edges and degrees as they are."""
        return Reading()

    propagate = property(
        lambda self: self.propagated,
        lambda self, value: None,  # PyG sets it on layers that are explained
        doc="What PyG's ``forward`` calls.",
    )

    def propagated(self, given: Given, x: Tensor, **ignored: Any) -> Tensor:
        """γ x, in the type of PyG's messages."""
        out: Tensor = self.gso(x, given.operator)
        return out if given.dtype is None else out.to(torch.promote_types(out.dtype, given.dtype))

    def adopt(self, operators: list[PGSO]) -> None:
        """Take the operators, one or one per hop; the hops may share one."""
        self.gso = operators[0]
        if type(self).num_hops is not Converted.num_hops:
            self.hops = nn.ModuleList(operators)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse an option that asks for another operator: S stays where it started."""
        modules = vars(self).get("_modules", {})  # none yet while a copy is made
        if name in FREE or name.startswith("_") or "gso" not in modules:
            super().__setattr__(name, value)
            return
        at_first = self.start(self), self.num_hops(self), self.obstacle(self)
        before = getattr(self, name, None)
        super().__setattr__(name, value)
        if (self.start(self), self.num_hops(self), self.obstacle(self)) == at_first:
            return
        if name in METHODS:
            super().__delattr__(name)
        else:
            super().__setattr__(name, before)
        raise InputError(
            f"{name} cannot change on a converted layer, since it decides which operator γ "
            f"starts from: set {name} before convert"
        )

    def reset_parameters(self) -> None:
        """Draw new weights; operators go back to where they started."""
        super().reset_parameters()  # type: ignore[misc]
        for operator in (self.gso, *getattr(self, "hops", ())):
            operator.reset_parameters()

    def __repr__(self) -> str:
        """PyG's own words, and the operators: what learns, and where S is now."""
        operators = dict.fromkeys(getattr(self, "hops", (self.gso,)))
        return f"{super().__repr__().removesuffix(')')}, {', '.join(map(repr, operators))})"

    def shift(
        self,
        x: Any,  # (..., n, F), or a pair of source and target features
        edge_index: Any,
        edge_weight: Tensor | None = None,  # (E,)
        num_nodes: int | tuple[int, int] | None = None,
    ) -> Tensor:  # of x's shape
        """γ x on the graph as the layer reads it."""
        num_nodes = x.size(-2) if num_nodes is None else num_nodes
        dtype = None if edge_weight is None else edge_weight.dtype
        given = Given(self.on(edge_index, edge_weight, num_nodes), dtype)
        return Converted.propagated(self, given, x)

    def on(
        self,
        edge_index: Any,
        edge_weight: Tensor | None,
        num_nodes: int | tuple[int, int],
        gso: PGSO | None = None,
        part: Tensor | None = None,  # (E of the layer,) of booleans: which of its edges these are
    ) -> ShiftOperator:
        """γ on the graph as the layer reads it; an explainer's mask is on the edges."""
        gso = self.gso if gso is None else gso
        if isinstance(edge_index, Handed):
            handed, edge_index = edge_index, edge_index.given
            same = edge_weight is handed.edge_weight and edge_index._version == handed.version
            shared = handed.operators.get((gso, self.reading, self.flow)) if same else None
            fits = shared is not None and shared.shape == (num_nodes, num_nodes)
            if fits and not self.explain:
                return shared  # type: ignore[return-value]
        edge_index, edge_weight = self.directed(edge_index, edge_weight)
        if not self.explain and not is_traced():
            return gso.on(self.reading.graph(edge_index, edge_weight, num_nodes), masked=False)
        edges = self.reading.edges(edge_index, edge_weight, num_nodes)
        operator = gso.on(edges, masked=False)
        if not self.explain:
            return operator
        mask = self.edge_mask() if part is None else self.edge_mask()[part]
        if not edges.is_bipartite:
            mask = torch.cat([mask, mask.new_ones(edges.num_nodes)])
        return operator.but(values=edges.entries * mask)

    def directed(self, edge_index: Any, edge_weight: Tensor | None) -> tuple[Any, Tensor | None]:
        """The edges in the direction of the layer's flow, which may change after conversion."""
        if self.flow == "source_to_target":
            return edge_index, edge_weight
        check_reversible(edge_index)
        if isinstance(edge_index, Graph) and not self.explain:
            return edge_index.T, edge_weight
        # In the order of an explainer's mask.
        pairs, weight, adjacency = as_edges(edge_index, edge_weight)
        if adjacency:
            raise InputError(
                "the flow 'target_to_source' needs an edge_index; pass the matrix transposed"
            )
        return pairs.flip(0), weight


def one_set(x: Any, edge_index: Any = None) -> Tensor:
    """Refuse features of two sets of nodes; the pair (x, x) is one."""
    if isinstance(x, (tuple, list)):
        if len(x) != 2 or x[0] is not x[1]:
            raise InputError(
                "this converted layer takes the features of one set of nodes, a tensor of shape "
                "(n, F), got a pair; among others SAGEConv, GraphConv and GATConv take pairs"
            )
        x = x[0]
    check_sparse_size(edge_index, x.size(-2), x.size(-2))
    return x


def two_sets(
    x: Any, size: Any, flow: str, edge_index: Any = None
) -> tuple[Tensor, Tensor | None, int | tuple[int, int]]:  # sources, targets, num_nodes
    """Source and target features, which may be the same, and how many nodes there are."""
    source, target = x if isinstance(x, (tuple, list)) else (x, x)
    if target is source:
        check_sparse_size(edge_index, source.size(-2), source.size(-2))
        return source, source, source.size(-2)
    if flow != "source_to_target":
        raise InputError(
            "with the flow 'target_to_source' a converted layer takes one set of nodes"
        )
    count = source.size(-2) if target is None else target.size(-2)
    declared = None  # by an EdgeIndex: in PyG it comes before ``size``
    if hasattr(edge_index, "sparse_size"):
        declared = edge_index.sparse_size()[1]
    if declared is not None:
        count = declared if target is None else count
    elif size is not None and size[1] is not None:
        count = int(size[1])
    elif target is None and is_sparse(edge_index):  # its rows are the targets
        count = edge_index.size(0)
    check_sparse_size(edge_index, source.size(-2), count)
    return source, target, (count, source.size(-2))


ADAPTERS: dict[type[MessagePassing], Any] = {}

C = TypeVar("C", bound=type[Converted])


def converts(kind: type[MessagePassing]) -> Callable[[C], C]:
    """Decorate the class that layers of exactly this PyG kind become."""

    def add(adapter: C) -> C:
        if kind in ADAPTERS:
            raise InputError(f"{kind.__name__} has an adapter already: {ADAPTERS[kind].__name__}")
        ADAPTERS[kind] = adapter
        adapter.pygs = adapter.pygs or kind
        return adapter

    return add
