"""What is learned and how it is scored: ``OBJECTIVES`` by name.

Every file in this folder is imported: one that ends in ``OBJECTIVES.add(...)`` adds an objective.
Importing this needs no torch: code that reads records asks an objective how a score is written and
which way is better. Losses import torch when they are computed.
"""

from importlib import import_module
from pkgutil import iter_modules

from pgso.objectives.objective import OBJECTIVES, Answer, Objective

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["OBJECTIVES", "Answer", "Objective"]
