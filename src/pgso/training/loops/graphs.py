"""A graph task: mini-batches of graphs; of several processes each takes a share of every batch."""

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor, nn

from pgso.data.batch import Batch
from pgso.models.gnn import GNN
from pgso.training.loops.loop import Run
from pgso.training.prediction import graph_batches, predict_batches


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
