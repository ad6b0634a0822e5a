"""What a finding shows beside its rungs: the graph in numbers, some predictions, the spectrum."""

import torch
from torch import Tensor

from pgso.bases import undirected
from pgso.data.description import (
    adjusted_homophily,
    cells_of,
    component_sizes,
    sketch_of,
    sketched_items,
)
from pgso.drawing import errors
from pgso.errors import InputError
from pgso.finding.problem import Problem
from pgso.finding.scores import probabilities
from pgso.graph.degrees import received_weight
from pgso.records.data import Sketch
from pgso.records.finding import GraphStatistics, Prediction, Spectrum
from pgso.records.spec import SevenNumbers

ROWS = 100  # of the table of predictions
POINTS = 200  # of the density
MOST_EDGES = 1_000_000  # above which the density takes as long as a rung


def graph_statistics(problem: Problem) -> GraphStatistics:
    """What a reader wants to know first."""
    graph, items = problem.graph, len(problem.y)
    degree = graph.degree.double()
    shares: tuple[float, ...] = ()
    if problem.classes:
        shares = tuple(problem.targets.mean(dim=0).tolist())
    return GraphStatistics(
        num_graphs=len(problem.nodes_per_graph),
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        is_directed=not graph.is_undirected,
        degree_median=float(degree.median()) if len(degree) else 0.0,
        degree_mean=float(degree.mean()) if len(degree) else 0.0,
        degree_max=float(degree.max()) if len(degree) else 0.0,
        isolated=int((received_weight(graph) == 0).sum()),
        components=len(component_sizes(graph)),
        adjusted_homophily=adjusted_homophily(problem),
        num_features=problem.num_features,
        num_labels=len(problem.train),
        label_share=len(problem.train) / max(items, 1),
        classes=shares,
    )


def sketch_with_predictions(problem: Problem, out: Tensor) -> Sketch | None:  # out: (items, C)
    """Some nodes in the plane with labels, predictions and errors."""
    part = sketch_of(problem)
    if part is None:
        return None
    rows = out[sketched_items(problem, part.nodes)]
    rows = rows.argmax(dim=1) if problem.answer == "class" else rows
    predicted = cells_of(rows, problem.classes)
    label, split = part.colours["label"], part.colours["split"]
    colours = {"label": label, "prediction": predicted, "error": errors(label, predicted, split)}
    return part.model_copy(update={"colours": {**colours, "split": split}})


def some_predictions(problem: Problem, out: Tensor) -> tuple[Prediction, ...]:  # (items, C)
    """Predictions of the test set, or of what has no label; every k-th one if there are many."""
    items = problem.test
    if not len(items):
        labelled = torch.zeros(len(problem.y), dtype=torch.bool)
        labelled[torch.cat([problem.train, problem.val])] = True
        items = (~labelled).nonzero()[:, 0]
    items = items.sort().values[:: max(1, -(-len(items) // ROWS))]
    return tuple(_prediction(problem, int(item), out[item]) for item in items)


def _prediction(problem: Problem, item: int, out: Tensor) -> Prediction:
    name = str(item) if problem.ids is None else problem.ids[item]
    y, probability = problem.y[item], None
    predicted: tuple[str, ...]
    truth: tuple[str, ...]
    if problem.classes:
        said = probabilities(problem, out.unsqueeze(0))[0]
        chosen = int(said.argmax())
        probability = round(float(said[chosen]), 4)
        predicted = (problem.classes[chosen],)
        right = (y == 1).nonzero()[:, 0] if y.dim() else y[y >= 0].reshape(-1)
        truth = tuple(problem.classes[k] for k in right.tolist())
    else:
        predicted = tuple(_written(value) for value in out.tolist())
        has_answer = bool(y.isfinite().any())
        truth = tuple(_written(value) for value in y.tolist()) if has_answer else ()
    return Prediction(item=name, predicted=predicted, probability=probability, truth=truth)


def _written(value: float) -> str:
    """Four digits; large numbers whole."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def spectrum_of(problem: Problem, S: SevenNumbers | None) -> Spectrum | None:
    """The density of γ's eigenvalues on the graph, every edge with its reverse."""
    from pgso.spectrum import density  # imports PyG, which saved models do not need

    if S is None or problem.graph.num_edges > MOST_EDGES:
        return None
    try:
        spectrum = density(undirected(problem.graph), S, num_points=POINTS)
    except InputError:  # such as weights or an S beyond what Theorem 2 covers
        return None
    round_to = [
        [float(f"{value:.5g}") for value in part] for part in (spectrum.grid, spectrum.density)
    ]
    return Spectrum(grid=tuple(round_to[0]), density=tuple(round_to[1]))
