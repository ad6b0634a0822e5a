"""``python -m benchmarks.scale [--publish] [PART ...]``: each part in its own process.

All go into one file, ``runs/scale.json``; with ``--publish`` it is ``results/scale.json``.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.measure import Row
from benchmarks.scale.plot import draw

ROOT = Path(__file__).parents[2]
SIZES = (10**5, 10**6, 10**7, 10**8)
SETTINGS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SETTINGS["THP_MEM_ALLOC_ENABLE"] = "1"  # torch asks for huge pages
PARTS = {
    **{f"product {size}": ("product", str(size)) for size in SIZES},
    "sampling": ("sampling",),
    "accuracy": ("accuracy",),
}


def main(names: list[str]) -> None:
    """Run the parts named by their beginnings; the others keep what they last measured."""
    folder = ROOT / ("results" if "--publish" in names else "runs")
    path = folder / "scale.json"
    measured: dict[str, Row] = json.loads(path.read_text()) if path.exists() else {}
    for name in _chosen([name for name in names if name != "--publish"]):
        measured[name] = {**_measure(name), "load": os.getloadavg()[0], "torch": torch.__version__}
        print(name, measured[name])
        folder.mkdir(exist_ok=True)
        measured["slope"] = draw(measured, folder / "scale.png")
        path.write_text(json.dumps(measured, indent=1) + "\n")


def _chosen(beginnings: list[str]) -> list[str]:
    """The parts whose names begin with one of these; all of them if there are none."""
    for start in beginnings:
        if not any(name.startswith(start) for name in PARTS):
            raise SystemExit(f"no part begins with {start!r}; known: {', '.join(PARTS)}")
    return [name for name in PARTS if name.startswith(tuple(beginnings) or "")]


def _measure(name: str) -> Row:
    module, *arguments = PARTS[name]
    command = [sys.executable, "-m", "benchmarks.scale.part", module, *arguments]
    environment = {**os.environ, **SETTINGS}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    row: Row = json.loads(done.stdout.strip().splitlines()[-1])
    return row


main(sys.argv[1:])
