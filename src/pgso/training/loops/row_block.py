"""A node task whose rows are shared among several processes."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from pgso.models.gnn import GNN
from pgso.scale.exchange import distribute
from pgso.scale.feature_rows import FeatureRows
from pgso.scale.partition import Partition
from pgso.training.loops.loop import Run


class RowBlock:
    """The whole graph, of which this process owns a block of rows."""

    def __init__(self, run: Run, model: GNN) -> None:
        self.place = run.place
        distribute(model, run.place.num_ranks)
        task, self.criterion, self.scored = run.task, run.criterion, run.scored
        part = Partition.of(task.graph, run.place.rank, run.place.num_ranks)
        own_nodes = torch.arange(part.start, part.start + part.num_own)
        self.part = part.to(run.device)
        self.x = FeatureRows(task.x)(own_nodes).to(run.device)
        self.y = task.y[own_nodes].to(run.device)
        self.train, self.val = part.among_own(task.train), part.among_own(task.val)
        count = run.criterion.objective.count
        self.num_train, self.num_val = count(task.y[task.train]), count(task.y[task.val])
        self.out: Tensor | None = None  # of the training pass, which both losses are taken from

    def losses(self, network: nn.Module, epoch: int) -> Iterator[tuple[Tensor, int]]:
        """One step an epoch."""
        self.out = network(self.x, self.part)
        yield self._mean_loss(self.train, self.num_train), self.num_train

    def held_out_loss(self, model: GNN) -> Tensor:
        """The loss of all validation nodes."""
        return self._mean_loss(self.val, self.num_val)

    def outputs(self, model: GNN) -> Tensor:  # (scored, outputs)
        """Every process computes its own rows and gets the rows of the others."""
        model.eval()
        with torch.no_grad():
            out = self.place.gathered(model(self.x, self.part), self.part.sizes).cpu()
        return out.index_select(0, self.scored)

    def _mean_loss(self, nodes: Tensor, count: int) -> Tensor:
        """This process's share of the mean over ``count`` answers; the shares average to it."""
        assert self.out is not None
        nodes = nodes.to(self.out.device)
        loss = self.criterion(self.out[nodes], self.y[nodes], reduction="sum")
        return loss * (self.place.num_ranks / count)
