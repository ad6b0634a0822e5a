"""How many threads a search takes."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

from pgso.finding.problem import Problem

MANY_LABELS = 1000  # from which on decompositions are long enough to be shared


@contextmanager
def threads_for(problem: Problem) -> Iterator[None]:
    """How many threads a problem gets: a small one gets one.

    On a busy machine two threads took 15 times as long as one on Cora.
    """
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
