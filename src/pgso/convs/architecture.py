"""The base architectures, found by name: each file of this folder registers one."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from pgso.convs.sparse_features import Features, Linear, Pair, as_features, as_pair
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.module import PGSO, EdgeMasking, Shape, operators_on
from pgso.gso.operator import ShiftOperator
from pgso.registry import Registry

OnGraph = Graph | Tensor | ShiftOperator | tuple[ShiftOperator, ...]  # where a conv is applied


class Conv(EdgeMasking):
    """What every base architecture has in common: an operator, channels, a bias."""

    preset: str  # where the operator starts unless told otherwise
    collapses = False  # whether a stack of layers is one linear map with one operator per hop
    attends = False  # whether layers take ``heads`` and ``attention_dropout``
    reads_out = False  # whether classes are read off the last layer by a linear map of their own
    takes_terms = False  # whether layers are sums of ``terms``
    many_hops = False  # whether a layer reaches further than one hop
    gso: PGSO

    def __init__(self, in_channels: int, out_channels: int, gso: PGSO | str | None = None) -> None:
        super().__init__()
        if in_channels < -1 or in_channels == 0:
            raise InputError(f"in_channels must be positive, or -1 for lazy, got {in_channels}")
        if out_channels < 1:
            raise InputError(f"out_channels must be positive, got {out_channels}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.gso = as_operator(gso, self.preset)

    @classmethod
    def layer(
        cls, in_channels: int, out_channels: int, gso: Any, to_output: bool, **options: Any
    ) -> "Conv":
        """This conv as a layer of a network that is ``out_channels`` wide after it."""
        del to_output  # attention alone treats the last layer differently
        return cls(in_channels, out_channels, gso, **options)

    @classmethod
    def make_operators(cls, start: Any, learn: Any, shape: Shape, **options: Any) -> list[PGSO]:
        """The operators of one layer, for a network that shares them or makes them anew."""
        del options
        return [PGSO(cls.preset if start is None else start, learn, shape)]

    @property
    def operators(self) -> tuple[PGSO, ...]:
        """The operators of this layer, in the order of their use."""
        return (self.gso,)

    def reset_parameters(self) -> None:
        """Draw new weights; biases are 0, and operators go back to where they started."""
        for module in self.children():
            reset(module)
        if isinstance(bias := getattr(self, "bias", None), Tensor):
            nn.init.zeros_(bias)

    def __repr__(self) -> str:
        operator = ", ".join(repr(gso) for gso in dict.fromkeys(self.operators))
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, {operator})"


CONVS: Registry[Any] = Registry("conv", plugins="pgso.convs")


def as_operator(gso: "PGSO | str | None", preset: str) -> PGSO:
    """The operator that was given, or a learned one that starts at the preset."""
    if isinstance(gso, PGSO):
        return gso
    if gso is None or isinstance(gso, str):
        return PGSO(gso or preset)
    raise InputError(f"gso must be a PGSO, or the name of a preset, got {type(gso).__name__}")


def shifts_on(
    gsos: Sequence[PGSO],
    x: Features | Pair,
    graph: Any,
    edge_weight: Tensor | None = None,
    masked: bool = True,  # with an explainer's mask, if any; ``conv.explain = False`` says no
) -> tuple[ShiftOperator, ...]:
    """The operator of each hop: those that were handed over, or made now on this graph."""
    if isinstance(graph, ShiftOperator):
        return (graph,) * len(gsos)
    if isinstance(graph, tuple):
        return graph
    source, target = x if isinstance(x, tuple) else (x, x)
    num_nodes: Any = None if target is None else (target.size(-2), source.size(-2))
    if target is source:
        num_nodes = source.size(-2)
    made = operators_on(gsos, graph, edge_weight, num_nodes, masked)
    return tuple(made[gso] for gso in gsos)


def propagated(
    x: Features | Pair, operator: ShiftOperator, gso: PGSO, linear: Linear
) -> Tensor:  # (n, out_channels)
    """γ X Wᵀ without the bias; of a pair, γ (x_source Wᵀ, x_target Wᵀ)."""
    source, target = x if isinstance(x, tuple) else (x, x)
    hidden = linear.times_weight(source)
    beside = hidden if target is source else None if target is None else linear.times_weight(target)
    out: Tensor = gso((hidden, beside) if isinstance(x, tuple) else hidden, operator)
    return out


def transform_and_propagate(
    x: Features | Pair,  # (n, in_channels), or a pair (x_source, x_target)
    graph: OnGraph,
    edge_weight: Tensor | None,
    gsos: Sequence[PGSO],
    linear: Linear,
    masked: bool = True,  # as in ``shifts_on``
) -> Tensor:  # (n, out_channels)
    """γ_K … γ_1 X Wᵀ + b: products commute with W, so they are taken on the narrower side.

    Between sides of one width they come first: W and b are then one operation, and constant
    features need no product backwards. With an operator per channel they do not commute, and W
    comes first.
    """
    if isinstance(x, tuple):
        x = as_pair(x)
        if len(gsos) > 1:
            raise InputError(f"{len(gsos)} hops stay on one set of nodes; give its features alone")
        (operator,) = shifts_on(gsos, x, graph, edge_weight, masked)
        out = propagated(x, operator, gsos[0], linear)
        return out if linear.bias is None else out + linear.bias
    x = as_features(x)
    hops = list(zip(gsos, shifts_on(gsos, x, graph, edge_weight, masked), strict=True))
    narrower = 0 < linear.in_channels <= linear.out_channels
    if isinstance(x, Tensor) and narrower and all(gso.commutes for gso in gsos):
        for gso, operator in hops:
            x = gso(x, operator)
        return linear(x)  # type: ignore[no-any-return]
    out = linear.times_weight(x)
    for gso, operator in hops:
        out = gso(out, operator)
    return out if linear.bias is None else out + linear.bias


def by_row(norm: nn.Module, x: Tensor) -> Tensor:  # (..., n, F)
    """A norm of features that may have leading dimensions: batch norm takes (n, F) only."""
    has_rows = x.dim() == 2 or not isinstance(norm, nn.BatchNorm1d)
    out: Tensor = norm(x) if has_rows else norm(x.flatten(0, -2)).view_as(x)
    return out


def load_all() -> None:
    """Import every file of this folder, which registers what is in it."""
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        import_module(f"pgso.convs.{path.stem}")
