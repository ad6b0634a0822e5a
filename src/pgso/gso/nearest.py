"""Which preset a learned S is most like, as a matrix on a graph."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pgso.graph import Graph
from pgso.gso.entries import OnPattern
from pgso.gso.parameters import Scalar
from pgso.gso.presets import PRESETS, resolve
from pgso.gso.shift import shift


def nearest_preset(
    graph: Graph, S: str | Sequence[Scalar] | Tensor, degrees: str = "row"
) -> tuple[str, float]:  # name, distance in [0, 1]
    r"""The preset that is closest to γ(A, S) as a matrix, up to a factor.

    .. math::
        \min_c \lVert \gamma(A, \mathcal{S}) - c\, P \rVert_F
        \, / \, \lVert \gamma(A, \mathcal{S}) \rVert_F

    Tuples are not compared, since different S may be the same matrix (m1 D^0 and m3 I), and a
    factor is left out, since the next weight matrix can absorb it.

    Example:
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> nearest_preset(path, (2, -2, 0, 1, 0, 0, 0))  # twice the Laplacian
        ('laplacian', 0.0)
    """
    entries = _entries(graph, S, degrees)
    size = entries.norm()
    best = ("zeros", 0.0 if float(size) == 0 else 1.0)
    for name, preset in PRESETS.items():
        other = _entries(graph, preset, degrees)
        norms = float(size * other.norm())
        if norms == 0:
            continue
        cosine = min(abs(float(entries @ other)) / norms, 1.0)
        distance = max(0.0, 1 - cosine**2) ** 0.5
        if distance < best[1] - 1e-9:
            best = (name, round(distance, 6))
    return best


def _entries(graph: Graph, S: str | Sequence[Scalar] | Tensor, degrees: str) -> Tensor:
    operator = shift(graph, resolve(S).as_floats(), degrees=degrees)
    assert isinstance(operator, OnPattern)
    return operator.entries(torch.float64)
