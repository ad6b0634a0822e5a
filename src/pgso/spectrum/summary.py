"""A summary of one operator on one graph: bounds, extreme eigenvalues, density."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgso.errors import InputError
from pgso.graph import Graph
from pgso.gso.parameters import NAMES, PGSOParameters, Scalar
from pgso.gso.presets import resolve
from pgso.spectrum.assumption import undirected
from pgso.spectrum.kernel_polynomial import Density, density
from pgso.spectrum.lanczos import NotConvergedError, eigenvalues
from pgso.spectrum.optimal_interval import interval

LARGEST = 1e150  # entries and degrees beyond it overflow when they are squared


@dataclass(frozen=True, eq=False)
class Summary:
    """One operator on one graph."""

    name: str
    S: PGSOParameters
    theorem2: tuple[float, float]
    optimal: tuple[float, float]
    extremes: NDArray[np.float64]  # ascending; empty if Lanczos did not converge
    density: Density

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the probes' own densities."""
        return {
            "name": self.name,
            "S": dict(zip(NAMES, self.S, strict=True)),
            "theorem2": list(self.theorem2),
            "optimal": list(self.optimal),
            "extremes": self.extremes.tolist(),
            "density": {
                "grid": self.density.grid.tolist(),
                "density": self.density.density.tolist(),
                "error": self.density.error.tolist(),
            },
        }


def summarise(graph: Graph, name: str, S: str | Sequence[Scalar], k: int = 6) -> Summary:
    """Bounds by both methods, up to k extreme eigenvalues, and the density.

    Example:
        >>> import torch
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> summarise(path, "L", "laplacian").theorem2
        (0.0, 4.0)
    """
    graph = undirected(graph)
    params = resolve(S).as_floats()
    theorem2 = tuple(float(end) for end in interval(graph, params, method="theorem2"))
    degree = float(graph.degree.abs().max()) if graph.num_nodes else 0.0
    if not max(*map(abs, theorem2), degree) < LARGEST:
        raise InputError(
            f"S = {tuple(params)} on this graph has degrees or entries beyond {LARGEST:g}: too "
            "large to be squared in double precision; scale S or the weights"
        )
    optimal = tuple(float(end) for end in interval(graph, params, method="optimal"))
    try:
        extremes = eigenvalues(graph, params, k=min(k, graph.num_nodes), max_iterations=1_000)
    except NotConvergedError:  # the rest is still worth showing
        extremes = np.empty(0)
    return Summary(
        name=name,
        S=params,
        theorem2=(theorem2[0], theorem2[1]),
        optimal=(optimal[0], optimal[1]),
        extremes=extremes,
        density=density(graph, params),
    )
