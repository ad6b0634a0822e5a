"""Where a sampled graph comes from: which nodes it has, and what its edges stand for."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from pgso.graph.graph import Graph


@dataclass(frozen=True, eq=False)
class Sample:
    """The origin of a graph whose rows hold some of the neighbours only.

    The sampled graph's weights are A's times ``importance``, and its degrees are the whole
    graph's, so that γ's rows are right on average. Code that needs other degrees, or sums over
    neighbours that are not products with A (attention), uses these fields.
    """

    graph: "Graph"  # the whole graph
    nodes: Tensor  # (n,) the id of each node in the whole graph; on its device
    importance: Tensor  # (nnz,) how many edges an entry stands for; 1 on the diagonal

    def to(self, device: torch.device | str | None) -> "Sample":
        """The same sample for a graph on another device; the whole graph stays where it is."""
        return replace(self, importance=self.importance.to(device))
