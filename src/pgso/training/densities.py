"""Spectral densities along a run, and a piece of the graph, for the report of a comparison."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from pgso.data.load import task_of
from pgso.graph import Graph
from pgso.records import RunRecord
from pgso.records.spec import SevenNumbers
from pgso.spectrum import density
from pgso.training.base import on_base

LARGEST = 200_000  # nodes above which a report does without: the density would outlast the runs
MOST_EDGES = 250_000  # above which only the start and the chosen epoch have a density
FRAMES = 12  # densities along a run
POINTS = 300  # of a density: as many as its 200 moments can tell apart
SHOWN = 40  # nodes of the heat map

Spectrum = Callable[[SevenNumbers], dict[str, list[float]]]


def spectra_of(records: Sequence[RunRecord], root: str | Path | None = None) -> dict[str, Any]:
    """What the report shows of the first seed's records, by the key of their spec.

    A directed graph has entries to show but no density; an S that differs from node to node has
    neither, since a record holds its mean only.
    """
    finished = [run for run in records if run.status == "done" and run.spec.shape == "scalar"]
    if not finished:
        return {}
    first = min(record.spec.seed for record in finished)
    spec = finished[0].spec
    task = on_base(task_of(spec.but(seed=first), root), spec.base)
    graph = task.graph
    shown = [record for record in finished if record.spec.seed == first]
    subgraph = surroundings(graph)
    directed = not graph.is_undirected
    if directed and any("@" in term for term in spec.terms or ()):
        return {}  # the page's entries are of one direction, normalised by its degrees
    if directed or graph.num_nodes > LARGEST:
        return {record.spec.key: {"subgraph": subgraph} for record in shown}
    known: dict[SevenNumbers, dict[str, list[float]]] = {}

    def spectrum(S: SevenNumbers) -> dict[str, list[float]]:
        if S not in known:
            found = density(graph, S, num_points=POINTS)
            known[S] = {"grid": found.grid.tolist(), "density": found.density.tolist()}
        return known[S]

    return {
        record.spec.key: {
            "start": [spectrum(S) for S in record.start],
            "learned": [spectrum(S) for S in record.parameters],
            "by_epoch": _frames(record, spectrum) if graph.num_edges <= MOST_EDGES else [],
            "subgraph": subgraph,
        }
        for record in shown
    }


def surroundings(graph: Graph, size: int = SHOWN) -> dict[str, Any]:
    """A ball around a well-connected node, nearest nodes first: A on it, and its degrees.

    The centre has at most a quarter as many neighbours as there is room for: a hub would show a
    star and nothing else.

    Example:
        >>> import torch
        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> surroundings(path, size=2)
        {'adjacency': [[0.0, 1.0], [1.0, 0.0]], 'degree': [2.0, 1.0]}
    """
    n = graph.num_nodes
    target, source = graph.edge_index.flip(0).numpy(force=True)
    weight = graph.entries.new_ones(len(source)) if graph.weight is None else graph.edge_weight
    assert weight is not None
    A = csr_array((weight.numpy(force=True), (target, source)), shape=(n, n))
    neighbours = np.diff(A.indptr)
    room = max(size // 4, int(neighbours.min(initial=n)), 2)
    centre = int(np.where(neighbours <= room, neighbours, -1).argmax())
    nodes = breadth_first_order(A, centre, return_predecessors=False)[:size]
    return {
        "adjacency": A[nodes][:, nodes].toarray().tolist(),
        "degree": graph.degree.numpy(force=True)[nodes].tolist(),
    }


def _frames(record: RunRecord, spectrum: Spectrum) -> list[dict[str, Any]]:
    """Densities at equal distances in time, for the slider to move through."""
    if record.spec.operator == "fixed":
        return []
    curve = record.curves.get("parameters", [])
    epochs = record.curves.get("epoch", range(len(curve)))
    places = sorted({round(k * (len(curve) - 1) / (FRAMES - 1)) for k in range(FRAMES)})
    return [
        {"epoch": epochs[place], "operator": layer, **spectrum(tuple(S))}
        for place in places
        if curve
        for layer, S in enumerate(curve[place])
    ]
