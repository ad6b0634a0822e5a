"""Named things that are found by name: presets, convs, datasets, experiments, and plug-ins."""

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from pgso.errors import UnknownNameError

T = TypeVar("T")


class PluginWarning(UserWarning):
    """A plug-in of an installed package could not be imported."""


@functools.cache
def load_plugins(group: str | None) -> tuple[str, ...]:
    """Import what installed packages name in this group of entry points, if any, once a process.

    A plug-in registers itself when it is imported. One that fails is named in a warning and left
    out; the names of the others are returned.
    """
    if group is None:
        return ()
    from importlib.metadata import entry_points  # 30 ms for a hundred packages: only if asked

    loaded = []
    for point in entry_points(group=group):
        try:
            point.load()
        except Exception as error:
            package = point.dist.name if point.dist is not None else point.module
            warnings.warn(
                f"the plug-in {point.name!r} ({group}) of {package} cannot be used: "
                f"{type(error).__name__}: {error}; mend or uninstall the package",
                PluginWarning,
                stacklevel=2,
            )
        else:
            loaded.append(point.name)
    return tuple(loaded)


class Registry(Mapping[str, T], Generic[T]):
    """A read-only mapping that fills itself by decoration and helps with spelling mistakes.

    ``plugins`` is the group of entry points in which other packages name theirs. They are imported
    when somebody asks for a name that is not there, or for all names.

    Example:
        >>> colours: Registry[str] = Registry("colour", {"red": "#f00"})
        >>> colours["rad"]
        Traceback (most recent call last):
        pgso.errors.UnknownNameError: no colour is called 'rad'. Did you mean 'red'? Known: red
    """

    def __init__(
        self, kind: str, entries: Mapping[str, T] | None = None, plugins: str | None = None
    ) -> None:
        self.kind, self.plugins = kind, plugins
        self._entries: dict[str, T] = dict(entries or {})

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate something to make it known as ``name``."""

        def add(entry: T) -> T:
            assert name not in self._entries, f"{self.kind} {name!r} is registered twice"
            self._entries[name] = entry
            return entry

        return add

    def __getitem__(self, name: str) -> T:
        if not isinstance(name, str) or name not in self._entries:
            load_plugins(self.plugins)
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            raise UnknownNameError(self.kind, name, self._entries) from None

    def __iter__(self) -> Iterator[str]:
        load_plugins(self.plugins)
        return iter(self._entries)

    def __len__(self) -> int:
        load_plugins(self.plugins)
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Registry({self.kind}: {', '.join(self._entries)})"
