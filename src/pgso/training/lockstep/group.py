"""``Group``: sessions that take every step together."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.graph.reach import Reach
from pgso.models.gnn import GNN
from pgso.models.stacked import ReplicaDraws, StackedData, hops_of, stack
from pgso.training.lockstep.adam import GroupAdam
from pgso.training.loops.whole_graph import WholeGraph
from pgso.training.operator_learning import OperatorLearning
from pgso.training.session import Divergence, Session

MOST_REACHED = 0.6  # of the nodes, behind the first layer: above it, choosing them does not pay


class Group:
    """Sessions of one architecture on one graph, trained as one stacked network.

    Every session ends an epoch with the loss, the outputs and the weights that it would have
    alone: :mod:`pgso.models.stacked` computes the same numbers in the same order, and dropout
    draws from a generator per replica. So curves, best epochs and records are the sessions' own.

    Args:
        sessions: Whole-graph sessions on the CPU that have not begun. They may differ in seed,
            split, features, learning rates and in where S starts.
        generators: Torch's generator as it was when each of them had been made.
    """

    def __init__(self, sessions: Sequence[Session], generators: Sequence[torch.Generator]) -> None:
        self.sessions = list(sessions)
        self.diverged: list[Session] = []
        models = [_network(session) for session in sessions]
        self.loops = [_loop(session) for session in sessions]
        x = [loop.x for loop in self.loops]
        self.on_validation = sessions[0].learning.on_validation
        reach = self._reach(hops_of(models[0]))
        self.data = StackedData(self.loops[0].graph, x, reach)
        self.model, views = stack(models, ReplicaDraws(generators, reach), self.data)
        self.learning = OperatorLearning(sessions[0].spec, self.model)
        everywhere = torch.arange(len(x[0]))
        seen = everywhere if reach is None else reach.nodes[-1]
        self.train = Rows.of(seen, [loop.train for loop in self.loops])
        self.val = Rows.of(seen, [loop.val for loop in self.loops]) if self.on_validation else None
        self.scored = Rows.of(everywhere, [loop.scored for loop in self.loops])
        learned = [view for view in views if view.stacked.requires_grad]
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

    def _train(self) -> list[float]:
        """One step of all replicas; the loss of each."""
        self.model.train()
        out: Tensor = self.model(self.data.reached, self.data)
        parts = zip(self.loops, self.train.parts(out), strict=True)
        # A sum of losses: the gradients of a replica are those of its own loss.
        losses = torch.stack([loop.criterion(part, loop.train_y) for loop, part in parts])
        held_out = None
        if self.val is not None:
            parts = zip(self.loops, self.val.parts(out), strict=True)
            held_out = torch.stack([loop.criterion(p, loop.val_y) for loop, p in parts]).sum()
        self.learning.backward(losses.sum(), held_out, self.epoch)
        self.optimiser.step()
        values: list[float] = losses.detach().tolist()
        return values

    def _reach(self, hops: int | None) -> Reach | None:
        """What the losses of all replicas can see; None if that is most of the graph."""
        graph = self.loops[0].graph
        if hops is None or not isinstance(graph, Graph):
            return None
        parts = [part for loop in self.loops for part in self._losses_on(loop)]
        reach = Reach.of(graph, torch.cat(parts).unique(), hops, len(self.loops))
        hidden = None if reach is None else reach.nodes[1].numel()
        return None if hidden is None or hidden > MOST_REACHED * graph.num_nodes else reach

    def _losses_on(self, loop: WholeGraph) -> tuple[Tensor, ...]:
        return (loop.train, loop.val) if self.on_validation else (loop.train,)

    def _outputs(self) -> tuple[Tensor, ...]:  # (scored, outputs) each
        self.model.eval()
        with torch.no_grad():
            out: Tensor = self.model(self.data.x, self.data)
            return self.scored.parts(out)


class Rows(NamedTuple):
    """Nodes of every replica: where they stand in outputs (R, m, C)."""

    places: Tensor  # in the outputs of all, one replica after another
    sizes: list[int]

    @classmethod
    def of(cls, seen: Tensor, nodes: Sequence[Tensor]) -> "Rows":
        """The rows of each replica's nodes, if the outputs are those of the nodes ``seen``."""
        places = [torch.searchsorted(seen, n) + r * len(seen) for r, n in enumerate(nodes)]
        return cls(torch.cat(places), [len(part) for part in places])

    def parts(self, out: Tensor) -> tuple[Tensor, ...]:  # (nodes, C) each
        """The outputs of each replica's nodes, looked up in one go."""
        rows = out.flatten(0, 1).index_select(0, self.places)
        return torch.split(rows, self.sizes)


def _network(session: Session) -> GNN:
    assert isinstance(session.model, GNN)
    return session.model


def _loop(session: Session) -> WholeGraph:
    assert isinstance(session.loop, WholeGraph)
    return session.loop
