"""Importing this module imports what every run needs: in a command, and in the workers' server.

The imports make about a million objects that live until the process ends. The garbage collector
would look through them several times, which is a quarter of the time of the imports. So it is
switched off meanwhile, and ``gc.freeze`` tells it to leave these objects alone.
"""

import gc
from importlib import import_module

collects = gc.isenabled()
gc.disable()
import_module("pgso.training.lockstep.runs")
gc.freeze()
if collects:
    gc.enable()
