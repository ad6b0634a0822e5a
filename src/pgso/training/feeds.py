"""Node tasks that are not trained as one graph in one process: sampled, or in row blocks."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pgso.data import Task
from pgso.errors import InputError
from pgso.models.gnn import GNN
from pgso.records import RunSpec
from pgso.scale import NeighborLoader, SampledBatch, predict_by_layer, ranks
from pgso.scale.exchange import distribute
from pgso.scale.features import FeatureRows
from pgso.scale.partition import Partition


class Feed(Protocol):
    """Where losses and outputs of a node task come from; the mean over processes is the whole."""

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """The loss of every step of an epoch, and how many nodes it is the mean of."""

    def held_out_loss(self, model: nn.Module) -> Tensor:
        """A loss of validation nodes."""

    def logits(self, model: GNN) -> Tensor:  # (n, C)
        """Class scores of every node, with all neighbours, in evaluation mode."""


def feed_of(spec: RunSpec, task: Task, model: GNN) -> Feed | None:
    """What the spec and the number of processes ask for; None for one graph, or for graphs."""
    if spec.sample:
        return Sampled(spec, task)
    if task.kind == "node" and ranks.num_ranks() > 1:
        return RowBlock(task, model)
    return None


class Sampled:
    """Mini-batches of nodes with some of their neighbours; every process takes a share of each."""

    def __init__(self, spec: RunSpec, task: Task) -> None:
        assert spec.sample is not None
        if len(spec.sample) != spec.num_layers:
            raise InputError(
                f"sample needs a number for each of the {spec.num_layers} layers, "
                f"got {','.join(map(str, spec.sample))}"
            )
        self.task = task
        self.loader = NeighborLoader(
            task, spec.sample, spec.batch_size, spec.seed, None, True,
            ranks.rank(), ranks.num_ranks(),
        )  # fmt: skip

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """One loss a batch."""
        self.loader.epoch = epoch
        for batch in self.loader:
            yield batch.weight * _loss(network, batch), self.loader.batch_size

    def held_out_loss(self, model: nn.Module) -> Tensor:
        """The loss of as many validation nodes as a batch has."""
        val = self.task.val
        count = max(2, self.loader.batch_size // ranks.num_ranks())
        chosen = val[torch.randperm(val.numel())[:count]]
        rng = np.random.default_rng(int(torch.randint(2**31, (1,))))
        return _loss(model, self.loader.batch(chosen, rng))

    def logits(self, model: GNN) -> Tensor:  # (n, C)
        """Layer by layer; every process does a share of the nodes."""
        return predict_by_layer(model, self.task.x, self.task.graph, shared=True)


def _loss(network: nn.Module, batch: SampledBatch) -> Tensor:
    batch = batch.to(ranks.device())
    logits = network(batch.x, batch.graph)[: batch.num_seeds]
    return functional.cross_entropy(logits, batch.y)


class RowBlock:
    """The whole graph, of which this process owns a block of rows."""

    def __init__(self, task: Task, model: GNN) -> None:
        distribute(model)
        part = Partition.of(task.graph, ranks.rank(), ranks.num_ranks())
        own = torch.arange(part.start, part.start + part.num_own)
        self.part = part.to(ranks.device())
        self.x = FeatureRows(task.x)(own).to(ranks.device())
        self.y = task.y[own].to(ranks.device())
        self.train, self.val = part.own(task.train), part.own(task.val)
        self.num_train, self.num_val = task.train.numel(), task.val.numel()
        self.out: Tensor | None = None  # of the training pass, which both losses are taken from

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """One step an epoch."""
        self.out = network(self.x, self.part)
        yield self._mean_loss(self.train, self.num_train), self.num_train

    def held_out_loss(self, model: nn.Module) -> Tensor:
        """The loss of all validation nodes."""
        return self._mean_loss(self.val, self.num_val)

    def _mean_loss(self, nodes: Tensor, count: int) -> Tensor:
        """Our part of the mean over ``count`` nodes, such that the average of all parts is it."""
        assert self.out is not None
        nodes = nodes.to(self.out.device)
        loss = functional.cross_entropy(self.out[nodes], self.y[nodes], reduction="sum")
        return loss * (ranks.num_ranks() / count)

    def logits(self, model: GNN) -> Tensor:  # (n, C)
        """Every process computes its rows; all get all."""
        model.eval()
        with torch.no_grad():
            return ranks.gathered(model(self.x, self.part), self.part.sizes).cpu()
