"""How we measure: what is compared takes turns, so that a busy machine slows both alike."""

import ctypes
import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

Row = dict[str, Any]


def take_turns(
    *calls: Callable[[], object],
    rounds: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Median milliseconds of each call, after one warm-up round, interleaved.

    With ``time.thread_time`` as the clock: of this thread's CPU, whatever else the machine does.
    """
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, measured in zip(calls, times, strict=True):
            start = clock()
            call()
            if turn:
                measured.append(1e3 * (clock() - start))
    return [median(measured) for measured in times]


def many(times: int, call: Callable[[], object]) -> Callable[[], None]:
    """Several calls in a row, as a program makes them: the first finds the others' data cached."""

    def calls() -> None:
        for _ in range(times):
            call()

    return calls


class Kernels(TorchDispatchMode):
    """Adds up what torch's operations take in seconds of CPU, without what calls them."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds, self.calls = 0.0, 0

    def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Time one operation."""
        start = time.thread_time()
        result = call(*args, **(kwargs or {}))
        self.seconds += time.thread_time() - start
        self.calls += 1
        return result


def share_of_kernels(call: Callable[[], object], rounds: int = 3) -> float:
    """How much of a call's CPU time is arithmetic: what is left without Python and dispatch."""
    with Kernels() as empty:
        nothing = torch.zeros(())
        for _ in range(1000):
            nothing.detach()
    shares = []
    for _ in range(rounds):
        start = time.thread_time()
        call()
        whole = time.thread_time() - start
        with Kernels() as kernels:
            call()
        shares.append((kernels.seconds - kernels.calls * empty.seconds / 1001) / whole)
    return median(shares)


def peak_memory(call: Callable[[], object]) -> float:
    """Mebibytes by which the resident memory of this process rose at most during the call."""
    call()  # what stays allocated after a first call is not the call's own
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed before would be used again, and not be seen
    reset_peak()
    before = _status("VmRSS")
    call()
    return (_status("VmHWM") - before) / 1024


def reset_peak() -> None:
    """Forget what :func:`peak_memory_of_process` has seen (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory_of_process() -> float:
    """The most gibibytes this process has had in memory since its start, or the last reset."""
    return _status("VmHWM") / 2**20


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return float(line.split()[1])
    raise LookupError(field)


def faster(
    name: str, ours: float, theirs: float, at_least: float, floor: float | None = None
) -> Row:
    """A row that says how many times faster (or smaller) ours is, and would be at its floor."""
    row = {
        "name": name,
        "ours_ms": ours,
        "theirs_ms": theirs,
        "ratio": theirs / ours,
        "target": f">= {at_least:g}",
    }
    return row if floor is None else {**row, "at_best": theirs / floor}


def at_most(
    name: str, ours: float, reference: float, limit: float, floor: float | None = None
) -> Row:
    """A row that says how many times the reference ours costs, and would cost at its floor."""
    row = {
        "name": name,
        "ours_ms": ours,
        "theirs_ms": reference,
        "ratio": ours / reference,
        "target": f"<= {limit:g}",
    }
    return row if floor is None else {**row, "at_best": floor / reference}


def is_met(row: Row) -> bool:
    """Whether the ratio keeps what the target asks for."""
    relation, number = row["target"].split()
    return row["ratio"] >= float(number) if relation == ">=" else row["ratio"] <= float(number)
