"""S per node on any graph: a small network of degree, clustering coefficient and PageRank."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from pgso.graph import EdgeList, Graph
from pgso.gso.parameters import NAMES

FEATURES = ("log-degree", "clustering coefficient", "PageRank")
HIDDEN = 16
DAMPING, STEPS = 0.85, 50  # of PageRank: 0.85^50 of the start is left


class StructuralNetwork(nn.Module):
    """What is added to the seven scalars at each node: zeros at first.

    The last layer starts at zero, so that the operator starts exactly at its preset.
    """

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            self.hidden = nn.Linear(len(FEATURES), HIDDEN)
            self.out = nn.Linear(HIDDEN, len(NAMES))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the hidden layer anew; the output is zero again."""
        # What is drawn here must not change the weights that a network draws next:
        # fixed and learned networks start with the same weights.
        with torch.random.fork_rng(devices=[]):
            self.hidden.reset_parameters()
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, graph: Graph | EdgeList) -> Tensor:  # (7, n, 1)
        """A correction to S at every node."""
        features = structural_features(graph).to(self.hidden.weight.dtype)
        out: Tensor = self.out(self.hidden(features).tanh())
        return out.t().unsqueeze(-1)


def structural_features(graph: Graph | EdgeList) -> Tensor:  # (n, 3)
    """Log-degree, clustering coefficient and n times PageRank, computed once for a graph.

    They are taken without weights, directions and self-loops, and they do not depend on how the
    nodes are numbered. Triangles are counted by a sparse product: O(Σ d²).

    Example:
        >>> triangle = Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]))
        >>> structural_features(triangle)  # log(1 + 2), all neighbours linked, average importance
        tensor([[1.0986, 1.0000, 1.0000],
                [1.0986, 1.0000, 1.0000],
                [1.0986, 1.0000, 1.0000]])
    """
    if not isinstance(graph, Graph):
        return _features(graph).to(graph.device)
    if graph.sample is not None:  # a sampled node has the features that it has in the whole graph
        whole = structural_features(graph.sample.graph)
        return whole.index_select(0, graph.sample.nodes).to(graph.device)
    return graph.memo("structural_features", lambda: _features(graph).to(graph.device))


def _features(graph: Graph | EdgeList) -> Tensor:
    n = graph.num_nodes
    row, col = (part.numpy(force=True) for part in (graph.pattern.row, graph.pattern.col))
    one_way = csr_array((np.ones(len(row)), (row, col)), shape=(n, n))
    A = one_way + one_way.T
    A.setdiag(0)
    A.eliminate_zeros()
    A.data[:] = 1
    d = A.sum(axis=1)

    triangles = np.asarray((A @ A).multiply(A).sum(axis=1)).ravel()
    clustering = triangles / np.maximum(d * (d - 1), 1)

    importance = np.ones(n)
    for _ in range(STEPS):  # nodes without neighbours keep it
        passed_on = A @ (importance / np.maximum(d, 1)) + np.where(d == 0, importance, 0)
        importance = 1 - DAMPING + DAMPING * passed_on
    return torch.from_numpy(np.stack([np.log1p(d), clustering, importance], axis=1)).float()
