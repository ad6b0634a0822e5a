"""How we measure: what is compared takes turns, so that a busy machine slows both alike."""

import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]


def take_turns(*calls: Callable[[], object], rounds: int = 7) -> list[float]:
    """Median milliseconds of each call, after one warm-up round, interleaved."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, measured in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            if turn:
                measured.append(1e3 * (time.perf_counter() - start))
    return [median(measured) for measured in times]


def many(times: int, call: Callable[[], object]) -> Callable[[], None]:
    """Several calls in a row, as a program makes them: the first finds the others' data cached."""

    def calls() -> None:
        for _ in range(times):
            call()

    return calls


def peak_memory(call: Callable[[], object]) -> float:
    """Mebibytes by which the resident memory of this process rose at most during the call."""
    call()  # what stays allocated after a first call is not the call's own
    gc.collect()
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
