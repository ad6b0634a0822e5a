"""``Group``: sessions that take every step together."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.training.lockstep.adam import GroupAdam
from pgso.training.lockstep.loops import group_loop
from pgso.training.operator_learning import OperatorLearning
from pgso.training.session import Divergence, Session


class Group:
    """Sessions of one architecture on the same data, trained as one stacked network.

    Every session ends an epoch with the loss, the outputs and the weights that it would have
    alone: :mod:`pgso.models.stacked` computes the same numbers in the same order, and dropout
    draws from a generator per replica. So curves, best epochs and records are the sessions' own.

    Args:
        sessions: Sessions on the CPU that have not begun, on one graph or on batches of graphs.
            They may differ in seed, split, features of nodes, learning rates and in where S starts.
        generators: Torch's generator as it was when each of them had been made.
    """

    def __init__(self, sessions: Sequence[Session], generators: Sequence[torch.Generator]) -> None:
        self.sessions = list(sessions)
        self.diverged: list[Session] = []
        self.loop = group_loop(sessions, generators)
        self.model = self.loop.model
        self.learning = OperatorLearning(sessions[0].spec, self.model)
        learned = [view for view in self.loop.views if view.stacked.requires_grad]
        groups = [session.learning.groups for session in sessions]
        self.optimiser = GroupAdam(learned, groups)
        spec = sessions[0].spec
        self.scheduler = torch.optim.lr_scheduler.StepLR(
            self.optimiser, spec.lr_step, spec.lr_decay
        )
        self.epoch = 0

    @property
    def running(self) -> list[Session]:
        """The sessions that have not diverged."""
        return [session for session in self.sessions if session not in self.diverged]

    def run_epoch(self) -> None:
        """Train for one epoch, then let every session score its outputs."""
        losses = self._train()
        self.scheduler.step()
        for session, loss, out in zip(self.sessions, losses, self._outputs(), strict=True):
            if session in self.diverged:
                continue
            try:
                session.check_finite("loss", loss)
                session.end_epoch(loss, out)
            except Divergence:
                self.diverged.append(session)
        self.epoch += 1

    def end(self) -> None:
        """Give every session's model memory of its own again: training is over."""
        for view in self.loop.views:
            view.part()

    def _train(self) -> list[float]:
        """Every step of an epoch; the mean loss of each replica, computed as in a session."""
        self.model.train()
        total = torch.zeros(len(self.sessions), dtype=torch.float64)
        seen, steps = total.clone(), 0
        for losses, held_out, counts in self.loop.steps():
            # The losses are summed: every replica gets the gradients of its own loss.
            self.learning.backward(losses.sum(), held_out, self.epoch)
            self.optimiser.step()
            number = torch.tensor(counts, dtype=torch.float64)
            last = losses.detach().double()
            total += last * number
            seen += number
            steps += 1
        means: list[float] = (last if steps < 2 else total / seen).tolist()
        return means

    def _outputs(self) -> Sequence[Tensor]:  # (scored, outputs) each
        self.model.eval()
        with torch.no_grad():
            return self.loop.outputs()
