"""Many runs at once: in this process, in several processes, or on a Ray cluster."""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Literal

from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store

Engine = Literal["local", "ray"]
OnRecord = Callable[[RunRecord], None]


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
    if engine == "ray":
        finished = _on_ray(missing, root, address)
    elif workers == 1 or len(missing) < 2:
        finished = (run_one(spec, root) for spec in missing)
    else:
        finished = _in_processes(missing, root, min(workers, len(missing)), store)
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
        return RunRecord(spec=spec, status="failed", error=why, versions=versions())


def _prepare_worker() -> None:
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    torch.set_num_threads(1)  # two threads on a busy machine are slower than one


def _run_and_put(spec: RunSpec, root: str | Path | None, folder: Path) -> RunRecord:
    record = run_one(spec, root)
    Store(folder).put(record)  # here too: the parent may have been killed meanwhile
    return record


def _in_processes(
    specs: Sequence[RunSpec], root: str | Path | None, workers: int, store: Store
) -> Iterator[RunRecord]:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for the children, before they load torch
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare_worker)
    try:
        pending: dict[Future[RunRecord], RunSpec] = {
            pool.submit(_run_and_put, spec, root, store.root): spec for spec in specs
        }
        while pending:
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                spec = pending.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    raise InputError(
                        "a worker process was killed (out of memory?); finished runs are kept: "
                        "start again with fewer workers"
                    ) from None
                except Exception as error:  # such as a record that cannot be sent back
                    yield RunRecord(spec=spec, status="failed", error=repr(error))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()


def _on_ray(
    specs: Sequence[RunSpec], root: str | Path | None, address: str | None
) -> Iterator[RunRecord]:
    try:
        import ray
    except ImportError:
        raise InputError("the ray engine needs Ray: pip install 'pgso[cluster]'") from None
    started_here = not ray.is_initialized()
    if started_here:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    task: Any = ray.remote(num_cpus=1, max_retries=1)(_run_on_ray)
    try:
        where = None if root is None else str(root)
        pending = {task.remote(spec.model_dump(mode="json"), where): spec for spec in specs}
        while pending:
            ready, _ = ray.wait(list(pending), num_returns=1)
            for reference in ready:
                spec = pending.pop(reference)
                try:
                    yield RunRecord.model_validate(ray.get(reference))
                except ray.exceptions.RayError as error:
                    yield RunRecord(spec=spec, status="failed", error=str(error).splitlines()[0])
    finally:
        if started_here:
            ray.shutdown()


def _run_on_ray(spec: dict[str, Any], root: str | None) -> dict[str, Any]:
    """What a cluster's worker runs; plain data both ways, so that no class has to be shipped."""
    _prepare_worker_thread()
    return run_one(RunSpec(**spec), root).model_dump(mode="json")


def _prepare_worker_thread() -> None:
    import torch

    torch.set_num_threads(1)
