"""``python -m benchmarks.scale.part MODULE [SIZE]``: one measurement, as a line of JSON."""

import json
import sys
from importlib import import_module

import torch

from pgso.training.engines import keep_freed_memory

torch.set_num_threads(1)  # also in a worker process, which imports this file
keep_freed_memory()
if __name__ == "__main__":
    row = import_module(f"benchmarks.scale.{sys.argv[1]}").run(*map(int, sys.argv[2:]))
    if row is not None:
        print(json.dumps(row))
