"""γx forward and backward, and one sampled epoch, on a power-law graph of a given size."""

import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.graphs import power_law_edges
from benchmarks.measure import Row, peak_memory_of_process, reset_peak
from pgso.data import Task
from pgso.graph import Graph
from pgso.gso.shift import apply_pgso
from pgso.models.gnn import GNN
from pgso.scale import NeighborLoader

F = 16
EDGES_PER_NODE = 10
LABELLED = 0.01  # as in papers100M
S0 = [0.1, 1.0, 0.1, 0.1, -0.5, -0.5, 1.0]


def run(num_edges: int) -> Row:
    """CPU seconds of one thread, best of a few, since others may use the machine."""
    torch.manual_seed(0)
    n = num_edges // EDGES_PER_NODE
    start = time.process_time()
    edge_index = power_law_edges(n, num_edges)
    drawn = time.process_time()
    graph = Graph.from_edge_index(edge_index, num_nodes=n)
    built = time.process_time()
    del edge_index
    build_peak = peak_memory_of_process()

    x, g = torch.randn(n, F, requires_grad=True), torch.randn(n, F)
    S = torch.tensor(S0, requires_grad=True)

    def step() -> None:
        x.grad = S.grad = None
        apply_pgso(x, graph, S).backward(g)

    reset_peak()
    seconds, wall = best(step, 3 if num_edges > 10**7 else 10)
    step_peak = peak_memory_of_process()
    x.grad = None
    reset_peak()
    epoch, num_sampled = sampled_epoch(graph, x.detach())
    return {
        "nodes": n,
        "edges": graph.num_edges,
        "features": F,
        "step_cpu_seconds": seconds,
        "step_wall_seconds": wall,
        "step_peak_gib": step_peak,
        "drawing_cpu_seconds": drawn - start,
        "building_cpu_seconds": built - drawn,
        "building_peak_gib": build_peak,
        "sampled_epoch_cpu_seconds": epoch,
        "sampled_epoch_edges": num_sampled,
        "sampled_epoch_peak_gib": peak_memory_of_process(),
    }


def sampled_epoch(graph: Graph, x: Tensor) -> tuple[float, int]:
    """CPU seconds of an epoch over one node in a hundred, and how many edges were drawn."""
    n = graph.num_nodes
    labelled = torch.randperm(n)[: int(LABELLED * n)]
    y, none = torch.randint(0, 8, (n,)), labelled[:0]
    names = tuple(map(str, range(8)))
    task = Task("synthetic", "node", "accuracy", graph, x, y, labelled, none, none, names,
                torch.tensor([n]))  # fmt: skip
    model, num_sampled = GNN("gcn", F, 32, 8), 0
    optimiser = torch.optim.Adam(model.parameters())
    start = time.process_time()
    for batch in NeighborLoader(task, [15, 10], batch_size=1024):
        num_sampled += batch.graph.num_edges
        optimiser.zero_grad()
        logits = model(batch.x, batch.graph)[: batch.num_seeds]
        functional.cross_entropy(logits, batch.y).backward()
        optimiser.step()
    return time.process_time() - start, num_sampled


def best(call: Callable[[], None], rounds: int) -> tuple[float, float]:
    """The least CPU seconds and the least wall-clock seconds, after a warm-up."""
    call()
    cpu, wall = [], []
    for _ in range(rounds):
        at, clock = time.process_time(), time.perf_counter()
        call()
        cpu.append(time.process_time() - at)
        wall.append(time.perf_counter() - clock)
    return min(cpu), min(wall)
