"""PyG's data in memory as a task: one graph whose nodes have answers, or many graphs that do."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch_geometric.data import Dataset, HeteroData
from torch_geometric.data.data import BaseData

from pgso.data.arrays import Array, Split, check_range, identity, is_unknown
from pgso.data.inputs import as_array, read_answers, read_features, read_graph, read_labels
from pgso.data.splits import split_at_random, split_each_class
from pgso.data.tables.columns import prepared
from pgso.data.tables.reader import words_of
from pgso.data.task import IN_MEMORY, Task
from pgso.errors import InputError, UnknownNameError
from pgso.graph.inputs import edges_of_data

PARTS = ("train_mask", "val_mask", "test_mask")
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
    numbers: bool = False,
    name: str = IN_MEMORY,
) -> Task:
    """The task of PyG's data.

    Args:
        data: ``Data`` with an answer per node in ``y``; ``HeteroData`` with answers on one type of
            nodes; a ``Dataset`` or list of graphs with an answer each, or of one graph.
        seed: Of the split, 60/20/20 (of each class), where the data have no masks; of several
            columns of masks, number ``seed`` modulo their number is taken.
        target: Of ``HeteroData``: the type of nodes to learn about, where several have answers.
        numbers: Whether whole numbers in ``y`` are no classes.
        name: What the task is called.
    """
    if is_collection(data) and not isinstance(data, HeteroData):
        if len(data) != 1:
            return _graphs(list(data), seed, numbers, name)
        data = data[0]
    if isinstance(data, HeteroData):
        return _typed(data, target_type(data, target), seed, numbers, name)
    if not hasattr(data, "edge_index"):
        raise InputError(
            "Task.from_data takes PyG's Data, HeteroData or a Dataset of graphs, got "
            f"{type(data).__name__}"
        )
    if target is not None:
        raise InputError(f"target={target!r} is a type of nodes of HeteroData; leave it out")
    if getattr(data, "y", None) is None:
        raise InputError("the data need edge_index and y, one answer per node")
    given = _unanswered(data)
    answered = _answered(data.y, numbers, seed, data, f"{given['x'].shape[0]} nodes")
    return Task.from_arrays(name, **given, **answered)


def task_from_graph(
    graph: Any, x: Any, y: Any, parts: Mapping[str, Any], seed: int, numbers: bool
) -> Task:
    """The task of a graph, features and answers that come one by one.

    Args:
        graph: What :func:`read_graph` takes.
        x: Numbers, or a frame of any cells; None for the identity.
        y: What :func:`read_answers` takes.
        parts: ``train``, ``val`` and ``test``: indices or masks; None for those by the seed.
        seed: Of the split.
        numbers: Whether whole numbers in ``y`` are no classes.
    """
    if y is None:
        raise InputError("a task needs y, one answer per node, with -1 or NaN where it is unknown")
    answered = _answered(y, numbers, seed)
    if any(part is not None for part in parts.values()):
        n = len(answered["y"])
        answered["split"] = tuple(_indices(part, name, n) for name, part in parts.items())
    return graph_task(graph, x, **answered)


def graph_task(graph: Any, X: Any, y: Array, split: Split, **answers: Any) -> Task:
    """A graph, features and answers in memory; a frame of any cells is prepared on training rows.

    Args:
        graph: What :func:`read_graph` takes.
        X: Numbers, or a frame; None for the identity.
        y: The answers, as :meth:`Task.from_arrays` takes them.
        split: Of the nodes.
        answers: What y is: classes, targets, metric.
    """
    n, table = len(y), words_of(X)
    x = identity(n) if X is None else X if table is not None else read_features(X)
    if x.shape[0] != n:
        raise InputError(f"X has {x.shape[0]} rows, y has {n} labels; give one of each per node")
    features = {"x": x} if table is None else prepared(table, split[0])
    read = read_graph(graph, n)
    weight = read.edge_weight
    return Task.from_arrays(
        IN_MEMORY,
        edge_index=as_array(read.edge_index),
        edge_weight=None if weight is None else as_array(weight),
        y=y,
        split=split,
        **features,
        **answers,
    )


def _indices(part: Any, name: str, n: int) -> Array:
    given = np.zeros(0, dtype=np.int64) if part is None else as_array(part)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise InputError(f"{name} must hold indices of nodes, or a mask of {n}")
    return given.astype(np.int64)


def unanswered_task(data: Any) -> Task:
    """Edges and features alone, for links: nothing is said about nodes."""
    if isinstance(data, Dataset) and len(data) == 1:
        data = data[0]
    if isinstance(data, Dataset | HeteroData) or getattr(data, "edge_index", None) is None:
        raise InputError(
            f"links are predicted within one graph of PyG's Data, got {type(data).__name__}"
        )
    nothing = np.zeros(0, dtype=np.int64)
    given = _unanswered(data)
    y = np.full(given["x"].shape[0], -1)
    return Task.from_arrays(IN_MEMORY, **given, y=y, split=(nothing, nothing, nothing))


def _unanswered(data: Any) -> dict[str, Any]:
    """The graph and features of PyG's data, as :meth:`Task.from_arrays` takes them."""
    edge_index, edge_weight, n = edges_of_data(data)
    return {
        "edge_index": as_array(edge_index),
        "edge_weight": None if edge_weight is None else as_array(edge_weight).reshape(-1),
        "x": identity(n) if data.x is None else read_features(data.x),
    }


def _typed(data: Any, target: str, seed: int, numbers: bool, name: str) -> Task:
    """One graph of all types of nodes; only nodes of the target type have answers."""
    store = data[target]
    if getattr(store, "y", None) is None:
        raise InputError(f"nodes of type {target!r} need y, one answer each")
    answered = _answered(
        store.y, numbers, seed, store, f"{store.num_nodes} nodes of type {target!r}"
    )
    some = answered["y"]
    places = _offsets(data, target)
    x, relations = _typed_features(data, places), _typed_relations(data, places)
    y = np.full((x.shape[0], *some.shape[1:]), np.nan if some.ndim == 2 else -1, some.dtype)
    y[: len(some)] = some
    weights = [
        np.ones(pairs.shape[1], dtype=np.float32) if weight is None else weight
        for pairs, weight in relations.values()
    ]
    is_weighted = any(weight is not None for _, weight in relations.values())
    return Task.from_arrays(
        name,
        edge_index=np.concatenate([pairs for pairs, _ in relations.values()], axis=1),
        edge_weight=np.concatenate(weights) if is_weighted else None,
        relations=relations,
        x=x,
        **{**answered, "y": y},
    )


def _graphs(graphs: Sequence[Any], seed: int, numbers: bool, name: str) -> Task:
    if any(isinstance(graph, HeteroData) for graph in graphs):
        raise InputError(
            "many graphs with types of nodes are no task yet; make each homogeneous with "
            "graph.to_homogeneous()"
        )
    for number, graph in enumerate(graphs):
        edge_index, y = (getattr(graph, part, None) for part in ("edge_index", "y"))
        if edge_index is None or y is None or as_array(y).size == 0:
            raise InputError(f"graph {number} needs edge_index and y, an answer of its own")
        check_range(as_array(edge_index), 0, int(graph.num_nodes), f"graph {number}: a node's id")
    _check_alike(graphs)
    sizes = np.array([int(graph.num_nodes) for graph in graphs])
    starts = np.cumsum(sizes) - sizes
    edges = [as_array(g.edge_index) + s for g, s in zip(graphs, starts, strict=True)]
    rows = np.stack([as_array(graph.y).reshape(-1) for graph in graphs])
    if graphs[0].x is None:
        x = np.ones((int(sizes.sum()), 1), dtype=np.float32)
    else:
        x = read_features(torch.cat([graph.x for graph in graphs]))
    weights = [_weight(graph) for graph in graphs]
    return Task.from_arrays(
        name,
        edge_index=np.concatenate(edges, axis=1),
        edge_weight=None if weights[0] is None else np.concatenate(weights),  # type: ignore[arg-type]
        x=x,
        nodes_per_graph=sizes,
        **_answered(rows, numbers, seed),
    )


def _check_alike(graphs: Sequence[Any]) -> None:
    """Refuse graphs that have other answers, features or weights than the first one."""
    forms = []
    sizes = [(int(graph.num_nodes),) for graph in graphs]
    if max(sizes) > (1,) and [tuple(as_array(graph.y).shape) for graph in graphs] == sizes:
        raise InputError(
            f"every graph has as many answers as nodes, {sizes[0][0]} of the first; {OF_NODES}, "
            "or give answers about graphs the shape (1, T)"
        )
    for number, graph in enumerate(graphs):
        shape = as_array(graph.y).shape
        if len(shape) > 1 and shape[0] > 1:
            raise InputError(
                f"graph {number} has y of shape {shape}, and a graph has answers of shape "
                f"(1, T); {OF_NODES}"
            )
        forms.append(
            {
                "answers": math.prod(shape),
                "columns of x": 0 if graph.x is None else graph.x.size(-1),
                "edge weights": "no" if _weight(graph) is None else "some",
            }
        )
    for number, form in enumerate(forms):
        for what, count in form.items():
            if count != forms[0][what]:
                raise InputError(
                    f"graph {number} has {count} {what}, graph 0 has {forms[0][what]}; give all "
                    f"graphs the same" + (f", or {OF_NODES}" if what == "answers" else "")
                )


def _answered(
    given: Any, numbers: bool, seed: int, data: Any = None, items: str = ""
) -> dict[str, Any]:
    """Y, what it is, its split and its metric, as :meth:`Task.from_arrays` takes them.

    Args:
        given: Y as it came.
        numbers: Whether whole numbers are no classes.
        seed: Of the split.
        data: Where there may be masks.
        items: What y is about, ``"34 nodes"``, to be compared with its length.
    """
    values, are_numbers = read_answers(given, numbers)
    classes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    metric = "rmse"
    if values.ndim == 2:
        y = values.astype(np.float64)
        targets = tuple(str(c) for c in range(y.shape[1]))
        if np.isin(y[np.isfinite(y)], (0, 1)).all():
            classes, targets, metric = targets, (), "multilabel_roc_auc"
    elif are_numbers:
        y, targets = values.astype(np.float64)[:, None], ("y",)
    else:
        names, y = read_labels(values)
        if len(names) == 1 and (y < 0).any() and values.dtype.kind in "iuf" and -1 in values:
            raise InputError(
                f"y holds {names[0]:g} and -1, and -1 means unknown, so that one class is left; "
                "number the classes from 0"
            )
        names = names.astype(np.int64) if values.dtype.kind == "f" else names
        classes, metric = tuple(str(name) for name in names), "accuracy"
    if items and len(y) != int(items.split()[0]):
        raise InputError(f"y has {len(y)} answers, but there are {items}; give one for each")
    split = None if data is None else _masks(data, y, seed)
    if split is None and classes and y.ndim == 1:
        split = split_each_class(y, seed)
    elif split is None:
        split = split_at_random(~is_unknown(y), seed)
    return {"y": y, "classes": classes, "targets": targets, "metric": metric, "split": split}


def _masks(data: Any, y: Array, seed: int) -> Split | None:
    masks = [getattr(data, name, None) for name in PARTS]
    if all(mask is None for mask in masks):
        return None
    if masks[0] is None or masks[1] is None:
        raise InputError("data with masks need train_mask and val_mask; add them, or remove all")
    parts = []
    for name, mask in zip(PARTS, masks, strict=True):
        given = np.zeros((len(y), 1)) if mask is None else as_array(mask)
        if given.ndim not in (1, 2) or len(given) != len(y):
            raise InputError(
                f"{name} has shape {given.shape}; it needs one entry for each of {len(y)} nodes"
            )
        given = given.reshape(len(y), -1)
        part = given[:, seed % given.shape[1]].astype(bool)
        parts.append(np.flatnonzero(part & ~is_unknown(y)))
    return parts[0], parts[1], parts[2]


def _weight(data: Any) -> Array | None:
    weight = getattr(data, "edge_weight", None)
    return None if weight is None else as_array(weight).reshape(-1)


def target_type(data: Any, target: str | None) -> str:
    """The type of nodes that is learned about: the given one, or the only one with answers."""
    types: list[str] = list(data.node_types)
    if target is not None:
        if target not in types:
            raise UnknownNameError("type of nodes", target, types)
        return target
    answered: list[str] = [name for name in types if getattr(data[name], "y", None) is not None]
    if len(answered) == 1:
        return answered[0]
    if not answered:
        raise InputError(
            f"none of the types of nodes ({', '.join(types)}) has answers; give one a y"
        )
    raise InputError(
        f"several types of nodes have answers ({', '.join(answered)}), and a task is about one; "
        f"say which: Task.from_data(data, target={answered[0]!r})"
    )


def _offsets(data: Any, target: str) -> dict[str, int]:
    """Where the nodes of each type begin: targets first, so that target i is node i."""
    places, offset = {}, 0
    for name in (target, *(name for name in data.node_types if name != target)):
        if data[name].num_nodes is None:
            raise InputError(f"nodes of type {name!r} need features x, or num_nodes")
        places[name] = offset
        offset += int(data[name].num_nodes)
    return places


def _typed_features(data: Any, places: dict[str, int]) -> "Array | scipy.sparse.csr_array":
    """Features of all nodes: each type has columns of its own.

    In the columns of other types it has zeros. A linear map of these columns is
    then a map for each type. A type without features has one column of ones.
    """
    blocks = []
    for name in places:
        x = getattr(data[name], "x", None)
        ones = np.ones((int(data[name].num_nodes), 1), dtype=np.float32)
        blocks.append(ones if x is None else read_features(x))
    if len(blocks) == 1:
        return blocks[0]
    return scipy.sparse.csr_array(scipy.sparse.block_diag(blocks, format="csr"))


def relation_names(edge_types: list[tuple[str, str, str]]) -> list[str]:
    """The middle word of an edge type, or all three where it alone is not enough.

    Example:
        >>> relation_names([("user", "rates", "film"), ("user", "to", "user"), ("film", "to", "a")])
        ['rates', 'user-to-user', 'film-to-a']
    """
    counts = Counter(word for _, word, _ in edge_types)
    return [
        word if counts[word] == 1 and word not in RESERVED else f"{source}-{word}-{target}"
        for source, word, target in edge_types
    ]


def _typed_relations(data: Any, places: dict[str, int]) -> dict[str, tuple[Array, Array | None]]:
    """The edges of each relation between nodes of all types, and their weights."""
    parts: dict[str, tuple[Array, Array | None]] = {}
    types = list(data.edge_types)
    for name, (source, word, target) in zip(relation_names(types), types, strict=True):
        store = data[source, word, target]
        if getattr(store, "edge_index", None) is None:
            raise InputError(f"the edges {(source, word, target)} need an edge_index")
        edges = as_array(store.edge_index)
        for end, kind in zip(edges, (source, target), strict=True):
            what = f"the edges {(source, word, target)}: a node of type {kind!r}"
            check_range(end, 0, int(data[kind].num_nodes), what)
        shift = np.array([[places[source]], [places[target]]])
        parts[name] = (edges + shift, _weight(store))
    if not parts:
        raise InputError("the graph has no edges; give it an edge_index for a type of edges")
    return parts
