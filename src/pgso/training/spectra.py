"""Spectral densities before and after training, for the report of a comparison."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pgso.data import load_task
from pgso.records import RunRecord
from pgso.records.spec import SevenNumbers
from pgso.spectrum import density
from pgso.training.base import on_base

LARGEST = 200_000  # nodes above which a report does without: the density would outlast the runs
SHOWN = 40  # nodes of the heat map


def spectra_of(records: Sequence[RunRecord], root: str | Path | None = None) -> dict[str, Any]:
    """The spectra of the first seed's records, by the key of their spec; none if directed."""
    finished = [record for record in records if record.status == "done"]
    if not finished:
        return {}
    first = min(record.spec.seed for record in finished)
    spec = finished[0].spec
    task = on_base(load_task(spec.dataset, root, first, **spec.data_options), spec.base)
    graph = task.graph
    if not graph.is_undirected or graph.num_nodes > LARGEST:
        return {}
    known: dict[SevenNumbers, dict[str, list[float]]] = {}

    def spectrum(S: SevenNumbers) -> dict[str, list[float]]:
        if S not in known:
            found = density(graph, S)
            known[S] = {
                "grid": [float(value) for value in found.grid],
                "density": [float(value) for value in found.density],
                "error": [float(value) for value in found.error],
            }
        return known[S]

    size = min(SHOWN, graph.num_nodes)
    source, target = graph.edge_index
    inside = (source < size) & (target < size)
    adjacency = [[0.0] * size for _ in range(size)]
    weight = graph.edge_weight
    weights = [1.0] * int(inside.sum()) if weight is None else weight[inside].tolist()
    for j, i, value in zip(source[inside].tolist(), target[inside].tolist(), weights, strict=True):
        adjacency[i][j] = value
    subgraph = {"adjacency": adjacency, "degree": graph.degree[:size].tolist()}
    return {
        record.spec.key: {
            "start": [spectrum(S) for S in record.start],
            "learned": [spectrum(S) for S in record.parameters],
            "subgraph": subgraph,
        }
        for record in finished
        if record.spec.seed == first
    }
