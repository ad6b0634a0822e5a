"""Many runs at once: here, in worker processes (joblib), or on Ray; and threads and memory."""

import ctypes
import math
import os
import re
import signal
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pgso.data import DATASETS
from pgso.data.dataset import suited
from pgso.data.places import data_root
from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store

if TYPE_CHECKING:
    from pgso.data import Task

Engine = Literal["local", "ray"]
Records = Generator[RunRecord, None, None]
RunOne = Callable[[RunSpec], RunRecord]
WORKERS_PER_CPU = 4  # above which they only wait for each other, and fill the memory
WATCHED_EVERY = 1.0  # seconds between two looks of a worker at its parent
RAY_PATIENCE = 10.0  # seconds for the address of a cluster to answer
KILLED = "the process of this run was killed; it may have needed too much memory"
# Seconds of runs below which this process does them all: workers need 4 s to import torch. The
# seconds of an epoch were measured on karate, Cora and ogbn-arxiv.
WORTH_WORKERS, PER_EPOCH, PER_EDGE = 20.0, 4e-3, 1e-6
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's malloc.h
MANY_EDGES = 1_000_000  # from which on several threads are worth it to a run that is alone


def run_all(
    specs: Sequence[RunSpec],
    store: Store,
    root: str | Path | None = None,
    engine: Engine = "local",
    workers: int = 1,
    address: str | None = None,
    on_record: Callable[[RunRecord], None] | None = None,
    device: str | None = None,
) -> list[RunRecord]:
    """Run what has no record yet, and return the records of all specs, in their order.

    Every record is written to the store as soon as its run ends: stopping at any moment loses the
    runs under way and nothing else, and starting again does only what is missing. A run that fails
    is recorded with its error and does not stop the others.

    The engine is ``"local"`` processes with one thread each (one worker is this process), or
    ``"ray"`` tasks with one CPU each, on the cluster at ``address`` or on one that is started here.
    ``on_record`` is called with every new record as it comes. ``root`` and ``device`` are as in
    :func:`pgso.fit`; on Ray they are the worker's own.
    """
    if engine not in ("local", "ray"):
        raise InputError(f"no engine is called {engine!r}; choose local or ray")
    if workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    if workers > (most := WORKERS_PER_CPU * max(os.cpu_count() or 1, 4)):
        raise InputError(f"workers must be at most {most} on this machine, got {workers}")
    if address is not None and engine != "ray":
        raise InputError(f"an address belongs to a Ray cluster; choose engine ray, not {engine}")
    specs = [suited(spec) for spec in specs]
    missing = store.missing(specs)
    finished: Records
    if engine == "ray":
        finished = _on_ray(missing, root, address)
    elif workers == 1 or len(missing) < 2:
        finished = (run_one(spec, root, device, store.root) for spec in missing)
    else:
        # Workers that are used again have the environment of their start, so this is looked up now.
        job = partial(run_one, root=data_root(root).absolute(), device=device, out=store.root)
        finished = in_workers(job, missing, store, min(workers, len(missing)))
    with closing(finished):  # workers end before this process does, also on Ctrl-C
        for record in finished:
            store.put(record)
            if on_record is not None:
                on_record(record)
    records = [store.get(spec) for spec in specs]
    return [record for record in records if record is not None]


def run_one(
    spec: RunSpec,
    root: str | Path | None = None,
    device: str | None = None,
    out: Path | None = None,  # where findings may lie
) -> RunRecord:
    """One run, in one thread. An error becomes a failed record, and does not stop the others."""
    from pgso.data.load import state_of
    from pgso.training.fit import fit, versions

    with one_thread():
        try:
            finding = None if out is None else Store(out).finding(spec)
            return fit(spec, root, device=device, finding=finding)
        except Exception as error:
            why = str(error) if isinstance(error, InputError) else traceback.format_exc(limit=-4)
            state = state_of(spec.dataset)
            return RunRecord(spec=spec, status="failed", error=why, data=state, versions=versions())
        finally:
            give_freed_memory_back()


def useful_workers(specs: Sequence[RunSpec], workers: int, num_edges: int | None = None) -> int:
    """As many processes as asked for, or 1 where the runs end before workers are ready.

    ``num_edges`` is of their graph; by default it is as published.
    """
    seconds = 0.0
    for spec in specs:
        sizes = DATASETS[spec.dataset].sizes if spec.dataset in DATASETS else None
        edges = sizes.edges if num_edges is None and sizes is not None else num_edges
        per_epoch = math.inf if edges is None else PER_EPOCH + PER_EDGE * edges
        seconds += spec.num_trainings * spec.epochs * per_epoch
    return 1 if seconds < WORTH_WORKERS else max(min(workers, len(specs)), 1)


def in_workers(job: RunOne, specs: Sequence[RunSpec], store: Store, workers: int) -> Records:
    """Run all specs in worker processes, one thread each, and yield records as they come.

    When a worker dies, the runs that had been handed out are repeated, each alone in a pool. A run
    that kills its worker again is recorded as failed.
    """
    waiting = list(specs)
    while waiting:
        lost, waiting = yield from _in_pool(job, waiting, store, workers)
        for spec in lost:
            again, _ = yield from _in_pool(job, [spec], store, 2)  # of 1, joblib makes no process
            if again:
                yield RunRecord(spec=spec, status="failed", error=KILLED)


def _in_pool(
    job: RunOne, specs: Sequence[RunSpec], store: Store, workers: int
) -> Generator[RunRecord, None, tuple[list[RunSpec], list[RunSpec]]]:
    """Yield records as they come; return which runs a dead worker may have had, and the rest."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    handed: list[RunSpec] = []
    done: set[str] = set()

    def jobs() -> Iterator[Any]:
        for spec in specs:
            handed.append(spec)
            yield delayed(_run_and_put)(job, spec, store.root)

    try:
        set_up = {"initializer": _start_worker, "initargs": (os.getpid(),)}
        with parallel_config("loky", inner_max_num_threads=1, **set_up):
            options = {"batch_size": 1, "pre_dispatch": 2 * workers, "max_nbytes": None}
            records = Parallel(workers, return_as="generator_unordered", **options)(jobs())
            try:
                for record in records:
                    done.add(record.spec.key)
                    yield record
            finally:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # after Ctrl-C: how many runs are cancelled
                    records.close()
    except TerminatedWorkerError:
        return [spec for spec in handed if spec.key not in done], list(specs[len(handed) :])
    return [], []


def _run_and_put(job: RunOne, spec: RunSpec, folder: Path) -> RunRecord:
    """What a local worker runs."""
    record = job(spec)
    Store(folder).put(record)  # the parent saves it too, unless it was killed
    return record


def _start_worker(parent: int) -> None:
    """Set up a worker: no SIGINT, since the parent stops it, and an end when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed_memory()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCHED_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_ray(specs: Sequence[RunSpec], root: str | Path | None, address: str | None) -> Records:
    """One Ray task per run. Its joblib backend cannot give records as they come."""
    try:
        import ray
    except ImportError:
        raise InputError("the ray engine needs Ray: pip install 'pgso[cluster]'") from None
    started_here = not ray.is_initialized()
    address = address or os.environ.get("RAY_ADDRESS") or None  # as ray.init does
    host = None if address is None else re.fullmatch(r"(?:ray://)?(.+):(\d{1,5})", address)
    if started_here and address not in (None, "auto", "local") and host is None:
        raise InputError(
            f"{address!r:.80} is no address of a Ray cluster; give host:port, ray://host:port, "
            "auto or local"
        )
    try:
        if started_here and host is not None:  # Ray alone would try for minutes
            socket.create_connection((host[1].strip("[]"), int(host[2])), RAY_PATIENCE).close()
        if started_here:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (OSError, RuntimeError, ValueError, OverflowError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(
            f"no Ray cluster answers at {address or 'this machine'} ({reason}); check the address, "
            "or start one with ray start --head"
        ) from None
    task: Any = ray.remote(num_cpus=1, max_retries=1)(_run_on_ray)
    # Workers on other machines use their own $PGSO_DATA, or ours if they have none.
    given = (root, os.environ.get("PGSO_DATA"))
    places = [path and str(Path(path).expanduser().absolute()) for path in given]
    pending: dict[Any, RunSpec] = {}
    try:
        pending = {task.remote(spec.model_dump(mode="json"), *places): spec for spec in specs}
        while pending:
            (ready,), _ = ray.wait(list(pending), num_returns=1)
            spec = pending.pop(ready)
            try:
                yield RunRecord.model_validate_json(ray.get(ready))
            except (ray.exceptions.RayError, ValueError) as error:  # or another version's record
                yield RunRecord(spec=spec, status="failed", error=str(error).splitlines()[0])
    finally:
        for reference in pending:
            ray.cancel(reference, force=True)
        if started_here:
            ray.shutdown()


def _run_on_ray(spec: dict[str, Any], root: str | None, fallback: str | None) -> str:
    """What a cluster's worker runs. Specs and records travel as plain data, not as classes."""
    if fallback is not None:
        os.environ.setdefault("PGSO_DATA", fallback)
    keep_freed_memory()
    return run_one(RunSpec(complete=True, **spec), root).model_dump_json()


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Torch computes with this number of threads within this block; None: with as many as it does.

    The order of sums depends on it, so all commands take the same.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


one_thread = partial(threads, 1)  # on a busy machine two are slower


def threads_for(task: "Task", most: int | None = None) -> AbstractContextManager[None]:
    """One thread, or all (so many at most) where a step of this task is long enough for them."""
    many = task.kind == "node" and task.graph.num_edges >= MANY_EDGES
    return threads(most) if many else one_thread()


def keep_freed_memory() -> None:
    """Keep freed memory in this process, for the next step of a training.

    By default glibc gives buffers above 32 MiB back to the system at once, so that every step on a
    large graph maps and zeroes them again. With another allocator this does nothing.
    """
    with suppress(OSError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, -1)


def give_freed_memory_back() -> None:
    """Give back what was freed so far: without it a worker held 6.5 GB after 1,000 runs."""
    with suppress(OSError):  # another allocator
        ctypes.CDLL("libc.so.6").malloc_trim(0)
