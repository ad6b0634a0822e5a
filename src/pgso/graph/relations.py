"""Several kinds of edges between the same nodes."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch

from pgso.errors import InputError, UnknownNameError
from pgso.graph.graph import Graph
from pgso.graph.memo import for_any_mode, learns


class Relations:
    """Graphs on the same nodes, one for each relation, and their union.

    Args:
        graphs: A graph, an ``edge_index`` or a sparse A by the name of the relation.
        num_nodes: n; by default the largest n of the graphs.
    """

    def __init__(self, graphs: Mapping[str, Any], num_nodes: int | None = None) -> None:
        if not graphs:
            raise InputError("relations need at least one graph")
        for name in graphs:
            if not isinstance(name, str) or name in ("in", "out", "self", ""):
                raise InputError(f"a relation cannot be called {name!r}: it is a word of its own")
        self.graphs = {name: Graph.of(graph, None, num_nodes) for name, graph in graphs.items()}
        n = max(graph.num_nodes for graph in self.graphs.values())
        for name, graph in self.graphs.items():
            if graph.num_nodes != n:
                edges = (graph.edge_index, graph.edge_weight)
                self.graphs[name] = Graph.from_edge_index(*edges, n)
        self._union: Graph | None = None

    @property
    def num_nodes(self) -> int:
        """The number n of nodes."""
        return next(iter(self.graphs.values())).num_nodes

    def part(self, relation: str | None) -> Graph:
        """The graph of one relation, or of all together."""
        if relation is None:
            return self.union
        if relation not in self.graphs:
            raise UnknownNameError("relation", relation, self.graphs)
        return self.graphs[relation]

    @property
    def union(self) -> Graph:
        """All edges together, with sums of weights; made once, unless weights learn."""
        if self._union is not None:
            return self._union
        parts = list(self.graphs.values())
        learned = any(graph.weight is not None and learns(graph.weight) for graph in parts)
        mode: Any = nullcontext() if learned else for_any_mode(*(graph.row_sums for graph in parts))
        with mode:
            ones = [torch.ones_like(graph.edge_index[0], dtype=graph.dtype) for graph in parts]
            given = [graph.edge_weight for graph in parts]
            weights = [one if w is None else w for one, w in zip(ones, given, strict=True)]
            edges = torch.cat([graph.edge_index for graph in parts], dim=1)
            union = Graph.from_edge_index(edges, torch.cat(weights), self.num_nodes)
        self._union = None if learned else union
        return union

    def to(self, device: torch.device | str | None) -> "Relations":
        """The same relations on another device."""
        return Relations({name: graph.to(device) for name, graph in self.graphs.items()})

    def __repr__(self) -> str:
        parts = (f"{name}: {graph.num_edges} edges" for name, graph in self.graphs.items())
        return f"Relations(num_nodes={self.num_nodes}, {', '.join(parts)})"
