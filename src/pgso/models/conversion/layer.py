"""What converted layers have in common: PyG's layer, with γ in the place of its propagation."""

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from pgso.errors import InputError
from pgso.graph import EdgeList
from pgso.gso.message_passing import pgso_entries, times_entries
from pgso.gso.module import PGSO
from pgso.gso.parameters import PGSOParameters
from pgso.models.conversion.reading import Reading

#                              m1   m2   m3   e1   e2   e3   a
ADJACENCY = PGSOParameters(0.0, 1.0, -1.0, 0.0, 0.0, 0.0, 1.0)  # A + I - I: a > 0 keeps d + a > 0
WITH_SELF = PGSOParameters(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)  # A + I
MEAN = PGSOParameters(0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0)  # D^-1 A
HOOKS = [
    f"_{step}_forward{pre}_hooks"
    for step in ("propagate", "message", "aggregate", "message_and_aggregate")
    for pre in ("", "_pre")
]
SUMS = Reading(empty=0.0)  # of ADJACENCY and WITH_SELF: their degrees have exponent 0
MEANS = Reading(degree="count", empty=1.0)  # rows without edges are empty, whatever their degree


class Converted:
    """Base of a PyG layer whose messages follow a learned operator; comes before PyG's class.

    An existing layer becomes one by exchanging its class, as ``torch.nn.utils.parametrize`` does:
    weights, options, names in the state_dict and references to the layer all stay.
    """

    aggregations: Collection[str] = ("add", "sum")  # those for which γ starts as PyG's layer
    nodes_along = -2  # the dimension of x that ``forward`` takes for the nodes
    gso: PGSO
    explain: bool | None
    _edge_mask: Tensor | None
    _apply_sigmoid: bool

    @classmethod
    def obstacle(cls, layer: Any) -> str | None:
        """Why this layer cannot be converted, if so."""
        if layer.flow != "source_to_target":
            return f"its flow is {layer.flow!r}; transpose the edges instead"
        if layer.aggr not in cls.aggregations:
            return f"its aggregation {layer.aggr!r} is no linear operator on the graph"
        if isinstance(getattr(layer, "in_channels", 0), (tuple, list)):
            return "it is made for two sets of nodes"
        if layer.node_dim != cls.nodes_along:
            return f"its node_dim is {layer.node_dim}, not {cls.nodes_along}"
        if any(getattr(layer, name, None) for name in HOOKS):
            return "no messages are sent that the hooks on it could see"
        return None

    @staticmethod
    def start(layer: Any) -> PGSOParameters:
        """The S with which γ is the layer's own operator."""
        raise NotImplementedError

    @staticmethod
    def num_hops(layer: Any) -> int:
        """The number of operators that ``operator="mpgso"`` gives the layer."""
        del layer
        return 1

    @property
    def reading(self) -> Reading:
        """How the layer reads a graph."""
        raise NotImplementedError

    def adopt(self, operators: list[PGSO]) -> None:
        """Take the operators, one or one per hop."""
        self.gso = operators[0]

    def reset_parameters(self) -> None:
        """Draw new weights; operators go back to where they started."""
        super().reset_parameters()  # type: ignore[misc]
        for operator in (self.gso, *getattr(self, "hops", ())):
            operator.reset_parameters()

    def shift(
        self,
        x: Tensor,  # (..., n, F)
        edge_index: Any,
        edge_weight: Tensor | None = None,  # (E,)
        gso: nn.Module | None = None,
    ) -> Tensor:  # of x's shape
        """γ x on the graph as the layer reads it."""
        operator = self.gso if gso is None else gso
        learned = isinstance(operator, PGSO)
        if learned and not self.explain and not torch.compiler.is_compiling():
            out: Tensor = operator(x, self.reading.graph(edge_index, edge_weight, x.size(-2)))
            return out
        edges = self.reading.edges(edge_index, edge_weight, x.size(-2))
        return times_entries(self.entries(edges, operator, x.dtype), edges, x)

    def entries(self, edges: EdgeList, operator: Any, dtype: torch.dtype) -> Tensor:  # (E + n,)
        """γ's entries edge by edge, then on the diagonal; an explainer's mask is on the edges."""
        S = operator.S.double() if dtype == torch.float64 else operator.S.float()
        entries = pgso_entries(edges, S).to(dtype)
        if not self.explain:
            return entries
        mask = self.edge_mask().to(dtype)
        return entries * torch.cat([mask, mask.new_ones(edges.num_nodes)])

    def edge_mask(self) -> Tensor:  # (E,)
        """What an explainer multiplies the messages with."""
        assert self._edge_mask is not None
        return self._edge_mask.sigmoid() if self._apply_sigmoid else self._edge_mask


def one_set(x: Any) -> Tensor:
    """Refuse features of two sets of nodes; the pair (x, x) is one."""
    if isinstance(x, (tuple, list)):
        if len(x) != 2 or x[0] is not x[1]:
            raise InputError(
                "a converted layer takes the features of one set of nodes, a tensor of shape "
                "(n, F), got a pair; γ is square: leave bipartite layers unconverted"
            )
        x = x[0]
    out: Tensor = x
    return out


ADAPTERS: dict[type[MessagePassing], Any] = {}

C = TypeVar("C", bound=type[Converted])


def converts(kind: type[MessagePassing]) -> Callable[[C], C]:
    """Decorate the class that layers of exactly this PyG kind become."""

    def add(adapter: C) -> C:
        assert kind not in ADAPTERS, f"{kind.__name__} has two adapters"
        ADAPTERS[kind] = adapter
        return adapter

    return add
