"""A node task as one graph in one process: one step an epoch."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from pgso.models.gnn import GNN
from pgso.training.loops.loop import Run


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
