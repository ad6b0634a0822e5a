"""Named things that are found by name: presets, convs, datasets, experiments."""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from pgso.errors import UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A read-only mapping that fills itself by decoration and helps with spelling mistakes.

    Example:
        >>> colours: Registry[str] = Registry("colour", {"red": "#f00"})
        >>> colours["rad"]
        Traceback (most recent call last):
        pgso.errors.UnknownNameError: no colour is called 'rad'. Did you mean 'red'? Known: red
    """

    def __init__(self, kind: str, entries: Mapping[str, T] | None = None) -> None:
        self.kind = kind
        self._entries: dict[str, T] = dict(entries or {})

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate something to make it known as ``name``."""

        def add(entry: T) -> T:
            assert name not in self._entries, f"{self.kind} {name!r} is registered twice"
            self._entries[name] = entry
            return entry

        return add

    def __getitem__(self, name: str) -> T:
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            raise UnknownNameError(self.kind, name, self._entries) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self._entries)})"
