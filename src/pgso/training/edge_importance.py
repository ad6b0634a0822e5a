"""Which edges matter: PyG's GNNExplainer on the predictions of some nodes or graphs."""

import torch
from torch import Tensor

from pgso.data import Task
from pgso.models.build import Model
from pgso.models.gnn import GNN
from pgso.models.links import LinkModel
from pgso.records.explanation import EdgeImportance

FITS = 3  # of the mask, from different starts
EPOCHS, RATE = 100, 0.05  # of a fit
# PyG's weights are for one prediction. With many, the size of the mask has to count less, or all
# edges shrink alike; with its weight of 1, entropy decides at the start which edges stay. Where one
# of four edges carries the signal these found 30 of 30 (they were chosen there), PyG's 13.
SIZE, ENTROPY = 0.005, 0.1
MOST_EDGES = 1_000_000
MOST_ITEMS = 500  # predictions that are explained together
SHOWN = 50  # edges


def why_not(model: Model, task: Task) -> str | None:
    """Why edges cannot be explained here; None if they can."""
    if isinstance(model, LinkModel) or task.kind == "link":
        return (
            "single edges of link models are not explained, since edges are what they predict: "
            "pgso predict ranks new ones"
        )
    if task.relations is not None:
        return (
            "single edges are not explained where there are several relations: for that, train on "
            "an edges.csv without the column relation (or features.csv without type)"
        )
    if task.num_edges > MOST_EDGES:
        return f"{task.num_edges:,} edges are too many to explain; up to {MOST_EDGES:,} are"
    return None


def edge_importance(
    model: GNN,
    task: Task,
    items: Tensor,  # (k,) of nodes or graphs
    names: tuple[str, ...] | None = None,
) -> tuple[EdgeImportance, ...]:
    """How much of every edge the predictions of some items need, the most important first.

    GNNExplainer (Ying et al. 2019) fits a mask on the edges that keeps the predictions and is
    small. It is fitted from several starts; the range tells how far they agree. Both directions of
    an undirected edge are one. Edges that no prediction can depend on have 0 and are left out.

    Args:
        model: A trained network of nodes or graphs.
        task: The data.
        items: Whose predictions are explained, see :data:`MOST_ITEMS`.
        names: What nodes are called; by default their numbers.
    """
    from torch_geometric.explain import Explainer, GNNExplainer

    model.eval()
    items = items[:MOST_ITEMS]
    size = SIZE / max(len(items), 1)
    explainer = Explainer(
        model,
        algorithm=GNNExplainer(epochs=EPOCHS, lr=RATE, edge_size=size, edge_ent=ENTROPY),
        explanation_type="model",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification" if task.answer == "class" else "regression",
            "task_level": "graph" if task.kind == "graph" else "node",
            "return_type": "raw",
        },
    )
    x = task.x if task.x.layout == torch.strided else task.x.to_dense()
    edge_index, weight = task.graph.edge_index, task.graph.edge_weight
    given = {} if weight is None else {"edge_weight": weight}
    if task.kind == "graph":
        given["batch"] = torch.repeat_interleave(task.nodes_per_graph)
    masks = []
    with torch.random.fork_rng(devices=[]):
        for seed in range(FITS):
            torch.manual_seed(seed)
            explanation = explainer(x, edge_index, index=items, **given)
            masks.append(explanation.edge_mask.detach())
    return _ranked(edge_index, torch.stack(masks), task.graph.is_undirected, names)


def _ranked(
    edge_index: Tensor, masks: Tensor, undirected: bool, names: tuple[str, ...] | None
) -> tuple[EdgeImportance, ...]:  # masks: (fits, E)
    source, target = edge_index
    if undirected:
        source, target = torch.minimum(source, target), torch.maximum(source, target)
    pairs, owner = torch.unique(torch.stack([source, target]), dim=1, return_inverse=True)
    both = masks.new_zeros(len(masks), pairs.size(1))
    both.scatter_reduce_(1, owner.expand_as(masks), masks, "amax", include_self=False)
    mean = both.mean(dim=0)
    best = mean.argsort(descending=True, stable=True)[:SHOWN]

    def name(node: int) -> str:
        return str(node) if names is None else names[node]

    return tuple(
        EdgeImportance(
            source=name(int(pairs[0, edge])),
            target=name(int(pairs[1, edge])),
            importance=round(float(mean[edge]), 6),
            low=round(float(both[:, edge].min()), 6),
            high=round(float(both[:, edge].max()), 6),
        )
        for edge in best
        if mean[edge] > 0
    )
