"""A PyG model of the user's, called as our training loops call a network."""

import copy
import inspect
import os
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import HeteroData
from torch_geometric.data.data import BaseData

from pgso.conversion import ConversionWarning, convert
from pgso.data import Task
from pgso.data.pyg import target_type
from pgso.errors import InputError
from pgso.graph import Graph, Relations
from pgso.gso.module import PGSO
from pgso.models.gnn import LinkModel
from pgso.records import RunSpec

WEIGHTS = ("edge_weight", "edge_attr")  # how models call the weights of edges
Inputs = tuple[list[Any], dict[str, Any]]  # by position, and by name


def own_network(model: nn.Module, data: Any, spec: RunSpec, task: Task) -> nn.Module:
    """A user's model as a run trains it: new weights of the seed, converted where S is learned.

    The model is left unchanged; ``data`` is what the task was made of.
    """
    fresh = copy.deepcopy(model)
    for part in [fresh] if hasattr(fresh, "reset_parameters") else fresh.children():
        for module in [part] if hasattr(part, "reset_parameters") else part.modules():
            if callable(renew := getattr(module, "reset_parameters", None)):
                renew()
    if spec.operator in ("pgso", "mpgso"):
        with warnings.catch_warnings():  # the user has seen these warnings once already
            warnings.simplefilter("ignore", ConversionWarning)
            fresh = convert(fresh, spec.operator)
    single = data if isinstance(data, BaseData) else None
    weighted = True  # of a name or a task, its graph knows
    if not isinstance(data, str | os.PathLike | Task):
        weighted = getattr(single or data[0], "edge_weight", None) is not None
    network: Any = OwnModel(fresh, task, single, weighted)
    torch.manual_seed(spec.seed)  # the same dropout for every operator
    return LinkModel(network, 0) if task.kind == "link" else network


class OwnModel(nn.Module):
    """A model that takes ``(x, edge_index)`` and by name what else the data have, and ``batch``.

    Of a single graph, it is called with ``data``. If the user gave no weights on edges, those of
    the graph are multiplicities, and the model is given each edge that many times.
    """

    def __init__(
        self, model: nn.Module, task: Task, data: Any = None, weighted: bool = True
    ) -> None:
        super().__init__()
        self.model, self.task, self.weighted = model, task, weighted
        # PyG's Sequential has the arguments of its forward in its signature.
        names = getattr(getattr(model, "signature", None), "param_dict", None)
        names = inspect.signature(model.forward).parameters if names is None else names
        self.names = {*names} - {"y"}  # the answers are what it is asked for
        self.fixed: Inputs | None = None
        self.target: str | None = None  # of several types, the one that is answered for
        self.num_targets: int | None = None
        if isinstance(data, HeteroData) and task.kind == "node":
            self.target = target_type(data, None)
            self.num_targets = int(data[self.target].num_nodes or 0)
            for name in data.node_types:
                if getattr(data[name], "x", None) is None:
                    raise InputError(
                        f"nodes of type {name!r} have no features x; give them some, such as ones"
                    )
            wanted = [name for name in WEIGHTS if f"{name}_dict" in self.names]
            more = {f"{name}_dict": data.collect(name) for name in wanted}
            self.fixed = [data.x_dict, data.edge_index_dict], more
        elif data is not None and task.kind == "node":
            inputs = {name: data[name] for name in (*WEIGHTS, *self.names) if name in data}
            inputs.setdefault("edge_attr", inputs.get("edge_weight"))
            self.fixed = self._inputs(data.x, data.edge_index, inputs)
            if self.names == {"data"}:
                self.fixed = [data], {}
        if task.kind == "graph" and "batch" not in self.names:
            raise InputError(
                f"{type(model).__name__}.forward needs an argument batch, the graph of each node, "
                "to answer for graphs: forward(x, edge_index, batch)"
            )

    @property
    def operators(self) -> tuple[PGSO, ...]:
        """Every S that was put into it."""
        return tuple(module for module in self.modules() if isinstance(module, PGSO))

    def forward(
        self,
        x: Tensor,
        graph: Graph | Relations,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,  # (n,) the graph of each node
        num_graphs: int | None = None,
    ) -> Tensor:  # (n, outputs) or (num_graphs, outputs)
        """The model's answers, checked."""
        del edge_weight  # the graph has it
        if self.fixed is not None:
            positions, named = self.fixed
        else:
            whole = graph.union if isinstance(graph, Relations) else graph

            def as_in_pyg() -> tuple[Tensor, Tensor | None]:
                edges, weight = whole.edge_index, whole.edge_weight
                if weight is None or self.weighted:
                    return edges, weight
                return edges.repeat_interleave(weight.round().long(), dim=1), None

            edges, weight = whole.memo(("as PyG has it", self.weighted), as_in_pyg)
            positions, named = self._inputs(x, edges, {"edge_weight": weight, "edge_attr": weight})
        if batch is not None:
            named = {**named, "batch": batch}
        try:
            out = self.model(*positions, **named)
        except (TypeError, AttributeError) as error:
            if self.target is None:
                raise
            raise InputError(
                f"{type(self.model).__name__} does not take (x_dict, edge_index_dict): {error}; "
                "make it a model of several types with torch_geometric.nn.to_hetero"
            ) from error
        if isinstance(out, dict) and self.target is not None:
            out = out.get(self.target)
        rows = num_graphs or self.num_targets or x.size(0)
        columns = self.task.num_outputs
        shape = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        if self.task.kind == "link":  # embeddings of any width
            if len(shape) != 2 or not isinstance(out, Tensor):
                raise InputError(f"the model must return an embedding per node, got {shape}")
        elif columns == 1 and shape == (rows,):
            out = out.unsqueeze(1)
        elif shape != (rows, columns):
            what = "class" if self.task.classes else "target"
            pool = "; pool the nodes of each graph, as global_mean_pool(x, batch) does"
            raise InputError(
                f"the model must return numbers of shape {(rows, columns)}, one for each {what}, "
                f"got {shape}{pool if self.task.kind == 'graph' else ''}"
            )
        return out  # type: ignore[no-any-return]

    def _inputs(self, x: Any, edges: Any, named: dict[str, Any]) -> Inputs:
        """What the model takes of these; refuse weights that it would leave out."""
        x = self.task.x if x is None else x
        if isinstance(x, Tensor) and x.layout != torch.strided:
            x = x.to_dense()
        weight = named.get("edge_weight")
        wanted = self.names - {"x", "edge_index"}
        taken = {name: v for name, v in named.items() if name in wanted and v is not None}
        if "edge_weight" in taken and taken.get("edge_attr") is weight:
            del taken["edge_attr"]  # one place is enough
        if weight is not None and not taken.keys() & {*WEIGHTS, "data"}:
            raise InputError(
                f"the edges have weights, and {type(self.model).__name__}.forward takes none; give "
                "it an argument edge_weight, or leave the weights out of the data"
            )
        return [x, edges], taken
