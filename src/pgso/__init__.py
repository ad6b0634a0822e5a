"""Learn the graph operator instead of hand-picking it.

Names are imported on first use, so that ``import pgso`` is fast and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pgso import spectrum as spectrum
    from pgso.graph import Graph as Graph
    from pgso.gso.dense import dense_pgso as dense_pgso
    from pgso.gso.message_passing import apply_pgso as apply_pgso
    from pgso.gso.module import PGSO as PGSO
    from pgso.gso.parameters import PGSOParameters as PGSOParameters
    from pgso.gso.presets import PRESETS as PRESETS

_HOMES = {
    "Graph": "pgso.graph",
    "PGSO": "pgso.gso.module",
    "PGSOParameters": "pgso.gso.parameters",
    "PRESETS": "pgso.gso.presets",
    "apply_pgso": "pgso.gso.message_passing",
    "dense_pgso": "pgso.gso.dense",
    "spectrum": "pgso.spectrum",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pgso' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    value = home if _HOMES[name] == f"pgso.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
