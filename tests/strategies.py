"""Random graphs and random S for Hypothesis.

Weights are multiples of 1/4 and a is a multiple of 1/8, so that degrees and d + a are exact in
every precision: d + a is 0, or at least 1/8 away from it, never a rounding error.
"""

from typing import NamedTuple

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from pgso import Graph, dense_pgso
from pgso.gso.formula import positive_power
from pgso.gso.parameters import PGSOParameters


class Edges(NamedTuple):
    """A graph as a user would have it: an edge list, weights or not, n."""

    edge_index: Tensor
    edge_weight: Tensor | None
    num_nodes: int

    @property
    def graph(self) -> Graph:
        return Graph.from_edge_index(*self)

    @property
    def adjacency(self) -> Tensor:
        """A in float64, built entry by entry without our code."""
        A = np.zeros((self.num_nodes, self.num_nodes))
        weights = [1.0] * self.edge_index.size(1)
        if self.edge_weight is not None:
            weights = self.edge_weight.tolist()
        for source, target, weight in zip(*self.edge_index.tolist(), weights, strict=True):
            A[target, source] += weight
        return torch.from_numpy(A)


@st.composite
def edge_lists(draw, undirected=None, weights=None, loops=True, max_nodes=6) -> Edges:
    """Duplicates, self-loops and isolated nodes included; weights none, positive or signed."""
    n = draw(st.sampled_from([size for size in (4, 3, 5, 2, 6, 1) if size <= max_nodes]))
    node = st.integers(0, n - 1)
    least = draw(st.sampled_from([n, 2 * n, 0]))  # Hypothesis likes short lists, we like edges
    pairs = draw(st.lists(st.tuples(node, node), min_size=least, max_size=12))
    if not loops:
        pairs = [(u, v) for u, v in pairs if u != v]
    kind = draw(st.sampled_from(["none", "positive", "signed"])) if weights is None else weights
    low = {"none": 4, "positive": 1, "signed": -8}[kind]
    high = 4 if kind == "none" else 8
    quarters = draw(st.lists(st.integers(low, high), min_size=len(pairs), max_size=len(pairs)))
    edges = [(u, v, q / 4) for (u, v), q in zip(pairs, quarters, strict=True)]
    if draw(st.booleans()) if undirected is None else undirected:
        edges += [(v, u, w) for u, v, w in edges if u != v]
    ends = torch.tensor([(u, v) for u, v, _ in edges], dtype=torch.int64).reshape(-1, 2).t()
    weight = torch.tensor([w for *_, w in edges], dtype=torch.float64)
    return Edges(ends.contiguous(), None if kind == "none" else weight, n)


def multipliers() -> st.SearchStrategy[float]:
    return st.sampled_from([-1.0, 1.0, 0.6, -0.3, 0.0, 1.7, -2.0, 0.05, -0.85, 0.4])


def exponents() -> st.SearchStrategy[float]:
    return st.sampled_from([-0.5, 1.0, -1.0, 0.7, 0.0, -0.35, 1.5, 0.2, -1.5, 0.5])


def additives() -> st.SearchStrategy[float]:
    return st.sampled_from([1.0, 0.0, -0.5, 0.125, 2.0, -1.0, 0.75, -2.0, 3.0, -0.875])


def parameters(additive=None) -> st.SearchStrategy[tuple[float, ...]]:
    """S with exact zeros among its values; a is often below zero, and d + a often zero or less."""
    m, e = multipliers(), exponents()
    return st.tuples(m, m, m, e, e, e, additives() if additive is None else additive)


def smooth_parameters() -> st.SearchStrategy[tuple[float, ...]]:
    """S where γ is differentiable: d + a is at least 1/16 away from 0, on either side of it."""
    return parameters(additives().map(lambda a: a + 1 / 16))


def random_features(n: int, *more: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(n, *(more or (3,)), dtype=torch.float64).to(dtype)


def dense_shift(adjacency: Tensor, S, degrees: str) -> Tensor:
    """As ``dense_pgso``; with ``degrees="both"``, e3 acts on column sums."""
    if degrees == "row":
        return dense_pgso(adjacency, S)
    m1, m2, m3, e1, e2, e3, a = PGSOParameters.of(S)
    identity = torch.eye(len(adjacency), dtype=adjacency.dtype)
    A_a = adjacency + a * identity
    d_in, d_out = A_a.sum(dim=1), A_a.sum(dim=0)
    first, left = (positive_power(d_in, exponent).diag() for exponent in (e1, e2))
    return m1 * first + m2 * left @ A_a @ positive_power(d_out, e3).diag() + m3 * identity
