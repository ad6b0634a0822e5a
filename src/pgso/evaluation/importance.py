"""What matters to a model: columns and kinds of edges by shuffling them, edges by gradients."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.special import stdtrit
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, softplus

from pgso.data import Task
from pgso.data.arrays import Array
from pgso.data.description import is_identity
from pgso.errors import InputError
from pgso.evaluation.scores import predict_outputs
from pgso.evaluation.statistics import LEVEL, holm_with_levels, t_confidence
from pgso.graph import Graph, Relations
from pgso.models.build import Model
from pgso.models.gnn import GNN
from pgso.objectives.values import Scale
from pgso.records.record import EdgeImportance, Explanation, FeatureImportance

Shuffled = tuple[str, Array, Array]  # name, (R,) costs of the score, (R, n) of every item's loss
Changes = dict[str, Callable[[], Task]]  # by name, the task with it changed, drawn anew

REPEATS = 20
MOST_GROUPS = 40  # columns that are shuffled; of more, those with the largest gradients
MOST_CELLS = 200_000_000  # of x, when it has to be dense
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

    ``header`` is that of the saved model. ``items`` are nodes or graphs whose predictions the edges
    are for, by default all of validation; ``repeats`` are shuffles of every column, 2 or more.
    """
    scale = None if header.get("scale") is None else Scale(**header["scale"])
    y, objective = task.y[task.val], task.objective

    def judged(data: Task) -> tuple[float | None, Array]:
        """The score of validation, and the loss of each of its items."""
        with torch.no_grad():
            out = predict_outputs(model, data, task.val)
        out = out if scale is None else scale.decode(out)
        score = objective.score(out.numpy(), y.numpy())
        if task.answer == "value":
            return score, np.asarray(objective.errors(out.numpy(), y.numpy()), dtype=np.float64)
        if task.answer == "class":
            losses = cross_entropy(out, y, reduction="none")
        elif task.answer == "link":
            losses = softplus(-out[:, 0]) + softplus(out[:, 1:]).mean(dim=1)
        else:
            known = y.isfinite()
            cells = binary_cross_entropy_with_logits(out, y.nan_to_num(), reduction="none")
            losses = (cells * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)
        return score, losses.double().numpy()

    def importances(ways: Changes) -> tuple[FeatureImportance, ...]:
        """What the changes of a task cost, the most important first."""
        shuffled = []
        for name, changed in ways.items():
            outcomes = [judged(changed()) for _ in range(repeats)]
            costs = [objective.merit(score) - objective.merit(after) for after, _ in outcomes]
            changes = np.stack([after - losses for _, after in outcomes])
            shuffled.append((name, np.array(costs), changes))
        return tuple(sorted(importances_of(shuffled), key=lambda one: (-one.loss, one.name)))

    notes: list[str] = []
    score, found = None, dict[str, Any]()
    if not len(task.val):
        notes.append("features are judged on validation labels, and there are none")
    elif tuple(header.get("classes", task.classes)) != task.classes:
        classes = ", ".join(header["classes"][:5]) or "numbers"
        notes.append(
            f"features are judged on labels that the model knows ({classes}), and "
            f"{task.name} has other labels"
        )
    else:
        score, losses = judged(task)
        if score is None:
            notes.append(
                f"features are judged on validation, where {objective.label} has no value: "
                "such as where all are of one class"
            )
    if is_identity(task):
        notes.append("there are no features to shuffle: every node has a column of its own")
    elif score is not None:
        if task.x.layout != torch.strided and task.x.size(0) * task.x.size(1) > MOST_CELLS:
            raise InputError(
                f"{task.name} has {task.x.size(0):,} x {task.x.size(1):,} sparse features, too "
                "many to shuffle one by one; explain a smaller graph"
            )
        groups, is_dense = column_groups(task), task.x.layout == torch.strided
        dense = task if is_dense else replace(task, x=task.x.to_dense())
        chosen = _screened(model, dense, groups)
        found["features"] = importances(_shuffles(dense, chosen))
        found["left_out"] = len(groups) - len(chosen)
    if score is not None and (task.kind == "link" or (task.kind == "node" and task.relations)):
        found["relations"] = importances(_moves(task))
    problem = _why_no_edges(model, task)
    if problem is not None:
        notes.append(problem)
    else:
        explained = _chosen(task, items)
        what = ", ".join(items[:10]) if items else f"{len(explained)} {task.kind}s"
        found["items"] = what + ("" if items or not len(task.val) else " of the validation set")
        found["edges"] = edge_importance(model, task, explained)
    return Explanation(score=score, repeats=repeats, notes=tuple(notes), **found)


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


def _screened(model: Model, task: Task, groups: dict[str, list[int]]) -> dict[str, list[int]]:
    """The columns to shuffle: all, or the ones that validation outputs depend on most."""
    names = list(groups)
    if len(groups) > MOST_GROUPS and task.x.is_floating_point():
        x = task.x.clone().requires_grad_()
        out = predict_outputs(model, replace(task, x=x), task.val)
        (slope,) = torch.autograd.grad(out.logsumexp(dim=1).sum() + out.max(dim=1).values.sum(), x)
        effect = (slope * task.x).abs().sum(dim=0)
        names.sort(key=lambda name: -float(effect[groups[name]].sum()))
    return {name: groups[name] for name in names[:MOST_GROUPS]}


def _shuffles(task: Task, groups: dict[str, list[int]]) -> Changes:
    """The task with the columns of each group shuffled together among all nodes (Breiman 2001)."""
    random = torch.Generator().manual_seed(0)

    def shuffled(columns: list[int]) -> Task:
        order, x = torch.randperm(task.num_nodes, generator=random), task.x.clone()
        x[:, columns] = task.x[order][:, columns]
        return replace(task, x=x)

    return {name: partial(shuffled, columns) for name, columns in groups.items()}


def _moves(task: Task) -> Changes:
    """The task with the nodes of one kind of edges renamed at random; without relations, of all."""
    random = torch.Generator().manual_seed(0)
    graphs = None if task.relations is None else dict(task.relations.graphs)

    def moved(name: str) -> Task:
        order = torch.randperm(task.num_nodes, generator=random)
        old = task.graph if graphs is None else graphs[name]
        graph = Graph.from_edge_index(order[old.edge_index], old.edge_weight, old.num_nodes)
        if graphs is None:
            return replace(task, graph=graph)
        relations = Relations(graphs | {name: graph}, task.num_nodes)
        return replace(task, graph=relations.union, relations=relations)

    return {name: partial(moved, name) for name in graphs or [ALL_EDGES]}


def importances_of(shuffled: Sequence[Shuffled]) -> list[FeatureImportance]:
    r"""Which columns matter: two tests of each, and Holm's correction over the columns.

    A column that is noise may look important for two reasons. *These labels*: other nodes might say
    otherwise. The paired t-test over the items' mean changes of the loss answers this. *This
    arrangement*: the values happen to stand where they help every neighbour at once. If a column
    says nothing, its own order is one more shuffle; so :math:`t = \bar c / (s_c \sqrt{1 + 1/R})` of
    the R shuffles' mean changes c has Student's distribution. A column matters if both are sure,
    after Holm's correction. Intervals are those of the score's cost in one more shuffle, at the
    column's own level; they leave out 0 only where the column matters, and may hold it there too.
    """
    chances = []
    for _, _, changes in shuffled:
        over_items = 1 - t_confidence(changes.mean(axis=0))
        over_shuffles = 1 - t_confidence(changes.mean(axis=1), one_more=True)
        chances.append(min(1.0, 2 * max(over_items, over_shuffles)))
    importances = []
    for (name, costs, _), (p, level) in zip(shuffled, holm_with_levels(chances), strict=True):
        mean, repeats = float(costs.mean()), len(costs)
        one_more = float(costs.std(ddof=1)) * (1 + 1 / repeats) ** 0.5
        half = float(stdtrit(repeats - 1, (1 + level) / 2)) * one_more
        matters = p is not None and p <= 1 - LEVEL and mean > 0
        low = mean - half if matters else min(mean - half, 0.0)
        importances.append(
            FeatureImportance(name=name, loss=mean, low=low, high=mean + half, p=p, matters=matters)
        )
    return importances


def _why_no_edges(model: Model, task: Task) -> str | None:
    """Why edges cannot be explained here; None if they can."""
    if task.kind == "link":
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
    too_many = f"{task.num_edges:,} edges are too many to explain; up to {MOST_EDGES:,} are"
    return too_many if task.num_edges > MOST_EDGES else None


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


def edge_importance(model: Model, task: Task, items: Tensor) -> tuple[EdgeImportance, ...]:
    """How much every edge adds to the predictions of some items, the most important first.

    Integrated gradients (Sundararajan, Taly and Yan 2017) in a mask that multiplies the edges'
    entries of the operator, as PyG's explainers do, on the straight path from no edges to all, of
    the log-probability of the predicted classes, or minus the squared distance from the predicted
    numbers. Together they are what the edges add to it; they are divided by the largest. Both
    directions of an undirected edge are one. Edges that add nothing, or that speak against the
    predictions, are left out, and so are items beyond :data:`MOST_ITEMS`.
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
            out = model(x, *graph)[items]
            if task.answer == "class":
                f = out.log_softmax(dim=1)[torch.arange(len(out)), predicted.argmax(dim=1)].sum()
            else:
                f = -(out - predicted).square().sum()
            added += torch.autograd.grad(f, mask)[0] / STEPS
    finally:
        clear_masks(model)

    pairs = edge_index.sort(dim=0).values if task.graph.is_undirected else edge_index
    pairs, owner = torch.unique(pairs, dim=1, return_inverse=True)
    both = added.new_zeros(pairs.size(1)).index_add_(0, owner, added)
    both = both / both.abs().max().clamp(min=1e-30)
    names = task.ids if task.kind == "node" else None
    edges = []
    for edge in both.argsort(descending=True, stable=True)[:SHOWN].tolist():
        source, target = (names[n] if names else str(n) for n in pairs[:, edge].tolist())
        importance = round(float(both[edge]), 6)
        if both[edge] > 1e-6:
            edges.append(EdgeImportance(source=source, target=target, importance=importance))
    return tuple(edges)
