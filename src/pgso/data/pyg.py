"""Data in memory as a task: PyG's, with one graph or many, or a graph with features and answers."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch_geometric.data import Batch, Data, Dataset, HeteroData
from torch_geometric.data.data import BaseData

from pgso.data.arrays import Array, Split, check_range, identity, is_unknown
from pgso.data.inputs import as_array, read_answers, read_features, read_graph, read_labels
from pgso.data.splits import masks_to_split, split_by_seed
from pgso.data.tables.columns import prepared
from pgso.data.tables.reader import words_of
from pgso.data.task import IN_MEMORY, Task
from pgso.errors import InputError, UnknownNameError
from pgso.graph.inputs import edges_of_data

MASKS = ("train_mask", "val_mask", "test_mask")
RESERVED = ("in", "out", "self", "")  # words of terms, so that no relation can be called so
OF_NODES = "to learn about nodes, join the graphs by Batch.from_data_list(graphs)"


def is_collection(data: Any) -> bool:
    """Whether this is a dataset or a list of PyG's graphs, or a graph with types of nodes."""
    if isinstance(data, list | tuple):
        return len(data) > 0 and isinstance(data[0], BaseData)
    return isinstance(data, Dataset | HeteroData)


def task_from_data(
    data: Any,
    seed: int,
    target: str | None = None,
    numbers: bool = False,  # whether whole numbers in y are no classes
    name: str = IN_MEMORY,
) -> Task:
    """The task of PyG's data; of several columns of masks, number ``seed`` is taken."""
    if is_collection(data) and not isinstance(data, HeteroData):
        if len(data) != 1:
            return Task.from_arrays(name, **_graphs(list(data), numbers, seed))
        data = data[0]
    if isinstance(data, HeteroData):
        return Task.from_arrays(name, **_typed(data, target_type(data, target), numbers, seed))
    if not hasattr(data, "edge_index"):
        wanted = "PyG's Data, HeteroData or a Dataset of graphs"
        raise InputError(f"Task.from_data takes {wanted}, got {type(data).__name__}")
    if target is not None:
        raise InputError(f"target={target!r} is a type of nodes of HeteroData; leave it out")
    if getattr(data, "y", None) is None:
        raise InputError("the data need edge_index and y, one answer per node")
    graph = _graph(data)
    answers = _answers(data, numbers, seed, f"{graph['x'].shape[0]} nodes")
    return Task.from_arrays(name, **graph, **answers)


def graph_task(graph: Any, X: Any, y: Array, split: Split, **answers: Any) -> Task:
    """A graph, features and answers in memory; a frame is prepared on training rows."""
    n, table = len(y), words_of(X)
    x = identity(n) if X is None else X if table is not None else read_features(X)
    if x.shape[0] != n:
        raise InputError(f"X has {x.shape[0]} rows, y has {n} labels; give one of each per node")
    features = {"x": x} if table is None else prepared(table, split[0], {})
    read = read_graph(graph, n)
    features["edge_index"], weight = as_array(read.edge_index), read.edge_weight
    features["edge_weight"] = None if weight is None else as_array(weight)
    return Task.from_arrays(IN_MEMORY, y=y, split=split, **features, **answers)


def unanswered_task(data: Any) -> Task:
    """Edges and features alone, for links: nothing is said about nodes."""
    if isinstance(data, Dataset) and len(data) == 1:
        data = data[0]
    if isinstance(data, Dataset | HeteroData) or getattr(data, "edge_index", None) is None:
        got = type(data).__name__
        raise InputError(f"links are predicted within one graph of PyG's Data, got {got}")
    graph, nothing = _graph(data), np.zeros(0, dtype=np.int64)
    y = np.full(graph["x"].shape[0], -1)
    return Task.from_arrays(IN_MEMORY, **graph, y=y, split=(nothing,) * 3)


def _graph(data: Any) -> dict[str, Any]:
    """The graph and features of PyG's data, as :meth:`Task.from_arrays` takes them."""
    edge_index, edge_weight, n = edges_of_data(data)
    return {
        "edge_index": as_array(edge_index),
        "edge_weight": None if edge_weight is None else as_array(edge_weight).reshape(-1),
        "x": identity(n) if data.x is None else read_features(data.x),
    }


def _graphs(graphs: Sequence[Any], numbers: bool, seed: int) -> dict[str, Any]:
    """Many graphs one after another; all have as many answers and columns, or weights, or none."""
    if any(isinstance(graph, HeteroData) for graph in graphs):
        problem = "many graphs with types of nodes are no task yet"
        raise InputError(f"{problem}; make each homogeneous with graph.to_homogeneous()")
    for number, graph in enumerate(graphs):
        edge_index, y = (getattr(graph, part, None) for part in ("edge_index", "y"))
        if edge_index is None or y is None or as_array(y).size == 0:
            raise InputError(f"graph {number} needs edge_index and y, an answer of its own")
        check_range(as_array(edge_index), 0, int(graph.num_nodes), f"graph {number}: a node's id")
    sizes = np.array([int(graph.num_nodes) for graph in graphs])
    shapes = [as_array(graph.y).shape for graph in graphs]
    if sizes.max() > 1 and shapes == [(size,) for size in sizes.tolist()]:
        problem = f"every graph has as many answers as nodes, {sizes[0]} of the first"
        advice = f"{OF_NODES}, or give answers about graphs the shape (1, T)"
        raise InputError(f"{problem}; {advice}")
    first: dict[str, Any] = {}
    for number, (graph, shape) in enumerate(zip(graphs, shapes, strict=True)):
        if len(shape) > 1 and shape[0] > 1:
            problem = f"y of shape {shape}, and a graph has answers of shape (1, T)"
            raise InputError(f"graph {number} has {problem}; {OF_NODES}")
        form = {
            "answers": math.prod(shape),
            "columns of x": 0 if graph.x is None else graph.x.size(-1),
            "edge weights": "no" if _weight(graph) is None else "some",
        }
        first = first or form
        for what, count in form.items():
            if count != first[what]:
                advice = f", or {OF_NODES}" if what == "answers" else ""
                problem = f"graph {number} has {count} {what}, graph 0 has {first[what]}"
                raise InputError(f"{problem}; give all graphs the same{advice}")
    parts = [
        Data(
            x=torch.ones(int(graph.num_nodes), 1) if graph.x is None else graph.x,
            edge_index=torch.as_tensor(graph.edge_index),
            edge_weight=getattr(graph, "edge_weight", None),
        )
        for graph in graphs
    ]
    answers = answers_of(np.stack([as_array(graph.y).reshape(-1) for graph in graphs]), numbers)
    split = split_by_seed(answers["y"], seed)
    union = _graph(Batch.from_data_list(parts))
    return {**union, "nodes_per_graph": sizes, "split": split, **answers}


def _typed(data: Any, target: str, numbers: bool, seed: int) -> dict[str, Any]:
    """One graph of all types of nodes, the target type first, each with columns of its own."""
    store = data[target]
    if getattr(store, "y", None) is None:
        raise InputError(f"nodes of type {target!r} need y, one answer each")
    answers = _answers(store, numbers, seed, f"{store.num_nodes} nodes of type {target!r}")
    starts: dict[str, int] = {}
    blocks, n = [], 0
    for name in (target, *(name for name in data.node_types if name != target)):
        if data[name].num_nodes is None:
            raise InputError(f"nodes of type {name!r} need features x, or num_nodes")
        count = int(data[name].num_nodes)
        x = getattr(data[name], "x", None)
        blocks.append(np.ones((count, 1), np.float32) if x is None else read_features(x))
        starts[name] = n
        n += count
    relations: dict[str, tuple[Array, Array | None]] = {}
    counts = Counter(word for _, word, _ in data.edge_types)
    for kind in data.edge_types:
        is_enough = counts[kind[1]] == 1 and kind[1] not in RESERVED
        name = kind[1] if is_enough else "-".join(kind)
        if getattr(data[kind], "edge_index", None) is None:
            raise InputError(f"the edges {kind} need an edge_index")
        edges = as_array(data[kind].edge_index)
        for end, word in zip(edges, (kind[0], kind[2]), strict=True):
            what = f"the edges {kind}: a node of type {word!r}"
            check_range(end, 0, int(data[word].num_nodes), what)
        shift = np.array([[starts[kind[0]]], [starts[kind[2]]]])
        relations[name] = (edges + shift, _weight(data[kind]))
    if not relations:
        raise InputError("the graph has no edges; give it an edge_index for a type of edges")
    is_weighted = any(weight is not None for _, weight in relations.values())
    weights = [
        np.ones(pairs.shape[1], dtype=np.float32) if weight is None else weight
        for pairs, weight in relations.values()
    ]
    some = answers["y"]
    y = np.full((n, *some.shape[1:]), np.nan if some.ndim == 2 else -1, some.dtype)
    y[: len(some)] = some
    features: Any = blocks[0]
    if len(blocks) > 1:
        features = scipy.sparse.csr_array(scipy.sparse.block_diag(blocks, format="csr"))
    return {
        "edge_index": np.concatenate([pairs for pairs, _ in relations.values()], axis=1),
        "edge_weight": np.concatenate(weights) if is_weighted else None,
        "relations": relations,
        "x": features,
        **answers,
        "y": y,
    }


def target_type(data: Any, target: str | None) -> str:
    """The type of nodes that is learned about: the given one, or the only one with answers."""
    types: list[str] = list(data.node_types)
    if target is not None:
        if target not in types:
            raise UnknownNameError("type of nodes", target, types)
        return target
    answered: list[str] = [name for name in types if getattr(data[name], "y", None) is not None]
    if not answered:
        listed = ", ".join(types)
        raise InputError(f"none of the types of nodes ({listed}) has answers; give one a y")
    if len(answered) > 1:
        problem = f"several types of nodes have answers ({', '.join(answered)})"
        advice = f"say which: Task.from_data(data, target={answered[0]!r})"
        raise InputError(f"{problem}, and a task is about one; {advice}")
    return answered[0]


def _answers(data: Any, numbers: bool, seed: int, items: str) -> dict[str, Any]:
    """The answers in ``data.y`` about ``items`` ("34 nodes"), split by masks or the seed."""
    answers = answers_of(data.y, numbers)
    y = answers["y"]
    if len(y) != int(items.split()[0]):
        raise InputError(f"y has {len(y)} answers, but there are {items}; give one for each")
    masks = [getattr(data, name, None) for name in MASKS]
    if all(mask is None for mask in masks):
        return {**answers, "split": split_by_seed(y, seed)}
    if masks[0] is None or masks[1] is None:
        raise InputError("data with masks need train_mask and val_mask; add them, or remove all")
    parts = []
    for name, mask in zip(MASKS, masks, strict=True):
        given = np.zeros((len(y), 1)) if mask is None else as_array(mask)
        if given.ndim not in (1, 2) or len(given) != len(y):
            wanted = f"one entry for each of {len(y)} nodes"
            raise InputError(f"{name} has shape {given.shape}; it needs {wanted}")
        given = given.reshape(len(y), -1)
        parts.append(given[:, seed % given.shape[1]].astype(bool) & ~is_unknown(y))
    return {**answers, "split": masks_to_split(*parts)}


def answers_of(given: Any, numbers: bool) -> dict[str, Any]:
    """Y, what it is and its metric, as :meth:`Task.from_arrays` takes them."""
    values, are_numbers = read_answers(given, numbers)
    if values.ndim == 2:
        y = values.astype(np.float64)
        names = tuple(str(c) for c in range(y.shape[1]))
        if np.isin(y[np.isfinite(y)], (0, 1)).all():
            return {"y": y, "classes": names, "metric": "multilabel_roc_auc"}
        return {"y": y, "targets": names, "metric": "rmse"}
    if are_numbers:
        return {"y": values.astype(np.float64)[:, None], "targets": ("y",), "metric": "rmse"}
    classes, y = read_labels(values)
    if len(classes) == 1 and (y < 0).any() and values.dtype.kind in "iuf" and -1 in values:
        problem = f"y holds {classes[0]:g} and -1, and -1 means unknown, so that one class is left"
        raise InputError(f"{problem}; number the classes from 0")
    classes = classes.astype(np.int64) if values.dtype.kind == "f" else classes
    return {"y": y, "classes": tuple(map(str, classes)), "metric": "accuracy"}


def indices_of(part: Any, name: str, n: int) -> Array:
    """A part of a split as indices of n nodes, of indices, a mask or None."""
    given = np.zeros(0, dtype=np.int64) if part is None else as_array(part)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        form = f"{given.dtype} of shape {given.shape}"
        raise InputError(f"{name} must be indices or masks of {n} nodes, got {form}")
    return given.astype(np.int64)


def _weight(data: Any) -> Array | None:
    weight = getattr(data, "edge_weight", None)
    return None if weight is None else as_array(weight).reshape(-1)
