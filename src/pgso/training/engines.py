"""Many runs at once: in this process, in several processes, or on a Ray cluster."""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store
from pgso.records.fingerprint import fingerprint

Engine = Literal["local", "ray"]
OnRecord = Callable[[RunRecord], None]
Records = Generator[RunRecord, None, None]


def run_all(
    specs: Sequence[RunSpec],
    store: Store,
    root: str | Path | None = None,
    engine: Engine = "local",
    workers: int = 1,
    address: str | None = None,
    on_record: OnRecord | None = None,
) -> list[RunRecord]:
    """Run what has no record yet, and return the records of all specs, in their order.

    Every record is written as soon as its run ends: stopping at any moment loses the runs under
    way and nothing else, and starting again does only what is missing. A run that fails is
    recorded with its error and does not stop the others.

    Args:
        specs: What to run.
        store: Where records are kept; other sweeps may use it at the same time.
        root: Where datasets are.
        engine: ``"local"`` processes with one thread each, or ``"ray"`` tasks with one CPU each.
        workers: How many processes; 1 stays in this one.
        address: Of a running Ray cluster; by default one is started here.
        on_record: Called with every new record as it comes.
    """
    if engine not in ("local", "ray"):
        raise InputError(f"no engine is called {engine!r}; choose local or ray")
    if workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    missing = store.missing(specs)
    finished: Records
    if engine == "ray":
        finished = _on_ray(missing, root, address)
    elif workers == 1 or len(missing) < 2:
        finished = (run_one(spec, root) for spec in missing)
    else:
        finished = _in_processes(missing, root, min(workers, len(missing)), store)
    with closing(finished):  # whatever interrupts us, workers end before we do
        for record in finished:
            store.put(record)
            if on_record is not None:
                on_record(record)
    records = [store.get(spec) for spec in specs]
    return [record for record in records if record is not None]


def run_one(spec: RunSpec, root: str | Path | None = None) -> RunRecord:
    """One run, whatever happens: an error becomes a failed record."""
    from pgso.training.fit import fit, versions

    try:
        return fit(spec, root)
    except Exception as error:
        why = str(error) if isinstance(error, InputError) else traceback.format_exc(limit=-4)
        state = fingerprint(spec.dataset)
        return RunRecord(spec=spec, status="failed", error=why, data=state, versions=versions())


def _use_one_thread() -> None:
    import torch

    torch.set_num_threads(1)  # two threads on a busy machine are slower than one


def _end_with_parent() -> None:
    """A parent that is killed cannot stop its workers, which would wait for it for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_and_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_and_end, daemon=True).start()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes started meanwhile inherit it: Ctrl-C is the parent's to handle."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python allows handlers in the main thread only
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _run_and_put(spec: RunSpec, root: str | Path | None, folder: Path) -> RunRecord:
    _use_one_thread()
    record = run_one(spec, root)
    Store(folder).put(record)  # here too: the parent may have been killed meanwhile
    return record


def _in_processes(
    specs: Sequence[RunSpec], root: str | Path | None, workers: int, store: Store
) -> Records:
    """In a pool; when a worker dies, those that may have been its last runs go again, alone."""
    while specs:
        lost = yield from _in_pool(specs, root, workers, store)
        started = 2 * workers + 1  # in a worker each, or in the queue to them
        for spec in lost[:started]:
            if (yield from _in_pool([spec], root, 1, store)):
                why = "the process of this run was killed; it may have needed too much memory"
                yield RunRecord(spec=spec, status="failed", error=why)
        specs = lost[started:]


def _in_pool(
    specs: Sequence[RunSpec], root: str | Path | None, workers: int, store: Store
) -> Generator[RunRecord, None, list[RunSpec]]:
    """Records as they come; returns the specs that have none because a worker died."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the children, before they load torch
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)
    lost = []
    try:
        with _interrupts_ignored():
            pending = {pool.submit(_run_and_put, spec, root, store.root): spec for spec in specs}
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


def _on_ray(specs: Sequence[RunSpec], root: str | Path | None, address: str | None) -> Records:
    try:
        import ray
    except ImportError:
        raise InputError("the ray engine needs Ray: pip install 'pgso[cluster]'") from None
    started_here = not ray.is_initialized()
    if started_here:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    task: Any = ray.remote(num_cpus=1, max_retries=1)(_run_on_ray)
    where = None if root is None else str(root)
    pending: dict[Any, RunSpec] = {}
    try:
        pending = {task.remote(spec.model_dump(mode="json"), where): spec for spec in specs}
        while pending:
            ready, _ = ray.wait(list(pending), num_returns=1)
            for reference in ready:
                spec = pending.pop(reference)
                try:
                    yield RunRecord.model_validate(ray.get(reference))
                except (ray.exceptions.RayError, ValueError) as error:  # or another pgso over there
                    yield RunRecord(spec=spec, status="failed", error=str(error).splitlines()[0])
    finally:
        for reference in pending:
            ray.cancel(reference, force=True)
        if started_here:
            ray.shutdown()


def _run_on_ray(spec: dict[str, Any], root: str | None) -> dict[str, Any]:
    """What a cluster's worker runs; plain data both ways, so that no class has to be shipped."""
    _use_one_thread()
    return run_one(RunSpec(**spec), root).model_dump(mode="json")
