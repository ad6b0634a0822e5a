"""Tasks that were loaded last: the runs of a command and of a worker load their data once."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

from torch import Tensor

from pgso.data.task import Task

MOST_BYTES = 2**28  # of all tasks that are held together


class RecentTasks:
    """Tasks by what they were loaded from, as many as fit into some memory.

    A task is never changed, so that runs may share it. The key has to hold the state of the files.

    Args:
        most_bytes: Above which the tasks that were asked for least recently are let go.

    Example:
        >>> from pgso.data import load_task
        >>> recent = RecentTasks()
        >>> first = recent.get("karate", lambda: load_task("karate"))
        >>> recent.get("karate", lambda: load_task("sbm")) is first
        True
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._tasks: OrderedDict[Hashable, Task] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, load: Callable[[], Task]) -> Task:
        """The task of that key; it is loaded unless it is held."""
        with self._lock:
            task = self._tasks.get(key)
        if task is None:
            task = load()
        with self._lock:
            self._tasks[key] = task
            self._tasks.move_to_end(key)
            while self._tasks and sum(map(_bytes, self._tasks.values())) > self.most_bytes:
                self._tasks.popitem(last=False)
        return task


def _bytes(task: Task) -> int:
    """About what a task takes; the graph's sorted copies are counted, too."""
    x = task.x
    parts = [x] if not x.is_sparse_csr else [x.values(), x.col_indices(), x.crow_indices()]
    edges = 4 * task.graph.edge_index.nbytes
    return edges + sum(part.nbytes for part in parts if isinstance(part, Tensor))
