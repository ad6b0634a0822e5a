"""One run under way: model, optimiser, curves, best epoch; its checkpoint and saved network."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import UninitializedParameter

from pgso.data import Task
from pgso.data.description import MOST_EDGES, cells_of, sketched_items
from pgso.drawing import chosen_nodes
from pgso.errors import InputError
from pgso.evaluation.conformal import calibrated
from pgso.evaluation.scores import evaluation_of
from pgso.graph import Graph
from pgso.graph.degrees import kinds_of_nodes
from pgso.models.build import Model, build_model
from pgso.records import RunRecord, RunSpec
from pgso.records.files import write_atomically
from pgso.records.numerics import NUMERICS
from pgso.records.record import Evaluation
from pgso.records.spec import SevenNumbers
from pgso.saved import count_of, header_of, naming, packed, unpacked, write_model
from pgso.scale.place import Where, place_of
from pgso.spectrum.interval import gershgorin_interval
from pgso.training.learning import NEVER, Criterion, OperatorLearning, Selection, limit_radius
from pgso.training.loops import LOOPS, Sampled

MakeNetwork = Callable[[RunSpec, Task], nn.Module]
CURVES = ("loss", "train", "val", "test", "parameters", "interval")
MANY_GRAPHS = 10_000  # above this, training graphs are not scored again every epoch
CERTIFIED_AT_ONCE = 2**20  # discs of Theorem 2 in one go


class Divergence(Exception):  # noqa: N818  (it is an event of a run, which is recorded)
    """The loss or a scalar of an operator has become NaN or infinite."""


class Session:
    """A run that can be stepped, observed, saved and resumed.

    The operator of its spec is fixed, pgso or mpgso. ``network`` makes the model to train, such as
    a user's own; by default it is the spec's.
    """

    def __init__(
        self, spec: RunSpec, task: Task, device: Where = None, network: MakeNetwork | None = None
    ) -> None:
        torch.manual_seed(spec.seed)
        self.spec, self.task, self.place = spec, task, place_of(device)
        self.device = self.place.device
        parts = {"train": task.train, "val": task.val, "test": task.test}
        # Training links are compared with other pairs every epoch: they have no score.
        if task.kind == "link" or (task.kind == "graph" and task.train.numel() > MANY_GRAPHS):
            del parts["train"]
        self.scored = torch.cat(list(parts.values()))  # whose outputs an evaluation needs
        self.answers = {name: task.y[index].numpy(force=True) for name, index in parts.items()}
        self.criterion = Criterion.of(spec, task, self.device)
        scale = self.criterion.scale
        learned_y = task.y if scale is None else scale.encode(task.y).float()
        self.learned_val = learned_y[task.val]
        self.is_ours = network is None  # then theory and presets are about the task's graph
        model: Any = (network or build_model)(spec, task).to(self.device)
        self.model, self.gsos = model, model.operators
        self.selection = Selection(spec, task)
        shown = task  # to the loop: targets on their scale, and validation that S may learn on
        if scale is not None or not bool(self.selection.teaches.all()):
            shown = replace(task, y=learned_y, val=task.val[self.selection.teaches])
        if self.place.num_ranks > 1 and not spec.sample:
            raise InputError(
                f"{self.place.num_ranks} processes share sampled batches of nodes: add --sample "
                "15,10 (in Python sample=(15, 10)), or start one process without torchrun"
            )
        make_loop = Sampled if spec.sample else LOOPS[task.kind]
        self.loop = make_loop(spec, shown, self.criterion, self.scored, self.place)
        if any(isinstance(p, UninitializedParameter) for p in self.model.parameters()):
            self.evaluate()  # lazy layers find their widths
        self.network = self.model  # its gradients are averaged over all processes
        if self.place.num_ranks > 1 and any(p.requires_grad for p in self.model.parameters()):
            self.network = DistributedDataParallel(self.model)
        self.learning = OperatorLearning(spec, self.model)
        # Fused Adam is one call. The default makes ten small calls per scalar parameter.
        self.optimiser = torch.optim.Adam(self.learning.groups, fused=True)
        # To walk through a model takes as long as a copy of it, so these are listed once.
        self._tensors = tensors_of(self.model)
        # Running statistics only: of three processes, the mean of a fixed S may be another number.
        self._statistics = [v for k, v in self.model.named_buffers() if ".running_" in f".{k}"]
        if spec.max_radius is not None:
            limit_radius(self.gsos, task.graph, spec.max_radius)
        self._curves: dict[str, list[Any]] = {name: [] for name in CURVES}
        self._uncertified: list[list[Tensor]] = []  # by epoch, the S of each operator
        # Whether Theorem 2 holds: with an S per node eigenvalues may be complex.
        self.is_certifiable = (self.is_ours and task.graph.is_undirected) and all(
            gso.kind not in ("node", "structural") and gso.edges in (None, "in", "out")
            for gso in self.gsos
        )
        self.epoch = 0  # how many have ended
        self.best_merit = NEVER  # of the epoch's val score, minus its val loss
        self.best_epoch: int | None = None  # that validation likes best so far, counted from 0
        self.best_weights: dict[str, Tensor] = {}  # its weights
        self.strangeness: Any = None  # at the end, what prediction sets are made from

    @property
    def curves(self) -> dict[str, list[Any]]:
        """Loss, scores, S and certified intervals of every epoch that has ended.

        Intervals are computed here, on demand: many epochs together take as long as one.
        """
        if self._uncertified:
            waiting = zip(*self._uncertified, strict=True)
            by_operator = [certified_ends(self.task.graph, values) for values in waiting]
            self._curves["interval"] += [list(ends) for ends in zip(*by_operator, strict=True)]
            self._uncertified = []
        return self._curves

    def operators(self) -> tuple[SevenNumbers, ...]:
        """The current S of every operator: means where it has many values."""
        values = (gso.S.detach() for gso in self.gsos)
        return tuple(tuple((S if S.dim() == 1 else S.flatten(1).mean(1)).tolist()) for S in values)

    def by_part(self, values: Tensor) -> dict[str, Tensor]:
        """What belongs to the scored items, cut into train, val and test."""
        sizes = [len(answers) for answers in self.answers.values()]
        return dict(zip(self.answers, values.split(sizes), strict=True))

    def run_epoch(self) -> None:
        """Train for one epoch, then score, and remember the weights if they are the best yet."""
        if self.place.num_ranks > 1:  # after resuming a checkpoint all would have one state
            torch.manual_seed(hash((self.spec.seed, self.epoch, self.place.rank)))
        self.model.train()
        loss = self._train()
        if (self.epoch + 1) % self.spec.lr_step == 0:
            for group in self.optimiser.param_groups:
                group["lr"] *= self.spec.lr_decay
        self.place.average(self._statistics)
        out, val_loss = self.evaluate()
        self._check_finite("validation loss", val_loss)
        operators = self.operators()
        self._check_finite("operator", *chain(*operators))
        parts = self.by_part(out)
        scores: dict[str, float | None] = dict.fromkeys(("train", "val", "test"))
        for name, part in parts.items():
            scores[name] = self.task.objective.score(part.numpy(force=True), self.answers[name])
        for name, value in {"loss": loss, **scores, "parameters": operators}.items():
            self._curves[name].append(value)
        if self.is_certifiable:
            self._uncertified.append([gso.S.detach().cpu() for gso in self.gsos])
        merit = self.selection.merit(parts["val"], scores["val"], val_loss)
        if merit > self.best_merit:
            self.best_merit, self.best_epoch = merit, self.epoch
            self.best_weights = {name: t.detach().clone() for name, t in self._tensors.items()}
        self.epoch += 1

    def _train(self) -> float:
        """Every step of an epoch, and the mean loss.

        Numbers are taken off the device, which then has to wait, in the first step and at the end.
        """
        mean = 0.0
        steps: list[tuple[Tensor, int]] = []
        for loss, count in self.loop.losses(self.network, self.epoch):
            if not steps:
                mean = self._mean_of_processes(loss)
            held_out = self.loop.held_out_loss(self.model) if self.learning.on_validation else None
            self.optimiser.zero_grad()
            self.learning.backward(loss, held_out, self.epoch)
            if held_out is not None:  # torch averages the gradients of the other loss alone
                self.place.average(scalar.grad for scalar in self.learning.scalars)
            self.optimiser.step()
            if self.spec.max_radius is not None:
                limit_radius(self.gsos, self.task.graph, self.spec.max_radius)
            steps.append((loss.detach(), count))
        total: Any = sum(loss.double() * count for loss, count in steps)
        seen = sum(count for _, count in steps)
        return mean if len(steps) < 2 else self._mean_of_processes(total / seen)

    def _mean_of_processes(self, loss: Tensor) -> float:
        mean = loss.detach().double().clone()
        self.place.average([mean])
        value = mean.item()
        self._check_finite("loss", value)
        return value

    def _check_finite(self, what: str, *values: float) -> None:
        """Stop here rather than train on: soon all would be NaN."""
        for value in values:
            if not math.isfinite(value):
                raise Divergence(
                    f"the {what} became {value} in epoch {self.epoch}, "
                    f"where S was {'; '.join(str(S) for S in self.operators())}"
                )

    def evaluate(self) -> tuple[Tensor, float]:
        """The outputs of every part of the split, in the targets' unit, and the validation loss."""
        self.model.eval()
        with torch.no_grad():
            out, scale = self.loop.outputs(self.model), self.criterion.scale
        val_loss = self.criterion(self.by_part(out)["val"], self.learned_val).item()
        return out if scale is None else scale.decode(out), val_loss

    def state(self) -> dict[str, Any]:
        """All that a run needs to be resumed: tensors and plain data."""
        on_gpu, selection = self.device.type == "cuda", self.selection
        return {
            "spec": self.spec.model_dump(mode="json"),
            "model": tensors_of(self.model),
            "optimiser": self.optimiser.state_dict(),
            "curves": self.curves,
            "best": [self.best_merit, self.best_epoch, self.best_weights],
            "judged": [selection.judged_merit, selection.judged],
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state(self.device) if on_gpu else None,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from a state, as if the run had never been stopped."""
        assign(self.model, state["model"])
        optimiser = state["optimiser"]
        optimiser["state"] = {int(number): its for number, its in optimiser["state"].items()}
        parameters = [p for group in self.optimiser.param_groups for p in group["params"]]
        for number, moments in optimiser["state"].items():
            # Moments of other shapes than the parameters': the fused step would not look.
            shapes = {value.shape for name, value in moments.items() if name != "step"}
            if shapes != {parameters[number].shape}:
                raise ValueError(f"moments of parameter {number}")
        self.optimiser.load_state_dict(optimiser)
        self._curves, self._uncertified = state["curves"], []
        self.epoch = len(self._curves["loss"])
        (merit, loss), self.best_epoch, self.best_weights = state["best"]
        self.best_merit = (merit, loss)
        (merit, loss), self.selection.judged = state["judged"]
        self.selection.judged_merit = (merit, loss)
        torch.set_rng_state(state["random"])
        if self.device.type == "cuda" and state["random_cuda"] is not None:
            torch.cuda.set_rng_state(state["random_cuda"], self.device)


def certified_ends(graph: Graph, by_epoch: Sequence[Tensor]) -> list[tuple[float, float]]:
    """The certified interval of every epoch's S, in one call: epochs are channels of one S."""
    intervals: list[tuple[float, float]] = []
    width = by_epoch[0].numel() // by_epoch[0].size(0)  # how many values S has of each scalar
    at_once = max(1, CERTIFIED_AT_ONCE // (kinds_of_nodes(graph)[0].numel() * width))
    for start in range(0, len(by_epoch), at_once):
        part = torch.stack([*by_epoch[start : start + at_once]], dim=1)
        ends = gershgorin_interval(graph, part.reshape(part.size(0), 1, -1))
        low, high = (end.view(-1, width) for end in ends)
        intervals += zip(low.amin(1).tolist(), high.amax(1).tolist(), strict=True)
    # The last digits depend on how many epochs are computed at once: a resumed run has fewer.
    return [(float(f"{low:.12g}"), float(f"{high:.12g}")) for low, high in intervals]


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


def take_best(session: Session) -> Any:
    """The session's model with the weights of its best epoch."""
    assign(session.model, session.best_weights)
    return session.model


def evaluate(session: Session) -> Evaluation | None:
    """Counts and curves of the test set, or of validation where there is no test set.

    The model has the weights of its best epoch afterwards. None without such an epoch. The session
    keeps what prediction sets are made from (:mod:`pgso.evaluation.conformal`).
    """
    if not session.best_weights:
        return None
    assign(session.model, session.best_weights)
    (out, _), task, answers = session.evaluate(), session.task, session.answers
    outputs = {name: part.numpy(force=True) for name, part in session.by_part(out).items()}
    positive = None if task.positive is None else task.classes.index(task.positive)
    names = task.targets or task.classes
    evaluation = evaluation_of(task.answer, outputs, answers, names, positive)
    if task.answer not in ("class", "value"):
        return evaluation
    temperature = 1.0 if evaluation.calibration is None else evaluation.calibration.temperature
    log = session.spec.log_targets
    session.strangeness, coverage = calibrated(outputs, answers, temperature, log)
    more: dict[str, Any] = {"coverage": coverage}
    if task.graph.num_edges <= MOST_EDGES:
        # What is predicted of the nodes that a page draws; None of those that have no score.
        edges = task.graph.edge_index.numpy(force=True)
        items = sketched_items(task, chosen_nodes(edges, task.graph.num_nodes))
        rows = {item: row for row, item in enumerate(session.scored.tolist())}
        cells = cells_of(out.argmax(dim=1) if task.answer == "class" else out, task.classes)
        more["sketched"] = tuple(cells[rows[i]] if i in rows else None for i in items.tolist())
    return evaluation.model_copy(update=more)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint file. A checkpoint of different data, or of other numerics, is ignored."""

    path: Path
    every: int  # epochs
    data: str | None = None  # the state of the user's own files
    parts: "list[Checkpoint]" = field(default_factory=list)  # one for each of its trainings

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"checkpoint_every must be at least 1, got {self.every}")

    def of(self, name: str) -> "Checkpoint":
        """The checkpoint of one of a run's trainings, such as auto's candidates; '' is the run."""
        if not name:
            return self
        file = self.path.with_name(f"{self.path.name}.{re.sub('[^a-z0-9]+', '-', name)}")
        self.parts.append(Checkpoint(file, self.every, self.data))
        return self.parts[-1]

    def save(self, session: Session) -> None:
        """Save a run in one file, at its end too: what comes after it may be interrupted."""
        if session.epoch % self.every and session.epoch != session.spec.epochs:
            return
        state = {**session.state(), "data": self.data, "numerics": NUMERICS}
        write_atomically(self.path, packed(state))

    def load(self, session: Session) -> bool:
        """Resume a run where it was saved; False if there is nothing to resume."""
        if not self.path.exists():
            return False
        state = unpacked(self.path)
        with naming(self.path):
            spec = RunSpec(complete=True, **state["spec"])
        if spec.dataset == session.spec.dataset and state.get("data") != self.data:
            return False  # the user's files have changed since
        # A saved model says nothing about numerics: it is refused below, and not written over.
        if state.get("numerics", NUMERICS) != NUMERICS:
            return False  # one half of the run would be of other numerics
        if spec != session.spec:
            raise InputError(
                f"{self.path} belongs to another run; choose another file, or remove it"
            )
        with naming(self.path):
            session.resume(state)
        return True

    def remove(self) -> None:
        """Delete the files of this run and of its trainings."""
        for checkpoint in (self, *self.parts):
            checkpoint.path.unlink(missing_ok=True)


def save_model(path: Path, session: Session, record: RunRecord, task: Task) -> None:
    """Write the best weights of a run that has ended, with all it takes to build the model again.

    The task has the data in the order and on the graph of the user, to be remembered for new nodes.
    """
    evaluation = record.evaluation
    assert evaluation is not None
    scale, spec = session.criterion.scale, session.spec.model_dump(mode="json")
    header = header_of(session.task, spec, session.strangeness, evaluation.coverage, task)
    kept, calibration = {"temperature", "error_before", "error_after"}, evaluation.calibration
    header |= {
        "form": "network",
        "network": session.best_weights,
        "scale": scale and vars(scale),
        "calibration": calibration and calibration.model_dump(include=kept),
        "record": record.spec.key,
    }
    write_model(path, header)


def network_of(path: Path, header: dict[str, Any]) -> Model:
    """The network of what was read from a file, whose claims are checked first."""
    if "classes" not in header:
        raise InputError(f"{path} is the checkpoint of a run, not a model; write one with --save")
    with naming(path):
        categories, kind = header["categories"], header["kind"]
        if kind not in ("node", "graph", "link"):
            raise ValueError(f"{kind!r:.40} is no kind of task")
        if not all(isinstance(name, str) for name in header["classes"]):
            raise ValueError("classes that are no words")
        shape = SimpleNamespace(
            kind=kind,
            num_features=count_of(header["num_features"]),
            num_nodes=count_of(header.get("num_nodes", 0)),
            num_outputs=len(header.get("targets") or header["classes"]),
            categories=None if categories is None else tuple(map(count_of, categories)),
        )
        tensors, spec = header["network"], RunSpec(complete=True, **header["spec"])
        with torch.device("meta"):  # takes no memory, even if the header claims huge widths
            claimed = tensors_of(build_model(spec, shape))
        if {k: v.shape for k, v in claimed.items()} != {k: v.shape for k, v in tensors.items()}:
            raise ValueError("its tensors do not fit the model that its header describes")
        model = build_model(spec, shape)
        assign(model, tensors)
    return model
