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

from pgso.data.arrays import Array, Arrays, Split, check_range, identity, is_unknown
from pgso.data.inputs import as_array, read_answers, read_features, read_graph, read_labels
from pgso.data.splits import split_at_random, split_each_class
from pgso.data.tables.columns import fit_preparation, gaps_of
from pgso.data.tables.table import words_of
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


def arrays_from_data(
    data: Any, seed: int, target: str | None = None, numbers: bool = False
) -> Arrays:
    """What a task is made of.

    Args:
        data: ``Data`` with an answer per node in ``y``; ``HeteroData`` with answers on one type of
            nodes; a ``Dataset`` or list of graphs with an answer each, or of one graph.
        seed: Of the split, 60/20/20 (of each class), where the data have no masks; of several
            columns of masks, number ``seed`` modulo their number is taken.
        target: Of ``HeteroData``: the type of nodes to learn about, where several have answers.
        numbers: Whether whole numbers in ``y`` are no classes.
    """
    # A dataset in memory has an edge_index too, with the edges of all its graphs.
    is_one = isinstance(data, HeteroData) or hasattr(data, "edge_index")
    if is_one and not isinstance(data, Dataset):
        return _one(data, seed, target, numbers)
    if not is_collection(data):
        raise InputError(
            "Task.from_data takes PyG's Data, HeteroData or a Dataset of graphs, got "
            f"{type(data).__name__}"
        )
    if len(data) == 1:
        return _one(data[0], seed, target, numbers)
    graphs = list(data)
    if any(isinstance(graph, HeteroData) for graph in graphs):
        raise InputError(
            "many graphs with types of nodes are no task yet; make each homogeneous with "
            "graph.to_homogeneous()"
        )
    return _graphs(graphs, seed, numbers)


def arrays_from_graph(
    graph: Any, x: Any, y: Any, parts: Mapping[str, Any], seed: int, numbers: bool
) -> Arrays:
    """What a task is made of, where a graph, features and answers come one by one.

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
    answers, classes, targets = _answers(y, numbers)
    n = len(answers)
    split = _split(answers, classes, seed)
    if any(part is not None for part in parts.values()):
        split = tuple(_indices(part, name, n) for name, part in parts.items())  # type: ignore[assignment]
    answered = {"classes": classes, "targets": targets, "metric": _metric(answers, targets)}
    return graph_arrays(graph, x, answers, split, **answered)


def graph_arrays(graph: Any, X: Any, y: Array, split: Split, **answers: Any) -> Arrays:
    """A graph, features and answers in memory; a frame of any cells is prepared on training rows.

    Args:
        graph: What :func:`read_graph` takes.
        X: Numbers, or a frame; None for the identity.
        y: The answers, as :class:`Arrays` have them.
        split: Of the nodes.
        answers: What y is: fields of :class:`Arrays`.
    """
    n, table, preparation = len(y), words_of(X), None
    x = identity(n) if X is None else X if table is not None else read_features(X)
    if x.shape[0] != n:
        raise InputError(f"X has {x.shape[0]} rows, y has {n} labels; give one of each per node")
    if table is not None:
        preparation = fit_preparation(table, split[0], {})
        x = preparation.apply(table)
    prepared = read_graph(graph, n)
    weight = prepared.edge_weight
    return Arrays(
        edge_index=as_array(prepared.edge_index),
        edge_weight=None if weight is None else as_array(weight),
        x=x,
        y=y,
        split=split,
        columns=None if preparation is None else preparation.outputs,
        preparation=preparation,
        gaps={} if table is None else gaps_of(table),
        **answers,
    )


def _indices(part: Any, name: str, n: int) -> Array:
    given = np.zeros(0, dtype=np.int64) if part is None else as_array(part)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise InputError(f"{name} must hold indices of nodes, or a mask of {n}")
    return given.astype(np.int64)


def unanswered_arrays(data: Any) -> Arrays:
    """Edges and features alone, for links: nothing is said about nodes."""
    if isinstance(data, Dataset) and len(data) == 1:
        data = data[0]
    if isinstance(data, Dataset | HeteroData) or getattr(data, "edge_index", None) is None:
        raise InputError(
            f"links are predicted within one graph of PyG's Data, got {type(data).__name__}"
        )
    n, nothing = int(data.num_nodes), np.zeros(0, dtype=np.int64)
    return Arrays(
        edge_index=as_array(data.edge_index),
        edge_weight=_weight(data),
        x=identity(n) if data.x is None else read_features(data.x),
        y=np.full(n, -1),
        split=(nothing, nothing, nothing),
    )


def _one(data: Any, seed: int, target: str | None, numbers: bool) -> Arrays:
    if isinstance(data, HeteroData):
        return _typed(data, target_type(data, target), seed, numbers)
    if target is not None:
        raise InputError(f"target={target!r} is a type of nodes of HeteroData; leave it out")
    return _nodes(data, seed, numbers)


def _typed(data: Any, target: str, seed: int, numbers: bool) -> Arrays:
    """One graph of all types of nodes; only nodes of the target type have answers."""
    store = data[target]
    if getattr(store, "y", None) is None:
        raise InputError(f"nodes of type {target!r} need y, one answer each")
    some, classes, targets = _answers(store.y, numbers)
    if len(some) != store.num_nodes:
        raise InputError(
            f"y has {len(some)} answers, but there are {store.num_nodes} nodes of type {target!r}"
        )
    places = offsets(data, target)
    x, relations = typed_features(data, places), typed_relations(data, places)
    y = np.full((x.shape[0], *some.shape[1:]), np.nan if some.ndim == 2 else -1, some.dtype)
    y[: len(some)] = some
    edge_index, weight = union_of(relations)
    return Arrays(
        edge_index=edge_index,
        edge_weight=weight,
        relations=relations,
        x=x,
        y=y,
        split=_masks(store, some, seed) or _split(some, classes, seed),
        classes=classes,
        targets=targets,
        metric=_metric(some, targets),
    )


def _nodes(data: Any, seed: int, numbers: bool) -> Arrays:
    if getattr(data, "y", None) is None:
        raise InputError("the data need edge_index and y, one answer per node")
    edge_index, edge_weight, n = edges_of_data(data)
    y, classes, targets = _answers(data.y, numbers)
    if len(y) != n:
        raise InputError(f"y has {len(y)} answers, but the graph has {n} nodes; give one per node")
    return Arrays(
        edge_index=as_array(edge_index),
        edge_weight=None if edge_weight is None else as_array(edge_weight).reshape(-1),
        x=identity(n) if data.x is None else read_features(data.x),
        y=y,
        split=_masks(data, y, seed) or _split(y, classes, seed),
        classes=classes,
        targets=targets,
        metric=_metric(y, targets),
    )


def _graphs(graphs: Sequence[Any], seed: int, numbers: bool) -> Arrays:
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
    y, classes, targets = _answers(rows, numbers)
    if graphs[0].x is None:
        x = np.ones((int(sizes.sum()), 1), dtype=np.float32)
    else:
        x = read_features(torch.cat([graph.x for graph in graphs]))
    weights = [_weight(graph) for graph in graphs]
    return Arrays(
        edge_index=np.concatenate(edges, axis=1),
        edge_weight=None if weights[0] is None else np.concatenate(weights),  # type: ignore[arg-type]
        x=x,
        y=y,
        split=_split(y, classes, seed),
        classes=classes,
        targets=targets,
        metric=_metric(y, targets),
        nodes_per_graph=sizes,
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


def _answers(given: Any, numbers: bool) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """Y as arrays have it, and the names of classes or of numbers."""
    values, are_numbers = read_answers(given, numbers)
    if values.ndim == 2:
        y = values.astype(np.float64)
        names = tuple(str(c) for c in range(y.shape[1]))
        is_labels = bool(np.isin(y[np.isfinite(y)], (0, 1)).all())
        return (y, names, ()) if is_labels else (y, (), names)
    if are_numbers:
        return values.astype(np.float64)[:, None], (), ("y",)
    classes, codes = read_labels(values)
    if len(classes) == 1 and (codes < 0).any() and values.dtype.kind in "iuf" and -1 in values:
        raise InputError(
            f"y holds {classes[0]:g} and -1, and -1 means unknown, so that one class is left; "
            "number the classes from 0"
        )
    if values.dtype.kind == "f":
        classes = classes.astype(np.int64)
    return codes, tuple(str(name) for name in classes), ()


def _metric(y: Array, targets: tuple[str, ...]) -> str:
    return "rmse" if targets else "multilabel_roc_auc" if y.ndim == 2 else "accuracy"


def _split(y: Array, classes: tuple[str, ...], seed: int) -> Split:
    if classes and y.ndim == 1:
        return split_each_class(y, seed)
    return split_at_random(~is_unknown(y), seed)


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


def offsets(data: Any, target: str) -> dict[str, int]:
    """Where the nodes of each type begin: targets first, so that target i is node i."""
    places, offset = {}, 0
    for name in (target, *(name for name in data.node_types if name != target)):
        if data[name].num_nodes is None:
            raise InputError(f"nodes of type {name!r} need features x, or num_nodes")
        places[name] = offset
        offset += int(data[name].num_nodes)
    return places


def typed_features(data: Any, places: dict[str, int]) -> "Array | scipy.sparse.csr_array":
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


def typed_relations(data: Any, places: dict[str, int]) -> dict[str, tuple[Array, Array | None]]:
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
        weight = getattr(store, "edge_weight", None)
        parts[name] = (
            edges + shift,
            None if weight is None else as_array(weight).reshape(-1),
        )
    if not parts:
        raise InputError("the graph has no edges; give it an edge_index for a type of edges")
    return parts


def union_of(
    parts: dict[str, tuple[Array, Array | None]],
) -> tuple[Array, Array | None]:  # (2, E), (E,)
    """All edges together; those without weights have weight 1 beside others that have some."""
    edges = np.concatenate([pairs for pairs, _ in parts.values()], axis=1)
    if all(weight is None for _, weight in parts.values()):
        return edges, None
    weights = [
        np.ones(pairs.shape[1], dtype=np.float32) if weight is None else weight
        for pairs, weight in parts.values()
    ]
    return edges, np.concatenate(weights)
