"""How an epoch goes through the data: the whole graph, batches of graphs, links, or samples."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pgso.data import Task
from pgso.data.links import NonLinks
from pgso.errors import InputError
from pgso.evaluation.scores import EVALUATED_AT_ONCE, on_batch
from pgso.gso.module import PGSO, operators_on
from pgso.gso.operator import ShiftOperator
from pgso.models.gnn import GNN, LinkModel
from pgso.records import RunSpec
from pgso.scale import NeighborLoader, SampledBatch, predict_by_layer
from pgso.scale.place import Place
from pgso.training.learning import Criterion


@dataclass(eq=False)
class Loop:
    """Where losses and outputs come from."""

    spec: RunSpec
    task: Task  # with targets as they are learned
    criterion: Criterion
    scored: Tensor  # the nodes, graphs or rows of pairs whose outputs an evaluation needs
    place: Place

    @abstractmethod
    def __post_init__(self) -> None:
        """Move to the device what every epoch needs there."""

    @abstractmethod
    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """The loss of every step of an epoch, and how many examples it is the mean of."""

    @abstractmethod
    def held_out_loss(self, model: Any) -> Tensor:
        """A loss of validation examples, for S to learn on; asked for after a training loss."""

    @abstractmethod
    def outputs(self, model: Any) -> Tensor:  # (scored, outputs)
        """What a network in evaluation mode says about the scored examples, on the CPU."""


class WholeGraph(Loop):
    """All nodes at once: one loss an epoch; validation's loss is of the same pass."""

    def __post_init__(self) -> None:
        task = self.task.to(self.place.device)
        self.x, self.graph, self.scored = task.x, task.edges, self.scored.to(self.place.device)
        self.train, self.val = task.train, task.val
        self.train_y, self.val_y = task.y[task.train], task.y[task.val]
        self.out = torch.empty(0)  # of the training pass, which both losses are taken from
        self.shared: dict[PGSO, ShiftOperator] = {}  # made of the current S
        self.versions: list[int] = []  # of S when they were made

    def edges(self, model: Any) -> Any:
        """What a network is given beside x: the graph, or the operators of its S on it.

        They are made once if no S is learned, and otherwise by an evaluation, for the training pass
        that follows with the same S (on karate this saves about a tenth of an epoch).
        """
        gsos = model.operators if isinstance(model, GNN) else ()
        versions = [value._version for gso in gsos for value in gso.parameters()]
        if not self.shared or versions != self.versions:
            with torch.enable_grad():  # the training pass needs the gradients of S
                self.shared = operators_on(gsos, self.graph, None, len(self.x))
            self.versions = versions
        return self.shared or self.graph

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        self.out = network(self.x, self.edges(network))
        if self.versions:  # the step that follows changes S
            self.shared = {}
        yield self.criterion(self.out.index_select(0, self.train), self.train_y), len(self.train)

    def held_out_loss(self, model: Any) -> Tensor:
        return self.criterion(self.out.index_select(0, self.val), self.val_y)

    def outputs(self, model: Any) -> Tensor:
        out: Tensor = model(self.x, self.edges(model))
        return out.index_select(0, self.scored).cpu()


class Graphs(Loop):
    """Batches of graphs, in an order that is drawn anew every epoch."""

    def __post_init__(self) -> None:
        self.scored_batches = [self.task.batch(k) for k in self.scored.split(EVALUATED_AT_ONCE)]

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        train = self.task.train
        for indices in train[torch.randperm(train.numel())].split(self.spec.batch_size):
            # Batch norm cannot take a single node.
            if int(self.task.nodes_per_graph[indices].sum()) >= 2:
                yield self._loss(network, indices), indices.numel()

    def held_out_loss(self, model: Any) -> Tensor:  # of as many graphs as a batch has
        val = self.task.val
        return self._loss(model, val[torch.randperm(val.numel())[: max(self.spec.batch_size, 2)]])

    def outputs(self, model: Any) -> Tensor:
        batches = (batch.to(self.place.device) for batch in self.scored_batches)
        return torch.cat([on_batch(model, batch) for batch in batches]).cpu()

    def _loss(self, network: nn.Module, indices: Tensor) -> Tensor:
        batch = self.task.batch(indices).to(self.place.device)
        return self.criterion(on_batch(network, batch), batch.y)


class Links(Loop):
    """Full-batch link prediction: all training links, each with a freshly drawn pair that is none.

    The links of the graph train; links that were taken out of it validate and test.
    """

    def __post_init__(self) -> None:
        task, device = self.task, self.place.device
        assert task.pairs is not None
        self.links = task.graph.edge_index[:, task.train]  # (2, L), on the CPU
        self.none = NonLinks(task.graph.edge_index.numpy(), task.num_nodes)
        self.x, self.graph = task.x.to(device), task.graph.to(device)
        self.val, self.scored = task.pairs[task.val].to(device), task.pairs[self.scored].to(device)
        self.z = torch.empty(0)  # embeddings of the training pass

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        assert isinstance(network, LinkModel)
        rng = np.random.default_rng(int(torch.randint(2**31, (1,))))
        sources = self.links[0].numpy()
        none = torch.from_numpy(self.none.draw(len(sources), 1, rng, sources))  # (L, 1, 2)
        pairs = torch.cat([self.links.T[:, None], none], dim=1).to(self.place.device)
        self.z = network.encoder(self.x, self.graph)
        out = network.decode(self.z, pairs)
        yield self.criterion(out, pairs[:, 0, 0]), len(pairs)

    def held_out_loss(self, model: Any) -> Tensor:
        return self.criterion(model.decode(self.z, self.val), self.val[:, 0, 0])

    def outputs(self, model: Any) -> Tensor:  # (scored, 1 + m)
        return model(self.x, self.graph, self.scored).cpu()  # type: ignore[no-any-return]


class Sampled(Loop):
    """Batches of nodes with some of their neighbours; every process takes a share of each."""

    def __post_init__(self) -> None:
        spec, sample = self.spec, self.spec.sample or ()
        if len(sample) != spec.num_layers:
            raise InputError(
                f"sample needs a number for each of the {spec.num_layers} layers, "
                f"got {','.join(map(str, sample))}"
            )
        self.loader = NeighborLoader(
            self.task, sample, spec.batch_size, spec.seed,
            rank=self.place.rank, num_ranks=self.place.num_ranks,
        )  # fmt: skip

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        self.loader.epoch = epoch
        for batch in self.loader:
            yield batch.weight * self._loss(network, batch), self.loader.batch_size

    def held_out_loss(self, model: Any) -> Tensor:  # of as many nodes as a batch has
        val = self.task.val
        count = max(2, self.loader.batch_size // self.place.num_ranks)
        chosen = val[torch.randperm(val.numel())[:count]]
        rng = np.random.default_rng(int(torch.randint(2**31, (1,))))
        return self._loss(model, self.loader.batch(chosen, rng))

    def outputs(self, model: Any) -> Tensor:  # layer by layer
        out = predict_by_layer(model, self.task.x, self.task.graph, place=self.place)
        return out.index_select(0, self.scored)

    def _loss(self, network: nn.Module, batch: SampledBatch) -> Tensor:
        batch = batch.to(self.place.device)
        out = network(batch.x, batch.graph)[: batch.num_seeds]
        return self.criterion(out, batch.y)


LOOPS: dict[str, type[Loop]] = {"node": WholeGraph, "graph": Graphs, "link": Links}  # by task
