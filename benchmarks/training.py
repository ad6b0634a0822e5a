"""Whole training runs, with evaluation in every epoch, against the same loops written with PyG."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from benchmarks.batching import as_data_list
from benchmarks.graphs import power_law_edges
from benchmarks.measure import Row, at_most, faster, many, take_turns
from pgso.data import DATASETS, Task, load_task
from pgso.data.batch import Batch
from pgso.data.places import data_root
from pgso.data.splits import split_each_class
from pgso.records import RunSpec
from pgso.training.session import Session

FOLDS = 10
SWEEP = 40


def run() -> list[Row]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_cora(), *_mutag(), _recording(), _two_workers()]
    finally:
        torch.set_num_threads(threads)


def cora() -> Task:
    """The real one if its files are here, else a random task of its shape."""
    if not DATASETS["Cora"].missing(data_root()):
        return load_task("Cora")
    n, width = 2708, 1433
    y = torch.randint(0, 7, (n,)).numpy()
    return Task.from_arrays(
        "Cora's shape",
        edge_index=power_law_edges(n, 10_800).numpy(),
        x=(torch.rand(n, width) < 0.013).float().numpy(),
        y=y,
        split=split_each_class(y, 0, train=0.05, val=0.18),
        classes=tuple("0123456"),
    )


def accuracies(logits: Tensor, task: Task) -> list[float]:
    right = logits.argmax(dim=1) == task.y
    return [float(right[part].float().mean()) for part in (task.train, task.val, task.test)]


def _cora() -> Row:
    """200 epochs of each, ten at a time."""
    task = cora()
    session = Session(RunSpec(dataset="Cora"), task)
    their_epoch = pyg_epoch(task)
    ours, theirs = take_turns(many(10, session.run_epoch), many(10, their_epoch), rounds=20)
    return faster("ten of 200 epochs on Cora, GCN-PGSO vs PyG's fixed GCNConv", ours, theirs, 4)


def pyg_epoch(task: Task) -> Callable[[], None]:
    """An epoch of Kipf and Welling's network with PyG's fixed layers, evaluation included."""
    x, edge_index, y = task.x.to_dense(), task.graph.edge_index, task.y

    class Theirs(nn.Module):
        """Kipf and Welling's network with PyG's fixed layers: dropout before both."""

        def __init__(self) -> None:
            super().__init__()
            self.first = pyg.GCNConv(task.num_features, 64, cached=True)
            self.second = pyg.GCNConv(64, task.num_classes, cached=True)

        def forward(self) -> Tensor:
            hidden = self.first(functional.dropout(x, 0.5, self.training), edge_index).relu()
            return self.second(functional.dropout(hidden, 0.5, self.training), edge_index)

    model = Theirs()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def their_epoch() -> None:
        model.train()
        optimiser.zero_grad()
        functional.cross_entropy(model()[task.train], y[task.train]).backward()
        optimiser.step()
        model.eval()
        with torch.no_grad():
            accuracies(model(), task)

    return their_epoch


class TheirGIN(nn.Module):
    """GIN as in its paper, with PyG's layers."""

    def __init__(
        self, in_channels: int, out_channels: int, width: int = 64, depth: int = 5
    ) -> None:
        super().__init__()
        self.convs = nn.ModuleList()
        for place in range(depth):
            first = nn.Linear(width if place else in_channels, width)
            rest = (nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width))
            self.convs.append(pyg.GINConv(nn.Sequential(first, *rest)))
        self.head = nn.Linear(width, out_channels)

    def forward(self, data: Data) -> Tensor:
        """Class scores of a batch of graphs."""
        x = data.x
        for conv in self.convs:
            x = conv(functional.dropout(x, 0.5, self.training), data.edge_index).relu()
        pooled = pyg.global_add_pool(x, data.batch, data.num_graphs)
        return self.head(functional.dropout(pooled, 0.5, self.training))


class Perceptrons(TheirGIN):
    """What is left of it without a graph and without dropout: no GIN takes less."""

    def forward(self, data: Data | Batch) -> Tensor:
        """Class scores of a batch of nodes that know nothing of each other."""
        x = data.x
        for conv in self.convs:
            x = conv.nn(x).relu()
        return self.head(pyg.global_add_pool(x, data.batch, data.num_graphs))


def _mutag() -> list[Row]:
    """One epoch of each of ten folds at a time."""
    if DATASETS["MUTAG"].missing(data_root()):
        return []
    tasks = [load_task("MUTAG", seed=fold) for fold in range(FOLDS)]
    specs = [RunSpec(dataset="MUTAG", conv="gin", num_layers=5, seed=fold) for fold in range(FOLDS)]
    sessions = [Session(spec, task) for spec, task in zip(specs, tasks, strict=True)]
    graphs = as_data_list(tasks[0])
    theirs = [pyg_fold_epoch(graphs, task) for task in tasks]
    floors = [_floor_epoch(task) for task in tasks]

    def all_ours() -> None:
        for session in sessions:
            session.run_epoch()

    def all_theirs() -> None:
        for epoch in theirs:
            epoch()

    def all_floors() -> None:
        for epoch in floors:
            epoch()

    calls = all_ours, all_theirs, all_floors
    ours, other, floor = take_turns(*calls, rounds=5, clock=time.thread_time)
    name = "an epoch of ten folds of MUTAG, GIN-PGSO vs PyG's GIN"
    return [faster(name, ours, other, 2.2, floor)]


def pyg_fold_epoch(graphs: list[Data], task: Task) -> Callable[[], None]:
    """A function that trains and scores PyG's GIN on a fold for an epoch."""
    model = TheirGIN(task.num_features, task.num_classes)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    train, val, test = (
        DataLoader([graphs[i] for i in part.tolist()], batch_size=32, shuffle=part is task.train)
        for part in (task.train, task.val, task.test)
    )
    return _epoch(model, optimiser, train, (train, val, test))


def _floor_epoch(task: Task) -> Callable[[], None]:
    """The perceptrons alone, on batches that are there already, evaluated in one go."""
    model = Perceptrons(task.num_features, task.num_classes)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4, fused=True)
    train = [task.batch(indices) for indices in task.train.split(32)]
    return _epoch(model, optimiser, train, [[task.batch(torch.arange(task.num_graphs))]])


def _epoch(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    train: Iterable[Any],
    scored: Iterable[Iterable[Any]],
) -> Callable[[], None]:
    def epoch() -> None:
        model.train()
        for batch in train:
            optimiser.zero_grad()
            functional.cross_entropy(model(batch), batch.y).backward()
            optimiser.step()
        model.eval()
        with torch.no_grad():
            for part in scored:
                sum(int((model(batch).argmax(dim=1) == batch.y).sum()) for batch in part)

    return epoch


class Unrecorded(Session):
    """A run that writes nothing down but its loss."""

    def record(self, loss: float, logits: Tensor) -> None:
        """No scores, no S, no interval."""
        self._curves.add([], False, loss=loss, val=None)


def _recording() -> Row:
    task, spec = cora(), RunSpec(dataset="Cora")
    sessions = [kind(spec, task) for kind in (Session, Unrecorded)]

    def ten_of(session: Session) -> Callable[[], None]:
        def ten() -> None:
            for _ in range(10):
                session.run_epoch()
            assert session.curves  # to look is to have the intervals computed

        return ten

    recorded, bare = take_turns(*map(ten_of, sessions), rounds=60)
    return at_most(
        "ten epochs with S, interval and metrics recorded vs without", recorded, bare, 1.05
    )


MANY_RUNS = """
import sys
from pgso import RunSpec
from pgso.records import Store
from pgso.training.engines import run_all

seeds, workers, out = sys.argv[1:]
grid = {"rows": 40, "cols": 40}
spec = RunSpec(dataset="minesweeper", data_options=grid, operator="pgso", epochs=300)
run_all([spec.but(seed=seed) for seed in range(int(seeds))], Store(out), workers=int(workers))
"""


def _two_workers() -> Row:
    """The whole program, as a user waits for it, twice: imports, workers and records included.

    At best it is as fast as two commands that know nothing of each other, with half of the runs.
    """
    sweep = [sys.executable, "-c", MANY_RUNS]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}

    def milliseconds(workers: int, *runs: int) -> float:
        """Of commands that run at the same time, so many runs in each."""
        with tempfile.TemporaryDirectory() as out:
            start = time.perf_counter()
            commands = [
                subprocess.Popen(
                    [*sweep, str(seeds), str(workers), f"{out}/{place}"],
                    env=one_thread,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                for place, seeds in enumerate(runs)
            ]
            assert [command.wait() for command in commands] == [0] * len(runs)
            return 1e3 * (time.perf_counter() - start)

    half = SWEEP // 2
    turns = [
        (milliseconds(1, SWEEP), milliseconds(2, SWEEP), milliseconds(1, half, half))
        for _ in range(2)
    ]
    alone, together, apart = (sum(times) / len(turns) for times in zip(*turns, strict=True))
    return faster(f"a sweep of {SWEEP} runs, two workers vs one", together, alone, 1.8, floor=apart)
