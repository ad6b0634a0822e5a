"""Predictions as people use them: names, probabilities and sets, a row for each item."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas
import torch
from torch import Tensor

from pgso.data import Task
from pgso.data.links import NonLinks
from pgso.errors import InputError
from pgso.evaluation.conformal import LEVEL

if TYPE_CHECKING:
    from pgso.models.gnn import LinkModel
    from pgso.predictors.inputs import Asked
    from pgso.predictors.predictor import Predictor

MOST_NODES = 50_000  # above which the best of all pairs would take too long
PERCENT = f"{100 * LEVEL:.0f}"


def prediction_table(model: "Predictor", asked: "Asked", out: Tensor) -> pandas.DataFrame:
    """What the model says of each item, then what is known.

    Classes: the most probable one, how probable it is, the probability of every class, and a set
    of classes that holds the truth in 90 %. Labels: those above one half, as ``red|blue``, and the
    probability of each. Numbers: the prediction and an interval that holds the truth in 90 %.
    Known are ``label``, or ``true NAME`` of numbers, and ``split`` of the data it was trained on.
    """
    values = out.numpy()
    columns: dict[str, Any] = {"id": asked.ids}
    if model.answer == "value":
        low = high = np.full_like(values, np.nan)
        if model.strangeness is not None:
            low, high = (end.astype(values.dtype) for end in model.ends(values, LEVEL))
        for k, name in enumerate(model.targets):
            for end, part in (("", values), (f" low {PERCENT}", low), (f" high {PERCENT}", high)):
                columns[f"{name}{end}"] = part[:, k]
    else:
        names, each = model.classes, {f"p({c})": values[:, k] for k, c in enumerate(model.classes)}
        if model.answer == "labels":
            columns |= {"prediction": _chosen(names, values > 0.5, model.separator), **each}
        else:
            columns["prediction"] = [names[k] for k in values.argmax(axis=1)]
            columns |= {"probability": values.max(axis=1), **each}
            if model.strangeness is not None:
                held = model.held_classes(values, LEVEL)
                columns[f"set {PERCENT}"] = _chosen(names, held, model.separator)
    task, told = asked.task, dict[str, Any]()
    if task.targets:
        told = {f"true {name}": task.y[:, k].numpy() for k, name in enumerate(task.targets)}
    elif task.answer == "labels" and task.classes:
        named = _chosen(task.classes, task.y.numpy() == 1, model.separator)
        told["label"] = np.where(task.has_answer.numpy(), named, "")
    elif task.classes:
        told["label"] = np.array([*task.classes, ""], dtype=object)[task.y.numpy()]  # -1: ""
    if asked.is_trained_here and len(task.train):
        told["split"] = np.full(len(task.y), "", dtype=object)
        for name in ("train", "val", "test"):
            told["split"][getattr(task, name).numpy()] = name
    known = pandas.DataFrame(told, index=range(len(task.y)))
    if asked.rows is not None:
        known = known.iloc[asked.rows.numpy()].reset_index(drop=True)
        known = known[[] if known.isin(["", None, np.nan]).all(axis=None) else list(known)]
    return pandas.concat([pandas.DataFrame(columns), known], axis=1)


def _chosen(names: Sequence[str], is_chosen: Any, separator: str) -> list[str]:
    """As labels.csv has them, where a separator alone says that there are none."""
    named = ([n for n, yes in zip(names, row, strict=True) if yes] for row in is_chosen)
    return [separator.join(labels) or separator for labels in named]


def most_probable_links(
    model: "LinkModel", task: Task, count: int, ids: Sequence[Any]
) -> pandas.DataFrame:
    """The pairs of nodes that are most probably linked and are not, best first.

    Links that were held out for validation and test are links: they are not among them.
    """
    n = task.num_nodes
    if n > MOST_NODES:
        most = f"the best of all pairs are looked for up to {MOST_NODES}"
        raise InputError(f"{task.name} has {n} nodes; {most}")
    model.eval()
    links = [task.graph.edge_index, *([] if task.pairs is None else [task.pairs[:, 0].T])]
    none = NonLinks(torch.cat(links, dim=1).numpy(force=True), n)
    best, pairs = torch.empty(0), torch.empty(0, 2, dtype=torch.long)
    with torch.no_grad():
        z = model.encoder(task.x, task.graph)
        for source in range(n):
            target = torch.arange(source + 1 if task.graph.is_undirected else 0, n)
            from_here = torch.stack([torch.full_like(target, source), target], dim=1)
            free = ~torch.from_numpy(none.are_links(*from_here.numpy().T))
            from_here = from_here[free]
            best = torch.cat([best, model.decode(z, from_here)])
            pairs = torch.cat([pairs, from_here])
            order = best.argsort(descending=True, stable=True)[:count]
            best, pairs = best[order], pairs[order]
    sources, targets = ([ids[node] for node in side] for side in pairs.T.tolist())
    probability = best.sigmoid().numpy()
    return pandas.DataFrame({"source": sources, "target": targets, "probability": probability})
