"""Predictions as people use them: names, probabilities and sets, a row for each item."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pgso.data import Task
from pgso.data.links import NonLinks
from pgso.errors import InputError
from pgso.evaluation.conformal import LEVEL

if TYPE_CHECKING:
    from pgso.models.links import LinkModel
    from pgso.predictors.inputs import Asked
    from pgso.predictors.predictor import Predictor

Column = tuple[str, Sequence[Any]]  # its name, and a cell of each item
MOST_NODES = 50_000  # above which the best of all pairs would take too long
PERCENT = f"{100 * LEVEL:.0f}"


def prediction_table(model: "Predictor", asked: "Asked", out: Tensor) -> list[Column]:
    """What the model says of each item, then what is known.

    Classes: the most probable one, how probable it is, the probability of every class, and a set
    of classes that holds the truth in 90 %. Labels: those above one half, as ``red|blue``, and the
    probability of each. Numbers: the prediction and an interval that holds the truth in 90 %; with
    logarithms it is as wide in the logarithm, a factor up and down.

    Where the task has answers, there are columns ``label``, or ``true NAME`` of numbers. Where it
    is the one that the model was trained on, ``split`` says who was trained on.
    """
    known = _known(asked.task, asked.is_trained_here, model.separator)
    if asked.rows is not None:
        places = asked.rows.tolist()
        known = [(name, [cells[row] for row in places]) for name, cells in known]
        if all(cell in ("", None) for _, cells in known for cell in cells):
            known = []
    columns: list[Column] = [("id", asked.ids)]
    if model.answer == "value":
        low = high = values = out.numpy()
        if model.strangeness is not None:
            low, high = (end.astype(values.dtype) for end in model.ends(values, LEVEL))
        else:
            low = high = values + math.nan
        ends = (("", values), (f" low {PERCENT}", low), (f" high {PERCENT}", high))
        for k, name in enumerate(model.targets):
            columns += [(f"{name}{end}", part[:, k].tolist()) for end, part in ends]
        return columns + known
    names = model.classes
    each = [(f"p({name})", out[:, k].tolist()) for k, name in enumerate(names)]
    if model.answer == "labels":
        columns += [("prediction", _chosen(names, out > 0.5, model.separator)), *each]
        return columns + known
    best = out.argmax(dim=1)
    columns += [("prediction", [names[k] for k in best.tolist()])]
    columns += [("probability", out.gather(1, best.unsqueeze(1))[:, 0].tolist()), *each]
    if model.strangeness is not None:
        held = model.held_classes(out.numpy(), LEVEL)
        columns += [(f"set {PERCENT}", _chosen(names, held, model.separator))]
    return columns + known


def _known(task: Task, is_trained_here: bool, separator: str) -> list[Column]:
    columns: list[Column] = []
    if task.targets:
        for k, name in enumerate(task.targets):
            cells = task.y[:, k].tolist()
            columns += [(f"true {name}", [None if math.isnan(v) else v for v in cells])]
    elif task.answer == "labels" and task.classes:
        named = _chosen(task.classes, task.y == 1, separator)
        pairs = zip(named, task.has_answer.tolist(), strict=True)
        columns += [("label", [labels if is_known else "" for labels, is_known in pairs])]
    elif task.classes:
        columns += [("label", ["" if c < 0 else task.classes[c] for c in task.y.tolist()])]
    if is_trained_here and len(task.train):
        part = [""] * len(task.y)
        for name in ("train", "val", "test"):
            for i in getattr(task, name).tolist():
                part[i] = name
        columns += [("split", part)]
    return columns


def _chosen(names: Sequence[str], is_chosen: Any, separator: str) -> list[str]:
    """As labels.csv has them, where a separator alone says that there are none."""
    rows = is_chosen.tolist()
    named = ([n for n, yes in zip(names, row, strict=True) if yes] for row in rows)
    return [separator.join(labels) or separator for labels in named]


def most_probable_links(
    model: "LinkModel", task: Task, count: int, ids: Sequence[Any]
) -> list[Column]:
    """The pairs of nodes that are most probably linked and are not, best first.

    Links that were held out for validation and test are links: they are not among them.
    """
    n = task.num_nodes
    if n > MOST_NODES:
        raise InputError(
            f"{task.name} has {n} nodes; the best of all pairs are looked for up to {MOST_NODES}"
        )
    model.eval()
    links = [task.graph.edge_index, *([] if task.pairs is None else [task.pairs[:, 0].T])]
    none = NonLinks(torch.cat(links, dim=1).numpy(force=True), n)
    best, pairs = torch.empty(0), torch.empty(0, 2, dtype=torch.long)
    with torch.no_grad():
        z = model.embed(task.x, task.graph)
        for source in range(n):
            target = torch.arange(source + 1 if task.graph.is_undirected else 0, n)
            from_here = torch.stack([torch.full_like(target, source), target], dim=1)
            free = ~torch.from_numpy(none.are_links(*from_here.numpy().T))
            from_here = from_here[free]
            best = torch.cat([best, model.decode(z, from_here)])
            pairs = torch.cat([pairs, from_here])
            order = best.argsort(descending=True, stable=True)[:count]
            best, pairs = best[order], pairs[order]
    ends = [[ids[node] for node in side] for side in pairs.T.tolist()]
    return [("source", ends[0]), ("target", ends[1]), ("probability", best.sigmoid().tolist())]
