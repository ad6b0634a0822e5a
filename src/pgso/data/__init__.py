"""Datasets: graphs, features, labels, splits and metric, by name or from the user's own files.

``DATASETS`` needs no torch (it is listed by the command line); the rest is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgso.data import sources as sources
from pgso.data.dataset import DATASETS

if TYPE_CHECKING:
    from pgso.data.batch import Batch as Batch
    from pgso.data.load import load_task as load_task
    from pgso.data.task import Task as Task

_HOMES = {"Batch": "batch", "Task": "task", "load_task": "load"}

__all__ = ["DATASETS", "Batch", "Task", "load_task"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pgso.data' has no attribute {name!r}")
    return getattr(import_module(f"pgso.data.{_HOMES[name]}"), name)
