"""What a saved model is asked about: a folder, frames, tensors, or new nodes of its own graph."""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from pgso.data import DATASETS, Task
from pgso.data.arrays import identity
from pgso.data.inputs import as_array, as_scipy, as_tensor, read_features, read_graph
from pgso.data.load import OWN, load_task
from pgso.data.tables.folder import frame_task
from pgso.errors import InputError
from pgso.graph import Graph, Relations
from pgso.objectives import OBJECTIVES
from pgso.saved import unanswered

if TYPE_CHECKING:
    from pgso.predictors.predictor import Predictor

ABOUT_ANSWERS = ("target", "metric", "positive")  # options that do not matter without answers
NO_EDGES = np.zeros((2, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Asked:
    """Items to predict, in a task that may hold others too."""

    task: Task
    rows: Tensor | None = None  # which items of the task; None: all of them
    labels: tuple[Tensor, Tensor] | None = None  # nodes whose training label is known, and targets
    is_named: bool = False  # whether items came in a table, with names
    is_trained_here: bool = False  # whether these are the data that the model was fitted to
    notes: tuple[str, ...] = ()

    @property
    def ids(self) -> list[Any]:
        """What each item is called, or its number."""
        count = self.task.num_graphs if self.task.kind == "graph" else self.task.num_nodes
        names = list(self.task.ids or range(count))
        return names if self.rows is None else [names[row] for row in self.rows.tolist()]


def asked_of(
    model: "Predictor",
    data: Any = None,
    x: Any = None,
    *,
    root: str | os.PathLike[str] | None = None,
    skip_bad_rows: bool = False,
    **options: Any,
) -> Asked:
    """The items of anything that a model can predict; columns in the order that it knows."""
    if isinstance(data, tuple) and len(data) == 2:
        data, x = data
    skipping = {"bad_rows": "skip"} if skip_bad_rows else {}
    if hasattr(data, "iloc"):
        if x is not None and not hasattr(x, "iloc"):
            got = type(x).__name__
            raise InputError(f"a frame of nodes comes with a frame of edges, not {got}")
        x = None if x is not None and x.empty else x  # new rows without edges
        if x is None and model.memory is None:
            raise InputError("give the frame of edges too; the model has not kept its graph")
        kept = {k: v for k, v in model.spec.data_options.items() if k not in ABOUT_ANSWERS}
        given = _as_the_model_saw(model, {**kept, **options, **skipping})
        return _arrived(model, frame_task(data, x, 0, unlabelled=True, **given))
    if isinstance(data, str | os.PathLike):
        return _of_path(model, os.fspath(data), root, options | skipping)
    if options:
        raise InputError(f"data in memory have no option {next(iter(options))!r}; leave it out")
    if data is None:
        if model.memory is None:
            raise InputError(f"{model.path} has not kept its graph; give the data to predict")
        return Asked(model.memory, labels=model.labels, is_named=True)
    task = fitted(model, data if isinstance(data, Task) else _of_tensors(model, data, x))
    return Asked(task, labels=_labels(model, task), is_named=task.ids is not None)


def _of_path(model: "Predictor", name: str, root: Any, options: dict[str, Any]) -> Asked:
    """A registered dataset, or files of the user's own, with or without answers."""
    path, spec = Path(name).expanduser(), model.spec
    is_own = name not in DATASETS and (path.is_dir() or path.suffix.lower() in OWN)
    # A user's folders are read alike, and a dataset as the model saw it.
    alike = name == spec.dataset or (is_own and spec.dataset not in DATASETS)
    given = {**(spec.data_options if alike else {}), **options}
    if is_own and path.is_dir():
        given = _as_the_model_saw(model, given)
    read = partial(load_task, name, root, spec.seed, task=spec.task)
    try:
        task = read(**given)
    except InputError:
        if not is_own or path.suffix.lower() == ".npz":
            raise
        # Answers may be missing, or too few to learn from; which were learned does not matter.
        left = {k: v for k, v in given.items() if k not in ABOUT_ANSWERS}
        task = read(**left, unlabelled=True)
    other = Path(spec.dataset).expanduser()
    both_exist = path.exists() and other.exists()
    is_same = name == spec.dataset or (both_exist and path.samefile(other))
    asked = _arrived(model, task, is_same)
    return replace(asked, is_trained_here=is_same and asked.rows is None)


def _as_the_model_saw(model: "Predictor", options: dict[str, Any]) -> dict[str, Any]:
    """Options that read a table as the model's was read; edges may lead to nodes that it knows."""
    read = {**options, "preparation": model.preparation}
    if model.memory is None:
        return read
    undirected = model.memory.graph.is_undirected  # as it was in the end
    return {"undirected": undirected, **read, "known": model.memory.ids}


def _arrived(model: "Predictor", task: Task, is_same: bool = False) -> Asked:
    """Rows that were read: a graph of their own, or new nodes of the model's graph.

    They are new if an edge leads to a node that only the model knows, or if there are no edges.
    """
    memory, task = model.memory, fitted(model, task)
    if memory is None or not (task.of_a_model or task.num_edges == 0):
        labels = _labels(model, task, is_same)
        return Asked(task, labels=labels, is_named=True, notes=task.notes)
    assert task.ids is not None
    assert memory.ids is not None
    old, new = memory.num_nodes, task.num_nodes - task.of_a_model
    index = {name: k for k, name in enumerate(memory.ids)}
    if task.num_edges == 0 and task.ids == tuple(map(str, range(new))):
        index = {}  # rows without names are new, even if the model's nodes are called 0, 1, ...
    fresh = [name for name in task.ids[:new] if name not in index]
    n = old + len(fresh)
    index |= {name: old + k for k, name in enumerate(fresh)}
    place = torch.tensor([index[name] for name in task.ids])
    source = torch.arange(n)  # the row of [memory, new] that each node has
    source[place[:new]] = torch.arange(old, old + new)
    y = task.y.new_full((n, *task.y.shape[1:]), torch.nan if task.y.is_floating_point() else -1)
    y[place[:new]] = task.y[:new]
    x = task.x[:new] if task.x.layout == torch.strided else task.x
    if memory.x.layout == torch.strided:
        below = x if x.layout == torch.strided else x.to_dense()
        x = torch.cat([memory.x, below.to(memory.x.dtype)])[source]
    else:
        rows = [as_scipy(m) if m.layout != torch.strided else m.numpy() for m in (memory.x, x)]
        stacked = scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in rows], format="csr")
        x = as_tensor(stacked[source.numpy()])
    graph = _together(memory, task, place, n)
    parts: dict[str, Any] = dict.fromkeys(("train", "val", "test"), task.train[:0])
    whole = replace(
        task,
        x=x,
        y=y,
        graph=graph.union if isinstance(graph, Relations) else graph,
        relations=graph if isinstance(graph, Relations) else None,
        nodes_per_graph=torch.tensor([n]),
        ids=(*memory.ids, *fresh),
        **parts,
    )
    return Asked(whole, place[:new], model.labels, is_named=True, notes=task.notes)


def _together(memory: Task, task: Task, place: Tensor, n: int) -> Graph | Relations:
    """The remembered edges and the new ones; an edge that is listed again is not counted twice."""

    def joined(old: Graph, new: Graph) -> Graph:
        edges, weight = place[new.edge_index], None
        stays = ~torch.isin(*(ends[0] * n + ends[1] for ends in (old.edge_index, edges)))
        if old.edge_weight is not None or new.edge_weight is not None:
            before, more = (
                torch.ones(part.num_edges) if part.edge_weight is None else part.edge_weight
                for part in (old, new)
            )
            weight = torch.cat([before[stays], more.to(before.dtype)])
        return Graph.from_edge_index(torch.cat([old.edge_index[:, stays], edges], 1), weight, n)

    if memory.relations is None:
        return joined(memory.graph, task.graph)
    known, kinds = memory.relations.graphs, task.relations.graphs if task.relations else {}
    if task.num_edges and not (kinds and set(kinds) <= set(known)):
        advice = "name the kind of each new edge in a column called relation"
        problem = f"the model knows edges of the kinds {', '.join(known)}"
        raise InputError(f"{problem}; {advice}, or hand over the whole graph")
    none = Graph.from_edge_index(torch.from_numpy(NO_EDGES), num_nodes=task.num_nodes)
    return Relations({k: joined(part, kinds.get(k, none)) for k, part in known.items()}, n)


def _labels(model: "Predictor", task: Task, is_same: bool = False) -> tuple[Tensor, Tensor] | None:
    """Training labels of nodes that are in the task too; None if there are none.

    Nodes are the same if their names are, and for most of them also their features. Nodes without
    names are the model's own if all of their features are, in its order.
    """
    if model.labels is None or task.kind != "node":
        return None
    (nodes, targets), memory = model.labels, model.memory
    if memory is None or memory.ids is None:
        is_same = is_same and task.num_nodes == model.header["num_nodes"]
        return model.labels if is_same else None
    are_dense = memory.x.layout == task.x.layout == torch.strided
    if task.ids is None:
        is_same = is_same or (are_dense and torch.equal(memory.x, task.x))
        return model.labels if is_same and task.num_nodes == memory.num_nodes else None
    index = {name: k for k, name in enumerate(task.ids)}
    found = torch.tensor([index.get(memory.ids[node], -1) for node in nodes.tolist()])
    there = found >= 0
    if are_dense:
        equal = (memory.x[nodes[there]] == task.x[found[there]]).all(dim=1)
        if not float(equal.float().mean()) >= 0.5:  # of none at all the mean is NaN
            return None
    return (found[there], targets[there]) if bool(there.any()) else None


def fitted(model: "Predictor", task: Task) -> Task:
    """The task with its columns in the order that the model knows; refused if it does not fit."""
    header, wanted = model.header, model.header["columns"]

    def check(what: str, known: object, got: object) -> None:
        if known != got:
            raise InputError(f"the model's {what} is {known}, but {task.name} has {got}")

    check("kind of task", model.kind, task.kind)
    objective = OBJECTIVES[header["objective"]]
    if model.classes == task.classes and objective.answer == task.answer:
        task = task.scored_by(objective.name, header["positive"])
    if model.spec.shape == "node" and header["num_nodes"] != task.num_nodes:
        counts = f"each of {header['num_nodes']} nodes, but {task.name} has {task.num_nodes}"
        advice = "only shape=structural carries over to other graphs"
        raise InputError(f"the model has an S for {counts}: {advice}")
    if wanted is not None and task.columns is not None and tuple(wanted) != task.columns:
        position = {name: column for column, name in enumerate(task.columns)}
        strange = [name for name in wanted if name not in position]
        is_of_nodes = model.memory is not None and tuple(wanted) == model.memory.ids
        if is_of_nodes and task.columns == task.ids:  # each node is a feature: new ones have none
            column = {name: k for k, name in enumerate(wanted)}
            known = [(row, column[name]) for row, name in enumerate(task.ids) if name in column]
            places = torch.tensor(known, dtype=torch.long).reshape(-1, 2).T
            size = (task.num_nodes, len(wanted))
            x = torch.sparse_coo_tensor(places, torch.ones(len(known)), size).to_sparse_csr()
            return replace(task, x=x, columns=tuple(wanted))
        if strange:
            why = "a model without features.csv knows the nodes it was trained on, and no others"
            problem = f"the model knows a feature called {strange[0]!r}"
            raise InputError(f"{problem}, which {task.name} does not have; {why}")
        x = task.x if task.x.layout == torch.strided else task.x.to_dense()
        ordered = x.index_select(1, torch.tensor([position[name] for name in wanted]))
        task = replace(task, x=ordered if x is task.x else ordered.to_sparse_csr())
    check("number of features", model.num_features, task.num_features)
    return task


def _of_tensors(model: "Predictor", data: Any, x: Any) -> Task:
    """PyG's data, or a graph with x, without answers."""
    categories = model.header["categories"]
    described: dict[str, Any] = {"categories": categories and tuple(categories)}
    features = read_features if categories is None else as_array
    if model.kind == "graph":
        from torch_geometric.data import Batch

        if x is not None:
            raise InputError("graphs are given as PyG's Data, a list of them or a Batch")
        if not hasattr(data, "ptr"):
            data = Batch.from_data_list([data] if hasattr(data, "edge_index") else list(data))
        described["nodes_per_graph"] = sizes = as_array(data.ptr.diff())
        return unanswered(as_array(data.edge_index), features(data.x), len(sizes), **described)
    x = getattr(data, "x", None) if x is None else x
    if x is None and not hasattr(data, "num_nodes"):
        raise InputError("give the features too: predict(graph, x)")
    values = identity(int(data.num_nodes)) if x is None else features(x)
    n = values.shape[0]
    relations = data if isinstance(data, Relations) else None
    graph = read_graph(data if relations is None else relations.union, n)
    return replace(unanswered(NO_EDGES, values, n, **described), graph=graph, relations=relations)
