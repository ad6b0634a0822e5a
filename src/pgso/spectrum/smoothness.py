"""How smooth features are over a graph: two measures that fall to 0 as layers over-smooth."""

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.gso.shift import apply_pgso


def dirichlet_energy(h: Tensor, graph: Graph) -> float:  # h: (n, F)
    r"""The share of high frequencies in h, the Rayleigh quotient of the symmetric Laplacian.

    .. math::
        E(h) = \frac{\operatorname{tr}\, h^\top (I - D^{-1/2} A D^{-1/2})\, h}{\|h\|_F^2} \in [0, 2]

    It does not depend on the scale of h. Where h is 0 it is 0.

    Example:
        >>> edge = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
        >>> dirichlet_energy(torch.tensor([[1.0], [1.0]]), edge)
        0.0
        >>> dirichlet_energy(torch.tensor([[1.0], [-1.0]]), edge)
        2.0
    """
    h = h.reshape(h.size(0), -1).float()
    size = float(h.square().sum())
    if size == 0:
        return 0.0
    return float((h * apply_pgso(h, graph, "symmetric_laplacian")).sum()) / size


def mean_average_distance(h: Tensor, graph: Graph) -> float:  # h: (n, F)
    r"""The mean over nodes of the average cosine distance to their neighbours.

    MAD of Chen et al. (2020) on neighbours: :math:`1 - \cos(h_i, h_j)`, weighted as the edges are,
    over the nodes that have neighbours.

    Example:
        >>> edge = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
        >>> mean_average_distance(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), edge)
        1.0
    """
    h = torch.nn.functional.normalize(h.reshape(h.size(0), -1).float(), dim=1)
    has_neighbours = graph.degree > 0
    if not bool(has_neighbours.any()):
        return 0.0
    cosines = (h * apply_pgso(h, graph, "mean")).sum(dim=1)
    return float((1 - cosines)[has_neighbours].mean())
