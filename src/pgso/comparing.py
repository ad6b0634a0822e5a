"""``pgso.compare``: does learning the operator pay? The command's paired comparison, in Python."""

import copy
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn

from pgso.data import Task, load_task
from pgso.errors import InputError
from pgso.models.conversion import convert
from pgso.models.optimisation import param_groups
from pgso.records import RunRecord, RunSpec
from pgso.report.comparison import Comparison
from pgso.report.comparison import compare as compare_records
from pgso.training.criterion import Criterion
from pgso.training.fit import check_task, fit_task
from pgso.training.scoring import Scoring
from pgso.training.threads import one_thread

OPERATORS = ("fixed", "pgso", "mpgso")
IN_MEMORY = "in memory"
CALLED = ("edge_weight", "edge_attr")  # how models call the weights of edges


def compare(
    data: Any,
    model: nn.Module | None = None,
    seeds: int = 10,
    *,
    root: str | os.PathLike[str] | None = None,
    tell: Callable[[RunRecord], None] | None = None,
    **choices: Any,
) -> Comparison:
    """Train with fixed and learned operators on the same seeds and splits; say which to use.

    Args:
        data: A dataset's name, a path of your own, a :class:`Task`, or PyG's data (see
            :meth:`Task.from_data`). Data without splits are split anew for every seed.
        model: A PyG model of yours for a node task, ``model(x, edge_index)``. It is compared with
            its converted self (:func:`pgso.convert`), one S for all layers and one S a layer, from
            the same weights. It is left unchanged. Without one, :class:`pgso.GNN` is trained.
        seeds: Runs per operator.
        root: Where datasets are; else ``$PGSO_DATA``.
        tell: Is called with the record of every run.
        choices: Of the :class:`RunSpec`, such as ``epochs=100`` or ``conv="gin"``; with a model of
            yours those of the training.

    Returns:
        The comparison: ``.verdict`` in a sentence, ``.test`` and ``.val`` with scores and paired
        differences.

    Example:
        >>> found = compare("karate", seeds=2, epochs=5)
        >>> found.operators, found.metric
        (('fixed', 'pgso', 'mpgso'), 'accuracy')
    """
    if model is not None and not isinstance(model, nn.Module):
        raise InputError(f"model must be a torch module, got {type(model).__name__}")
    if isinstance(seeds, bool) or not isinstance(seeds, int) or not 1 <= seeds <= 10_000:
        raise InputError(f"seeds must be a whole number from 1 to 10000, got {seeds!r}")
    for name in {"seed", "operator", "dataset"} & choices.keys():
        raise InputError(f"compare chooses {name} itself; leave it out")
    records = []
    for seed in range(seeds):
        task, named = _task(data, seed, root, choices)
        for record in _runs(task, model, RunSpec(**{**choices, "dataset": named, "seed": seed})):
            records.append(record)
            if tell is not None:
                tell(record)
    return compare_records(records)


def _task(data: Any, seed: int, root: Any, choices: dict[str, Any]) -> tuple[Task, str]:
    if isinstance(data, str | os.PathLike):
        options: dict[str, Any] = dict(choices.get("data_options", {}))
        wanted = {name: choices.get(name) for name in ("task", "objective")}
        return load_task(data, root, seed, **wanted, **options), os.fspath(data)
    if isinstance(data, Task):
        return data, data.name
    return Task.from_data(data, seed).scored_by(choices.get("objective")), IN_MEMORY


def _runs(task: Task, model: nn.Module | None, spec: RunSpec) -> Iterator[RunRecord]:
    if task.test.numel() == 0:
        raise InputError(f"{task.name} has no test set to compare on; give one")
    if model is None:
        for operator in OPERATORS:
            yield fit_task(spec.but(operator=operator), task)[1]
        return
    if task.kind != "node":
        raise InputError("a model of your own is compared on node tasks; train others yourself")
    check_task(spec, task)
    for operator in OPERATORS:
        yield _converted(model, task, spec.but(operator=operator, conv=type(model).__name__))


def _converted(model: nn.Module, task: Task, spec: RunSpec) -> RunRecord:
    """A run of the model as it is, or of its converted self, from the seed's weights."""
    with torch.random.fork_rng(devices=[]), one_thread():
        torch.manual_seed(spec.seed)
        fresh = _reset(copy.deepcopy(model))
        if spec.operator in ("pgso", "mpgso"):
            fresh = convert(fresh, spec.operator)
        torch.manual_seed(spec.seed)  # the same dropout
        return _trained(fresh, task, spec)


def _reset(model: nn.Module) -> nn.Module:
    """New weights for every seed."""
    reset = getattr(model, "reset_parameters", None)
    parts = [model] if callable(reset) else model.children()
    for part in parts:
        for module in [part] if hasattr(part, "reset_parameters") else part.modules():
            if callable(found := getattr(module, "reset_parameters", None)):
                found()
    return model


def _trained(model: nn.Module, task: Task, spec: RunSpec) -> RunRecord:
    """A run of a user's model: the whole graph at once, the epoch chosen on validation."""
    x = task.x if task.x.layout == torch.strided else task.x.to_dense()
    weights = _weights(model, task)
    criterion, scoring = Criterion.of(spec, task), Scoring(task)
    y = criterion.learned(task).y[task.train]
    groups = param_groups(model, spec.lr, spec.exponent_lr, spec.weight_decay)
    optimiser = torch.optim.Adam(groups)
    halving = torch.optim.lr_scheduler.StepLR(optimiser, spec.lr_step, spec.lr_decay)
    best: dict[str, Any] = {"epoch": None, "val": None, "test": None}
    losses: list[float] = []
    for epoch in range(spec.epochs):
        model.train()
        optimiser.zero_grad()
        out = _checked(model(x, task.graph.edge_index, **weights), task)
        loss = criterion(out[task.train], y)
        losses.append(float(loss.detach()))
        if not torch.isfinite(loss):
            return _record(task, spec, best, losses, "the loss is no longer a number")
        loss.backward()
        optimiser.step()
        halving.step()
        model.eval()
        with torch.no_grad():
            out = criterion.decoded(model(x, task.graph.edge_index, **weights))
        scores = scoring.scores(out[scoring.scored])
        merit = task.objective.merit
        if best["epoch"] is None or merit(scores["val"]) > merit(best["val"]):
            best = {"epoch": epoch, "val": scores["val"], "test": scores["test"]}
    return _record(task, spec, best, losses, None)


def _record(
    task: Task, spec: RunSpec, best: dict[str, Any], losses: list[float], error: str | None
) -> RunRecord:
    status: Literal["done", "diverged"] = "done" if error is None else "diverged"
    curves = {"loss": losses}
    return RunRecord(
        spec=spec, status=status, error=error, metric=task.metric, curves=curves, **best
    )


def _weights(model: nn.Module, task: Task) -> dict[str, Tensor]:
    if task.graph.edge_weight is None:
        return {}
    parameters = inspect.signature(model.forward).parameters
    named = next((name for name in CALLED if name in parameters), None)
    if named is None:
        raise InputError(
            f"the edges have weights, and {type(model).__name__}.forward takes none; give it an "
            "argument edge_weight, or leave the weights out of the data"
        )
    return {named: task.graph.edge_weight}


def _checked(out: Any, task: Task) -> Tensor:
    wanted = (task.num_nodes, task.num_outputs)
    if not isinstance(out, Tensor) or tuple(out.shape) != wanted:
        shape = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise InputError(f"the model must return numbers of shape {wanted}, got {shape}")
    return out
