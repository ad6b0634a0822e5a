"""Replicas in lockstep against the same runs one after another, evaluation in every epoch."""

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from benchmarks.batching import as_data_list
from benchmarks.measure import (
    Row,
    at_most,
    faster,
    many,
    peak_memory_of_process,
    reset_peak,
    share_of_kernels,
    take_turns,
)
from benchmarks.training import cora, pyg_epoch, pyg_fold_epoch
from pgso.data import DATASETS, Task, load_task
from pgso.data.places import data_root
from pgso.records import RunSpec
from pgso.training.freed_memory import keep_freed_memory
from pgso.training.lockstep.group import Group
from pgso.training.lockstep.memory import replica_bytes
from pgso.training.session import Session

SEEDS = 10
MODES = ("fixed", "pgso", "mpgso")


def run() -> list[Row]:
    keep_freed_memory()  # as commands and their workers do
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [*_cora(), _minesweeper(), *_mutag(), *_memory()]
    finally:
        torch.set_num_threads(threads)


def sessions(specs: list[RunSpec], tasks: list[Task]) -> list[Session]:
    """Runs that have not begun."""
    return [Session(spec, task, "cpu") for spec, task in zip(specs, tasks, strict=True)]


def group(specs: list[RunSpec], tasks: list[Task]) -> Group:
    """The same runs in lockstep."""
    members, generators = [], []
    for spec, task in zip(specs, tasks, strict=True):
        members.append(Session(spec, task, "cpu"))
        generators.append(torch.Generator().set_state(torch.get_rng_state()))
    return Group(members, generators)


def specs_of(dataset: str, mode: str) -> list[RunSpec]:
    return [RunSpec(dataset=dataset, operator=mode, seed=seed) for seed in range(SEEDS)]


def _epochs(count: int, alone: list[Session], together: list[Group]) -> tuple[float, float, float]:
    """Milliseconds of so many epochs of all runs: one by one, in lockstep, and its arithmetic."""

    def in_turn() -> None:
        for session in alone:
            for _ in range(count):
                session.run_epoch()

    def in_lockstep() -> None:
        for one in together:
            for _ in range(count):
                one.run_epoch()

    turns, lockstep = take_turns(in_turn, in_lockstep, rounds=4, clock=time.thread_time)
    return turns, lockstep, lockstep * share_of_kernels(in_lockstep)


def _cora() -> list[Row]:
    task = cora()
    tasks = [task] * SEEDS  # a public split: seeds differ in weights and draws
    alone = [s for mode in MODES for s in sessions(specs_of("Cora", mode), tasks)]
    together = [group(specs_of("Cora", mode), tasks) for mode in MODES]
    turns, lockstep, floor = _epochs(10, alone, together)
    calls = many(10, together[0].run_epoch), many(10, pyg_epoch(task))
    fixed, theirs = take_turns(*calls, rounds=4, clock=time.thread_time)
    name = "ten epochs on Cora of 10 seeds x {fixed, pgso, mpgso}, lockstep vs one after another"
    third = "the fixed third of it, per run, vs PyG's fixed GCNConv"
    return [faster(name, lockstep, turns, 3, floor), faster(third, fixed / SEEDS, theirs, 30)]


def _minesweeper() -> Row:
    tasks = [load_task("minesweeper", seed=seed) for seed in range(SEEDS)]
    alone = [s for mode in MODES for s in sessions(specs_of("minesweeper", mode), tasks)]
    together = [group(specs_of("minesweeper", mode), tasks) for mode in MODES]
    turns, lockstep, floor = _epochs(1, alone, together)
    name = "an epoch on minesweeper (3 layers, batch norm), 10 seeds x 3, lockstep vs one by one"
    return faster(name, lockstep, turns, 1.5, floor)


def _mutag() -> list[Row]:
    """Ten folds of a graph task: batches of graphs, whose numbers of nodes differ."""
    if DATASETS["MUTAG"].missing(data_root()):
        return []
    tasks = [load_task("MUTAG", seed=fold) for fold in range(SEEDS)]
    specs = [RunSpec(dataset="MUTAG", conv="gin", num_layers=5, seed=fold) for fold in range(SEEDS)]
    graphs = as_data_list(tasks[0])
    theirs = [pyg_fold_epoch(graphs, task) for task in tasks]
    together = group(specs, tasks)

    def fold_by_fold() -> None:
        for epoch in theirs:
            epoch()

    turns, lockstep, floor = _epochs(1, sessions(specs, tasks), [together])
    calls = together.run_epoch, fold_by_fold
    ours, other = take_turns(*calls, rounds=5, clock=time.thread_time)
    name = "an epoch of ten folds of MUTAG, GIN-PGSO"
    return [
        faster(f"{name}, lockstep vs one after another", lockstep, turns, 1.5, floor),
        faster(f"{name} in lockstep vs PyG's GIN", ours, other, 2.2, floor * ours / lockstep),
    ]


def _memory() -> list[Row]:
    """Mebibytes by which a group raises the memory of a process, against what it is counted as."""
    rows = []
    for dataset, task in (("Cora", cora()), ("minesweeper", load_task("minesweeper"))):
        for mode in ("fixed", "mpgso"):
            limit = SEEDS * replica_bytes(specs_of(dataset, mode)[0], task) / 2**20
            with ProcessPoolExecutor(1, get_context("spawn")) as process:  # with nothing to reuse
                peak = process.submit(_peak, dataset, mode).result()
            name = f"peak MiB of 10 replicas ({mode}) on {dataset} vs the limit that admits them"
            rows.append(at_most(name, peak, limit, 1))
    return rows


def _peak(dataset: str, mode: str) -> float:
    torch.set_num_threads(1)
    task = cora() if dataset == "Cora" else load_task(dataset)
    few = RunSpec(dataset="karate", operator=mode)
    group([few, few], [load_task("karate")] * 2).run_epoch()  # loads what torch loads late
    keep_freed_memory()
    reset_peak()
    before = peak_memory_of_process()
    runs = group(specs_of(dataset, mode), [task] * SEEDS)
    for _ in range(3):
        runs.run_epoch()
    return 1024 * (peak_memory_of_process() - before)
