"""How an epoch goes through the data: the whole graph, batches of graphs, links, or samples."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from pgso.data import Task
from pgso.data.batch import Batch
from pgso.data.links import NonLinks
from pgso.errors import InputError
from pgso.models.build import Model
from pgso.models.gnn import GNN
from pgso.models.links import LinkModel
from pgso.records import RunSpec
from pgso.scale import NeighborLoader, SampledBatch, predict_by_layer
from pgso.scale.place import Place
from pgso.training.learning import Criterion

EVALUATED_AT_ONCE = 2048  # graphs in one forward pass of an evaluation


def predict_outputs(
    model: Model, task: Task, device: torch.device | str = "cpu"
) -> Tensor:  # (n, outputs), (num_graphs, outputs) or (rows, 1 + m)
    """Outputs of every node, every graph, or every row of pairs of a link task."""
    if task.kind == "graph":
        assert isinstance(model, GNN)
        batches = graph_batches(task, torch.arange(task.num_graphs))
        return predict_batches(model, batches, device)
    model.eval()
    x, graph = task.x.to(device), task.edges.to(device)
    with torch.no_grad():
        if task.kind == "link":
            assert task.pairs is not None
            return model(x, graph, task.pairs.to(device)).cpu()  # type: ignore[no-any-return]
        return model(x, graph).cpu()  # type: ignore[no-any-return]


def predict_batches(
    model: GNN, batches: Iterable[Batch], device: torch.device | str
) -> Tensor:  # (graphs, outputs)
    """Outputs of the graphs of these batches."""
    model.eval()
    moved = (part.to(device) for part in batches)
    with torch.no_grad():
        return torch.cat(
            [model(part.x, part.graph, None, part.batch, part.num_graphs) for part in moved]
        ).cpu()


def graph_batches(task: Task, indices: Tensor) -> list[Batch]:
    """Some graphs of a task, in batches as large as an evaluation takes at once."""
    return [task.batch(part) for part in indices.split(EVALUATED_AT_ONCE)]


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


class WholeGraph:
    """All nodes at once."""

    def __init__(self, run: Run) -> None:
        self.criterion = run.criterion
        task = run.task.to(run.device)
        self.x, self.graph = task.x, task.edges
        self.train, self.val, self.scored = task.train, task.val, run.scored.to(run.device)
        self.train_y, self.val_y = task.y[task.train], task.y[task.val]
        self.out: Tensor | None = None  # of the training pass, which both losses are taken from

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """One loss."""
        self.out = network(self.x, self.graph)
        yield self.criterion(self.out.index_select(0, self.train), self.train_y), len(self.train)

    def held_out_loss(self, model: GNN) -> Tensor:
        """The loss of all validation nodes, from the same pass."""
        assert self.out is not None
        return self.criterion(self.out.index_select(0, self.val), self.val_y)

    def outputs(self, model: GNN) -> Tensor:  # (scored, outputs)
        """One pass."""
        model.eval()
        with torch.no_grad():
            out: Tensor = model(self.x, self.graph)
            return out.index_select(0, self.scored).cpu()


class Graphs:
    """Graphs in an order that is drawn anew every epoch."""

    def __init__(self, run: Run) -> None:
        self.task, self.criterion, self.place = run.task, run.criterion, run.place
        self.batch_size = run.spec.batch_size
        self.scored = run.scored

    @cached_property
    def scored_batches(self) -> list[Batch]:
        """What an evaluation goes through."""
        return graph_batches(self.task, self.scored)

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """One loss a batch."""
        task, place = self.task, self.place
        order = place.of_first(task.train[torch.randperm(task.train.numel())])
        for indices in order.split(self.batch_size):
            shares = place.shares(indices)
            # Batch norm cannot take a single node; all processes skip the same batches.
            if min(int(task.nodes_per_graph[share].sum()) for share in shares) < 2:
                continue
            own_share = shares[place.rank]
            weight = own_share.numel() * len(shares) / indices.numel()
            yield weight * self._loss(task.batch(own_share), network), indices.numel()

    def held_out_loss(self, model: GNN) -> Tensor:
        """The loss of as many validation graphs as a batch has."""
        val = self.task.val
        chosen = torch.randperm(val.numel())[: max(self.batch_size, 2)]
        return self._loss(self.task.batch(val[chosen]), model)

    def outputs(self, model: GNN) -> Tensor:  # (scored, outputs)
        """Batch by batch."""
        return predict_batches(model, self.scored_batches, self.place.device)

    def _loss(self, batch: Batch, network: nn.Module) -> Tensor:
        batch = batch.to(self.place.device)
        out = network(batch.x, batch.graph, None, batch.batch, batch.num_graphs)
        return self.criterion(out, batch.y)


class Links:
    """The links of the graph train; links that were taken out of it validate and test."""

    def __init__(self, run: Run) -> None:
        task, self.criterion, self.device = run.task, run.criterion, run.device
        assert task.pairs is not None
        self.links = task.graph.edge_index[:, task.train]  # (2, L), on the CPU
        self.none = NonLinks(task.graph.edge_index.numpy(), task.num_nodes)
        self.x, self.graph = task.x.to(run.device), task.graph.to(run.device)
        self.val = task.pairs[task.val].to(run.device)
        self.scored = task.pairs[run.scored].to(run.device)
        self.z: Tensor | None = None  # embeddings of the training pass

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """One step an epoch."""
        assert isinstance(network, LinkModel)
        rng = np.random.default_rng(int(torch.randint(2**31, (1,))))
        none = torch.from_numpy(self.none.structured(self.links.numpy(), 1, rng))  # (L, 1, 2)
        pairs = torch.cat([self.links.T[:, None], none], dim=1).to(self.device)
        self.z = network.embed(self.x, self.graph)
        out = network.decode(self.z, pairs)
        yield self.criterion(out, pairs[:, 0, 0]), len(pairs)

    def held_out_loss(self, model: LinkModel) -> Tensor:
        """The loss of all validation links, from the same pass."""
        assert self.z is not None
        return self.criterion(model.decode(self.z, self.val), self.val[:, 0, 0])

    def outputs(self, model: LinkModel) -> Tensor:  # (scored, 1 + m)
        """One pass."""
        model.eval()
        with torch.no_grad():
            return model(self.x, self.graph, self.scored).cpu()  # type: ignore[no-any-return]


class Sampled:
    """Every process takes a share of each batch."""

    def __init__(self, run: Run) -> None:
        spec, self.task, self.scored = run.spec, run.task, run.scored
        self.criterion, self.place = run.criterion, run.place
        assert spec.sample is not None
        if len(spec.sample) != spec.num_layers:
            raise InputError(
                f"sample needs a number for each of the {spec.num_layers} layers, "
                f"got {','.join(map(str, spec.sample))}"
            )
        self.loader = NeighborLoader(
            self.task, spec.sample, spec.batch_size, spec.seed, None, True,
            run.place.rank, run.place.num_ranks,
        )  # fmt: skip

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """One loss a batch."""
        self.loader.epoch = epoch
        for batch in self.loader:
            yield batch.weight * self._loss(network, batch), self.loader.batch_size

    def held_out_loss(self, model: GNN) -> Tensor:
        """The loss of as many validation nodes as a batch has."""
        val = self.task.val
        count = max(2, self.loader.batch_size // self.place.num_ranks)
        chosen = val[torch.randperm(val.numel())[:count]]
        rng = np.random.default_rng(int(torch.randint(2**31, (1,))))
        return self._loss(model, self.loader.batch(chosen, rng))

    def outputs(self, model: GNN) -> Tensor:  # (scored, outputs)
        """Layer by layer; every process does a share of the nodes."""
        out = predict_by_layer(model, self.task.x, self.task.graph, place=self.place)
        return out.index_select(0, self.scored)

    def _loss(self, network: nn.Module, batch: SampledBatch) -> Tensor:
        batch = batch.to(self.place.device)
        out = network(batch.x, batch.graph)[: batch.num_seeds]
        return self.criterion(out, batch.y)


def loop_of(run: Run) -> Loop:
    """What the spec, the kind of the task and the number of processes ask for."""
    if run.task.kind == "link":
        if run.spec.sample or run.place.num_ranks > 1:
            raise InputError(
                "links are learned on the whole graph in one process: leave out sample and torchrun"
            )
        return Links(run)
    if run.spec.sample:
        return Sampled(run)
    if run.task.kind == "graph":
        return Graphs(run)
    if run.place.num_ranks > 1:
        raise InputError(
            f"{run.place.num_ranks} processes share sampled batches, not one whole graph: add "
            "--sample 15,10 (in Python sample=(15, 10)), or start one process without torchrun"
        )
    return WholeGraph(run)
