"""Many runs at once: in this process, in several processes, or on a Ray cluster."""

import os
import re
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pgso.data.dataset import suited
from pgso.errors import InputError
from pgso.records import RunRecord, RunSpec, Store
from pgso.training.freed_memory import give_freed_memory_back, keep_freed_memory
from pgso.training.threads import one_thread
from pgso.training.workers import Records, RunOne, run_in_workers

Engine = Literal["local", "ray"]
WORKERS_PER_CPU = 4  # above which they only wait for each other, and fill the memory
RAY_PATIENCE = 10.0  # seconds for a cluster to answer
JOIN_RAY = "import ray, sys; print(flush=True); ray.init(sys.argv[1], configure_logging=False)"
OnRecord = Callable[[RunRecord], None]


def run_all(
    specs: Sequence[RunSpec],
    store: Store,
    root: str | Path | None = None,
    engine: Engine = "local",
    workers: int = 1,
    address: str | None = None,
    on_record: OnRecord | None = None,
    device: str | None = None,
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
        device: Where every run computes, as in :func:`pgso.fit`; on Ray, the worker's own.
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
    job = partial(run_one, device=device)
    finished: Records
    if engine == "ray":
        finished = _on_ray(missing, root, address)
    elif workers == 1 or len(missing) < 2:
        finished = _in_turn(job, missing, root)
    else:
        finished = run_in_workers(job, missing, root, min(workers, len(missing)), store)
    with closing(finished):  # workers end before this process does, also on Ctrl-C
        for record in finished:
            store.put(record)
            if on_record is not None:
                on_record(record)
    records = [store.get(spec) for spec in specs]
    return [record for record in records if record is not None]


def _in_turn(job: RunOne, specs: Sequence[RunSpec], root: str | Path | None) -> Records:
    for spec in specs:
        with one_thread():  # the caller's code between records keeps its own number
            record = job(spec, root)
        yield record
        give_freed_memory_back()


def run_one(spec: RunSpec, root: str | Path | None = None, device: str | None = None) -> RunRecord:
    """One run. An error becomes a failed record, so that it does not stop the others."""
    from pgso.training.fit import fit, state_of, versions

    try:
        return fit(spec, root, device=device)
    except Exception as error:
        why = str(error) if isinstance(error, InputError) else traceback.format_exc(limit=-4)
        state = state_of(spec.dataset)
        return RunRecord(spec=spec, status="failed", error=why, data=state, versions=versions())


def _on_ray(specs: Sequence[RunSpec], root: str | Path | None, address: str | None) -> Records:
    try:
        import ray
    except ImportError:
        raise InputError("the ray engine needs Ray: pip install 'pgso[cluster]'") from None
    started_here = not ray.is_initialized()
    if started_here:
        _start_ray(ray, address)
    task: Any = ray.remote(num_cpus=1, max_retries=1)(_run_on_ray)
    # Workers on other machines use their own $PGSO_DATA, or ours if they have none.
    folder, fallback = map(_absolute, (root, os.environ.get("PGSO_DATA")))
    pending: dict[Any, RunSpec] = {}
    try:
        pending = {
            task.remote(spec.model_dump(mode="json"), folder, fallback): spec for spec in specs
        }
        while pending:
            ready, _ = ray.wait(list(pending), num_returns=1)
            for reference in ready:
                spec = pending.pop(reference)
                try:
                    yield RunRecord.model_validate_json(ray.get(reference))
                except (
                    ray.exceptions.RayError,
                    ValueError,
                ) as error:  # or a record of another version of pgso
                    yield RunRecord(spec=spec, status="failed", error=str(error).splitlines()[0])
    finally:
        for reference in pending:
            ray.cancel(reference, force=True)
        if started_here:
            ray.shutdown()


def _start_ray(ray: Any, address: str | None) -> None:
    """Join a cluster, or start one here.

    A wrong address is refused after ten seconds; Ray alone would try for minutes.
    """
    address = address or os.environ.get("RAY_ADDRESS") or None  # as ray.init does
    host = None if address is None else re.fullmatch(r"(?:ray://)?(.+):(\d{1,5})", address)
    if address is not None and host is None and address not in ("auto", "local"):
        raise InputError(
            f"{address!r:.80} is no address of a Ray cluster; give host:port, ray://host:port, "
            "auto or local"
        )
    try:
        if host is not None and address is not None:
            _check_for_ray(address, host[1].strip("[]"), int(host[2]))
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (OSError, RuntimeError, ValueError, OverflowError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(
            f"no Ray cluster answers at {address or 'this machine'} ({reason}); check the address, "
            "or start one with ray start --head"
        ) from None


def _check_for_ray(address: str, host: str, port: int) -> None:
    """Raise an OSError unless a Ray cluster answers at this address.

    Where nothing listens, this is known at once. Whether what listens is Ray is found out by a
    process that joins it and can be stopped: Ray itself would try for minutes.
    """
    socket.create_connection((host, port), RAY_PATIENCE).close()
    command = [sys.executable, "-c", JOIN_RAY, address]
    with subprocess.Popen(  # noqa: S603  (our own program)
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as joining:
        assert joining.stdout is not None
        joining.stdout.readline()  # the import is over
        try:
            code = joining.wait(RAY_PATIENCE)
        except subprocess.TimeoutExpired:
            joining.kill()
            raise OSError(f"what listens there did not let us join in {RAY_PATIENCE:g} s") from None
    if code != 0:
        raise OSError("what listens there is not Ray, or of another version")


def _absolute(path: str | Path | None) -> str | None:
    return None if path is None else str(Path(path).expanduser().absolute())


def _run_on_ray(spec: dict[str, Any], root: str | None, fallback: str | None) -> str:
    """What a cluster's worker runs. Specs and records travel as plain data, not as classes."""
    if fallback is not None:
        os.environ.setdefault("PGSO_DATA", fallback)
    keep_freed_memory()
    with one_thread():
        return run_one(RunSpec(complete=True, **spec), root).model_dump_json()
