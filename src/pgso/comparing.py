"""``pgso.compare``: does learning the operator pay? The command's paired comparison, in Python."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from pgso.conversion import convert
from pgso.data import Task
from pgso.data.dataset import suited
from pgso.data.links import link_task
from pgso.data.load import task_of
from pgso.data.pyg import unanswered_task
from pgso.errors import InputError
from pgso.evaluation.baselines import data_record
from pgso.records import RunRecord, RunSpec
from pgso.records.data import DataRecord
from pgso.report.comparison import Comparison
from pgso.report.comparison import compare as compare_records
from pgso.report.doubts import nothing_found
from pgso.training.fit import check_task, fit_task
from pgso.training.own_model import own_network

OPERATORS = ("fixed", "pgso", "mpgso")  # of a model of the user's
OF_A_MODEL = (  # choices that mean something for a model of the user's
    "task", "objective", "data_options", "log_targets", "class_weights",
    "epochs", "batch_size", "lr", "exponent_lr", "weight_decay", "lr_decay", "lr_step",
)  # fmt: skip


def compare(
    data: Any,
    model: nn.Module | None = None,
    seeds: int = 10,
    *,
    root: str | os.PathLike[str] | None = None,
    positive: object = None,
    tell: Callable[[RunRecord], None] | None = None,
    **choices: Any,
) -> Comparison:
    """Train with fixed, learned and found operators on the same seeds and splits; say which to use.

    Args:
        data: A dataset's name, a path of your own, a :class:`Task`, or PyG's data (see
            :meth:`Task.from_data`). Data without splits are split anew for every seed.
        model: A PyG model of yours. It is compared with its converted self
            (:func:`pgso.convert`), one S for all layers and one S a layer, from the same weights,
            drawn anew for every seed. It is left unchanged. It is called ``model(x, edge_index)``,
            of ``HeteroData`` ``model(x_dict, edge_index_dict)``, and by name with what else its
            ``forward`` takes and the data have (``edge_weight``, ``edge_attr``, ``edge_type``,
            ``batch``). For links it returns embeddings, whose dot products are the scores.
            Without one, :class:`pgso.GNN` is trained.
        seeds: Runs per operator.
        root: Where datasets are; by default ``$PGSO_DATA``.
        positive: Of two classes, the one that scores are about; by default the rarer one.
        tell: Is called with the record of every run.
        choices: Of the :class:`RunSpec`, such as ``epochs=100``, ``task="link"`` or
            ``conv="gin"``; with a model of yours only choices of the training.

    Returns:
        The comparison: ``.verdict`` in a sentence, ``.test`` and ``.val`` with scores and paired
        differences.

    Example:
        >>> found = compare("karate", seeds=2, epochs=5)
        >>> found.operators, found.metric
        (('fixed', 'pgso', 'mpgso', 'found'), 'accuracy')
    """
    if model is not None and not isinstance(model, nn.Module):
        raise InputError(f"model must be a torch module, got {type(model).__name__}")
    if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= 10_000:
        raise InputError(f"seeds must be a whole number from 1 to 10000, got {seeds!r}")
    for name in {"seed", "operator", "dataset"} & choices.keys():
        raise InputError(f"compare chooses {name} itself; leave it out")
    if positive is not None:
        choices["data_options"] = {**choices.get("data_options", {}), "positive": positive}
    if model is not None:
        for name in choices:
            if name in RunSpec.model_fields and name not in OF_A_MODEL:
                raise InputError(
                    f"{name} is a choice of our networks, and the model is yours; it takes "
                    f"{', '.join(OF_A_MODEL)}"
                )
        convert(model)  # refuses a model without layers to convert, warns of others
    described: list[DataRecord] = []
    records, kind, objective = [], choices.get("task"), choices.get("objective")
    for seed in range(seeds):
        if isinstance(data, str | os.PathLike):
            spec = suited(RunSpec(**{**choices, "dataset": os.fspath(data), "seed": seed}))
            task = task_of(spec, root)  # with the options that a dataset suggests
        else:
            options: dict[str, Any] = dict(choices.get("data_options", {}))
            if kind == "link" and not isinstance(data, Task):
                task = link_task(unanswered_task(data), seed, **options).scored_by(objective)
            else:
                given = {"objective": objective, "positive": options.get("positive")}
                task = Task.of(data, seed=seed, **given)
            if kind not in (None, task.kind):
                raise InputError(
                    f"the data are a {task.kind} task, not a {kind} task; leave out task"
                )
            spec = suited(RunSpec(**{**choices, "dataset": task.name, "seed": seed}), task)
        if task.test.numel() == 0:
            raise InputError(f"{task.name} has no test set to compare on; give one")
        described.append(data_record(spec, task=task, drawn=not described))
        specs, network = spec.compared, None
        if model is not None:
            check_task(spec, task)
            task = task if task.x.layout == torch.strided else replace(task, x=task.x.to_dense())
            network = partial(own_network, model, data)
            theirs = spec.but(conv=type(model).__name__, reorder=False)  # nodes as in the data
            specs = [theirs.but(operator=operator) for operator in OPERATORS]
        for one in specs:
            _, record = fit_task(one, task, device="cpu" if model else None, network=network)
            records.append(record)
            if tell is not None and not nothing_found(record):
                tell(record)
    return replace(compare_records(records), data=tuple(described))
