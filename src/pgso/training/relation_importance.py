"""Which kinds of edges matter: each is moved to other nodes, and validation is scored again."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from pgso.data import Task
from pgso.graph import Graph, Relations
from pgso.models.build import Model
from pgso.records.explanation import FeatureImportance
from pgso.training.feature_importance import REPEATS, importance_of, score_of

ALL = "all edges"


def relation_importance(
    model: Model, task: Task, header: Mapping[str, Any], repeats: int = REPEATS
) -> tuple[FeatureImportance, ...]:
    """How much the validation score loses when a kind of edges connects other nodes.

    The nodes of a relation's edges are renamed at random: its degrees and its weights stay, and
    who has them does not. Without relations all edges are one kind.

    Args:
        model: A trained network of nodes or links.
        task: The data, with a validation set.
        header: Of the saved model.
        repeats: Renamings of every kind, 2 or more.

    Returns:
        Importances, the largest first.
    """
    merit = task.objective.merit
    score = merit(score_of(model, task, header))
    generator = torch.Generator().manual_seed(0)
    importances = []
    for name in [ALL] if task.relations is None else task.relations.graphs:
        orders = [torch.randperm(task.num_nodes, generator=generator) for _ in range(repeats)]
        moved = (_moved(task, name, order) for order in orders)
        losses = [score - merit(score_of(model, other, header)) for other in moved]
        importances.append(importance_of(name, losses))
    importances.sort(key=lambda entry: (-entry.loss, entry.name))
    return tuple(importances)


def _moved(task: Task, name: str, order: torch.Tensor) -> Task:
    if task.relations is None:
        return replace(task, graph=_renamed(task.graph, order))
    graphs = dict(task.relations.graphs)
    graphs[name] = _renamed(graphs[name], order)
    relations = Relations(graphs, task.num_nodes)
    return replace(task, graph=relations.union, relations=relations)


def _renamed(graph: Graph, order: torch.Tensor) -> Graph:
    return Graph.from_edge_index(order[graph.edge_index], graph.edge_weight, graph.num_nodes)
