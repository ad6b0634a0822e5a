"""One run under way: model, optimiser, curves, best epoch; what a checkpoint holds."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from pgso.data import Task
from pgso.data.description import MOST_EDGES, cells_of, sketched_items
from pgso.drawing import chosen_nodes
from pgso.errors import InputError
from pgso.evaluation.scores import evaluation_of
from pgso.models.build import Model, build_model
from pgso.records import RunSpec
from pgso.records.data import Cell
from pgso.records.record import Evaluation
from pgso.records.spec import SevenNumbers
from pgso.scale.place import Where, place_of
from pgso.training.learning import Criterion, OperatorLearning, limit_radius
from pgso.training.loops import Run, loop_of
from pgso.training.scoring import Curves, Scoring, Selection, is_certifiable, seven_numbers

MakeNetwork = Callable[[RunSpec, Task], nn.Module]


class Divergence(Exception):  # noqa: N818  (it is an event of a run, which is recorded)
    """The loss or a scalar of an operator has become NaN or infinite."""


@dataclass(frozen=True)
class Best:
    """The epoch that validation likes best so far."""

    merit: tuple[float, float] = (-math.inf, -math.inf)  # of its val score, minus its val loss
    epoch: int | None = None
    weights: dict[str, Tensor] | None = None


class Session:
    """A run that can be stepped, observed, saved and resumed.

    Args:
        spec: What to run; ``operator`` is one of fixed, pgso, mpgso.
        task: The data of the spec.
        device: Where the run computes, as in :func:`pgso.fit`.
        network: Makes the model to train, such as a user's own; by default the spec's network.
    """

    def __init__(
        self, spec: RunSpec, task: Task, device: Where = None, network: MakeNetwork | None = None
    ) -> None:
        torch.manual_seed(spec.seed)
        self.spec, self.task = spec, task
        self.place = place_of(device)
        self.device = self.place.device
        self.scoring = Scoring(task)
        self.criterion = Criterion.of(spec, task, self.device)
        learned = self.criterion.learned(task)
        self.learned_y = learned.y[self.scoring.scored]
        self.is_ours = network is None  # then theory and presets are about the task's graph
        self.model: Any = (network or build_model)(spec, task).to(self.device)
        self.selection = Selection(spec, task, self.scoring)
        shown = self.selection.learning(learned)
        run = Run(spec, shown, self.criterion, self.scoring.scored, self.place)
        self.loop = loop_of(run)
        if any(isinstance(p, UninitializedParameter) for p in self.model.parameters()):
            self.loop.outputs(self.model)  # lazy layers find their widths
        self.network = self.place.data_parallel(self.model)
        self.learning = OperatorLearning(spec, self.model)
        # Fused Adam is one call. The default makes ten small calls per scalar parameter.
        self.optimiser = torch.optim.Adam(self.learning.groups, fused=True)
        self.scheduler = torch.optim.lr_scheduler.StepLR(
            self.optimiser, spec.lr_step, spec.lr_decay
        )
        self._limit_radius()
        self._curves = Curves(task.graph)
        self._tensors = tensors_of(self.model)  # to walk through a model takes as long as a copy
        self.best = Best()

    @property
    def epoch(self) -> int:
        """How many epochs have ended."""
        return self._curves.epochs

    @property
    def curves(self) -> dict[str, list[Any]]:
        """Loss, scores, S and certified intervals of every epoch that has ended."""
        return self._curves.values()

    @property
    def best_epoch(self) -> int | None:
        """The epoch that validation likes best so far, counted from 0."""
        return self.best.epoch

    @property
    def best_weights(self) -> dict[str, Tensor]:
        """Its weights; none before the first epoch has ended."""
        return self.best.weights or {}

    def operators(self) -> tuple[SevenNumbers, ...]:
        """The current S of every operator: means where it has many values."""
        return tuple(seven_numbers(gso.S.detach()) for gso in self.model.operators)

    def run_epoch(self) -> None:
        """Train for one epoch, then score, and remember the weights if they are the best yet."""
        if self.place.num_ranks > 1:  # after resuming a checkpoint all would have one state
            torch.manual_seed(hash((self.spec.seed, self.epoch, self.place.rank)))
        self.model.train()
        loss = self._train()
        self.scheduler.step()
        # Running statistics only: of three processes, the mean of a fixed S may be another number.
        self.place.average(
            value
            for name, value in self.model.named_buffers()
            if name.rpartition(".")[2].startswith("running_")
        )
        self.end_epoch(loss, self.loop.outputs(self.model))

    def end_epoch(self, loss: float, outputs: Tensor) -> None:
        """Score the outputs of an epoch, and remember the weights if they are the best yet.

        Args:
            loss: Of the training examples.
            outputs: Of the scored examples, as the loop gives them.
        """
        out, val_loss = self._judged(outputs)
        self.check_finite("validation loss", val_loss)
        self.record(loss, out)
        merit = self.selection.merit(out, self._curves.last("val"), val_loss)
        if merit > self.best.merit:
            weights = {name: value.detach().clone() for name, value in self._tensors.items()}
            self.best = Best(merit, self.epoch - 1, weights)

    def _train(self) -> float:
        """Every step of an epoch, and the mean loss.

        A number is taken off the device in the first step, and once more after several: each
        time the device has to wait. So a loss that stops being a number in a later step is
        noticed at the end of the epoch.
        """
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        steps = seen = 0
        mean = 0.0
        for loss, count in self.loop.losses(self.network, self.epoch):
            if steps == 0:
                mean = self._mean_of_processes(loss)
            held_out = self.loop.held_out_loss(self.model) if self.learning.on_validation else None
            self._step(loss, held_out)
            total += loss.detach().double() * count
            steps, seen = steps + 1, seen + count
        return mean if steps < 2 else self._mean_of_processes(total / seen)

    def _mean_of_processes(self, loss: Tensor) -> float:
        mean = self.place.total(loss.item()) / self.place.num_ranks
        self.check_finite("loss", mean)
        return mean

    def _step(self, loss: Tensor, held_out: Tensor | None = None) -> None:
        self.optimiser.zero_grad()
        self.learning.backward(loss, held_out, self.epoch)
        if held_out is not None:  # torch averages the gradients of the other loss alone
            self.place.average(scalar.grad for scalar in self.learning.scalars)
        self.optimiser.step()
        self._limit_radius()

    def _limit_radius(self) -> None:
        if self.spec.max_radius is not None:
            graph = self.task.graph.to(self.device)
            limit_radius(self.model.operators, graph, self.spec.max_radius)

    def check_finite(self, what: str, *values: float) -> None:
        """Stop here rather than train on: what is not finite now will be NaN everywhere soon."""
        for value in values:
            if not math.isfinite(value):
                raise Divergence(
                    f"the {what} became {value} in epoch {self.epoch}, "
                    f"where S was {'; '.join(str(S) for S in self.operators())}"
                )

    def evaluate(self) -> tuple[Tensor, float]:
        """The outputs of every part of the split, in the targets' unit, and the validation loss."""
        return self._judged(self.loop.outputs(self.model))

    def _judged(self, out: Tensor) -> tuple[Tensor, float]:
        val, y = (self.scoring.by_part(values)["val"] for values in (out, self.learned_y))
        criterion = self.criterion
        if criterion.weight is not None:
            criterion = replace(criterion, weight=criterion.weight.cpu())
        return criterion.decoded(out), criterion(val, y).item()

    def record(self, loss: float, out: Tensor) -> None:
        """Put the epoch's loss, scores and S on the curves."""
        gsos = self.model.operators
        values = [gso.S.detach().cpu() for gso in gsos]
        operators = tuple(map(seven_numbers, values))
        self.check_finite("operator", *(number for S in operators for number in S))
        scores = self.scoring.scores(out)
        certifiable = self.is_ours and is_certifiable(gsos)
        self._curves.add(values, certifiable, loss=loss, **scores, parameters=operators)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """All that a run needs to be resumed: tensors by name, and plain data."""
        tensors = {f"model/{name}": value for name, value in tensors_of(self.model).items()}
        tensors |= {f"best/{name}": value for name, value in self.best_weights.items()}
        state = self.optimiser.state_dict()
        for number, values in state["state"].items():
            tensors |= {f"optimiser/{number}/{name}": value for name, value in values.items()}
        if self.selection.judged is not None:
            tensors["judged"] = self.selection.judged
        tensors["random"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random_cuda"] = torch.cuda.get_rng_state(self.device)
        return tensors, {
            "spec": self.spec.model_dump(mode="json"),
            "curves": self.curves,
            "best": self.best.merit,
            "best_epoch": self.best.epoch,
            "judged": self.selection.judged_merit,
            "scheduler": self.scheduler.state_dict(),
            "rates": [group["lr"] for group in state["param_groups"]],
        }

    def resume(self, tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
        """Go on from a state, as if the run had never been stopped."""
        assign(self.model, _part(tensors, "model/"))
        state = self.optimiser.state_dict()
        state["state"] = {}
        for name, value in _part(tensors, "optimiser/").items():
            number, moment = name.split("/")
            state["state"].setdefault(int(number), {})[moment] = value
        for group, rate in zip(state["param_groups"], plain["rates"], strict=True):
            group["lr"] = rate
        self._check_moments(state["state"])
        self.optimiser.load_state_dict(state)
        self.scheduler.load_state_dict(plain["scheduler"])
        self._curves = Curves(self.task.graph, plain["curves"])
        merit, loss = plain["best"]
        self.best = Best((merit, loss), plain["best_epoch"], _part(tensors, "best/"))
        if "judged" in tensors:
            merit, loss = plain["judged"]
            self.selection.judged, self.selection.judged_merit = tensors["judged"], (merit, loss)
        torch.set_rng_state(tensors["random"])
        if self.device.type == "cuda" and "random_cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random_cuda"], self.device)

    def _check_moments(self, state: dict[int, dict[str, Tensor]]) -> None:
        """Refuse moments that are not of the parameters' shapes: the fused step would not look."""
        parameters = [p for group in self.optimiser.param_groups for p in group["params"]]
        for number, moments in state.items():
            for name, value in moments.items():
                if name != "step" and value.shape != parameters[number].shape:
                    raise ValueError(f"moment {name} of parameter {number}")


def tensors_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """Every tensor of a model's state under one name, shared ones once."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def assign(model: torch.nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put saved weights into a model; weights of another model are refused."""
    current = tensors_of(model)
    if current.keys() != tensors.keys():
        raise InputError("the saved weights belong to another model")
    with torch.no_grad():
        for name, value in tensors.items():
            current[name].copy_(value)


def take_best(session: Session) -> Model:
    """The session's model with the weights of its best epoch."""
    assign(session.model, session.best_weights)
    model: Model = session.model
    return model


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def evaluate(session: Session) -> Evaluation | None:
    """Counts and curves of the test set, or of validation where there is no test set.

    The model has the weights of its best epoch afterwards. None without such an epoch.
    """
    if not session.best_weights:
        return None
    take_best(session)
    out, _ = session.evaluate()
    outputs, answers = (
        {part: rows.numpy(force=True) for part, rows in session.scoring.by_part(values).items()}
        for values in (out, session.scoring.y)
    )
    task = session.task
    positive = None if task.positive is None else task.classes.index(task.positive)
    names = task.targets or task.classes
    evaluation = evaluation_of(task.answer, outputs, answers, names, positive)
    return evaluation.model_copy(update={"sketched": _sketched(session, out)})


def _sketched(session: Session, out: Tensor) -> tuple[Cell, ...]:
    """What is predicted of the nodes that a page draws; None of those that have no score."""
    task = session.task
    if task.answer not in ("class", "value") or task.graph.num_edges > MOST_EDGES:
        return ()
    edges = task.graph.edge_index.numpy(force=True)
    items = sketched_items(task, chosen_nodes(edges, task.graph.num_nodes))
    rows = {int(item): row for row, item in enumerate(session.scoring.scored)}
    values = out.cpu().argmax(dim=1) if task.answer == "class" else out.cpu()
    cells = cells_of(values, task.classes)
    return tuple(cells[rows[item]] if item in rows else None for item in items.tolist())
