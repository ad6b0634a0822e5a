"""What a saved model is asked about: a folder, frames, tensors, or new nodes of its own graph."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pgso.data import DATASETS, Task
from pgso.data.arrays import Array, identity
from pgso.data.inputs import as_array, as_scipy, as_tensor, read_features, read_graph
from pgso.data.load import OWN, load_task
from pgso.data.tables.folder import frame_task
from pgso.data.task import IN_MEMORY
from pgso.errors import InputError
from pgso.graph import Graph, Relations
from pgso.objectives import OBJECTIVES
from pgso.saved import Memory

if TYPE_CHECKING:
    from pgso.predictors.predictor import Predictor

ABOUT_ANSWERS = ("target", "metric", "positive")  # options that do not matter without answers
Edges = tuple[Tensor, Tensor | None]


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
    data: Any,
    x: Any = None,
    *,
    root: str | os.PathLike[str] | None = None,
    skip_bad_rows: bool = False,
    **options: Any,
) -> Asked:
    """The items of anything that a model can predict."""
    if skip_bad_rows:
        options["bad_rows"] = "skip"
    if isinstance(data, tuple) and len(data) == 2:
        data, x = data
    is_frame = hasattr(data, "columns") and hasattr(data, "iloc")
    if is_frame:
        return _of_frames(model, data, x, options)
    if isinstance(data, str | os.PathLike):
        return _of_path(model, os.fspath(data), root, options)
    options.pop("bad_rows", None)
    if options:
        raise InputError(f"data in memory have no option {next(iter(options))!r}; leave it out")
    if data is None:
        return _remembered(model)
    if isinstance(data, Task):
        task = fitted(model, data)
        return Asked(task, labels=_labels(model, task), is_named=task.ids is not None)
    return Asked(fitted(model, _of_tensors(model, data, x)))


def _remembered(model: "Predictor") -> Asked:
    memory = model.memory
    if memory is None:
        raise InputError(f"{model.path} has not kept its graph; give the data to predict")
    n = len(memory.ids)
    graph, relations = _graphs(memory.edge_index, memory.edge_weight, memory.relations, n)
    empty = _unanswered(np.zeros((2, 0), dtype=np.int64), np.zeros((n, 1)), n)
    task = replace(empty, x=memory.x, graph=graph, relations=relations, ids=memory.ids)
    return Asked(task, labels=model.labels, is_named=True)


def _unanswered(edge_index: Array, x: Any, items: int, **described: Any) -> Task:
    none = np.zeros(0, dtype=np.int64)
    given = {"edge_index": edge_index, "x": x, "y": np.full(items, -1), **described}
    return Task.from_arrays(IN_MEMORY, split=(none, none, none), **given)


def _of_path(model: "Predictor", name: str, root: Any, options: dict[str, Any]) -> Asked:
    """A registered dataset, or files of the user's own, with or without answers."""
    path, spec = Path(name).expanduser(), model.spec
    is_own = name not in DATASETS and (path.is_dir() or path.suffix.lower() in OWN)
    # A user's folders are read alike, and a dataset as the model saw it.
    alike = name == spec.dataset or (is_own and spec.dataset not in DATASETS)
    given = {**(spec.data_options if alike else {}), **options}
    read = partial(load_task, name, root, spec.seed, task=spec.task)
    if is_own and path.is_dir():
        given, read = _with_memory(model, given), partial(read, preparation=model.preparation)
    try:
        task = read(**given)
    except InputError:
        if not is_own or path.suffix.lower() == ".npz":
            raise
        # Answers may be missing, or too few to learn from; which were learned does not matter.
        left = {k: v for k, v in given.items() if k not in ABOUT_ANSWERS}
        task = read(**left, unlabelled=True)
    asked = _arrived(model, task)
    same = _is_same(name, spec.dataset)
    if asked.labels is None and asked.rows is None:
        asked = replace(asked, labels=_labels(model, asked.task, is_same=same))
    return replace(asked, is_trained_here=same and asked.rows is None)


def _is_same(name: str, other: str) -> bool:
    """Whether two words for data are the same name, or two ways to the same folder."""
    if name == other:
        return True
    paths = [Path(word).expanduser() for word in (name, other)]
    return all(path.exists() for path in paths) and paths[0].samefile(paths[1])


def _with_memory(model: "Predictor", options: Mapping[str, Any]) -> dict[str, Any]:
    memory = model.memory
    if memory is None:
        return dict(options)
    graph, _ = _graphs(memory.edge_index, memory.edge_weight, None, len(memory.ids))
    read = {"undirected": graph.is_undirected}  # as it was in the end
    return {**read, **options, "known": memory.ids}


def _of_frames(model: "Predictor", nodes: Any, edges: Any, options: dict[str, Any]) -> Asked:
    if edges is not None and not hasattr(edges, "iloc"):
        raise InputError(
            f"a frame of nodes comes with a frame of edges, not {type(edges).__name__}"
        )
    kept = {k: v for k, v in model.spec.data_options.items() if k not in ABOUT_ANSWERS}
    given = {**kept, **options}
    if edges is None and model.memory is None:
        raise InputError("give the frame of edges too; the model has not kept its graph")
    given = _with_memory(model, given) | {"preparation": model.preparation}
    asked = _arrived(model, frame_task(nodes, edges, 0, unlabelled=True, **given))
    if asked.labels is None and asked.rows is None:
        asked = replace(asked, labels=_labels(model, asked.task))
    return asked


def _arrived(model: "Predictor", task: Task) -> Asked:
    """Rows that were read: new nodes of the model's graph, or a graph of their own.

    They are new nodes if an edge leads to a node that only the model knows, or if there are no
    edges. Otherwise they are a graph of their own, which may be the model's graph again.
    """
    memory, task = model.memory, fitted(model, task)
    new = task.num_nodes - task.of_a_model
    is_isolated = task.num_edges == 0
    if memory is None or not (task.of_a_model or is_isolated):
        return Asked(task, is_named=True, notes=task.notes)
    assert task.ids is not None
    index = {node: k for k, node in enumerate(memory.ids)}
    numbers = tuple(map(str, range(new)))
    if is_isolated and task.ids == numbers:
        index = {}  # rows without names are new, even if the model's nodes are called 0, 1, ...
    old, fresh = len(memory.ids), [k for k in range(new) if task.ids[k] not in index]
    place = torch.full((task.num_nodes,), -1)
    place[torch.tensor(fresh, dtype=torch.long)] = torch.arange(old, old + len(fresh))
    for k in (place < 0).nonzero().flatten().tolist():
        place[k] = index[task.ids[k]]
    n = old + len(fresh)
    source = torch.arange(n)  # the row of [memory, new] that each node has
    source[place[:new]] = torch.arange(old, old + new)
    together = _together(memory, task, place, n)
    y = task.y.new_full((n, *task.y.shape[1:]), torch.nan if task.y.is_floating_point() else -1)
    y[place[:new]] = task.y[:new]
    graph, relations = _graphs(*together, n)
    names = [*memory.ids, *(task.ids[k] for k in fresh)]
    none = task.train[:0]
    whole = replace(
        task,
        x=_rows(memory.x, task.x[:new] if task.x.layout == torch.strided else task.x, source),
        y=y,
        graph=graph,
        relations=relations,
        nodes_per_graph=torch.tensor([n]),
        ids=tuple(names),
        train=none,
        val=none,
        test=none,
    )
    return Asked(whole, place[:new], model.labels, is_named=True, notes=task.notes)


def _together(
    memory: Memory, task: Task, place: Tensor, n: int
) -> tuple[Tensor, Tensor | None, dict[str, Edges] | None]:
    """The remembered edges and the new ones; an edge that is listed again is not counted twice."""

    def joined(old: Edges, new: Graph) -> Edges:
        edges = place[new.edge_index]
        keys = [ends[0] * n + ends[1] for ends in (old[0], edges)]
        stays = ~torch.isin(*keys)
        if old[1] is None and new.edge_weight is None:
            weight = None
        else:
            weights = [
                torch.ones(ends.size(1)) if given is None else given
                for ends, given in ((old[0], old[1]), (edges, new.edge_weight))
            ]
            weight = torch.cat([weights[0][stays], weights[1].to(weights[0].dtype)])
        return torch.cat([old[0][:, stays], edges], dim=1), weight

    whole = joined((memory.edge_index, memory.edge_weight), task.graph)
    if memory.relations is None:
        return *whole, None
    kinds = {} if task.relations is None else task.relations.graphs
    if task.num_edges and not (kinds and set(kinds) <= set(memory.relations)):
        raise InputError(
            f"the model knows edges of the kinds {', '.join(memory.relations)}; name the kind of "
            "each new edge in a column called relation, or hand over the whole graph"
        )
    parts = {
        name: joined(edges, kinds[name]) if name in kinds else edges
        for name, edges in memory.relations.items()
    }
    return *whole, parts


def _graphs(
    edge_index: Tensor, weight: Tensor | None, parts: dict[str, Edges] | None, n: int
) -> tuple[Graph, Relations | None]:
    if parts is None:
        return Graph.from_edge_index(edge_index, weight, n), None
    made = {name: Graph.from_edge_index(*edges, n) for name, edges in parts.items()}
    relations = Relations(made, n)
    return relations.union, relations


def _rows(old: Tensor, new: Tensor, source: Tensor) -> Tensor:
    """Rows of two matrices below each other, in some order."""
    if old.layout == torch.strided:
        below = new if new.layout == torch.strided else new.to_dense()
        return torch.cat([old, below.to(old.dtype)])[source]
    import scipy.sparse

    parts = [as_scipy(m) if m.layout != torch.strided else m.numpy() for m in (old, new)]
    stacked = scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in parts], format="csr")
    return as_tensor(stacked[source.numpy()])


def _labels(model: "Predictor", task: Task, is_same: bool = False) -> tuple[Tensor, Tensor] | None:
    """Training labels of nodes that are in the task too; None if there are none.

    Nodes are the same if their names are, and for most of them also their features: nodes of two
    graphs may both be called 0, 1, ...
    """
    if model.labels is None or task.kind != "node":
        return None
    nodes, targets = model.labels
    memory = model.memory
    if memory is None or task.ids is None:
        is_same = is_same and task.num_nodes == model.header.get("num_nodes")
        return model.labels if is_same else None
    index = {name: k for k, name in enumerate(task.ids)}
    found = torch.tensor([index.get(memory.ids[node], -1) for node in nodes.tolist()])
    there = found >= 0
    if not bool(there.any()):
        return None
    if memory.x.layout == torch.strided and task.x.layout == torch.strided:
        equal = (memory.x[nodes[there]] == task.x[found[there]]).all(dim=1)
        if float(equal.float().mean()) < 0.5:
            return None
    return found[there], targets[there]


def fitted(model: "Predictor", task: Task) -> Task:
    """The task with its columns in the order that the model knows; refused if it does not fit."""
    header, wanted = model.header, model.header.get("columns")
    shape = header["spec"].get("shape", "scalar")
    if model.kind != task.kind:
        raise InputError(
            f"the model's kind of task is {model.kind}, but {task.name} has {task.kind}"
        )
    task = _scored(model, task)
    if shape == "node" and header["num_nodes"] != task.num_nodes:
        raise InputError(
            f"the model has an S for each of {header['num_nodes']} nodes, but {task.name} has "
            f"{task.num_nodes}: only shape=structural carries over to other graphs"
        )
    if wanted is not None and task.columns is not None and tuple(wanted) != task.columns:
        if _knows_nodes(model) and _is_identity(task):
            return _with_known_columns(task, tuple(wanted))
        position = {name: column for column, name in enumerate(task.columns)}
        strange = [name for name in wanted if name not in position]
        if strange:
            raise InputError(
                f"the model knows a feature called {strange[0]!r}, which {task.name} does not "
                "have; a model without features.csv knows the nodes it was trained on, and no "
                "others"
            )
        x = task.x if task.x.layout == torch.strided else task.x.to_dense()
        ordered = x.index_select(1, torch.tensor([position[name] for name in wanted]))
        task = replace(task, x=ordered if x is task.x else ordered.to_sparse_csr())
    if model.num_features != task.num_features:
        raise InputError(
            f"the model's number of features is {model.num_features}, but {task.name} has "
            f"{task.num_features}"
        )
    return task


def _knows_nodes(model: "Predictor") -> bool:
    """Whether each node that the model was fitted on is a feature of its own."""
    return model.memory is not None and model.header.get("columns") == list(model.memory.ids)


def _is_identity(task: Task) -> bool:
    return task.columns == task.ids


def _with_known_columns(task: Task, columns: tuple[str, ...]) -> Task:
    """Nodes without features: one column per node that the model knows, none for new nodes."""
    assert task.ids is not None
    column = {name: k for k, name in enumerate(columns)}
    known = [(row, column[name]) for row, name in enumerate(task.ids) if name in column]
    places = torch.tensor(known, dtype=torch.long).reshape(-1, 2).T
    size = (task.num_nodes, len(columns))
    x = torch.sparse_coo_tensor(places, torch.ones(len(known)), size).to_sparse_csr()
    return replace(task, x=x, columns=columns)


def _scored(model: "Predictor", task: Task) -> Task:
    objective = model.header.get("objective", task.metric)
    if model.classes == task.classes and OBJECTIVES[objective].answer == task.answer:
        return task.scored_by(objective).with_positive(model.header.get("positive"))
    return task


def _of_tensors(model: "Predictor", data: Any, x: Any) -> Task:
    """PyG's data, or a graph with x, without answers."""
    categories = model.header.get("categories")
    described: dict[str, Any] = {}
    if categories is not None:
        described["categories"] = tuple(categories)

    def features(values: Any) -> Any:
        return read_features(values) if categories is None else as_array(values)

    if model.kind == "graph":
        from torch_geometric.data import Batch

        if x is not None:
            raise InputError("graphs are given as PyG's Data, a list of them or a Batch")
        if not hasattr(data, "ptr"):
            data = Batch.from_data_list([data] if hasattr(data, "edge_index") else list(data))
        sizes = as_array(data.ptr.diff())
        described["nodes_per_graph"] = sizes
        return _unanswered(as_array(data.edge_index), features(data.x), len(sizes), **described)
    x = getattr(data, "x", None) if x is None else x
    if x is None and not hasattr(data, "num_nodes"):
        raise InputError("give the features too: predict(graph, x)")
    values = identity(int(data.num_nodes)) if x is None else features(x)
    n = values.shape[0]
    relations = data if isinstance(data, Relations) else None
    graph = read_graph(data if relations is None else relations.union, n)
    task = _unanswered(np.zeros((2, 0), dtype=np.int64), values, n, **described)
    return replace(task, graph=graph, relations=relations)
