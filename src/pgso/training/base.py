"""A task on another matrix than its adjacency."""

from dataclasses import replace

from pgso.bases import BASES
from pgso.data import Task


def on_base(task: Task, base: str | None) -> Task:
    """The task with its graph, or its graphs side by side, turned into this base."""
    if base is None:
        return task
    return replace(task, graph=BASES[base](task.graph), relations=None)
