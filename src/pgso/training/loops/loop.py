"""``Loop``: what a session needs of every way through the data."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from pgso.data import Task
from pgso.records import RunSpec
from pgso.scale.place import Place
from pgso.training.criterion import Criterion


class Run(NamedTuple):
    """What every loop is made from."""

    spec: RunSpec
    task: Task  # targets as they are learned
    criterion: Criterion
    scored: Tensor  # the items whose outputs an evaluation needs: indices of nodes, graphs or rows
    place: Place

    @property
    def device(self) -> torch.device:
        """Where losses and outputs are computed."""
        return self.place.device


class Loop(Protocol):
    """Where losses and outputs come from.

    Of several processes each has its share of a loss; the mean of the shares is the loss.
    """

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """The loss of every step of an epoch, and how many examples it is the mean of."""

    def held_out_loss(self, model: Any) -> Tensor:
        """A loss of validation examples, for S to learn on; asked for after a training loss."""

    def outputs(self, model: Any) -> Tensor:  # (scored, outputs)
        """What the network says about the scored examples, in evaluation mode, on the CPU."""
