"""What a run minimises: the loss of its objective, on standardised targets."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pgso.data import Task
from pgso.objectives import Objective
from pgso.objectives.values import Scale
from pgso.records import RunSpec


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
