"""What converted layers have in common: PyG's layer, with γ in the place of its propagation."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from pgso.conversion.reading import Handed, Reading, as_edges, is_sparse, is_traced
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.graph.inputs import check_reversible, check_sparse_size, sparse_size
from pgso.gso.edge_mask import STEPS, WithoutMessages
from pgso.gso.module import PGSO
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import PGSOParameters
from pgso.gso.presets import PRESETS

ADJACENCY, WITH_SELF, MEAN = (PRESETS[name].as_floats() for name in ("adjacency", "gin", "mean"))
ATTENDED = PRESETS["gat"].as_floats()  # A + I, where attention is on I too
HOOKS = [f"_{step}_forward{pre}_hooks" for step in STEPS for pre in ("", "_pre")]
METHODS = {"forward", "update", *STEPS}  # those that say what a layer of PyG computes
# What may change after conversion; PyG sets ``propagate`` on layers that are explained.
FREE = ("explain", "flow", "forward", "gso", "hops", "propagate", "training")
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
    can_share = True  # whether it applies γ to the edges that it is given: layers may share it
    # PyG's own writes code for messages to a file, and puts it on the class.
    __setstate__ = nn.Module.__setstate__
    flow: str
    gso: PGSO
    explain: bool | None
    _edge_mask: Tensor | None
    _apply_sigmoid: bool

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        """Why this layer cannot be converted, if so."""
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
        own = METHODS & vars(layer).keys()
        replaced = sorted(name for name in own if not _is_pygs(layer, name))
        if replaced:
            return f"its {' and '.join(replaced)} was replaced on this layer"
        return None

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
        """How the layer reads a graph."""
        raise NotImplementedError

    @property
    def propagate(self) -> Any:
        """What PyG's ``forward`` calls. PyG also sets it on layers that are explained: not here."""
        return self.propagated

    @propagate.setter
    def propagate(self, value: Any) -> None:
        pass

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

        def settled() -> tuple[Any, ...]:  # what the options say
            return self.start(self), self.num_hops(self), self.obstacle(self)

        at_first, before = settled(), getattr(self, name, None)
        super().__setattr__(name, value)
        if settled() == at_first:
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
        out: Tensor = self.gso(x, self.on(edge_index, edge_weight, num_nodes))
        if edge_weight is None:
            return out
        return out.to(torch.promote_types(out.dtype, edge_weight.dtype))  # as PyG's messages are

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
            if shared is not None and fits and not self.explain:
                return shared
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
        if not self.turns(self):
            raise InputError(
                f"{type(self).__name__} takes the flow 'source_to_target' only: in the other flow "
                "PyG's layer divides by degrees that γ does not have"
            )
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

    def edge_mask(self) -> Tensor:  # (E,)
        """What an explainer multiplies the messages with."""
        assert self._edge_mask is not None
        return self._edge_mask.sigmoid() if self._apply_sigmoid else self._edge_mask


def _is_pygs(layer: Any, name: str) -> bool:
    """Whether PyG itself put the method there: explained layers have a ``propagate``."""
    of_class = (getattr(type(layer), f"_{kind}_{name}", None) for kind in ("orig", "jinja"))
    return getattr(vars(layer)[name], "__func__", layer) in of_class


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
    declared = sparse_size(edge_index)[1]  # in PyG it comes before ``size``
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
