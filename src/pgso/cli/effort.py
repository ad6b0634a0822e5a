"""How long runs will take, roughly, before anything is loaded: do worker processes pay?"""

from collections.abc import Sequence
from pathlib import Path

from pgso.records import RunSpec

START = 10.0  # seconds of runs below which this process does them: workers import torch for 3 s
PER_EPOCH, PER_EDGE = 4e-3, 1e-6  # seconds, measured on karate, Cora and ogbn-arxiv
BYTES = 10  # of a line of edges.csv


def useful_workers(specs: Sequence[RunSpec], workers: int) -> int:
    """As many processes as asked for, or 1 where the runs end before workers are ready.

    Example:
        >>> useful_workers([RunSpec(dataset="karate")] * 4, 8)
        1
        >>> useful_workers([RunSpec(dataset="Physics")] * 4, 8)
        4
    """
    seconds = (seconds_of(spec) for spec in specs)
    total = sum(second if second is not None else START for second in seconds)
    return 1 if total < START else max(min(workers, len(specs)), 1)


def seconds_of(spec: RunSpec) -> float | None:
    """A guess; None where nothing is known about the dataset's size."""
    edges = edges_of(spec.dataset)
    return (
        None if edges is None else spec.num_trainings * spec.epochs * (PER_EPOCH + PER_EDGE * edges)
    )


def edges_of(dataset: str) -> int | None:
    """The published number of edges, or a guess by the size of a user's file."""
    from pgso.data import DATASETS

    if dataset.lower() in DATASETS:
        sizes = DATASETS[dataset].sizes
        return None if sizes is None else sizes.edges
    file = Path(dataset).expanduser() / "edges.csv"
    return file.stat().st_size // BYTES if file.is_file() else None
