"""Operators times features: the only file of ``finding`` that knows how γ acts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from pgso.graph import Graph, weighted_product
from pgso.gso.presets import resolve
from pgso.records.spec import SevenNumbers

Direction = Literal["any", "in", "out"]


@dataclass(frozen=True)
class Letter:
    """One operator of a rung: γ(A, S), and which edges it follows.

    ``"any"`` is the paper's operator on the graph where every edge has its reverse, which is what
    published baselines use. ``"in"`` and ``"out"`` are for directed graphs:
    m1 D_in^e1 + m2 D_in^e2 A D_out^e3 + m3 I, and the same with A transposed and the degrees
    exchanged.
    """

    name: str  # a preset's name, or "learned"
    S: SevenNumbers
    direction: Direction = "any"

    @classmethod
    def of(cls, preset: str, direction: Direction = "any") -> "Letter":
        """The operator of a preset."""
        m1, m2, m3, e1, e2, e3, a = (float(value) for value in resolve(preset))
        return cls(preset, (m1, m2, m3, e1, e2, e3, a), direction)

    @property
    def term(self) -> str:
        """How a term is written: ``gcn`` or ``gcn@out``."""
        return self.name if self.direction == "any" else f"{self.name}@{self.direction}"


class Propagation:
    """γ x and γᵀ g on one graph, for operators that differ in S and direction.

    Both are scalings of nodes around a product with A, so that they are differentiable in S.

    Example:
        >>> path = Propagation(Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])))
        >>> path.times(torch.tensor([[1.0], [2.0], [4.0]]), Letter.of("laplacian")).flatten()
        tensor([-1., -1.,  2.])
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def reversed(self) -> Graph:
        """The graph with every edge turned round."""
        graph = self.graph
        if graph.is_undirected:
            return graph
        return Graph.from_edge_index(
            graph.edge_index.flip(0), graph.edge_weight, num_nodes=graph.num_nodes
        )

    @cached_property
    def undirected(self) -> Graph:
        """The graph with a reverse for every edge; two weights of one pair become their mean."""
        graph = self.graph
        if graph.is_undirected:
            return graph
        n, (source, target) = graph.num_nodes, graph.edge_index
        low, high = torch.minimum(source, target), torch.maximum(source, target)
        pairs, place, count = torch.unique(low * n + high, return_inverse=True, return_counts=True)
        edges = torch.stack([pairs // n, pairs % n])
        weight = graph.edge_weight
        if weight is not None:
            weight = weight.new_zeros(len(pairs)).index_add(0, place, weight) / count
        apart = edges[0] != edges[1]  # a loop is its own reverse
        both = torch.cat([edges, edges[:, apart].flip(0)], dim=1)
        return Graph.from_edge_index(
            both, None if weight is None else torch.cat([weight, weight[apart]]), n
        )

    def times(self, x: Tensor, letter: Letter, S: Tensor | None = None) -> Tensor:
        """γ x.

        Args:
            x: (n, F) features.
            letter: The operator.
            S: (7,) values in place of the letter's own, through which gradients flow.
        """
        return self._times(x, letter, S, transposed=False)

    def times_transposed(self, g: Tensor, letter: Letter, S: Tensor | None = None) -> Tensor:
        """γᵀ g: as :meth:`times`."""
        return self._times(g, letter, S, transposed=True)

    def _times(self, x: Tensor, letter: Letter, S: Tensor | None, transposed: bool) -> Tensor:
        m1, m2, m3, e1, e2, e3, a = letter.S if S is None else S.unbind()
        if letter.direction == "any":
            forward = backward = self.undirected
        elif letter.direction == "in":
            forward, backward = self.graph, self.reversed
        else:
            forward, backward = self.reversed, self.graph
        d_rows, d_columns = forward.degree.to(x.dtype) + a, backward.degree.to(x.dtype) + a
        left, right = m2 * _power(d_rows, e2), _power(d_columns, e3)
        if transposed:
            left, right = right, left
        adjacency = backward if transposed else forward
        inner = right.unsqueeze(1) * x
        diagonal = m1 * _power(d_rows, e1) + m3 + a * left * right
        product = weighted_product(adjacency, adjacency.entries.to(x.dtype), inner)
        return diagonal.unsqueeze(1) * x + left.unsqueeze(1) * product


def _power(base: Tensor, exponent: Tensor | float) -> Tensor:
    """``base ** exponent``; 0 where base ≤ 0, unless the exponent is exactly 0: then 1."""
    if not isinstance(exponent, Tensor) and exponent == 0:
        return torch.ones_like(base)
    positive = base > 0
    return torch.where(positive, torch.where(positive, base, 1.0) ** exponent, 0.0)
