"""What matters to a model: columns and kinds of edges by shuffling them, edges by gradients."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, softplus

from pgso.data import Task
from pgso.data.arrays import Array
from pgso.data.description import is_identity
from pgso.errors import InputError
from pgso.evaluation.statistics import (
    LEVEL,
    holm,
    holm_levels,
    outlier_confidence,
    t_confidence,
    t_quantile,
)
from pgso.graph import Graph, Relations
from pgso.models.build import Model
from pgso.models.gnn import GNN
from pgso.models.links import LinkModel
from pgso.objectives.values import Scale
from pgso.records.record import EdgeImportance, Explanation, FeatureImportance

Predict = Callable[[Task], Tensor]  # outputs of the validation set, in the unit of the targets

REPEATS = 20
MOST_GROUPS = 40  # columns that are shuffled; of more, those with the largest gradients
MOST_CELLS = 200_000_000  # of x, when it has to be dense
GRAPHS_AT_ONCE = 2048
ALL_EDGES = "all edges"

STEPS = 16  # of the path from no edges to all, on which gradients are averaged
MOST_EDGES = 1_000_000
MOST_ITEMS = 500  # predictions that are explained together
SHOWN = 50  # edges


def explain(
    model: Model,
    task: Task,
    header: Mapping[str, Any],
    items: Sequence[str] = (),
    repeats: int = REPEATS,
) -> Explanation:
    """Importance of columns and of relations on validation, and of edges for some predictions.

    Args:
        model: A trained network.
        task: Its data.
        header: Of the saved model.
        items: Nodes or graphs whose predictions the edges are for; by default all of validation.
        repeats: Shuffles of every column, 2 or more.
    """
    scale = None if header.get("scale") is None else Scale(**header["scale"])

    def predict(data: Task) -> Tensor:
        with torch.no_grad():
            out = _validation_outputs(model, data)
        return out if scale is None else scale.decode(out)

    notes: list[str] = []
    found: dict[str, Any] = {"score": None}
    if not len(task.val):
        notes.append("features are judged on validation labels, and there are none")
    elif tuple(header.get("classes", task.classes)) != task.classes:
        classes = ", ".join(header["classes"][:5]) or "numbers"
        notes.append(
            f"features are judged on labels that the model knows ({classes}), and "
            f"{task.name} has other labels"
        )
    else:
        found["score"] = task.objective.score(predict(task).numpy(), task.y[task.val].numpy())
        if found["score"] is None:
            notes.append(
                f"features are judged on validation, where {task.objective.label} has no value: "
                "such as where all are of one class"
            )
    if is_identity(task):
        notes.append("there are no features to shuffle: every node has a column of its own")
    elif found["score"] is not None:
        dense = _with_dense_features(task)
        groups = column_groups(task)
        chosen = _screened(model, dense, groups)
        found["features"] = feature_importance(predict, dense, chosen, repeats)
        found["left_out"] = len(groups) - len(chosen)
    has_kinds = task.kind == "link" or (task.kind == "node" and task.relations)
    if found["score"] is not None and has_kinds:
        found["relations"] = relation_importance(predict, task, repeats)
    problem = _why_no_edges(model, task)
    if problem is not None:
        notes.append(problem)
    else:
        explained = _chosen(task, items)
        noun = {"node": "nodes", "graph": "graphs"}[task.kind]
        what = ", ".join(items[:10]) if items else f"{len(explained)} {noun}"
        found["items"] = what + ("" if items or not len(task.val) else " of the validation set")
        names = task.ids if task.kind == "node" else None
        found["edges"] = edge_importance(model, task, explained, names)
    return Explanation(repeats=repeats, notes=tuple(notes), **found)


def _chosen(task: Task, items: Sequence[str]) -> Tensor:
    """Indices of the named items. If none is named: some of the validation set, or of all."""
    if not items:
        part = task.val if len(task.val) else torch.arange(len(task.y))
        return part[:: max(1, -(-len(part) // MOST_ITEMS))]
    index_of = {name: k for k, name in enumerate(task.ids or map(str, range(len(task.y))))}
    for name in items:
        if name not in index_of:
            some = ", ".join(list(index_of)[:5])
            raise InputError(f"{task.name} has no item called {name!r}; it has {some}, ...")
    return torch.tensor([index_of[name] for name in items])


class Shuffled(NamedTuple):
    """What became of validation in every shuffle of one column, or of one kind of edges."""

    name: str
    costs: Array  # (R,) of the score, larger is worse
    changes: Array  # (R, n) of every item's loss, larger is worse


def feature_importance(
    predict: Predict, task: Task, chosen: Sequence[str], repeats: int = REPEATS
) -> tuple[FeatureImportance, ...]:
    """How much validation loses when a column is shuffled among all nodes (Breiman 2001).

    Columns that were made of one column of the user's table are shuffled together.

    Args:
        predict: What a trained network says.
        task: The data, with validation labels; x is dense.
        chosen: Which of :func:`column_groups`.
        repeats: Shuffles of every column, 2 or more.

    Returns:
        Importances, the largest first.
    """
    groups = column_groups(task)
    generator = torch.Generator().manual_seed(0)
    shuffles = ((name, _shuffles(task, groups[name], repeats, generator)) for name in chosen)
    return _importances(predict, task, shuffles)


def relation_importance(
    predict: Predict, task: Task, repeats: int = REPEATS
) -> tuple[FeatureImportance, ...]:
    """How much validation loses when a kind of edges connects other nodes.

    The nodes of a relation's edges are renamed at random: its degrees and its weights stay, and
    who has them does not. Without relations all edges are one kind.
    """
    generator = torch.Generator().manual_seed(0)
    names = [ALL_EDGES] if task.relations is None else list(task.relations.graphs)
    orders = {
        name: [torch.randperm(task.num_nodes, generator=generator) for _ in range(repeats)]
        for name in names
    }
    moves = ((name, (_moved(task, name, order) for order in orders[name])) for name in names)
    return _importances(predict, task, moves)


def _importances(
    predict: Predict, task: Task, changed: Iterable[tuple[str, Iterable[Task]]]
) -> tuple[FeatureImportance, ...]:
    y = task.y[task.val]
    merit = task.objective.merit

    def judged(out: Tensor) -> tuple[float, Array]:
        return merit(task.objective.score(out.numpy(), y.numpy())), _item_losses(task, out, y)

    score, losses = judged(predict(task))
    shuffled = []
    for name, others in changed:
        outcomes = [judged(predict(other)) for other in others]
        costs = np.array([score - other for other, _ in outcomes])
        changes = np.stack([after - losses for _, after in outcomes])
        shuffled.append(Shuffled(name, costs, changes))
    importances = importances_of(shuffled)
    return tuple(sorted(importances, key=lambda entry: (-entry.loss, entry.name)))


def _item_losses(task: Task, out: Tensor, y: Tensor) -> Array:  # (n,)
    """The loss of every item: log loss of classes, labels and links, errors of numbers."""
    if task.answer == "class":
        losses = cross_entropy(out, y, reduction="none")
    elif task.answer == "labels":
        known = y.isfinite()
        cells = binary_cross_entropy_with_logits(
            out, y.where(known, torch.zeros_like(y)), reduction="none"
        )
        losses = (cells * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)
    elif task.answer == "link":
        losses = softplus(-out[:, 0]) + softplus(out[:, 1:]).mean(dim=1)
    else:
        return np.asarray(task.objective.errors(out.numpy(), y.numpy()), dtype=np.float64)
    return losses.double().numpy()


def importances_of(shuffled: Sequence[Shuffled]) -> list[FeatureImportance]:
    r"""Which columns matter: two tests of each, and Holm's correction over the columns.

    A column that is noise may look important for two reasons. *These labels*: other nodes might say
    otherwise. The paired t-test over the items' mean changes of the loss answers this. *This
    arrangement*: the values happen to stand where they help, and they help every neighbour at once,
    so items are not independent. If a column says nothing, its own order is one more shuffle; so

    .. math::
        t = \bar c / (s_c \sqrt{1 + 1/R})

    of the R shuffles' mean changes c has Student's distribution. A column matters if both are sure,
    after Holm's correction. Intervals are those of the score's cost in one more shuffle, at the
    column's own level; they leave out 0 only where the column matters.

    Example:
        >>> random = np.random.default_rng(0)
        >>> noise = Shuffled("noise", random.normal(size=20), random.normal(size=(20, 50)))
        >>> signal = Shuffled("age", 1 + noise.costs / 9, 1 + noise.changes)
        >>> [(entry.name, entry.matters) for entry in importances_of([noise, signal])]
        [('noise', False), ('age', True)]
    """
    chances = []
    for entry in shuffled:
        over_items = 1 - t_confidence(entry.changes.mean(axis=0))
        over_shuffles = 1 - outlier_confidence(entry.changes.mean(axis=1))
        chances.append(min(1.0, 2 * max(over_items, over_shuffles)))
    corrected, levels = holm(chances), holm_levels(chances)
    importances = []
    for entry, p, level in zip(shuffled, corrected, levels, strict=True):
        mean, repeats = float(entry.costs.mean()), len(entry.costs)
        one_more = float(entry.costs.std(ddof=1)) * (1 + 1 / repeats) ** 0.5
        half = t_quantile(repeats - 1, level) * one_more
        matters = p is not None and p <= 1 - LEVEL and mean > 0
        low = mean - half if matters else min(mean - half, 0.0)
        importances.append(
            FeatureImportance(
                name=entry.name, loss=mean, low=low, high=mean + half, p=p, matters=matters
            )
        )
    return importances


def column_groups(task: Task) -> dict[str, list[int]]:
    """The columns of x by the column of the user's table that they come from.

    Example:
        >>> from pgso import load_task
        >>> groups = column_groups(load_task("customers", size=200))
        >>> len(groups["age"]), len(groups["contract"]), "customer_id" in groups
        (1, 3, False)
    """
    names = task.columns or tuple(f"feature {c}" for c in range(task.num_features))
    prepared = (task.preparation and task.preparation.columns) or ()
    table = {output: column.name for column in prepared for output in column.outputs}
    groups: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        groups.setdefault(table.get(name, name), []).append(column)
    return groups


def _with_dense_features(task: Task) -> Task:
    """The task with features that can be shuffled column by column."""
    if task.x.layout == torch.strided:
        return task
    if task.x.size(0) * task.x.size(1) > MOST_CELLS:
        raise InputError(
            f"{task.name} has {task.x.size(0):,} x {task.x.size(1):,} sparse features, too many to "
            "shuffle one by one; explain a smaller graph"
        )
    return replace(task, x=task.x.to_dense())


def _screened(model: Model, task: Task, groups: dict[str, list[int]]) -> list[str]:
    """The columns to shuffle: all, or the ones that validation outputs depend on most."""
    if len(groups) <= MOST_GROUPS:
        return list(groups)
    if not task.x.is_floating_point():
        return list(groups)[:MOST_GROUPS]
    x = task.x.clone().requires_grad_()
    out = _validation_outputs(model, replace(task, x=x))
    (slope,) = torch.autograd.grad(out.logsumexp(dim=1).sum() + out.max(dim=1).values.sum(), x)
    effect = (slope * task.x).abs().sum(dim=0)
    size = {name: float(effect[columns].sum()) for name, columns in groups.items()}
    return sorted(groups, key=lambda name: -size[name])[:MOST_GROUPS]


def _validation_outputs(model: Model, task: Task) -> Tensor:  # (val, outputs)
    """What a network says about the validation set, as it was trained."""
    model.eval()
    if task.kind == "graph":
        batches = map(task.batch, task.val.split(GRAPHS_AT_ONCE))
        out = [model(part.x, part.graph, None, part.batch, part.num_graphs) for part in batches]
        return torch.cat(out)
    if task.kind == "link":
        assert task.pairs is not None
        return model(task.x, task.edges, task.pairs[task.val])  # type: ignore[no-any-return]
    return model(task.x, task.edges)[task.val]  # type: ignore[no-any-return]


def _shuffles(
    task: Task, columns: list[int], repeats: int, generator: torch.Generator
) -> Iterator[Task]:
    for _ in range(repeats):
        order = torch.randperm(task.num_nodes, generator=generator)
        x = task.x.clone()
        x[:, columns] = task.x[order][:, columns]
        yield replace(task, x=x)


def _moved(task: Task, name: str, order: Tensor) -> Task:
    """The task with the nodes of a relation's edges renamed in this order."""

    def renamed(graph: Graph) -> Graph:
        return Graph.from_edge_index(order[graph.edge_index], graph.edge_weight, graph.num_nodes)

    if task.relations is None:
        return replace(task, graph=renamed(task.graph))
    graphs = dict(task.relations.graphs)
    relations = Relations(graphs | {name: renamed(graphs[name])}, task.num_nodes)
    return replace(task, graph=relations.union, relations=relations)


def _why_no_edges(model: Model, task: Task) -> str | None:
    """Why edges cannot be explained here; None if they can."""
    if isinstance(model, LinkModel) or task.kind == "link":
        return (
            "single edges of link models are not explained, since edges are what they predict: "
            "pgso predict ranks new ones"
        )
    if not isinstance(model, GNN):
        return "single edges are explained of networks only: train one with pgso train --save"
    if task.relations is not None:
        return (
            "single edges are not explained where there are several relations: for that, train on "
            "an edges.csv without the column relation (or features.csv without type)"
        )
    if task.num_edges > MOST_EDGES:
        return f"{task.num_edges:,} edges are too many to explain; up to {MOST_EDGES:,} are"
    return None


def edge_importance(
    model: Model,
    task: Task,
    items: Tensor,  # (k,) of nodes or graphs
    names: tuple[str, ...] | None = None,
) -> tuple[EdgeImportance, ...]:
    r"""How much every edge adds to the predictions of some items, the most important first.

    Integrated gradients (Sundararajan, Taly and Yan 2017) in a mask that multiplies the edges'
    entries of the operator, as PyG's explainers do, on the straight path from no edges to all:

    .. math::
        I_e = \int_0^1 \frac{\partial f(\alpha 1)}{\partial \text{mask}_e} \, d\alpha

    f is the log-probability of the predicted classes, or minus the squared distance from the
    predicted numbers. Together the :math:`I_e` are what the edges add to f. They are divided by
    the largest. Both directions of an undirected edge are one. Edges that add nothing, or that
    speak against the predictions, are left out.

    Args:
        model: A trained network of nodes or graphs.
        task: The data.
        items: Whose predictions are explained, see :data:`MOST_ITEMS`.
        names: What nodes are called; by default their numbers.
    """
    from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

    model.eval()
    items = items[:MOST_ITEMS]
    x = task.x if task.x.layout == torch.strided else task.x.to_dense()
    edge_index = task.graph.edge_index
    graph = [edge_index, task.graph.edge_weight]
    if task.kind == "graph":
        graph.append(torch.repeat_interleave(task.nodes_per_graph))
    with torch.no_grad():
        predicted = model(x, *graph)[items]
    added = torch.zeros(task.num_edges)
    try:
        for step in range(STEPS):
            share = (step + 0.5) / STEPS
            mask = torch.nn.Parameter(torch.full((task.num_edges,), share))
            set_masks(model, mask, edge_index, apply_sigmoid=False)
            f = _agreement(task, model(x, *graph)[items], predicted)
            added += torch.autograd.grad(f, mask)[0] / STEPS
    finally:
        clear_masks(model)
    return _ranked(edge_index, added, task.graph.is_undirected, names)


def _agreement(task: Task, out: Tensor, predicted: Tensor) -> Tensor:  # ()
    """How much outputs say what was predicted."""
    if task.answer != "class":
        return -(out - predicted).square().sum()
    rows = torch.arange(len(out))
    return out.log_softmax(dim=1)[rows, predicted.argmax(dim=1)].sum()


def _ranked(
    edge_index: Tensor, added: Tensor, undirected: bool, names: tuple[str, ...] | None
) -> tuple[EdgeImportance, ...]:  # added: (E,)
    source, target = edge_index
    if undirected:
        source, target = torch.minimum(source, target), torch.maximum(source, target)
    pairs, owner = torch.unique(torch.stack([source, target]), dim=1, return_inverse=True)
    both = added.new_zeros(pairs.size(1)).index_add_(0, owner, added)
    both = both / both.abs().max().clamp(min=1e-30)
    best = both.argsort(descending=True, stable=True)[:SHOWN]

    def name(node: int) -> str:
        return str(node) if names is None else names[node]

    return tuple(
        EdgeImportance(
            source=name(int(pairs[0, edge])),
            target=name(int(pairs[1, edge])),
            importance=round(float(both[edge]), 6),
        )
        for edge in best
        if both[edge] > 1e-6
    )
