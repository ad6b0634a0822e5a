"""A node task in mini-batches of nodes with some of their neighbours."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from pgso.errors import InputError
from pgso.models.gnn import GNN
from pgso.scale import NeighborLoader, SampledBatch, predict_by_layer
from pgso.training.loops.loop import Run


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
