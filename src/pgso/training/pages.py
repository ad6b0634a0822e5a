"""What a page shows beside runs: data, baselines and spectra, computed once and stored."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import breadth_first_order
from torch_geometric.utils import to_scipy_sparse_matrix

from pgso.data.load import task_of
from pgso.graph import Graph
from pgso.records import RunRecord, Store
from pgso.records.record import Density, Spectra, Subgraph, without_spectra
from pgso.records.spec import SevenNumbers
from pgso.spectrum import density
from pgso.training.engines import threads_for
from pgso.training.fit import on_base

LARGEST = 200_000  # nodes above which a report does without: the density would outlast the runs
MOST_EDGES = 250_000  # above which only the start and the chosen epoch have a density
FRAMES = 12  # densities along a run
POINTS = 300  # of a density: as many as its 200 moments can tell apart
SHOWN = 40  # nodes of the heat map


def complete_spectra(
    records: Sequence[RunRecord], store: Store, root: str | Path | None = None
) -> list[RunRecord]:
    """The records, with the spectra that a page shows; what is computed is stored with them.

    A page shows those of the first seed. A directed graph has entries to show but no density.
    """
    shown, complete = without_spectra(records), {record.spec.key: record for record in records}
    if not shown:
        return list(records)
    task = task_of(shown[0].spec, root)
    with threads_for(task):
        bases = [record.network.get("base", record.spec.base) for record in shown]
        for base in dict.fromkeys(bases):
            graph = on_base(task, base).graph
            subgraph, density_of = surroundings(graph), cache(partial(_density, graph))
            for record, its_base in zip(shown, bases, strict=True):
                if its_base == base:
                    spectra = _spectra(record, graph, subgraph, density_of)
                    complete[record.spec.key] = record.model_copy(update={"spectra": spectra})
                    store.put(complete[record.spec.key])
    return list(complete.values())


def _spectra(
    record: RunRecord, graph: Graph, subgraph: Subgraph, density_of: Callable[..., Density]
) -> Spectra:
    """What a page shows of one run."""
    terms = record.network.get("terms", record.spec.terms)  # a rung may have changed the spec's
    edges = {term.partition("@")[2] for term in terms or ()}
    directed = not graph.is_undirected
    if edges - {"", "in", "out"} or (directed and edges - {""}):
        # The page's entries are of all edges in one direction, normalised by its degrees.
        return Spectra()
    if directed or graph.num_nodes > LARGEST:
        return Spectra(subgraph=subgraph)
    frames: list[Density] = []
    curve = record.curves.get("parameters", [])
    if curve and record.spec.operator != "fixed" and graph.num_edges <= MOST_EDGES:
        epochs = record.curves.get("epoch", range(len(curve)))
        for frame in sorted({round(k * (len(curve) - 1) / (FRAMES - 1)) for k in range(FRAMES)}):
            for layer, S in enumerate(curve[frame]):
                drawn = density_of(tuple(S))
                frames.append({**drawn, "epoch": epochs[frame], "operator": layer})
    return Spectra(
        start=[density_of(S) for S in record.start],
        learned=[density_of(S) for S in record.parameters],
        by_epoch=frames,  # at equal distances in time, for the slider to move through
        subgraph=subgraph,
    )


def _density(graph: Graph, S: SevenNumbers) -> Density:
    """With eight digits: more than a page can show, in half of the room."""
    drawn = density(graph, S, num_points=POINTS)
    sides = ([float(f"{v:.8g}") for v in side.tolist()] for side in (drawn.grid, drawn.density))
    return Density(grid=next(sides), density=next(sides))


def surroundings(graph: Graph) -> Subgraph:
    """A ball around a well-connected node, nearest nodes first: A on it, and its degrees.

    The centre has at most a quarter as many neighbours as there is room for: a hub would show a
    star and nothing else.
    """
    edge_index = graph.edge_index.flip(0)  # rows are targets
    A = to_scipy_sparse_matrix(edge_index, graph.edge_weight, graph.num_nodes).tocsr()
    neighbours = np.diff(A.indptr)
    room = max(SHOWN // 4, int(neighbours.min()), 2)
    centre = int(np.where(neighbours <= room, neighbours, -1).argmax())
    nodes = breadth_first_order(A, centre, return_predecessors=False)[:SHOWN]
    return {
        "adjacency": A[nodes][:, nodes].toarray().tolist(),
        "degree": graph.degree.numpy(force=True)[nodes].tolist(),
    }
