"""A full-batch training step of a GCN-PGSO on 10M edges, alone or in row blocks."""

import torch
from torch.nn import functional

from benchmarks.graphs import power_law_edges
from benchmarks.measure import Row
from benchmarks.scale.product import best
from pgso.graph import Graph
from pgso.models.gnn import GNN
from pgso.models.optimisation import param_groups
from pgso.scale import ranks
from pgso.scale.exchange import distribute
from pgso.scale.partition import Partition

EDGES, WIDTH = 10_000_000, 64


def run(n: int) -> Row | None:
    """The slowest process counts; only the first one answers."""
    with ranks.joined() as place:
        torch.manual_seed(0)
        whole = Graph.from_edge_index(power_law_edges(n, EDGES), num_nodes=n)
        model = GNN("gcn", WIDTH, WIDTH, 16, dropout=0.0)
        start, end, graph = 0, n, whole
        if place.num_ranks > 1:
            graph = Partition.of(whole, place.rank, place.num_ranks)  # type: ignore[assignment]
            start, end = graph.start, graph.start + graph.num_own  # type: ignore[attr-defined]
            distribute(model, place.num_ranks)
        network = place.data_parallel(model)
        optimiser = torch.optim.Adam(param_groups(model), fused=True)
        x, y = torch.randn(end - start, WIDTH), torch.randint(0, 16, (end - start,))

        def step() -> None:
            optimiser.zero_grad()
            functional.cross_entropy(network(x, graph), y).backward()
            optimiser.step()

        own = torch.tensor([best(step, 4)])
        slowest = place.gathered(own, [1] * place.num_ranks).max(0).values.tolist()
        if not place.is_first:
            return None
        return {"step_cpu_seconds": slowest[0], "step_wall_seconds": slowest[1]}
