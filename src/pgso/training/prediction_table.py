"""Predictions as people use them: names, probabilities and intervals, a row for each item."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from pgso.data import Task
from pgso.data.links import NonLinks
from pgso.data.tables.answers import SEVERAL
from pgso.errors import InputError
from pgso.models.links import LinkModel
from pgso.objectives import OBJECTIVES
from pgso.objectives.values import Scale
from pgso.training.checkpoint import LEVEL

Rows = Iterator[list[Any]]
MOST_NODES = 50_000  # above which the best of all pairs would take too long


def prediction_table(
    header: Mapping[str, Any],  # of a saved model
    out: Tensor,  # (items, outputs) of its network
    task: Task,
    trained_here: bool,
) -> tuple[list[str], Rows]:
    """The names of the columns, and the rows: what the model says, then what is known.

    Where the task has answers, there are columns ``label``, or ``true NAME`` of numbers. Where it
    is the one that the model was trained on, ``split`` says who was trained on.

    Classes: the most probable one, how probable it is, and the probability of every class,
    calibrated by the temperature that was fitted on validation. Labels: those above one half, as
    ``red|blue``, and the probability of each, calibrated likewise. Numbers: the
    prediction and an interval that 90 % of the validation targets lie in.
    """
    separator = header["spec"].get("data_options", {}).get("label_separator") or SEVERAL
    columns, rows = _said(header, out, task.ids or range(len(out)), separator)
    known_columns, answers = _known(task, trained_here, separator)
    return [*columns, *known_columns], (
        [*row, *more] for row, more in zip(rows, answers, strict=True)
    )


def _said(
    header: Mapping[str, Any], out: Tensor, ids: Sequence[Any], separator: str
) -> tuple[list[str], Rows]:
    answer = OBJECTIVES[header.get("objective", "accuracy")].answer
    if answer == "value":
        return _numbers(header, out, ids)
    names = list(header["classes"])
    columns = [f"p({name})" for name in names]
    temperature = calibration_of(header).get("temperature", 1.0)
    if answer == "labels":
        probabilities = (out / temperature).sigmoid()
        return ["id", "prediction", *columns], _labels(names, probabilities, ids, separator)
    probabilities = (out / temperature).softmax(dim=1)
    return ["id", "prediction", "probability", *columns], _classes(names, probabilities, ids)


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


def _classes(names: Sequence[str], probabilities: Tensor, ids: Sequence[Any]) -> Rows:
    codes = probabilities.argmax(dim=1).tolist()
    for name, chosen, row in zip(ids, codes, probabilities.tolist(), strict=True):
        yield [name, names[chosen], row[chosen], *row]


def _labels(
    names: Sequence[str], probabilities: Tensor, ids: Sequence[Any], separator: str
) -> Rows:
    for name, row in zip(ids, probabilities.tolist(), strict=True):
        chosen = [label for label, p in zip(names, row, strict=True) if p > 0.5]
        yield [name, _joined(chosen, separator), *row]


def _joined(labels: Sequence[str], separator: str) -> str:
    """As labels.csv has them, where a separator alone says that there are none."""
    return separator.join(labels) or separator


def _numbers(header: Mapping[str, Any], out: Tensor, ids: Sequence[Any]) -> tuple[list[str], Rows]:
    """With logarithms, the interval is as wide in the logarithm: a factor up and down."""
    scale = Scale(**header["scale"])
    plain = Scale(scale.mean, scale.sd)  # in the logarithm, where one was learned
    width = torch.tensor(header.get("residuals") or [torch.nan] * len(scale.mean))
    middle = plain.decode(out)
    ends = [middle - width, middle, middle + width]
    low, value, high = (end.exp() if scale.log else end for end in ends)
    names = list(header["targets"])
    percent = f"{100 * LEVEL:.0f}"
    columns = [
        c for name in names for c in (name, f"{name} low {percent}", f"{name} high {percent}")
    ]
    table = torch.stack([value, low, high], dim=2).flatten(1).tolist()
    rows = ([name, *row] for name, row in zip(ids, table, strict=True))
    return ["id", *columns], rows


def most_probable_links(
    model: LinkModel, task: Task, count: int, ids: Sequence[Any]
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
            free = ~torch.from_numpy(none.are_links(from_here.numpy()))
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
