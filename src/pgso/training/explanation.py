"""What matters to a saved model: its columns and its edges, as a record."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from pgso.data import Task
from pgso.data.description import is_identity
from pgso.errors import InputError
from pgso.evaluation.importance import (
    MOST_ITEMS,
    REPEATS,
    column_groups,
    dense_features,
    edge_importance,
    feature_importance,
    relation_importance,
    screened_columns,
    validation_outputs,
    why_no_edges,
)
from pgso.models.build import Model
from pgso.models.gnn import GNN
from pgso.objectives.values import Scale
from pgso.records.record import EdgeImportance, Explanation, FeatureImportance


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

    def predict(data: Task) -> torch.Tensor:
        with torch.no_grad():
            out = validation_outputs(model, data)
        return out if scale is None else scale.decode(out)

    notes = []
    score: float | None = None
    features: tuple[FeatureImportance, ...] = ()
    left_out = 0
    score_is_known = False
    if not len(task.val):
        notes.append("features are judged on validation labels, and there are none")
    elif tuple(header.get("classes", task.classes)) != task.classes:
        classes = ", ".join(header["classes"][:5]) or "numbers"
        notes.append(
            f"features are judged on labels that the model knows ({classes}), and "
            f"{task.name} has other labels"
        )
    else:
        score = task.objective.score(predict(task).numpy(), task.y[task.val].numpy())
        score_is_known = score is not None
        if not score_is_known:
            notes.append(
                f"features are judged on validation, where {task.objective.label} has no value: "
                "such as where all are of one class"
            )
    if is_identity(task):
        notes.append("there are no features to shuffle: every node has a column of its own")
    elif score_is_known:
        dense = dense_features(task)
        chosen = screened_columns(model, dense)
        features = feature_importance(predict, dense, chosen, repeats)
        left_out = len(column_groups(task)) - len(chosen)
    kinds: tuple[FeatureImportance, ...] = ()
    if task.kind != "graph" and score_is_known and (task.relations or task.kind == "link"):
        kinds = relation_importance(predict, task, repeats)
    edges: tuple[EdgeImportance, ...] = ()
    what = ""
    problem = why_no_edges(model, task)
    if problem is not None:
        notes.append(problem)
    else:
        assert isinstance(model, GNN)
        explained = _chosen(task, items)
        noun = {"node": "nodes", "graph": "graphs"}[task.kind]
        what = ", ".join(items[:10]) if items else f"{len(explained)} {noun}"
        what += "" if items or not len(task.val) else " of the validation set"
        names = task.ids if task.kind == "node" else None
        edges = edge_importance(model, task, explained, names)
    return Explanation(
        score=score,
        repeats=repeats,
        features=features,
        left_out=left_out,
        relations=kinds,
        items=what,
        edges=edges,
        notes=tuple(notes),
    )


def _chosen(task: Task, items: Sequence[str]) -> torch.Tensor:
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
