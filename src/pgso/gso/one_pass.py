"""What the layers of one pass through a network have in common is computed once."""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

T = TypeVar("T")


class _Pass(threading.local):
    """The pass that a thread is in, if any."""

    kept: dict[Hashable, Any] | None = None


_pass = _Pass()


@contextmanager
def one_pass() -> Iterator[None]:
    """Within it an operator is put together once, however many layers share it.

    On small graphs seven gradients for each layer cost as much as a product.
    """
    before, _pass.kept = _pass.kept, {}
    try:
        yield
    finally:
        _pass.kept = before


def shared(key: Hashable, make: Callable[[], T]) -> T:
    """What ``make`` gives; the same for the same key and grad mode within a pass."""
    kept = _pass.kept
    if kept is None or torch.compiler.is_compiling():
        return make()
    key = key, torch.is_grad_enabled()
    if key not in kept:
        kept[key] = make()
    found: T = kept[key]
    return found
