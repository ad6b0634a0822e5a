"""Importing this loads what every run needs: in a command, and where workers are forked from.

The garbage collector would go through a million objects again and again meanwhile, and once more
when the process ends, though none of them is garbage: that is a quarter of the time.
"""

import gc
from importlib import import_module

collects = gc.isenabled()
gc.disable()
import_module("pgso.training.fit")
gc.freeze()
if collects:
    gc.enable()
