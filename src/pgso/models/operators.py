"""``operators``: which S the layers of a model have, as a table."""

import math
from typing import TYPE_CHECKING, Any

import networkx
import torch
from torch import nn
from torch_geometric.nn import MessagePassing

from pgso.errors import InputError
from pgso.graph import Graph, Relations
from pgso.gso.module import PGSO
from pgso.gso.nearest import nearest_preset
from pgso.spectrum import interval

if TYPE_CHECKING:
    import pandas


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
    import pandas

    if not isinstance(model, nn.Module):
        raise InputError(f"operators takes a torch module, got {type(model).__name__}")
    given = graph if graph is None or isinstance(graph, Relations) else Graph.of(graph)
    found: dict[PGSO, dict[str, Any]] = {}
    rows: dict[tuple[str, PGSO], dict[str, Any]] = {}
    layer: str | None = None
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, PGSO):
            if module not in found:
                found[module] = {"operator": len(found), **_facts(module, given)}
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


@torch.no_grad()
def _facts(gso: PGSO, graph: Graph | Relations | None) -> dict[str, Any]:
    S = gso.parameters_tuple()
    facts: dict[str, Any] = {"learns": ",".join(gso.learned), **S._asdict()}
    acts_on = Graph.of(networkx.karate_club_graph()) if graph is None else gso.graph_of(graph)
    facts["nearest"], facts["distance"] = nearest_preset(acts_on, S, gso.degrees)
    facts["low"] = facts["high"] = math.nan
    if graph is not None and gso.commutes:
        operator = gso.on(gso.graph_of(graph), masked=False)
        if operator.is_certifiable:
            facts["low"], facts["high"] = (float(end) for end in interval(operator))
    return facts
