"""One run under way: model, optimiser, curves, best epoch; what a checkpoint holds."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pgso.convs import CONVS
from pgso.data import Task
from pgso.data.batch import Batch
from pgso.graph import Graph
from pgso.models.gnn import GNN
from pgso.records import RunSpec
from pgso.records.spec import SevenNumbers
from pgso.scale import ranks
from pgso.spectrum.interval import gershgorin_interval
from pgso.training.feeds import Feed, feed_of
from pgso.training.metrics import score_parts
from pgso.training.operator_learning import OperatorLearning
from pgso.training.stability import limit_radius

EVALUATED_AT_ONCE = 2048  # graphs in one forward pass of an evaluation
CERTIFIED_AT_ONCE = 2**20  # discs of Theorem 2 in one go
MANY_GRAPHS = 10_000  # above this, training graphs are not scored again every epoch


class Divergence(Exception):  # noqa: N818  (it is an event of a run, which is recorded)
    """The loss or an operator is no longer made of numbers."""


class Session:
    """A run that can be stepped, looked at, put away and taken up again.

    Args:
        spec: What to run; ``operator`` is one of fixed, pgso, mpgso.
        task: The data of the spec.
    """

    def __init__(self, spec: RunSpec, task: Task) -> None:
        torch.manual_seed(spec.seed)
        self.spec, self.task = spec, task
        self.model = build_model(spec, task).to(ranks.device())
        self.feed = feed_of(spec, task, self.model)
        self.network = ranks.data_parallel(self.model)
        self.learning = OperatorLearning(spec, self.model)
        # Fused: else ten calls for every scalar.
        self.optimiser = torch.optim.Adam(self.learning.groups, fused=True)
        self.scheduler = torch.optim.lr_scheduler.StepLR(
            self.optimiser, spec.lr_step, spec.lr_decay
        )
        self._limit_radius()
        self._curves: dict[str, list[Any]] = {
            name: [] for name in ("loss", "train", "val", "test", "parameters", "interval")
        }
        self._uncertified: list[list[Tensor]] = []  # by epoch, the S of each operator
        self.best: tuple[float, float] = (-math.inf, -math.inf)  # val score, minus val loss
        self.best_epoch: int | None = None
        self.best_weights: dict[str, Tensor] = {}

        parts = {"train": task.train, "val": task.val, "test": task.test}
        if task.kind == "graph" and task.train.numel() > MANY_GRAPHS:
            del parts["train"]
        self.sizes = {name: index.numel() for name, index in parts.items()}
        self.scored = torch.cat(list(parts.values()))  # whose logits an evaluation needs
        self.scored_y = task.y[self.scored]
        self.train_y = task.y[task.train]
        self.scored_batches = graph_batches(task, self.scored) if task.kind == "graph" else []

    @property
    def epoch(self) -> int:
        """How many epochs have ended."""
        return len(self._curves["loss"])

    @property
    def curves(self) -> dict[str, list[Any]]:
        """Loss, scores, S and certified intervals of every epoch that has ended.

        Intervals are found when someone looks: those of many epochs take as long as one.
        """
        if self._uncertified:
            graph, waiting = self.task.graph, zip(*self._uncertified, strict=True)
            self._uncertified = []
            by_operator = [certified_ends(graph, values) for values in waiting]
            self._curves["interval"] += [list(ends) for ends in zip(*by_operator, strict=True)]
        return self._curves

    @curves.setter
    def curves(self, values: dict[str, list[Any]]) -> None:
        self._curves, self._uncertified = values, []

    def operators(self) -> tuple[SevenNumbers, ...]:
        """The current S of every operator: means where it has many values."""
        return tuple(_seven_numbers(gso.S.detach()) for gso in self.model.operators)

    def run_epoch(self) -> None:
        """Train for one epoch, then score, and remember the weights if they are the best yet."""
        if ranks.num_ranks() > 1:  # else those that take up a checkpoint would share one state
            torch.manual_seed(hash((self.spec.seed, self.epoch, ranks.rank())))
        self.model.train()
        if self.feed is not None:
            loss = self._train_from(self.feed)
        else:
            loss = self._train_graphs() if self.task.kind == "graph" else self._train_nodes()
        self.scheduler.step()
        ranks.average(value for value in self.model.buffers() if value.is_floating_point())
        logits, val_loss = self.evaluate()
        self._check_finite("validation loss", val_loss)
        self.record(loss, logits)
        val = self._curves["val"][-1]
        candidate = (-math.inf if val is None else val, -val_loss)
        if candidate > self.best:
            self.best, self.best_epoch = candidate, self.epoch - 1
            self.best_weights = {
                name: value.detach().clone() for name, value in tensors_of(self.model).items()
            }

    def _train_nodes(self) -> float:
        task = self.task
        logits = self.model(task.x, task.graph)
        held_out = None
        if self.learning.on_validation:
            held_out = functional.cross_entropy(logits.index_select(0, task.val), task.y[task.val])
        loss = functional.cross_entropy(logits.index_select(0, task.train), self.train_y)
        return self._step(loss, held_out)

    def _train_from(self, feed: Feed) -> float:
        total, seen = 0.0, 0
        for loss, count in feed.losses(self.network, self.epoch):
            held_out = feed.held_out_loss(self.model) if self.learning.on_validation else None
            total += self._step(loss, held_out) * count
            seen += count
        return total / max(seen, 1)

    def _train_graphs(self) -> float:
        task, total, seen = self.task, 0.0, 0
        order = ranks.of_first(task.train[torch.randperm(task.train.numel())])
        for indices in order.split(self.spec.batch_size):
            shares = ranks.shares(indices)
            # Batch norm cannot take a single node; all processes skip the same batches.
            if min(int(task.nodes_per_graph[share].sum()) for share in shares) < 2:
                continue
            own = shares[ranks.rank()]
            weight = own.numel() * len(shares) / indices.numel()
            loss = weight * self._loss(task.batch(own), self.network)
            total += self._step(loss, self._held_out_loss()) * indices.numel()
            seen += indices.numel()
        return total / max(seen, 1)

    def _loss(self, batch: Batch, network: torch.nn.Module) -> Tensor:
        batch = batch.to(ranks.device())
        logits = network(batch.x, batch.graph, None, batch.batch, batch.num_graphs)
        return functional.cross_entropy(logits, batch.y)

    def _held_out_loss(self) -> Tensor | None:
        """The loss of as many validation graphs as a batch has, for S to learn on."""
        if not self.learning.on_validation:
            return None
        val = self.task.val
        chosen = torch.randperm(val.numel())[: max(self.spec.batch_size, 2)]
        return self._loss(self.task.batch(val[chosen]), self.model)

    def _step(self, loss: Tensor, held_out: Tensor | None = None) -> float:
        value = ranks.total(loss.item()) / ranks.num_ranks()
        self._check_finite("loss", value)
        self.optimiser.zero_grad()
        self.learning.backward(loss, held_out, self.epoch)
        if held_out is not None:  # torch averages the gradients of the other loss alone
            ranks.average(scalar.grad for scalar in self.learning.scalars)
        self.optimiser.step()
        self._limit_radius()
        return value

    def _limit_radius(self) -> None:
        if self.spec.max_radius is not None:
            limit_radius(self.model.operators, self.task.graph, self.spec.max_radius)

    def _check_finite(self, what: str, *values: float) -> None:
        """Stop here rather than train on: what is not finite now will be NaN everywhere soon."""
        for value in values:
            if not math.isfinite(value):
                raise Divergence(
                    f"the {what} became {value} in epoch {self.epoch}, "
                    f"where S was {'; '.join(str(S) for S in self.operators())}"
                )

    def evaluate(self) -> tuple[Tensor, float]:
        """The class scores of every part of the split, and the validation loss."""
        if self.feed is not None:
            logits = self.feed.logits(self.model).index_select(0, self.scored)
        elif self.task.kind == "graph":
            logits = predict_graphs(self.model, self.scored_batches)
        else:
            logits = predict_logits(self.model, self.task).index_select(0, self.scored)
        val, y = (self.by_part(values)["val"] for values in (logits, self.scored_y))
        return logits, functional.cross_entropy(val, y).item()

    def record(self, loss: float, logits: Tensor) -> None:
        """Put the epoch's loss, scores and S on the curves."""
        gsos = self.model.operators
        values = [gso.S.detach() for gso in gsos]
        operators = tuple(map(_seven_numbers, values))
        self._check_finite("operator", *(number for S in operators for number in S))
        scores: dict[str, float | None] = dict.fromkeys(("train", "val", "test"))
        found = score_parts(self.task.metric, logits, self.scored_y, [*self.sizes.values()])
        scores.update(zip(self.sizes, found, strict=True))
        for name, value in {"loss": loss, **scores, "parameters": operators}.items():
            self._curves[name].append(value)
        # With an S per node eigenvalues need not be real: nothing is certified then.
        certifiable = all(gso.kind not in ("node", "structural") for gso in gsos)
        if self.task.graph.is_undirected and certifiable:
            self._uncertified.append(values)

    def by_part(self, values: Tensor) -> dict[str, Tensor]:
        """What belongs to the scored examples, cut into train, val and test."""
        parts = values.split(list(self.sizes.values()))
        return dict(zip(self.sizes, parts, strict=True))


def _seven_numbers(S: Tensor) -> SevenNumbers:
    m1, m2, m3, e1, e2, e3, a = (S if S.dim() == 1 else S.flatten(1).mean(1)).tolist()
    return m1, m2, m3, e1, e2, e3, a


def certified_ends(
    graph: Graph, by_epoch: Sequence[Tensor]
) -> list[tuple[float, float]]:  # one per epoch
    """Theorem 2 for an operator's S in several epochs, as if each were a channel of one S."""
    found: list[tuple[float, float]] = []
    width = by_epoch[0].numel() // 7  # how many values S has of each scalar
    at_once = max(1, CERTIFIED_AT_ONCE // (graph.kinds_of_nodes[0].numel() * width))
    for start in range(0, len(by_epoch), at_once):
        part = torch.stack([*by_epoch[start : start + at_once]], dim=1)
        ends = gershgorin_interval(graph, part.reshape(7, 1, -1))
        low, high = (end.view(-1, width) for end in ends)
        found += zip(low.amin(1).tolist(), high.amax(1).tolist(), strict=True)
    return found


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
        shape=("node", task.num_nodes) if spec.shape == "node" else spec.shape,
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
    """Class scores of every node or graph."""
    if task.kind == "graph":
        return predict_graphs(model, graph_batches(task, torch.arange(task.num_graphs)))
    model.eval()
    with torch.no_grad():
        logits: Tensor = model(task.x, task.graph)
        return logits


def predict_graphs(model: GNN, batches: Iterable[Batch]) -> Tensor:  # (graphs, C)
    """Class scores of the graphs of these batches."""
    model.eval()
    moved = (part.to(ranks.device()) for part in batches)
    with torch.no_grad():
        return torch.cat(
            [model(part.x, part.graph, None, part.batch, part.num_graphs) for part in moved]
        ).cpu()


def graph_batches(task: Task, indices: Tensor) -> list[Batch]:
    """Some graphs of a task, in batches as large as an evaluation takes at once."""
    return [task.batch(part) for part in indices.split(EVALUATED_AT_ONCE)]


def tensors_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every tensor of a model's state under one name, shared ones once."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
