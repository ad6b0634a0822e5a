"""``pgso.compare``: does learning the operator pay? The command's paired comparison, in Python."""

import copy
import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter
from torch_geometric.data.data import BaseData

from pgso.data import Task
from pgso.data.dataset import suited
from pgso.data.links import link_task
from pgso.data.load import task_of
from pgso.data.pyg import unanswered_arrays
from pgso.data.task import IN_MEMORY
from pgso.errors import InputError
from pgso.gso.module import PGSO
from pgso.models.conversion import ConversionWarning, convert
from pgso.models.links import LinkModel
from pgso.models.optimisation import param_groups
from pgso.records import RunRecord, RunSpec
from pgso.records.spec import SevenNumbers
from pgso.report.comparison import Comparison, nothing_found
from pgso.report.comparison import compare as compare_records
from pgso.scale.place import place_of
from pgso.training.criterion import Criterion
from pgso.training.engines import one_thread
from pgso.training.fit import check_task, fit_task
from pgso.training.loops import loop_of
from pgso.training.loops.loop import Run
from pgso.training.own_model import OwnModel
from pgso.training.scoring import Scoring

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
    records = []
    for record in _records(data, model, seeds, root, choices):
        if nothing_found(record):
            continue
        records.append(record)
        if tell is not None:
            tell(record)
    return compare_records(records)


def _records(
    data: Any, model: nn.Module | None, seeds: int, root: Any, choices: dict[str, Any]
) -> Iterator[RunRecord]:
    """The runs of all seeds."""
    for seed in range(seeds):
        if isinstance(data, str | os.PathLike):
            spec = suited(RunSpec(**{**choices, "dataset": os.fspath(data), "seed": seed}))
            task = task_of(spec, root)  # with the options that a dataset suggests
        else:
            task = _task(data, seed, choices)
            spec = suited(RunSpec(**{**choices, "dataset": task.name, "seed": seed}), task)
        if task.test.numel() == 0:
            raise InputError(f"{task.name} has no test set to compare on; give one")
        if model is not None:
            yield from _runs_of_model(task, data, model, spec)
            continue
        for one in spec.compared:
            yield fit_task(one, task)[1]


def _task(data: Any, seed: int, choices: dict[str, Any]) -> Task:
    """The task of data in memory."""
    kind, objective = choices.get("task"), choices.get("objective")
    if isinstance(data, Task):
        task = data
    elif kind == "link":
        options: dict[str, Any] = dict(choices.get("data_options", {}))
        return link_task(IN_MEMORY, unanswered_arrays(data), seed, **options).scored_by(objective)
    else:
        task = Task.from_data(data, seed, objective=objective)
    if kind not in (None, task.kind):
        raise InputError(f"the data are a {task.kind} task, not a {kind} task; leave out task")
    named = choices.get("data_options", {}).get("positive")
    return task.scored_by(objective).with_positive(named)


def _runs_of_model(task: Task, data: Any, model: nn.Module, spec: RunSpec) -> Iterator[RunRecord]:
    check_task(spec, task)
    dense = task if task.x.layout == torch.strided else replace(task, x=task.x.to_dense())
    named = spec.but(conv=type(model).__name__)
    for operator in OPERATORS:
        yield _run(model, dense, data, named.but(operator=operator))


def _run(model: nn.Module, task: Task, data: Any, spec: RunSpec) -> RunRecord:
    """A run of the model as it is, or of its converted self, from the seed's weights."""
    with torch.random.fork_rng(devices=[]), one_thread():
        torch.manual_seed(spec.seed)
        fresh = _reset(copy.deepcopy(model))
        if spec.operator in ("pgso", "mpgso"):
            with warnings.catch_warnings():  # said before the first run
                warnings.simplefilter("ignore", ConversionWarning)
                fresh = convert(fresh, spec.operator)
        single = data if isinstance(data, BaseData) else None
        network: Any = OwnModel(fresh, task, single, _is_weighted(data))
        if task.kind == "link":
            network = LinkModel(network, 0)
        torch.manual_seed(spec.seed)  # the same dropout
        return _trained(network, task, spec)


def _is_weighted(data: Any) -> bool:
    """Whether edges have weights: of a name or a task, its graph knows."""
    if isinstance(data, str | os.PathLike | Task):
        return True
    first = data if isinstance(data, BaseData) else data[0]
    return getattr(first, "edge_weight", None) is not None


def _reset(model: nn.Module) -> nn.Module:
    """New weights for every seed."""
    reset = getattr(model, "reset_parameters", None)
    parts = [model] if callable(reset) else model.children()
    for part in parts:
        for module in [part] if hasattr(part, "reset_parameters") else part.modules():
            if callable(renew := getattr(module, "reset_parameters", None)):
                renew()
    return model


def _trained(network: nn.Module, task: Task, spec: RunSpec) -> RunRecord:
    """A run of a user's model; the epoch is chosen on validation."""
    criterion, scoring = Criterion.of(spec, task), Scoring(task)
    learned = criterion.learned(task)
    run = Run(spec, learned, criterion, scoring.scored, place_of("cpu"))
    loop, merit = loop_of(run), task.objective.merit
    if any(isinstance(p, UninitializedParameter) for p in network.parameters()):
        loop.outputs(network)  # lazy layers find their widths
    gsos = [module for module in network.modules() if isinstance(module, PGSO)]
    start = _values(gsos)
    optimiser = torch.optim.Adam(
        param_groups(network, spec.lr, spec.exponent_lr, spec.weight_decay)
    )
    halving = torch.optim.lr_scheduler.StepLR(optimiser, spec.lr_step, spec.lr_decay)
    best: dict[str, Any] = {"epoch": None, "val": None, "test": None}
    best_merit = (-math.inf, -math.inf)
    val_y = scoring.by_part(learned.y[scoring.scored])["val"]
    losses: list[float] = []
    error = None
    for epoch in range(spec.epochs):
        network.train()
        total, count = 0.0, 0
        for loss, size in loop.losses(network, epoch):
            total, count = total + float(loss.detach()) * size, count + size
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        halving.step()
        losses.append(total / max(count, 1))
        if not math.isfinite(losses[-1]):
            error = f"the loss became {losses[-1]} in epoch {epoch}"
            break
        out = loop.outputs(network)
        scores = scoring.scores(criterion.decoded(out))
        val_loss = float(criterion(scoring.by_part(out)["val"], val_y))
        if best["epoch"] is None or (merit(scores["val"]), -val_loss) > best_merit:
            best_merit = merit(scores["val"]), -val_loss  # among equals, the smaller loss
            best = {"epoch": epoch, "val": scores["val"], "test": scores["test"]}
            best["parameters"] = _values(gsos)
    return RunRecord(
        spec=spec,
        status="done" if error is None else "diverged",
        error=error,
        metric=task.metric,
        positive=task.objective.positive_name,
        curves={"loss": losses},
        start=start,
        **best,
    )


def _values(gsos: list[PGSO]) -> tuple[SevenNumbers, ...]:
    return tuple(tuple(gso.parameters_tuple()) for gso in gsos)  # type: ignore[misc]
