"""Sweeps killed at random moments (-9): no record lost, damaged or different, nothing left over."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from fuzz.outcome import Outcome
from pgso.records import Store
from pgso.records.store import read_record

SWEEP = ["sweep", "karate", "--space", "epochs=[30,40,50]", "--seeds", "4", "--workers", "2"]
LONGEST = 12.0  # seconds until the kill; a sweep takes about that long


def run(count: int, seed: int = 0) -> Outcome:
    """Kill ``count`` sweeps; after each one the next goes on where it was."""
    outcome = Outcome(
        "kills",
        "A sweep that is killed loses the runs under way and nothing else; the next one goes on, "
        "and gives the records of one that was never killed.",
    )
    random, finished = np.random.default_rng(seed), 0
    with tempfile.TemporaryDirectory(prefix="pgso-kills-") as folder:
        whole = Path(folder, "whole")
        subprocess.run(_command(whole), check=True, capture_output=True)
        expected = {record.spec.key: record.without_times() for record in Store(whole)}
        out = Path(folder, "killed-0")
        for case in range(count):
            outcome.count("kill of the parent of two workers")
            before = {path.name for path in (out / "records").glob("*.json")}
            ended, orphans = _killed(out, float(random.uniform(0.5, LONGEST)))
            problem = _problem(out, expected, before, ended)
            if orphans:
                problem = f"{orphans} processes outlived their parent"
            if problem:
                outcome.failures.append(f"seed {seed}, case {case}: {problem}")
            if ended:
                finished += 1
                out = Path(folder, f"killed-{case + 1}")
        subprocess.run(_command(out), check=True, capture_output=True)
        if problem := _problem(out, expected, set(), True):
            outcome.failures.append(f"seed {seed}, the end: {problem}")
    outcome.measured = {"sweeps that came to their end": str(finished + 1)}
    return outcome


def _command(out: Path) -> list[str]:
    return [sys.executable, "-m", "pgso", *SWEEP, "--out", str(out)]


def _killed(out: Path, seconds: float) -> tuple[bool, int]:
    """Whether the sweep had ended before it was killed, and how many processes outlived it."""
    sweep = subprocess.Popen(
        _command(out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        return sweep.wait(seconds) == 0, 0
    except subprocess.TimeoutExpired:
        sweep.send_signal(signal.SIGKILL)
        sweep.wait()
    patience = time.monotonic() + 20
    while time.monotonic() < patience:  # workers end by themselves when their parent is gone
        if not _session(sweep.pid):
            return False, 0
        time.sleep(0.1)
    for orphan in (orphans := _session(sweep.pid)):
        os.kill(orphan, signal.SIGKILL)
    return False, len(orphans)


def _session(leader: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


def _problem(out: Path, expected: dict, before: set[str], ended: bool) -> str | None:
    files = {path.name: path for path in (out / "records").glob("*.json")}
    if lost := before - set(files):
        return f"{len(lost)} records lost"
    for path in files.values():
        record = read_record(path)
        if record.without_times() != expected[record.spec.key]:
            return f"{path.name} differs"
    if ended and len(files) != len(expected):
        return f"{len(files)} of {len(expected)} records at the end"
    left = [path.name for path in (out / "records").glob(".*")] if ended else []
    return f"left over: {left[0]}" if left else None
