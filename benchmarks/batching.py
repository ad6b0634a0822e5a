"""An epoch of mini-batches of 32 graphs: index arithmetic against PyG's DataLoader."""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from benchmarks.measure import Row, faster, take_turns
from pgso.data import DATASETS, Task, load_task
from pgso.data.places import data_root

NAMES = ("MUTAG", "IMDB-BINARY")
SIZE = 32


def run() -> list[Row]:
    """One row a dataset whose files are here; PyG gets a plain list, its quickest form."""
    return [_row(name) for name in NAMES if not DATASETS[name].missing(data_root())]


def _row(name: str) -> Row:
    task = load_task(name)
    loader = DataLoader(as_data_list(task), batch_size=SIZE, shuffle=True)

    def ours() -> None:
        for indices in torch.randperm(task.num_graphs).split(SIZE):
            task.batch(indices)

    def theirs() -> None:
        for _ in loader:
            pass

    return faster(f"an epoch of batches of {SIZE}, {name}", *take_turns(ours, theirs), 5)


def as_data_list(task: Task) -> list[Data]:
    sizes = task.nodes_per_graph.tolist()
    owner = torch.repeat_interleave(task.nodes_per_graph)
    starts = task.nodes_per_graph.cumsum(0) - task.nodes_per_graph
    edge_index = task.graph.edge_index
    edges_per_graph = torch.bincount(owner[edge_index[0]], minlength=task.num_graphs).tolist()
    edge_index = edge_index - starts[owner[edge_index[0]]]
    parts = zip(
        task.x.split(sizes), edge_index.split(edges_per_graph, dim=1), task.y.split(1), strict=True
    )
    return [Data(x=x, edge_index=edges.contiguous(), y=y) for x, edges, y in parts]
