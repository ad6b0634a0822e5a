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
from pgso.records import RunRecord, Store
from pgso.records import files as files_of_records
from pgso.records.store import read_record

# More than twenty seconds of runs, below which useful_workers would start no workers.
SWEEP = ["compare", "karate", "--epochs", "100", "--seeds", "13", "--workers", "2"]
PATIENCE = 10.0  # seconds for processes to end by themselves
LONGEST = 30.0  # seconds until the kill; a sweep takes about that long


def run(count: int, seed: int = 0) -> Outcome:
    """Kill ``count`` sweeps; after each one the next goes on where it was.

    Every other one is killed just after a record was written, when its parent writes it again.
    """
    outcome = Outcome(
        "kills",
        "A sweep that is killed loses the runs under way and nothing else; the next one goes on, "
        "and gives the records of one that was never killed.",
    )
    random, finished = np.random.default_rng(seed), 0
    with tempfile.TemporaryDirectory(prefix="pgso-kills-") as folder:
        whole = Path(folder, "whole")
        subprocess.run(_command(whole), check=True, capture_output=True)
        expected = {record.spec.key: _result(record) for record in Store(whole)}
        out = Path(folder, "killed-0")
        written = case = 0
        while outcome.tried < count:
            case += 1
            before = {path.name for path in (out / "records").glob("*.json")}
            moment, aimed = float(random.uniform(0.5, LONGEST)), bool(case % 2)
            ended, orphans = _killed(out, moment, len(before) + 1 if aimed else None)
            if not ended:
                outcome.count("just after a record was written" if aimed else "at a random moment")
                written += len([*(out / "records").glob("*.json")]) - len(before)
            problem = _problem(out, expected, before, ended)
            if orphans:
                problem = f"{orphans} processes outlived their parent by {PATIENCE:.0f} s"
            if problem:
                outcome.failures.append(f"seed {seed}, case {case}: {problem}")
            if ended:
                finished += 1
                out = Path(folder, f"killed-{case}")
        subprocess.run(_command(out), check=True, capture_output=True)
        if problem := _problem(out, expected, set(), True):
            outcome.failures.append(f"seed {seed}, the end: {problem}")
    outcome.measured = {
        "records written by killed sweeps": str(written),
        "sweeps that came to their end": str(finished + 1),
    }
    return outcome


def _command(out: Path) -> list[str]:
    return [sys.executable, "-m", "pgso", *SWEEP, "--out", str(out)]


def _killed(out: Path, seconds: float, records: int | None) -> tuple[bool, int]:
    """Whether the sweep had ended before it was killed, and how many processes outlived it.

    Args:
        out: Where its records go.
        seconds: After which it is killed.
        records: After so many records instead, whenever that is.
    """
    sweep = subprocess.Popen(
        _command(out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        while records and len([*(out / "records").glob("*.json")]) < records:
            if sweep.poll() is not None:
                return True, 0
            time.sleep(0.002)
        sweep.wait(0.01 if records else seconds)
        return True, 0
    except subprocess.TimeoutExpired:
        sweep.send_signal(signal.SIGKILL)
        sweep.wait()
    patience = time.monotonic() + PATIENCE
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


def _result(record: RunRecord) -> dict:
    """What a run gives; spectra are added when the page of a whole sweep is written."""
    return record.model_copy(update={"spectra": None}).without_times()


def _problem(out: Path, expected: dict, before: set[str], ended: bool) -> str | None:
    files = {path.name: path for path in (out / "records").glob("*.json")}
    if lost := before - set(files):
        return f"{len(lost)} records lost"
    for path in files.values():
        record = read_record(path)
        if _result(record) != expected[record.spec.key]:
            return f"{path.name} differs"
    if ended and len(files) != len(expected):
        return f"{len(files)} of {len(expected)} records at the end"
    if ended:  # what killed writers left unfinished goes an hour later
        for path in (out / "records").glob(".*"):
            os.utime(path, (0, 0))
        files_of_records.remove_leftovers(out / "records")
    left = [path.name for path in (out / "records").glob(".*")] if ended else []
    return f"left over: {left[0]}" if left else None
