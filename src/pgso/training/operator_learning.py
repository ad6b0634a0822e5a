"""How S learns beside the weights: on which labels, how fast, pulled where, from when on."""

from typing import Any

import torch
from torch import Tensor, nn

from pgso.models.optimisation import param_groups
from pgso.records import RunSpec


class OperatorLearning:
    """What a spec says about learning S, applied to an optimiser's groups and to gradients.

    The paper's recipe treats S as more weights. S is also seven hyper-parameters of the operator:
    ``s_loss="val"`` takes their gradient from the validation loss, and the weights' from the
    training loss, in the same step; ``"held_out"`` from a part of validation that is used for
    nothing else (:class:`pgso.training.selection.Selection`).
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
