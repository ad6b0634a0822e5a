"""Adam for the stacked weights of a group, in the arithmetic that each replica has alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pgso.models.stacked import Views

LANES = 16  # numbers that the fused step takes at once; it rounds what is left over differently


@dataclass(frozen=True, eq=False)
class Piece:
    """A parameter of some replicas, with its moments."""

    stacked: Tensor  # whose gradient it takes a part of
    replica: int | None  # None: of all of them
    values: Tensor
    moments: tuple[Tensor, Tensor]
    step: Tensor
    turned: bool  # whether the values are a copy, in the order of numbers that they have alone

    @classmethod
    def of(cls, view: Views, replica: int | None) -> "Piece":
        """Of one replica, or of all."""
        values = view.stacked.detach() if replica is None else view.stacked.detach()[replica]
        turned = view.turned and replica is not None
        values = values.t().contiguous() if turned else values
        moments = torch.zeros_like(values), torch.zeros_like(values)
        return cls(view.stacked, replica, values, moments, torch.zeros(()), turned)


class GroupAdam(torch.optim.Adam):
    """Torch's fused Adam over stacked parameters, one call for each pair of rate and decay.

    A parameter whose size is a multiple of 16 is stepped for all replicas at once. Others (biases
    of few classes, S) are stepped replica by replica, in the same call: the fused step rounds the
    last few numbers of an array differently from the others. Weights of sparse features, which are
    stored transposed, are then stepped in the order that they have alone.

    Args:
        views: The stacked parameters and their parts in the replicas.
        groups: Of each replica, the groups that its optimiser would have alone.
    """

    def __init__(self, views: Sequence[Views], groups: Sequence[list[dict[str, Any]]]) -> None:
        rates = [
            {id(p): (group["lr"], group["weight_decay"]) for group in own for p in group["params"]}
            for own in groups
        ]
        pieces: dict[tuple[float, float], list[Piece]] = {}
        for view in views:
            wanted = [rate[id(part)] for rate, part in zip(rates, view.parts, strict=True)]
            if len(set(wanted)) == 1 and view.parts[0].numel() % LANES == 0:
                pieces.setdefault(wanted[0], []).append(Piece.of(view, None))
                continue
            for replica, rate in enumerate(wanted):
                pieces.setdefault(rate, []).append(Piece.of(view, replica))
        self.pieces = list(pieces.values())
        super().__init__(
            [
                {"params": [piece.values for piece in some], "lr": lr, "weight_decay": decay}
                for (lr, decay), some in pieces.items()
            ],
            fused=True,
        )

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Step what has a gradient; the gradients are used up."""
        del closure
        with torch.no_grad():
            for group, pieces in zip(self.param_groups, self.pieces, strict=True):
                some = [piece for piece in pieces if piece.stacked.grad is not None]
                if some:
                    _step(some, group)
            for pieces in self.pieces:
                for piece in pieces:
                    piece.stacked.grad = None


def _step(pieces: Sequence[Piece], group: dict[str, Any]) -> None:
    steps = [piece.step for piece in pieces]
    torch._foreach_add_(steps, 1.0)
    beta1, beta2 = group["betas"]
    torch._fused_adam_(
        [piece.values for piece in pieces],
        _gradients(pieces),
        [piece.moments[0] for piece in pieces],
        [piece.moments[1] for piece in pieces],
        [],
        steps,
        lr=group["lr"],
        beta1=beta1,
        beta2=beta2,
        weight_decay=group["weight_decay"],
        eps=group["eps"],
        amsgrad=False,
        maximize=False,
    )
    for piece in pieces:
        if piece.turned:
            piece.stacked.detach()[piece.replica].copy_(piece.values.t())


def _gradients(pieces: Sequence[Piece]) -> list[Tensor]:
    """The gradient of each piece: the gradient of its parameter, or a part of it."""
    parts: dict[Tensor, Sequence[Tensor]] = {}
    gradients = []
    for piece in pieces:
        whole = piece.stacked.grad
        assert whole is not None
        if piece.replica is None:
            gradients.append(whole)
        else:
            if piece.stacked not in parts:
                parts[piece.stacked] = whole.unbind()
            part = parts[piece.stacked][piece.replica]
            gradients.append(part.t().contiguous() if piece.turned else part)
    return gradients
