"""What tests register is forgotten afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

from pgso.registry import Registry


@contextmanager
def restored(registry: Registry) -> Iterator[None]:
    """Forget afterwards what is registered meanwhile.

    Plug-ins that are really installed come first: a module registers itself only once, when it is
    imported, so a plug-in that is imported meanwhile would be forgotten for good.
    """
    entries = dict(registry)
    try:
        yield
    finally:
        registry._entries = entries
