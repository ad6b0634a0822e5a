"""Worker processes of this machine: one run at a time and one thread each."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pgso.records import RunRecord, RunSpec, Store
from pgso.training.freed_memory import give_freed_memory_back, keep_freed_memory
from pgso.training.threads import one_thread

RunOne = Callable[[RunSpec, str | Path | None], RunRecord]
Records = Generator[RunRecord, None, None]

# The second is seconds of imports, torch's first of all; the first watches the parent meanwhile.
PRELOADED = ["pgso.training.orphans", "pgso.training.preload"]


def start_loading() -> bool:
    """Start a server process that imports torch and pgso once; workers are forked from it.

    It imports in the background: a caller that has not imported torch yet does so at the same
    time. Pools made later, such as the many short ones of a search, find the server ready.

    Returns:
        False where no such server can run. Each worker then imports for itself.
    """
    if sys.platform != "linux":  # Windows has no fork; on macOS forks of a loaded torch crash
        return False
    from multiprocessing import forkserver

    multiprocessing.set_forkserver_preload(PRELOADED)
    try:
        with _inherited():
            forkserver.ensure_running()
    except OSError:  # the path of its socket may be too long, under a long $TMPDIR
        return False
    return True


def run_in_workers(
    run_one: RunOne,
    specs: Sequence[RunSpec],
    root: str | Path | None,
    workers: int,
    store: Store,
) -> Records:
    """Run all specs in a pool of workers, and yield records as they come.

    When a worker dies, the runs that it may have been working on are repeated, each alone in a
    process of its own. A run that kills its process again is recorded as failed.
    """
    while specs:
        lost = yield from _in_pool(run_one, specs, root, workers, store)
        started = 2 * workers + 1  # runs in a worker, and runs in the queue to the workers
        for spec in lost[:started]:
            if (yield from _in_pool(run_one, [spec], root, 1, store)):
                why = "the process of this run was killed; it may have needed too much memory"
                yield RunRecord(spec=spec, status="failed", error=why)
        specs = lost[started:]


def _in_pool(
    run_one: RunOne,
    specs: Sequence[RunSpec],
    root: str | Path | None,
    workers: int,
    store: Store,
) -> Generator[RunRecord, None, list[RunSpec]]:
    """Yield records as they come; return the specs that have none because a worker died."""
    forked = start_loading()
    context = multiprocessing.get_context("forkserver" if forked else "spawn")
    variables = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    pool = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(variables,))
    lost: list[int] = []
    try:
        with nullcontext() if forked else _inherited():
            pending = {
                pool.submit(_run_and_put, run_one, spec, root, store.root): number
                for number, spec in enumerate(specs)
            }
        while pending:
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                number = pending.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    lost.append(number)
                except Exception as error:  # such as a record that cannot be sent back
                    yield RunRecord(spec=specs[number], status="failed", error=repr(error))
    finally:
        processes = list(pool._processes.values())  # a pool forgets them when it shuts down
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
    return [specs[number] for number in sorted(lost)]


def _run_and_put(
    run_one: RunOne, spec: RunSpec, root: str | Path | None, folder: Path
) -> RunRecord:
    with one_thread():
        record = run_one(spec, root)
    Store(folder).put(record)  # the parent saves it too, unless it was killed
    give_freed_memory_back()
    return record


def _start(variables: dict[str, str]) -> None:
    """Set up a worker: the caller's environment variables, one thread, no SIGINT.

    The server that it was forked from may have been started earlier, with other variables.
    """
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables, OMP_NUM_THREADS="1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent stops its workers
    keep_freed_memory()
    _end_with_parent()


def _end_with_parent() -> None:
    """End this worker when its parent ends: a parent that is killed cannot stop its workers."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_and_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_and_end, daemon=True).start()


@contextmanager
def _inherited() -> Iterator[None]:
    """Processes that are started within this block inherit three things.

    They compute with one thread, which has to be said before they import torch. They ignore
    SIGINT: the parent stops them. They do not have the current folder in ``sys.path``, so that a
    user's own ``torch.py`` is not imported.
    """
    ours = {"OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
    before = {name: os.environ.get(name) for name in ours}
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main_thread else None
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        if in_main_thread:  # Python sets handlers in the main thread only
            signal.signal(signal.SIGINT, handler)
