"""What a run minimises, and how S learns beside the weights."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

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

    def learned(self, task: Task) -> Task:
        """The task with its targets as they are learned."""
        return task if self.scale is None else replace(task, y=self.scale.encode(task.y).float())

    def decoded(self, out: Tensor) -> Tensor:
        """Outputs of the network in the unit of the targets."""
        return out if self.scale is None else self.scale.decode(out)

    def __call__(self, out: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:  # ()
        """The loss of these outputs."""
        return self.objective.loss(out, y, self.weight, reduction)


class OperatorLearning:
    """What a spec says about learning S, applied to an optimiser's groups and to gradients.

    The paper's recipe treats S as more weights. S is also seven hyper-parameters of the operator:
    ``s_loss="val"`` takes their gradient from the validation loss, and the weights' from the
    training loss, in the same step; ``"held_out"`` from a part of validation that is used for
    nothing else (:class:`pgso.training.scoring.Selection`).
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

    @property
    def on_validation(self) -> bool:
        """Whether S takes its gradient from the validation loss."""
        return self.spec.s_loss in ("val", "held_out") and bool(self.scalars)

    def backward(self, loss: Tensor, held_out: Tensor | None, epoch: int) -> None:
        """Fill the gradients: weights' from the loss, S's from where the spec says."""
        gradients: tuple[Any, ...] = ()
        if held_out is not None:
            gradients = torch.autograd.grad(
                held_out, self.scalars, retain_graph=True, allow_unused=True
            )
        loss.backward()
        if held_out is not None:
            for scalar, gradient in zip(self.scalars, gradients, strict=True):
                scalar.grad = gradient
        if epoch < self.spec.s_delay:
            for scalar in self.scalars:
                scalar.grad = None
        elif self.spec.s_decay == "start":
            for scalar, start in zip(self.scalars, self.start, strict=True):
                if scalar.grad is not None:
                    scalar.grad += self.spec.weight_decay * (scalar.detach() - start)


SLACK = 1e-6  # S is stored in 32 bits: aim a little below the bound, so that rounding keeps it


def limit_radius(operators: Iterable[PGSO], graph: Graph, radius: float) -> None:
    """Scale m1, m2, m3 of each operator so that its certified spectral radius is at most this.

    The interval of Theorem 2 is linear in (m1, m2, m3): scaling the three by radius / r
    scales it by the same factor, and changes nothing else about the operator.
    """
    with torch.no_grad():
        for gso in operators:
            if gso.kind in ("node", "structural"):
                raise InputError("max_radius takes one S for all nodes: choose another shape")
            low, high = gershgorin_interval(gso.on(graph))
            certified = torch.maximum(low.abs(), high.abs())  # of every channel, if they differ
            # No number is looked at: a GPU would wait. Of a run that has diverged nothing changes.
            above = (certified > radius) & certified.isfinite()
            factor = torch.where(above, (1 - SLACK) * radius / certified, 1.0)
            for scalar in (gso.m1, gso.m2, gso.m3):
                scalar.mul_(factor)
