"""One run under way: model, optimiser, curves, best epoch; what a checkpoint holds."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pgso.convs import CONVS
from pgso.data import Task
from pgso.models.gnn import GNN
from pgso.models.optimisation import param_groups
from pgso.records import RunSpec
from pgso.records.spec import SevenNumbers
from pgso.spectrum.interval import gershgorin_interval
from pgso.training.metrics import score
from pgso.training.stability import limit_radius

EVALUATED_AT_ONCE = 2048  # graphs in one forward pass of an evaluation
MANY_GRAPHS = 10_000  # above this, training graphs are not scored again every epoch


class Divergence(Exception):  # noqa: N818  (it is an event of a run, which is recorded)
    """The loss is no longer a number."""


class Session:
    """A run that can be stepped, looked at, put away and taken up again.

    Args:
        spec: What to run; ``operator`` is one of fixed, pgso, mpgso.
        task: The data of the spec.
    """

    def __init__(self, spec: RunSpec, task: Task) -> None:
        torch.manual_seed(spec.seed)
        self.spec, self.task = spec, task
        self.model = build_model(spec, task)
        groups = param_groups(self.model, spec.lr, spec.exponent_lr, spec.weight_decay)
        self.optimiser = torch.optim.Adam(groups)
        self.scheduler = torch.optim.lr_scheduler.StepLR(
            self.optimiser, spec.lr_step, spec.lr_decay
        )
        self.curves: dict[str, list[Any]] = {
            name: [] for name in ("loss", "train", "val", "test", "parameters", "interval")
        }
        self.best: tuple[float, float] = (-math.inf, -math.inf)  # val score, minus val loss
        self.best_epoch: int | None = None
        self.best_weights: dict[str, Tensor] = {}

    @property
    def epoch(self) -> int:
        """How many epochs have ended."""
        return len(self.curves["loss"])

    def operators(self) -> tuple[SevenNumbers, ...]:
        """The current S of every operator."""
        return tuple(tuple(gso.S.tolist()) for gso in self.model.operators)

    def run_epoch(self) -> None:
        """Train for one epoch, then score, and remember the weights if they are the best yet."""
        self.model.train()
        loss = self._train_graphs() if self.task.kind == "graph" else self._train_nodes()
        self.scheduler.step()
        if not math.isfinite(loss):
            raise Divergence(
                f"the loss became {loss} in epoch {self.epoch}, "
                f"where S was {'; '.join(str(S) for S in self.operators())}"
            )
        scores, val_loss = self.evaluate()
        self.curves["loss"].append(loss)
        for part, value in scores.items():
            self.curves[part].append(value)
        operators = self.operators()
        self.curves["parameters"].append(operators)
        if self.task.graph.is_undirected:
            bounds = [gershgorin_interval(self.task.graph, S) for S in operators]
            self.curves["interval"].append([(float(low), float(high)) for low, high in bounds])
        val = scores["val"]
        candidate = (-math.inf if val is None else val, -val_loss)
        if candidate > self.best:
            self.best, self.best_epoch = candidate, self.epoch - 1
            self.best_weights = {
                name: value.detach().clone() for name, value in tensors_of(self.model).items()
            }

    def _train_nodes(self) -> float:
        task = self.task
        logits = self.model(task.x, task.graph)
        return self._step(functional.cross_entropy(logits[task.train], task.y[task.train]))

    def _train_graphs(self) -> float:
        task, total = self.task, 0.0
        order = task.train[torch.randperm(task.train.numel())]
        for indices in order.split(self.spec.batch_size):
            if indices.numel() < 2:  # batch norm cannot take a single graph
                continue
            batch = task.batch(indices)
            logits = self.model(batch.x, batch.graph, None, batch.batch, batch.num_graphs)
            total += self._step(functional.cross_entropy(logits, batch.y)) * indices.numel()
        return total / max(order.numel(), 1)

    def _step(self, loss: Tensor) -> float:
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        if self.spec.max_radius is not None:
            limit_radius(self.model.operators, self.task.graph, self.spec.max_radius)
        return loss.item()

    def evaluate(self) -> tuple[dict[str, float | None], float]:
        """The metric on each part of the split, and the validation loss."""
        task = self.task
        logits = predict_logits(self.model, task)
        scores = {
            part: score(task.metric, logits[index], task.y[index])
            for part, index in (("train", task.train), ("val", task.val), ("test", task.test))
        }
        if task.kind == "graph" and task.train.numel() > MANY_GRAPHS:
            scores["train"] = None
        val_loss = functional.cross_entropy(logits[task.val], task.y[task.val])
        return scores, float(val_loss) if task.val.numel() else math.inf


def build_model(spec: RunSpec, task: Task) -> GNN:
    """The network of a spec for a task; its weights are drawn from torch's generator."""
    assert spec.operator != "auto"
    options: dict[str, Any] = {}
    if CONVS[spec.conv].attends:
        options = {"heads": spec.heads, "attention_dropout": spec.dropout}
    return GNN(
        spec.conv,
        task.num_features,
        spec.hidden_channels,
        task.num_classes,
        num_layers=spec.num_layers,
        operator=spec.operator,
        preset=spec.preset,
        learn=spec.learn,
        dropout=spec.dropout,
        input_dropout=spec.input_dropout,
        norm=spec.norm,
        residual=spec.residual,
        jk=spec.jk,
        task=task.kind,
        pooling=spec.pooling,
        categories=task.categories,
        **options,
    )


def predict_logits(model: GNN, task: Task) -> Tensor:  # (n, C) or (num_graphs, C)
    """Class scores of every node or graph; large collections of graphs a part at a time."""
    model.eval()
    with torch.no_grad():
        if task.kind == "node":
            logits: Tensor = model(task.x, task.graph)
            return logits
        rows = []
        for indices in torch.arange(task.num_graphs).split(EVALUATED_AT_ONCE):
            part = task.batch(indices)
            rows.append(model(part.x, part.graph, None, part.batch, part.num_graphs))
        return torch.cat(rows)


def tensors_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every tensor of a model's state under one name, shared ones once."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
