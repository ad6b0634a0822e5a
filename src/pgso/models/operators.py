"""What is done with the operators of a model: a table of them, constants for serving, and rates."""

import copy
import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch_geometric.nn import MessagePassing

from pgso.convs.filter import FilterConv
from pgso.errors import InputError
from pgso.graph import Graph, Relations
from pgso.gso.module import PGSO
from pgso.gso.parameters import EXPONENTS
from pgso.gso.shift import nearest_preset
from pgso.spectrum import interval

if TYPE_CHECKING:
    import pandas


@torch.no_grad()
def operators(model: nn.Module, graph: Any = None) -> "pandas.DataFrame":
    """The operators of any model, ours or converted: one row per layer and operator.

    Args:
        model: A ``GNN``, a model that ``convert`` returned, or any module with operators in it.
        graph: What the model runs on, as in :meth:`pgso.Graph.of`. Without it presets are compared
            on Zachary's karate club, and there are no intervals: they depend on the graph.

    Returns:
        A pandas frame. ``layer`` is the layer's name in the model; layers with one number of
        ``operator`` share their S. m1 to a are S (means where there are many values), ``learns``
        names those that learn. ``nearest`` is the preset that is most like it as a matrix, up to a
        factor, at ``distance`` 0 to 1. Every eigenvalue lies in ``low`` to ``high``; NaN where
        no theorem says so, as on a directed graph.

    Example:
        >>> from pgso import GNN
        >>> operators(GNN("gcn", 8, 16, 3))[["layer", "operator", "m2", "a", "nearest"]]
                   layer  operator   m2    a nearest
        0  layers.0.conv         0  1.0  1.0     gcn
        1  layers.1.conv         0  1.0  1.0     gcn
    """
    import networkx
    import pandas

    if not isinstance(model, nn.Module):
        raise InputError(f"operators takes a torch module, got {type(model).__name__}")
    club = Graph.of(networkx.karate_club_graph())
    given = graph if graph is None or isinstance(graph, Relations) else Graph.of(graph)
    found: dict[PGSO, dict[str, Any]] = {}
    rows: dict[tuple[str, PGSO], dict[str, Any]] = {}
    layer: str | None = None
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, PGSO):
            if module not in found:
                S = module.parameters_tuple()
                on_graph = None if given is None else module.on(given, masked=False)
                acts_on = club if on_graph is None else on_graph.graph
                preset, distance = nearest_preset(acts_on, S, module.degrees)
                low = high = math.nan
                if on_graph is not None and module.commutes and on_graph.is_certifiable:
                    low, high = (float(end) for end in interval(on_graph))
                found[module] = {
                    "operator": len(found), "learns": ",".join(module.learned), **S._asdict(),
                    "nearest": preset, "distance": distance, "low": low, "high": high,
                }  # fmt: skip
            inside = layer is not None and (not layer or name.startswith(f"{layer}."))
            owner = layer if inside and layer is not None else name
            rows.setdefault((owner, module), {"layer": owner, **found[module]})
        elif isinstance(module, MessagePassing):
            layer = name
    if not rows:
        raise InputError(
            f"there is no operator in this {type(model).__name__}; build it of pgso's layers, or "
            "convert it with pgso.convert(model)"
        )
    return pandas.DataFrame(rows.values())


def fold(model: nn.Module) -> nn.Module:
    """A copy of a ``GNN``, a converted model or any module with operators in which S is constant.

    Layers keep their place and their weights; outputs are the same. The copy is in eval mode. A
    pickle of it needs pgso; ``torch.export`` makes a program of it that needs neither pgso nor PyG.

    Example:
        >>> from pgso import GNN
        >>> folded = fold(GNN("gcn", 8, 16, 3))
        >>> [sum(1 for _ in gso.parameters()) for gso in folded.operators]
        [0]
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"fold takes a torch module, got {type(model).__name__}")
    folded = copy.deepcopy(model).eval()
    found = [module for module in folded.modules() if isinstance(module, PGSO)]
    if not found:
        raise InputError(
            f"there is no operator to fold in this {type(model).__name__}; "
            "fold takes a GNN or a model that pgso.convert returned"
        )
    for gso in found:
        if gso.kind != "scalar":
            raise InputError(f"fold takes scalar operators, not a {gso.kind} one")
        gso.start, gso.learned = gso.parameters_tuple(), ()
        for name in list(gso._parameters):
            value = getattr(gso, name).detach()
            delattr(gso, name)
            gso.register_buffer(name, value)
    return folded


def param_groups(
    model: nn.Module,
    lr: float = 0.01,
    exponent_lr: float = 0.005,
    weight_decay: float = 5e-4,
    coefficient_lr: float | None = None,
    coefficient_decay: float | None = None,
) -> list[dict[str, Any]]:
    """Groups for any torch optimiser: weights, the scalars m1, m2, m3, a, exponents, filters.

    "The differentiation between the two learning rates is crucial for the model training, as the
    fluctuation of the exponential parameters has a higher impact" (Appendix B.2.2).

    ``lr`` is of the weights and of m1, m2, m3 and a. The coefficients of filters want a lower rate:
    by default that of the exponents.

    Example:
        >>> groups = param_groups(nn.ModuleList([nn.Linear(2, 2), PGSO("gcn")]))
        >>> [(group["name"], group["lr"]) for group in groups]
        [('weights', 0.01), ('scalars', 0.01), ('exponents', 0.005)]
    """
    operators = [module for module in model.modules() if isinstance(module, PGSO)]
    filters = [module for module in model.modules() if isinstance(module, FilterConv)]
    named = {p: name for gso in operators for name, p in gso.named_parameters()}  # a tied one once
    exponents = [p for p, name in named.items() if name in EXPONENTS]
    scalars = [p for p, name in named.items() if name not in EXPONENTS]
    coefficients = list(dict.fromkeys(module.coefficients for module in filters))
    apart = {*coefficients, *named}
    weights = [p for p in model.parameters() if p not in apart]
    slow = exponent_lr if coefficient_lr is None else coefficient_lr
    decay = weight_decay if coefficient_decay is None else coefficient_decay
    groups: list[dict[str, Any]] = [
        {"name": "weights", "params": weights, "lr": lr, "weight_decay": weight_decay},
        {"name": "scalars", "params": scalars, "lr": lr, "weight_decay": weight_decay},
        {"name": "exponents", "params": exponents, "lr": exponent_lr, "weight_decay": weight_decay},
        {"name": "coefficients", "params": coefficients, "lr": slow, "weight_decay": decay},
    ]
    return [group for group in groups if group["params"]]
