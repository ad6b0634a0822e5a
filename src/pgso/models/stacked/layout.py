"""Which rows of the features belong to which replica, and draws for them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.convs.sparse_features import Draws


class Layout:
    """How replicas share one array of features.

    On one graph every replica has all nodes, and features are (R, n, F). Batches of graphs have
    different numbers of nodes: features are (N, F), with the rows of one replica after another's.
    The numbers are set by whoever makes a batch, before the network is applied to it.
    """

    nodes: Sequence[int] = ()  # of each replica's batch
    graphs: Sequence[int] = ()

    def sizes_of(self, x: Tensor) -> Sequence[int] | None:
        """How many rows of x (N, F) each replica has; None if x is (R, n, F).

        The rows are nodes, or graphs after pooling. No graph is empty, so that as many nodes as
        graphs are one node in each graph.
        """
        if x.dim() == 3:
            return None
        return self.nodes if x.size(0) == sum(self.nodes) else self.graphs

    def parts(self, x: Tensor) -> tuple[Tensor, ...]:
        """The rows of each replica."""
        return parts_of(x, self.sizes_of(x))


def parts_of(x: Tensor, sizes: Sequence[int] | None) -> tuple[Tensor, ...]:
    """The rows of each replica, if these are their numbers."""
    return x.unbind() if sizes is None else x.split(sizes)


class RaggedDraws(Draws):
    """A generator for each replica, which draws for its rows."""

    def __init__(self, generators: Sequence[torch.Generator], layout: Layout) -> None:
        super().__init__(generators)
        self.layout = layout

    def sizes_of(self, x: Tensor) -> Sequence[int] | None:
        """The rows of each replica."""
        return self.layout.sizes_of(x)
