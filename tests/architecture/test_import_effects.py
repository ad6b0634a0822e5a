"""Importing pgso changes nothing in the process that imports it."""

import subprocess
import sys

IMPORT_ALL = """
import os, pkgutil, signal, sys, time, warnings
from importlib import import_module
# What other packages do when they are imported is their business.
import matplotlib, matplotlib.figure, pandas, scipy.sparse.linalg, torch, torch_geometric.nn
import sklearn.linear_model, sklearn.ensemble, sklearn.neighbors, networkx, typer, rich.console
import sklearn.utils.estimator_checks

def state():
    handlers = {number: str(signal.getsignal(number)) for number in signal.valid_signals()}
    timers = [signal.getitimer(kind) for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL)]
    return dict(
        environment=dict(os.environ), handlers=handlers, timers=timers,
        filters=list(warnings.filters),
        style=dict(matplotlib.rcParams), threads=torch.get_num_threads(),
        seed=torch.initial_seed(), path=list(sys.path),
        pyg=torch_geometric.nn.models.basic_gnn.BasicGNN.__repr__,
    )

import pgso
before = state()
names = [module.name for module in pkgutil.walk_packages(pgso.__path__, "pgso.")]
for name in names:
    if not name.endswith("__main__"):
        import_module(name)
time.sleep(1.5)  # a timer would have rung
after = state()
assert len(names) > 100
for what in before:
    assert before[what] == after[what], (what, before[what], after[what])
print("unchanged")
"""


def test_importing_every_module_leaves_the_process_as_it_was():
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True)
    assert done.stdout.strip() == "unchanged", done.stderr[-2000:]
