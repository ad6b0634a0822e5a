"""One file a family of rungs. Importing this package registers every file in it."""

from importlib import import_module
from pkgutil import iter_modules

from pgso.finding.rungs.rung import FAMILIES, Family, Rung, Search

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["FAMILIES", "Family", "Rung", "Search"]
