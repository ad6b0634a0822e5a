"""Predictions as people use them: names, probabilities and sets, a row for each item."""

import math
from collections.abc import Iterator, Mapping, Sequence
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

Rows = Iterator[list[Any]]
MOST_NODES = 50_000  # above which the best of all pairs would take too long
PERCENT = f"{100 * LEVEL:.0f}"


def prediction_table(model: "Predictor", asked: "Asked", out: Tensor) -> tuple[list[str], Rows]:
    """The names of the columns, and the rows: what the model says, then what is known.

    Where the task has answers, there are columns ``label``, or ``true NAME`` of numbers. Where it
    is the one that the model was trained on, ``split`` says who was trained on.

    Classes: the most probable one, how probable it is, the probability of every class, and a set
    of classes that holds the truth in 90 %. Labels: those above one half, as ``red|blue``, and the
    probability of each. Numbers: the prediction and an interval that holds the truth in 90 %.
    """
    columns, rows = _said(model, out, asked.ids)
    known_columns, answers = _known(asked.task, asked.is_trained_here, model.separator)
    if asked.rows is not None:
        answers = [answers[row] for row in asked.rows.tolist()]
        if all(cell in ("", None) for row in answers for cell in row):
            known_columns, answers = [], [[]] * len(answers)
    return [*columns, *known_columns], (
        [*row, *more] for row, more in zip(rows, answers, strict=True)
    )


def _said(model: "Predictor", out: Tensor, ids: Sequence[Any]) -> tuple[list[str], Rows]:
    if model.answer == "value":
        return _numbers(model, out, ids)
    names = model.classes
    columns = [f"p({name})" for name in names]
    if model.answer == "labels":
        return ["id", "prediction", *columns], _labels(names, out, ids, model.separator)
    sets: list[list[str]] = [[] for _ in ids]
    if model.strangeness is not None:
        columns.append(f"set {PERCENT}")
        held = model.held_classes(out.numpy(), LEVEL)
        sets = [
            [model.separator.join(n for n, yes in zip(names, row, strict=True) if yes)]
            for row in held.tolist()
        ]
    return ["id", "prediction", "probability", *columns], _classes(names, out, ids, sets)


def calibration_of(header: Mapping[str, Any]) -> dict[str, float]:
    """The temperature of a saved model, and its calibration error before and after; or nothing."""
    stored = header.get("calibration") or {}
    numbers = {name: float(value) for name, value in stored.items()}
    return numbers if math.isfinite(numbers.get("temperature", 0.0)) and numbers else {}


def _known(task: Task, trained_here: bool, separator: str) -> tuple[list[str], list[list[Any]]]:
    items = len(task.y)
    columns: list[str] = []
    cells: list[list[Any]] = []
    if task.targets:
        columns += [f"true {name}" for name in task.targets]
        numbers = task.y.T.tolist()
        cells += [[None if math.isnan(v) else v for v in column] for column in numbers]
    elif task.answer == "labels" and task.classes:
        chosen = (task.y == 1).tolist()
        names = [[n for n, yes in zip(task.classes, row, strict=True) if yes] for row in chosen]
        columns.append("label")
        has_answer = task.y.isfinite().any(dim=1).tolist()
        cells.append(
            [
                _joined(row, separator) if yes else ""
                for row, yes in zip(names, has_answer, strict=True)
            ]
        )
    elif task.classes:
        columns.append("label")
        cells.append(["" if c < 0 else task.classes[c] for c in task.y.tolist()])
    if trained_here and len(task.train):
        part = [""] * items
        for name in ("train", "val", "test"):
            for i in getattr(task, name).tolist():
                part[i] = name
        columns.append("split")
        cells.append(part)
    return columns, [list(row) for row in zip(*cells, strict=True)] if cells else [[]] * items


def _classes(
    names: Sequence[str], probabilities: Tensor, ids: Sequence[Any], sets: Sequence[list[str]]
) -> Rows:
    codes = probabilities.argmax(dim=1).tolist()
    for name, chosen, row, held in zip(ids, codes, probabilities.tolist(), sets, strict=True):
        yield [name, names[chosen], row[chosen], *row, *held]


def _labels(
    names: Sequence[str], probabilities: Tensor, ids: Sequence[Any], separator: str
) -> Rows:
    for name, row in zip(ids, probabilities.tolist(), strict=True):
        chosen = [label for label, p in zip(names, row, strict=True) if p > 0.5]
        yield [name, _joined(chosen, separator), *row]


def _joined(labels: Sequence[str], separator: str) -> str:
    """As labels.csv has them, where a separator alone says that there are none."""
    return separator.join(labels) or separator


def _numbers(model: "Predictor", out: Tensor, ids: Sequence[Any]) -> tuple[list[str], Rows]:
    """With logarithms, the interval is as wide in the logarithm: a factor up and down."""
    values = out.numpy()
    low = high = values + math.nan
    if model.strangeness is not None:
        low, high = (end.astype(values.dtype) for end in model.ends(values, LEVEL))
    columns = [
        c
        for name in model.targets
        for c in (name, f"{name} low {PERCENT}", f"{name} high {PERCENT}")
    ]
    ends = [torch.from_numpy(end) for end in (values, low, high)]
    table = torch.stack(ends, dim=2).flatten(1).tolist()
    rows = ([name, *row] for name, row in zip(ids, table, strict=True))
    return ["id", *columns], rows


def most_probable_links(
    model: "LinkModel", task: Task, count: int, ids: Sequence[Any]
) -> tuple[list[str], Rows]:
    """The pairs of nodes that are most probably linked and are not, best first.

    Links that were held out for validation and test are links: they are not among them.
    """
    n = task.num_nodes
    if n > MOST_NODES:
        raise InputError(
            f"{task.name} has {n} nodes; the best of all pairs are looked for up to {MOST_NODES}"
        )
    model.eval()
    links = [task.graph.edge_index]
    if task.pairs is not None:
        links.append(task.pairs[:, 0].T)
    none = NonLinks(torch.cat(links, dim=1).numpy(force=True), n)
    best, pairs = torch.empty(0), torch.empty(0, 2, dtype=torch.long)
    with torch.no_grad():
        z = model.embed(task.x, task.graph)
        for source in range(n):
            first = source + 1 if task.graph.is_undirected else 0
            target = torch.arange(first, n)
            from_here = torch.stack([torch.full_like(target, source), target], dim=1)
            free = ~torch.from_numpy(none.are_links(*from_here.numpy().T))
            from_here = from_here[free]
            best = torch.cat([best, model.decode(z, from_here)])
            pairs = torch.cat([pairs, from_here])
            order = best.argsort(descending=True, stable=True)[:count]
            best, pairs = best[order], pairs[order]
    rows = (
        [ids[source], ids[target], p]
        for (source, target), p in zip(pairs.tolist(), best.sigmoid().tolist(), strict=True)
    )
    return ["source", "target", "probability"], rows
