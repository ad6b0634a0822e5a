"""A task in numbers: what a reader wants to know before any score."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from pgso.data.arrays import Array
from pgso.data.task import Task
from pgso.drawing import sketch
from pgso.graph import Graph
from pgso.graph.degrees import received_weight
from pgso.records import RunSpec
from pgso.records import data as records
from pgso.records.data import Cell, DataRecord, Sketch

MOST_EDGES = 5_000_000  # of a graph that is drawn: choosing nodes looks at all edges
MOST_COLUMNS = 200  # of a user's table that are described one by one
PARTS = ("train", "val", "test")
COUNTS = ("num_graphs", "num_nodes", "num_edges", "num_features")
SAME = ("metric", "kind", "answer", *COUNTS)  # of a task and its record


def describe(task: Task, spec: RunSpec, state: str | None = None) -> DataRecord:
    """Counts, degrees, classes, splits and features of data; ``state``: the files' fingerprint."""
    graph = task.graph
    degree = graph.degree.double().numpy(force=True) if len(graph.degree) else np.zeros(1)
    sizes = component_sizes(graph)
    links = len(task.train) + len(task.val) + len(task.test) if task.kind == "link" else None
    kinds = {} if task.relations is None else task.relations.graphs
    relations = {  # an undirected edge counts once
        name: -(-part.num_edges // 2) if part.is_undirected else part.num_edges
        for name, part in kinds.items()
    }
    values = task.x if task.x.layout == torch.strided else task.x.values()
    table = (task.preparation and task.preparation.columns) or ()
    cells = max(task.x.size(0) * task.x.size(1), 1)
    if task.categories is not None:
        features = f"{len(task.categories)} columns of categories, embedded"
    elif table:
        features = f"prepared from a table of {len(table)} columns"
    elif is_identity(task):
        features = "none: every node has a column of its own"
    elif task.x.layout == torch.strided:
        features = "numbers"
    else:
        features = f"numbers, of which {100 * values.numel() / cells:.1f} % are not 0"
    same: dict[str, Any] = {name: getattr(task, name) for name in SAME}
    same |= {f"num_{part}": len(getattr(task, part)) for part in PARTS}
    targets = []
    for k, name in enumerate(task.targets):
        column = task.y[:, k].double()
        known = column[column.isfinite()]
        some = known if len(known) else known.new_zeros(1)
        low, mean, high = float(some.min()), float(some.mean()), float(some.max())
        target = records.TargetRange(name=name, known=len(known), low=low, mean=mean, high=high)
        targets.append(target)
    classes: Any = ()
    if task.answer in ("class", "labels"):  # how often each occurs in each part
        counts = []
        for y in (task.y[getattr(task, part)] for part in PARTS):
            of_class = y[y >= 0].bincount(minlength=task.num_classes) if y.dim() == 1 else None
            counts.append(((y == 1).sum(dim=0) if of_class is None else of_class).tolist())
        rows = zip(task.classes, *counts, strict=True)
        classes = [records.ClassCount(name=n, train=a, val=b, test=c) for n, a, b, c in rows]
    return DataRecord(
        spec=records.data_spec(spec),
        data=state,
        **same,
        positive=task.objective.positive_name,
        is_directed=not graph.is_undirected,
        is_weighted=graph.edge_weight is not None,
        relations=dict(sorted(relations.items(), key=lambda item: -item[1])),
        degree_min=float(degree.min()),
        degree_median=float(np.median(degree)),
        degree_mean=float(degree.mean()),
        degree_max=float(degree.max()),
        isolated=int((received_weight(graph) == 0).sum()),
        components=len(sizes),
        largest_component=int(sizes.max(initial=0)),
        num_items=len(task.y) if links is None else links,
        num_labelled=int(task.has_answer.sum()) if links is None else links,
        classes=tuple(classes),
        targets=tuple(targets),
        adjusted_homophily=adjusted_homophily(task),
        features=features,
        largest_feature=float(values.abs().max()) if values.numel() else 0.0,
        columns=tuple(
            records.FeatureColumn(
                name=c.name, kind=c.kind, missing=task.gaps.get(c.name, 0), became=c.became
            )
            for c in table[:MOST_COLUMNS]
        ),
    )


def sketch_of(task: Any) -> Sketch | None:
    """Some nodes of a task or problem in the plane, with labels and parts; None of large graphs."""
    graph = task.graph
    if not 0 < graph.num_edges <= MOST_EDGES:
        return None
    weight = None if graph.edge_weight is None else graph.edge_weight.numpy(force=True)
    part = sketch(graph.edge_index.numpy(force=True), graph.num_nodes, weight=weight)
    items = sketched_items(task, part.nodes)
    colours = {}
    if task.kind != "link":
        colours["label"] = cells_of(task.y[items], task.classes)
        split = np.full(len(task.y), None, dtype=object)
        for name in PARTS:
            split[getattr(task, name).numpy(force=True)] = name
        colours["split"] = tuple(split[items.numpy()])
    names = () if task.ids is None or task.kind == "graph" else [task.ids[k] for k in part.nodes]
    return part.model_copy(update={"colours": colours, "names": tuple(names)})


def sketched_items(task: Any, nodes: Sequence[int] | Array) -> Tensor:
    """The items that these nodes are or belong to: themselves, or their graphs."""
    chosen = torch.as_tensor(nodes)
    return torch.repeat_interleave(task.nodes_per_graph)[chosen] if task.kind == "graph" else chosen


def cells_of(answers: Tensor, classes: Sequence[str]) -> tuple[Cell, ...]:
    """Answers (k,), or the first column of several, as words or numbers; None if unknown."""
    if answers.dim() == 2:
        numbers = answers[:, 0].tolist()
        return tuple(None if value != value else float(f"{value:.6g}") for value in numbers)
    return tuple(None if k < 0 else classes[k] for k in answers.tolist())


def component_sizes(graph: Graph) -> Array:  # (components,)
    """How many nodes each connected component has; the direction of edges does not count."""
    source, target = graph.edge_index.numpy(force=True)
    n = graph.num_nodes
    matrix = coo_array((np.ones(len(source), dtype=bool), (source, target)), (n, n))
    _, owner = connected_components(matrix, directed=False)
    return np.bincount(owner)


def adjusted_homophily(task: Any) -> float | None:
    """Whether neighbours share their class more often than by chance, (h - Σ p²) / (1 - Σ p²).

    h is the share of edges within a class and p each class's share of the edges' ends. Only edges
    between nodes of the training and validation set count: test labels are not looked at. None
    without such edges, or where their ends are of one class.
    """
    if task.kind != "node" or task.answer != "class":
        return None
    classes, labelled = torch.full((len(task.y),), -1), torch.cat([task.train, task.val])
    classes[labelled] = task.y[labelled]
    source, target = classes[task.graph.edge_index]
    is_known = (source >= 0) & (target >= 0)
    source, target = source[is_known], target[is_known]
    if len(source) == 0:
        return None
    ends = torch.bincount(torch.cat([source, target])).double()
    by_chance = float((ends / ends.sum()).square().sum())
    if by_chance >= 1:
        return None
    return (float((source == target).double().mean()) - by_chance) / (1 - by_chance)


def is_identity(task: Task) -> bool:
    """Whether a column is a node's own, so that what was not trained on has only zeros."""
    n, columns = task.x.shape
    if task.kind == "graph" or n != columns:
        return False
    x = task.x.to_sparse_csr()
    return x.values().numel() == n and bool((x.col_indices() == torch.arange(n)).all())
