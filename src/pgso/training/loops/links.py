"""A link task: all links of the graph at once, each beside a pair that is none, drawn anew."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from pgso.data.links import NonLinks
from pgso.models.links import LinkModel
from pgso.training.loops.loop import Run


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
