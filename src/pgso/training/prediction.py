"""What a network says about a task, in evaluation mode."""

from collections.abc import Iterable

import torch
from torch import Tensor

from pgso.data import Task
from pgso.data.batch import Batch
from pgso.models.build import Model
from pgso.models.gnn import GNN

EVALUATED_AT_ONCE = 2048  # graphs in one forward pass of an evaluation


def predict_outputs(
    model: Model, task: Task, device: torch.device | str = "cpu"
) -> Tensor:  # (n, outputs), (num_graphs, outputs) or (rows, 1 + m)
    """Outputs of every node, every graph, or every row of pairs of a link task."""
    if task.kind == "graph":
        assert isinstance(model, GNN)
        batches = graph_batches(task, torch.arange(task.num_graphs))
        return predict_batches(model, batches, device)
    model.eval()
    x, graph = task.x.to(device), task.edges.to(device)
    with torch.no_grad():
        if task.kind == "link":
            assert task.pairs is not None
            return model(x, graph, task.pairs.to(device)).cpu()  # type: ignore[no-any-return]
        return model(x, graph).cpu()  # type: ignore[no-any-return]


def predict_batches(
    model: GNN, batches: Iterable[Batch], device: torch.device | str
) -> Tensor:  # (graphs, outputs)
    """Outputs of the graphs of these batches."""
    model.eval()
    moved = (part.to(device) for part in batches)
    with torch.no_grad():
        return torch.cat(
            [model(part.x, part.graph, None, part.batch, part.num_graphs) for part in moved]
        ).cpu()


def graph_batches(task: Task, indices: Tensor) -> list[Batch]:
    """Some graphs of a task, in batches as large as an evaluation takes at once."""
    return [task.batch(part) for part in indices.split(EVALUATED_AT_ONCE)]
