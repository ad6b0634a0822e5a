"""How many threads a run takes. The order of sums depends on it, so all commands take the same."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgso.data import Task

MANY_EDGES = 1_000_000  # from which on several threads are worth it to a run that is alone


def one_thread() -> AbstractContextManager[None]:
    """Torch computes with one thread within this block: on a busy machine two are slower."""
    return threads(1)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Torch computes with so many threads within this block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def wants_threads(task: "Task") -> bool:
    """Whether a step of this task is long enough to be shared."""
    return task.kind == "node" and task.graph.num_edges >= MANY_EDGES
