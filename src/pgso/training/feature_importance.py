"""Which columns matter: permutation importance on validation (Breiman 2001)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from pgso.data import Task
from pgso.errors import InputError
from pgso.models.build import Model
from pgso.models.gnn import GNN
from pgso.objectives.values import Scale
from pgso.records.explanation import FeatureImportance
from pgso.training.prediction import graph_batches, predict_batches, predict_outputs

REPEATS = 10
MOST_GROUPS = 40  # columns that are shuffled; of more, those with the largest gradients
MOST_CELLS = 200_000_000  # of x, when it has to be dense
LEVEL = 0.95


def feature_importance(
    model: Model, task: Task, header: Mapping[str, Any], repeats: int = REPEATS
) -> tuple[float | None, tuple[FeatureImportance, ...], int]:
    """How much the validation score loses when a column is shuffled among all nodes.

    Columns that were made of one column of the user's table are shuffled together. The intervals
    are Student's over the shuffles; what another validation set would say is not in them.

    Args:
        model: A trained network.
        task: The data, with validation labels.
        header: Of the saved model.
        repeats: Shuffles of every column, 2 or more.

    Returns:
        The score with nothing shuffled; importances, the largest first; and how many columns were
        left out, since the loss has the smallest gradients there.
    """
    groups = column_groups(task)
    task = replace(task, x=_dense(task))
    chosen = _screened(model, task, groups)
    score = score_of(model, task, header)
    importances = []
    generator = torch.Generator().manual_seed(0)
    for name in chosen:
        losses = [
            task.objective.merit(score) - task.objective.merit(score_of(model, shuffled, header))
            for shuffled in _shuffles(task, groups[name], repeats, generator)
        ]
        importances.append(importance_of(name, losses))
    importances.sort(key=lambda entry: (-entry.loss, entry.name))
    return score, tuple(importances), len(groups) - len(chosen)


def importance_of(name: str, losses: Sequence[float]) -> FeatureImportance:
    """The mean loss over some shuffles, with Student's interval.

    Example:
        >>> importance = importance_of("age", [0.1, 0.2, 0.3])
        >>> round(importance.loss, 3), round(importance.low, 3), round(importance.high, 3)
        (0.2, -0.048, 0.448)
    """
    mean, spread = float(np.mean(losses)), float(np.std(losses, ddof=1))
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(losses) - 1)) * spread / len(losses) ** 0.5
    return FeatureImportance(name=name, loss=mean, low=mean - half, high=mean + half)


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


def _dense(task: Task) -> Tensor:
    if task.x.layout == torch.strided:
        return task.x
    if task.x.size(0) * task.x.size(1) > MOST_CELLS:
        raise InputError(
            f"{task.name} has {task.x.size(0):,} x {task.x.size(1):,} sparse features, too many to "
            "shuffle one by one; explain a smaller graph"
        )
    return task.x.to_dense()


def _screened(model: Model, task: Task, groups: dict[str, list[int]]) -> list[str]:
    """The columns to shuffle: all, or the ones that validation outputs depend on most."""
    if len(groups) <= MOST_GROUPS:
        return list(groups)
    if not task.x.is_floating_point():
        return list(groups)[:MOST_GROUPS]
    x = task.x.clone().requires_grad_()
    model.eval()
    out = _validation_outputs(model, replace(task, x=x))
    (slope,) = torch.autograd.grad(out.logsumexp(dim=1).sum() + out.max(dim=1).values.sum(), x)
    effect = (slope * task.x).abs().sum(dim=0)
    size = {name: float(effect[places].sum()) for name, places in groups.items()}
    return sorted(groups, key=lambda name: -size[name])[:MOST_GROUPS]


def _validation_outputs(model: Model, task: Task) -> Tensor:  # (val, outputs)
    """With gradients, other than those of :mod:`pgso.training.prediction`."""
    if task.kind == "graph":
        batches = graph_batches(task, task.val)
        out = [model(part.x, part.graph, None, part.batch, part.num_graphs) for part in batches]
        return torch.cat(out)
    if task.kind == "link":
        assert task.pairs is not None
        return model(task.x, task.edges, task.pairs[task.val])  # type: ignore[no-any-return]
    return model(task.x, task.edges)[task.val]  # type: ignore[no-any-return]


def _shuffles(
    task: Task, places: list[int], repeats: int, generator: torch.Generator
) -> Iterator[Task]:
    for _ in range(repeats):
        order = torch.randperm(task.num_nodes, generator=generator)
        x = task.x.clone()
        x[:, places] = task.x[order][:, places]
        yield replace(task, x=x)


def score_of(model: Model, task: Task, header: Mapping[str, Any]) -> float | None:
    """The score of a model on the validation set of some data."""
    if task.kind == "graph":
        assert isinstance(model, GNN)
        out = predict_batches(model, graph_batches(task, task.val), "cpu")
    else:
        out = predict_outputs(model, task)[task.val]
    if header.get("scale") is not None:
        out = Scale(**header["scale"]).decode(out)
    return task.objective.score(out.numpy(), task.y[task.val].numpy())
