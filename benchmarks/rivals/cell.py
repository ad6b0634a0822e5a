"""One cell of the race: one rival on one split of one dataset, in a process of its own."""

import os
import platform
import resource
import time
from importlib import metadata
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import torch

import pgso
from benchmarks.rivals.field import DATASETS, OURS, RIVALS
from benchmarks.rivals.problem import Problem, read, state_of
from pgso.records.numerics import LADDER

MOST_SECONDS = 1800  # of CPU for one cell
LIBRARIES = ("torch", "torch-geometric", "scikit-learn", "numpy", "lightgbm", "catboost", "rdkit")


def in_a_process(dataset: str, split: int, rival: str) -> dict[str, Any]:
    """The record of a cell, measured in a fork: imports are shared, memory and seconds are not.

    Raises:
        RuntimeError: The process died, or it needed more than MOST_SECONDS.
    """
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, dataset, split, rival))
    process.start()
    sender.close()
    try:
        record: dict[str, Any] = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"ended with {process.exitcode}") from None
    process.join()
    return record


def _send(sender: Connection, dataset: str, split: int, rival: str) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    sender.send(measure(dataset, split, rival))


def measure(dataset_name: str, split: int, rival_name: str) -> dict[str, Any]:
    """Fit, predict, and judge once; CPU seconds and peak memory of fitting and predicting.

    A first, small run imports what the rival needs: libraries are not on the clock. Neither is
    reading the files, which is the same for all.
    """
    torch.set_num_threads(1)
    dataset, rival = DATASETS[dataset_name], RIVALS[rival_name]
    call = rival.call()
    given: dict[str, Any] = {"dataset": dataset.name} if rival.tuned else {}
    if not rival.molecules_only:
        task, _ = read("karate", 0)
        call(Problem(task, 0, epochs=2), **({"task": task} if rival_name in OURS else given))
    task, y = read(dataset.source, split, **dataset.options)
    problem = Problem(task, split)
    if rival_name in OURS:
        given = {"task": task}
    elif rival.molecules_only:
        given = {"smiles": dataset.smiles}
    before = _peak_mib()
    start = time.process_time()
    answer = call(problem, **given)
    seconds = time.process_time() - start
    return {
        **key(dataset_name, split, rival_name),
        "metric": task.metric,
        "data": state_of(task),
        "train": len(problem.train),
        "test_items": len(problem.test),
        "chosen": answer.chosen,
        "val": problem.score(answer.out, problem.val, y),
        "test": problem.score(answer.out, problem.test, y),
        "seconds": round(seconds, 4),
        "memory_mib": round(_peak_mib(), 1),
        "loaded_mib": round(before, 1),
        "load": round(os.getloadavg()[0], 1),
        "versions": _versions(),
    }


def key(dataset: str, split: int, rival: str) -> dict[str, Any]:
    """What a record is about, and the revisions that it was made with."""
    return {
        "dataset": dataset,
        "split": split,
        "rival": rival,
        "revision": RIVALS[rival].revision,
        "numerics": pgso.NUMERICS,
        "ladder": LADDER,
    }


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _versions() -> dict[str, str]:
    return {
        "pgso": pgso.__version__,
        "python": platform.python_version(),
        "threads": str(torch.get_num_threads()),
        **{name: metadata.version(name) for name in LIBRARIES},
    }
