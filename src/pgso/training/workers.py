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
from pgso.training.memory import keep_freed_memory
from pgso.training.threads import one_thread

RunOne = Callable[[RunSpec, str | Path | None], RunRecord]
Records = Generator[RunRecord, None, None]

PRELOADED = ["pgso.training.preload"]  # seconds of imports, torch's first of all


def start_loading() -> bool:
    """Have a process load in the background what all workers need: they are forked from it.

    Who calls it before importing torch waits for one of the two imports only. Pools made later
    find it ready: the many short ones of a search as well. False where there can be no such
    process, so that workers have to load for themselves.
    """
    if sys.platform != "linux":  # elsewhere it is absent, or forks of what has loaded torch crash
        return False
    from multiprocessing import forkserver

    multiprocessing.set_forkserver_preload(PRELOADED)
    try:
        with _inherited():
            forkserver.ensure_running()
    except OSError:  # its socket may have no place, as where the path of $TMPDIR is long
        return False
    return True


def run_in_workers(
    run_one: RunOne,
    specs: Sequence[RunSpec],
    root: str | Path | None,
    workers: int,
    store: Store,
) -> Records:
    """In a pool; when a worker dies, those that may have been its last runs go again, alone."""
    while specs:
        lost = yield from _in_pool(run_one, specs, root, workers, store)
        started = 2 * workers + 1  # in a worker each, or in the queue to them
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
    """Records as they come; returns the specs that have none because a worker died."""
    forked = start_loading()
    context = multiprocessing.get_context("forkserver" if forked else "spawn")
    variables = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    pool = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(variables,))
    lost = []
    try:
        with nullcontext() if forked else _inherited():
            pending = {
                pool.submit(_run_and_put, run_one, spec, root, store.root): spec for spec in specs
            }
        while pending:
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                spec = pending.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    lost.append(spec)
                except Exception as error:  # such as a record that cannot be sent back
                    yield RunRecord(spec=spec, status="failed", error=repr(error))
    finally:
        processes = list(pool._processes.values())  # which a pool forgets when it is shut down
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
    return sorted(lost, key=list(specs).index)


def _run_and_put(
    run_one: RunOne, spec: RunSpec, root: str | Path | None, folder: Path
) -> RunRecord:
    with one_thread():
        record = run_one(spec, root)
    Store(folder).put(record)  # here too: the parent may have been killed meanwhile
    return record


def _start(variables: dict[str, str]) -> None:
    """A worker may have been forked from a process that someone else started long ago."""
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables, OMP_NUM_THREADS="1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    keep_freed_memory()
    _end_with_parent()


def _end_with_parent() -> None:
    """A parent that is killed cannot stop its workers, which would wait for it for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_and_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_and_end, daemon=True).start()


@contextmanager
def _inherited() -> Iterator[None]:
    """What processes started meanwhile have: one thread, no ears for Ctrl-C, no path to here."""
    ours = {"OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}  # before they load torch, not a torch.py
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
        if in_main_thread:  # Python allows handlers in no other
            signal.signal(signal.SIGINT, handler)
