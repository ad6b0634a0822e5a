"""How replicas go through their data together: one graph, or batches of graphs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.graph.reach import Reach
from pgso.models.gnn import GNN
from pgso.models.stacked import (
    Layout,
    RaggedDraws,
    ReplicaDraws,
    StackedBatch,
    StackedData,
    Views,
    hops_of,
    stack,
)
from pgso.models.stacked.products import FEW_ROWS
from pgso.training.loops.graphs import Graphs
from pgso.training.loops.whole_graph import WholeGraph
from pgso.training.prediction import EVALUATED_AT_ONCE
from pgso.training.session import Session

MOST_REACHED = 0.6  # of the nodes, behind the first layer: above it, choosing them does not pay


class Step(NamedTuple):
    """What the replicas of a group learn from at once."""

    losses: Tensor  # (R,)
    held_out: Tensor | None  # the sum of the validation losses, if S learns on them
    counts: Sequence[int]  # how many examples each loss is the mean of


class GroupLoop(Protocol):
    """As :class:`pgso.training.loops.Loop`, for all replicas."""

    model: GNN  # the stacked network
    views: list[Views]

    def steps(self) -> Iterator[Step]:
        """Every step of an epoch."""

    def outputs(self) -> Sequence[Tensor]:  # (scored, outputs) each
        """What every network says about its scored examples, in evaluation mode."""


def group_loop(sessions: Sequence[Session], generators: Sequence[torch.Generator]) -> GroupLoop:
    """The loop of sessions that have not begun."""
    on_graphs = isinstance(sessions[0].loop, Graphs)
    return GroupedGraphs(sessions, generators) if on_graphs else OneGraph(sessions, generators)


class OneGraph:
    """Node tasks: one step an epoch on copies of one graph."""

    def __init__(self, sessions: Sequence[Session], generators: Sequence[torch.Generator]) -> None:
        models = [_network(session) for session in sessions]
        self.loops = [_whole(session) for session in sessions]
        x = [loop.x for loop in self.loops]
        self.on_validation = sessions[0].learning.on_validation
        reach = self._reach(hops_of(models[0], sparse=x[0].layout != torch.strided))
        self.data = StackedData(self.loops[0].graph, x, reach)
        self.model, self.views = stack(models, ReplicaDraws(generators, reach), self.data)
        everywhere = torch.arange(len(x[0]))
        seen = everywhere if reach is None else reach.nodes[-1]
        self.train = Rows.of(seen, [loop.train for loop in self.loops])
        self.val = Rows.of(seen, [loop.val for loop in self.loops]) if self.on_validation else None
        self.scored = Rows.of(everywhere, [loop.scored for loop in self.loops])

    def steps(self) -> Iterator[Step]:
        """One step."""
        out: Tensor = self.model(self.data.reached, self.data)
        parts = zip(self.loops, self.train.parts(out), strict=True)
        losses = torch.stack([loop.criterion(part, loop.train_y) for loop, part in parts])
        held_out = None
        if self.val is not None:
            parts = zip(self.loops, self.val.parts(out), strict=True)
            held_out = torch.stack([loop.criterion(p, loop.val_y) for loop, p in parts]).sum()
        yield Step(losses, held_out, self.train.sizes)

    def outputs(self) -> Sequence[Tensor]:
        """One pass."""
        out: Tensor = self.model(self.data.x, self.data)
        return self.scored.parts(out)

    def _reach(self, hops: int | None) -> Reach | None:
        """What the losses of all replicas can see; None if that is most of the graph, or little."""
        graph = self.loops[0].graph
        if hops is None or not isinstance(graph, Graph):
            return None
        nodes = torch.cat([part for loop in self.loops for part in self._losses_on(loop)]).unique()
        if nodes.numel() < FEW_ROWS:
            return None
        reach = Reach.of(graph, nodes, hops, len(self.loops))
        hidden = None if reach is None else reach.nodes[1].numel()
        return None if hidden is None or hidden > MOST_REACHED * graph.num_nodes else reach

    def _losses_on(self, loop: WholeGraph) -> tuple[Tensor, ...]:
        return (loop.train, loop.val) if self.on_validation else (loop.train,)


class GroupedGraphs:
    """Graph tasks on one collection of graphs: the batches of all replicas are one."""

    def __init__(self, sessions: Sequence[Session], generators: Sequence[torch.Generator]) -> None:
        self.loops = [_graphs(session) for session in sessions]
        self.generators = generators
        self.task = self.loops[0].task
        self.layout = Layout()
        models = [_network(session) for session in sessions]
        draws = RaggedDraws(generators, self.layout)
        self.model, self.views = stack(models, draws, layout=self.layout)
        scored = (loop.scored.split(EVALUATED_AT_ONCE) for loop in self.loops)
        self.batches = [StackedBatch(self.task, parts) for parts in zip(*scored, strict=True)]

    def steps(self) -> Iterator[Step]:
        """One step a batch, each replica in an order of its own."""
        orders = []
        for loop, generator in zip(self.loops, self.generators, strict=True):
            train = loop.task.train
            order = torch.randperm(train.numel(), generator=generator)
            orders.append(train[order].split(loop.batch_size))
        for indices in zip(*orders, strict=True):
            batch = StackedBatch(self.task, indices)
            outputs = batch.through(self.model, self.layout)
            by_replica = zip(self.loops, outputs, indices, strict=True)
            losses = [loop.criterion(out, loop.task.y[chosen]) for loop, out, chosen in by_replica]
            yield Step(torch.stack(losses), None, batch.graphs)

    def outputs(self) -> Sequence[Tensor]:
        """Batch by batch."""
        by_batch = [batch.through(self.model, self.layout) for batch in self.batches]
        return [torch.cat(parts) for parts in zip(*by_batch, strict=True)]


class Rows(NamedTuple):
    """Nodes of every replica: where they stand in outputs (R, m, C)."""

    places: Tensor  # in the outputs of all, one replica after another
    sizes: list[int]

    @classmethod
    def of(cls, seen: Tensor, nodes: Sequence[Tensor]) -> "Rows":
        """The rows of each replica's nodes, if the outputs belong to the nodes ``seen``."""
        places = [torch.searchsorted(seen, n) + r * len(seen) for r, n in enumerate(nodes)]
        return cls(torch.cat(places), [len(part) for part in places])

    def parts(self, out: Tensor) -> tuple[Tensor, ...]:  # (nodes, C) each
        """The outputs of each replica's nodes, looked up in one go."""
        rows = out.flatten(0, 1).index_select(0, self.places)
        return torch.split(rows, self.sizes)


def _network(session: Session) -> GNN:
    assert isinstance(session.model, GNN)
    return session.model


def _whole(session: Session) -> WholeGraph:
    assert isinstance(session.loop, WholeGraph)
    return session.loop


def _graphs(session: Session) -> Graphs:
    assert isinstance(session.loop, Graphs)
    return session.loop
