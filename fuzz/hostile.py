"""Hostile files and arguments: each command in a process of its own, measured.

A case breaks the promise if it ends in a traceback, a bug, a signal, more than 2 GB or 20 seconds.
Processes are forked from one that has loaded torch, so that a case costs a fraction of a second.
"""

import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

from fuzz import hostile_cases
from fuzz.outcome import Outcome

SECONDS, BYTES = 20.0, 2 * 2**30
LETTERS = 1_200  # of an error message
EXIT_CODES = (0, 1, 2)  # done; a run that failed or diverged; refused


def run(count: int, seed: int = 0, seconds: float = SECONDS) -> Outcome:
    """Try ``count`` cases: the crafted ones in turn, then random changes to files that are fine.

    A busy machine may need more ``seconds`` for a case than the promise says for an idle one.
    """
    outcome = Outcome(
        "hostile",
        f"No file and no argument leads to a traceback, a crash, more than {BYTES >> 30} GB or "
        f"more than {seconds:.0f} s.",
    )
    _load()
    slowest, largest, refused = 0.0, 0.0, 0
    for case in hostile_cases.chosen(count, seed):
        outcome.count(case.kind)
        with tempfile.TemporaryDirectory(prefix="pgso-fuzz-") as folder:
            command = case.write(Path(folder))
            ended = _ended(command, Path(folder), seconds)
        slowest, largest = max(slowest, ended["seconds"]), max(largest, ended["bytes"])
        refused += ended["code"] == 2
        if problem := _problem(ended, seconds):
            shown = " ".join(command)[:200].encode("ascii", "backslashreplace").decode()
            outcome.failures.append(f"{case.kind}: {case.name}: {problem}: pgso {shown}")
            print(outcome.tried, outcome.failures[-1], file=sys.stderr, flush=True)
    outcome.measured = {
        "refused in a sentence": str(refused),
        "slowest": f"{slowest:.1f} s",
        "most memory": f"{largest / 2**30:.2f} GB",
    }
    return outcome


def _problem(ended: dict, seconds: float) -> str | None:
    last = (ended["stderr"].strip().splitlines() or [""])[-1][:300]
    if ended["code"] not in EXIT_CODES:
        return f"exit code {ended['code']} ({last})"
    if "Traceback" in ended["stderr"]:
        return f"a traceback ({last})"
    if ended["code"] == 2 and not last.startswith("error: "):  # a warning may come before
        return f"no sentence ({last})"
    if len(ended["stderr"]) > LETTERS and ended["code"] == 2:
        return f"a message of {len(ended['stderr'])} letters"
    if ended["seconds"] > seconds:
        return f"{ended['seconds']:.0f} s"
    return f"{ended['bytes'] / 2**30:.1f} GB" if ended["bytes"] > BYTES else None


def _ended(command: list[str], folder: Path, limit: float) -> dict:
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _run_and_exit(command, folder)
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        seconds = time.monotonic() - started
        if done:
            break
        if seconds > limit + 5:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "stderr": (folder / "stderr").read_text(errors="replace"),
        "seconds": seconds,
        "bytes": usage.ru_maxrss * 1024,
    }


def _run_and_exit(command: list[str], folder: Path) -> None:
    """In the child: the command as a shell would run it, in an empty folder."""
    code = 99
    try:
        os.chdir(folder)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
        sys.stdout = open(1, "w", encoding="utf-8", errors="strict", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        tempfile.tempdir = str(folder)
        resource.setrlimit(resource.RLIMIT_AS, (3 * BYTES + 2**33,) * 2)  # spare the machine
        from pgso.cli.main import app

        app(args=command)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _load() -> None:
    """Everything that commands import."""
    import torch

    import pgso.cli
    import pgso.spectrum.page
    import pgso.training.fit  # noqa: F401

    torch.set_num_threads(1)
