"""``python -m benchmarks.finding.against_training``: ``find`` against training its candidates.

Every rung of Cora's ladder would be a network to train. PyG's GCN (two layers, 64 channels, dropout
0.5, Adam) is trained once for 200 epochs, with the validation score after each, and counts as one
candidate. Both are measured in processor seconds after a warm-up, one after the other, three times.
"""

import json
import time
from collections.abc import Callable
from statistics import median

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GCN

import pgso
from benchmarks.finding.risk import RESULTS
from pgso.data import Task
from pgso.records.files import write_atomically
from pgso.records.numerics import LADDER

EPOCHS, ROUNDS, NEEDED = 200, 3, 100


def train(task: Task, epochs: int = EPOCHS) -> float:
    """The best validation score of PyG's network."""
    x = task.x if task.x.layout == torch.strided else task.x.to_dense()
    edges, y = task.graph.edge_index, task.y
    model = GCN(x.size(1), 64, 2, task.num_classes, dropout=0.5)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best = 0.0
    for _ in range(epochs):
        model.train()
        optimiser.zero_grad()
        cross_entropy(model(x, edges)[task.train], y[task.train]).backward()
        optimiser.step()
        model.eval()
        with torch.no_grad():
            out = model(x, edges)[task.val].argmax(dim=1)
        best = max(best, float((out == y[task.val]).double().mean()))
    return best


def seconds(call: Callable[[], object]) -> float:
    """Processor seconds."""
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    """Measure and write ``results/find/against_training.json``."""
    torch.set_num_threads(1)
    task = pgso.load_task("Cora")
    rungs = len(pgso.find(task).rungs)
    train(task, 5)
    pairs = [
        (seconds(lambda: pgso.find(task)), seconds(lambda: train(task))) for _ in range(ROUNDS)
    ]
    find, network = (median(side) for side in zip(*pairs, strict=True))
    row = {
        "ladder": LADDER,
        "rungs": rungs,
        "find_seconds": find,
        "network_seconds": network,
        "times_faster": rungs * network / find,
        "needed": NEEDED,
    }
    print(row)
    path = RESULTS.parent / "find" / "against_training.json"
    write_atomically(path, json.dumps(row, indent=1) + "\n")


if __name__ == "__main__":
    main()
