"""What tests register is forgotten afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

from pgso.registry import Registry


@contextmanager
def restored(registry: Registry) -> Iterator[None]:
    """Forget afterwards what is registered meanwhile."""
    entries = dict(registry._entries)
    try:
        yield
    finally:
        registry._entries = entries
