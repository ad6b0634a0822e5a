"""From specs of one architecture to their records, trained together where that is possible."""

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from pgso.data import Task
from pgso.data.load import task_of
from pgso.errors import PGSOError
from pgso.graph import Graph
from pgso.models.stacked import can_stack
from pgso.records import RunRecord, RunSpec
from pgso.scale.place import place_of
from pgso.training.fit import ONE_AT_A_TIME, Start, fit_task, prepared, record_of, state_of
from pgso.training.lockstep.group import Group
from pgso.training.lockstep.grouping import groups_of
from pgso.training.lockstep.memory import replica_bytes
from pgso.training.lockstep.sharing import can_share, steps_of
from pgso.training.session import Session
from pgso.training.threads import one_thread

MEBIBYTE = 2**20


class Member(NamedTuple):
    """A run to be trained with others."""

    spec: RunSpec
    task: Task


def run_together(
    specs: Sequence[RunSpec],
    root: str | Path | None,
    memory: int,  # MiB
    device: str | None = None,
) -> Iterator[RunRecord]:
    """The records of those specs that could be trained together, as each group ends.

    The others are left to the caller: other graphs, link tasks, and runs that diverged, of which
    the caller makes the record that they have alone.
    """
    if not _can_compute(device):
        return
    state = state_of(specs[0].dataset)
    with ONE_AT_A_TIME, one_thread():
        members = [Member(spec, prepared(spec, task_of(spec, root))) for spec in specs]
    for record in trained_together(members, memory):
        yield record.model_copy(update={"data": state})


def trained(runs: Sequence[tuple[RunSpec, Task]], memory: int) -> Iterator[RunRecord]:
    """The records of runs on data that is at hand: together where that is possible, else alone.

    They come group by group, in the order of the groups' first members.
    """
    tasks = {spec.key: task for spec, task in runs}
    for specs in groups_of([spec for spec, _ in runs], 1, memory if _can_compute(None) else 0):
        done = set()
        if len(specs) > 1:
            members = [Member(spec, prepared(spec, tasks[spec.key])) for spec in specs]
            with left_to_run_alone():
                for record in trained_together(members, memory):
                    done.add(record.spec.key)
                    yield record
        for spec in specs:
            if spec.key not in done:
                yield fit_task(spec, tasks[spec.key])[1]


def trained_together(members: Sequence[Member], memory: int) -> Iterator[RunRecord]:
    """The records of those members of a group that could be trained together."""
    for group in _on_one_graph(members):
        size = memory * MEBIBYTE // replica_bytes(*group[0])
        for start in range(0, len(group), max(size, 1)):
            part = group[start : start + size]
            if len(part) > 1:
                yield from _records(part)


@contextmanager
def left_to_run_alone() -> Iterator[None]:
    """What goes wrong within this block leaves the runs without records, to be run alone.

    Alone, each run says what is wrong with it; what is wrong with lockstep is said here.
    """
    try:
        yield
    except (PGSOError, OSError, MemoryError):
        return
    except Exception as error:
        warnings.warn(
            f"training in lockstep failed ({type(error).__name__}: {error}); its runs are trained "
            "one by one, with the same results; please report this",
            stacklevel=3,
        )


def _can_compute(device: str | None) -> bool:
    """Whether runs are computed by the CPU, in one process."""
    place = place_of(device)
    return place.device.type == "cpu" and place.num_ranks == 1


def _on_one_graph(members: Sequence[Member]) -> list[list[Member]]:
    """Members by their graph, of which they then share one copy."""
    groups: list[list[Member]] = []
    for member in members:
        spec, task = member
        if not can_share(spec, task):
            continue
        for group in groups:
            first = group[0].task
            if _are_alike(first, task) and steps_of(spec, first) == steps_of(spec, task):
                same = first.x.layout != torch.strided or torch.equal(first.x, task.x)
                x = first.x if same else task.x
                group.append(Member(spec, replace(task, graph=first.graph, x=x)))
                break
        else:
            groups.append([member])
    return groups


def _are_alike(first: Task, other: Task) -> bool:
    """Whether two tasks have one graph, and features that can be stacked."""
    if first.x.layout != other.x.layout or first.x.shape != other.x.shape:
        return False
    if first.kind == "graph" and not _have_the_same_graphs(first, other):
        return False
    if first.x.layout != torch.strided and not _equal_csr(first.x, other.x):
        return False
    return first.num_outputs == other.num_outputs and _are_equal(first.graph, other.graph)


def _have_the_same_graphs(first: Task, other: Task) -> bool:
    pairs = ((first.nodes_per_graph, other.nodes_per_graph), (first.x, other.x))
    return all(torch.equal(*pair) for pair in pairs)


def _are_equal(first: Graph, other: Graph) -> bool:
    if (first.weight is None) != (other.weight is None) or first.shape != other.shape:
        return False
    parts = [(first.pattern.row, other.pattern.row), (first.pattern.col, other.pattern.col)]
    return all(torch.equal(*pair) for pair in [*parts, (first.entries, other.entries)])


def _equal_csr(first: torch.Tensor, other: torch.Tensor) -> bool:
    pairs = (
        (first.crow_indices(), other.crow_indices()),
        (first.col_indices(), other.col_indices()),
        (first.values(), other.values()),
    )
    return all(torch.equal(*pair) for pair in pairs)


def _records(members: Sequence[Member]) -> list[RunRecord]:
    """Train these to the end. A run that diverges has no record here."""
    started = time.perf_counter()
    with ONE_AT_A_TIME, one_thread(), torch.random.fork_rng(devices=[]):
        sessions, generators = [], []
        for spec, task in members:
            sessions.append(Session(spec, task, "cpu"))
            generators.append(torch.Generator().set_state(torch.get_rng_state()))
        if not can_stack(sessions[0].model):
            return []
        starts = {session: Start.of(session) for session in sessions}
        group = Group(sessions, generators)
        while group.epoch < members[0].spec.epochs and group.running:
            group.run_epoch()
        group.end()
        seconds = (time.perf_counter() - started) / len(members)
        return [record_of(session, starts[session], seconds) for session in group.running]
