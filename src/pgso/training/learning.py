"""What a run minimises, which labels choose its epoch, and how S learns beside the weights."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pgso.data import Task
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.module import PGSO
from pgso.models.operators import param_groups
from pgso.objectives import Objective
from pgso.objectives.values import Scale
from pgso.records import RunSpec
from pgso.spectrum.interval import gershgorin_interval

FEWEST = 9  # validation labels, below which there is nothing to divide
NEVER = (-torch.inf, -torch.inf)
SLACK = 1e-6  # S is stored in 32 bits: aim a little below the bound, so that rounding keeps it


@dataclass(frozen=True)
class Criterion:
    """An objective, the scale of its targets, and the weights of its classes."""

    objective: Objective
    scale: Scale | None = None
    weight: Tensor | None = None  # (classes,)

    @classmethod
    def of(cls, spec: RunSpec, task: Task, device: torch.device | str = "cpu") -> "Criterion":
        """What a spec asks for; scale and weights are computed on the training set."""
        objective, weight = task.objective, None
        answers = task.y[:0] if task.kind == "link" else task.y[task.train]
        if spec.class_weights == "balanced":
            weight = objective.class_weight(answers)
            missing = task.num_outputs - len(weight)  # classes without a training example
            weight = torch.cat([weight, weight.new_zeros(missing)]).to(device)
        return cls(objective, objective.scale(answers, spec.log_targets), weight)

    def __call__(self, out: Tensor, y: Tensor) -> Tensor:  # ()
        """The loss of these outputs, for targets on their scale."""
        weight = None if self.weight is None else self.weight.to(out.device)
        return self.objective.loss(out, y, weight)


class Selection:
    """The parts of a validation set, and the epoch that each of them prefers.

    What S was learned on does not choose the epoch, and what chose the epoch does not judge
    (docs/train.md). With ``s_loss="held_out"``, S learns on a half of the validation labels.
    With ``judges``, validation has three parts, the same for every run of a task:

    ======== ====================================== =====================
    part     S learns on it (``held_out``)          fixed S
    ======== ====================================== =====================
    first    teaches S                              judges
    second   chooses the epoch that is judged       the same
    third    judges                                 the same
    ======== ====================================== =====================

    The epoch whose weights are kept in the end is chosen on all labels that did not teach S.
    """

    def __init__(self, spec: RunSpec, task: Task) -> None:
        self.objective: Objective = task.objective
        self.answers = task.y[task.val]  # (val,) or (val, outputs)
        n = task.val.numel()
        is_divided = n >= FEWEST
        held_out = spec.s_loss == "held_out" and spec.operator != "fixed" and is_divided
        parts = 3 if spec.judges else 2
        order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
        part = torch.empty(n, dtype=torch.long)
        part[order] = torch.arange(n) * parts // max(n, 1)
        self.teaches = (part == 0) | (not held_out)
        self.chooses = (part != 0) | (not held_out)
        judging = (part == 2) | ((part == 0) & (not held_out))
        self.judges = judging & (spec.judges and is_divided)
        self.chooses_judged = part == 1
        self.judged: Tensor | None = None  # (val, outputs) at the epoch that the second part likes
        self.judged_merit: tuple[float, float] = NEVER

    def merit(self, values: Tensor, score: float | None, val_loss: float) -> tuple[float, float]:
        """How good an epoch is; its outputs are remembered if it is the best to be judged.

        ``values`` are outputs in the unit of the targets; score and loss are of all of validation.
        """
        if self.judges.any():
            merit = self._merit(values, self.chooses_judged)
            if merit > self.judged_merit:
                self.judged, self.judged_merit = values.detach().clone(), merit
        if self.chooses.all():
            return self.objective.merit(score), -val_loss
        return self._merit(values, self.chooses)

    def _merit(self, values: Tensor, rows: Tensor) -> tuple[float, float]:
        """The score of some rows; of equal scores the smaller loss is better."""
        out, y = values[rows], self.answers[rows]
        score = self.objective.score(out.numpy(force=True), y.numpy(force=True))
        loss = 0.0 if self.objective.answer == "value" else float(self.objective.loss(out, y))
        return self.objective.merit(score), -loss


class OperatorLearning:
    """What a spec says about learning S, applied to an optimiser's groups and to gradients.

    The paper's recipe treats S as more weights. ``s_loss="val"`` takes S's gradient from the
    validation loss, in the same step as the weights' from the training loss; ``"held_out"`` from a
    part of validation that is used for nothing else (:class:`Selection`).
    """

    def __init__(self, spec: RunSpec, model: nn.Module) -> None:
        self.spec = spec
        self.groups = param_groups(model, spec.lr, spec.exponent_lr, spec.weight_decay)
        self.scalars: list[Tensor] = []
        for group in self.groups:
            if group["name"] in ("scalars", "exponents"):  # a filter's coefficients are weights
                group["lr"] *= spec.s_rate
                if spec.s_decay != "zero":
                    group["weight_decay"] = 0.0
                self.scalars += group["params"]
        self.start = [scalar.detach().clone() for scalar in self.scalars]
        # Whether S takes its gradient from the validation loss.
        self.on_validation = spec.s_loss in ("val", "held_out") and bool(self.scalars)

    def backward(self, loss: Tensor, held_out: Tensor | None, epoch: int) -> None:
        """Fill the gradients: weights' from the loss, S's from where the spec says."""
        if held_out is None:
            loss.backward()
        else:
            gradients = torch.autograd.grad(
                held_out, self.scalars, retain_graph=True, allow_unused=True
            )
            loss.backward()
            for scalar, gradient in zip(self.scalars, gradients, strict=True):
                scalar.grad = gradient
        if epoch < self.spec.s_delay:
            for scalar in self.scalars:
                scalar.grad = None
        elif self.spec.s_decay == "start":
            for scalar, start in zip(self.scalars, self.start, strict=True):
                if scalar.grad is not None:
                    scalar.grad += self.spec.weight_decay * (scalar.detach() - start)


@torch.no_grad()
def limit_radius(operators: Iterable[PGSO], graph: Graph, radius: float) -> None:
    """Scale m1, m2, m3 of each operator so that its certified spectral radius is at most this.

    The interval of Theorem 2 is linear in the three.
    """
    for gso in operators:
        if gso.kind in ("node", "structural"):
            raise InputError("max_radius takes one S for all nodes: choose another shape")
        low, high = gershgorin_interval(gso.on(graph.to(gso.m1.device)))
        certified = torch.maximum(low.abs(), high.abs())  # of every channel, if they differ
        # No number is looked at: a GPU would wait. Of a run that has diverged nothing changes.
        above = (certified > radius) & certified.isfinite()
        factor = torch.where(above, (1 - SLACK) * radius / certified, 1.0)
        for scalar in (gso.m1, gso.m2, gso.m3):
            scalar.mul_(factor)
