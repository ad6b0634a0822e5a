"""How many threads a search takes."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

from pgso.finding.problem import Problem

MANY_LABELS = 1000  # from which on decompositions are long enough to be shared


@contextmanager
def threads_for(problem: Problem) -> Iterator[None]:
    """One thread for a small problem: on a busy machine two took 15 times as long on Cora."""
    if len(problem.train) >= MANY_LABELS:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
