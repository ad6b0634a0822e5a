"""``python -m benchmarks [--publish] [MODULE ...]``: run, show a table of ratios, write JSON.

Measurements go to ``runs/benchmarks``. With ``--publish`` they go to ``results/benchmarks``, which
docs/speed.md is written from: run ``make readme`` afterwards.
"""

import json
import platform
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Row, is_met

HERE = Path(__file__).parent
RESULTS, RUNS = (HERE.parent / folder / "benchmarks" for folder in ("results", "runs"))
TOOLS = ("__init__", "__main__", "graphs", "measure")


def main(names: list[str]) -> None:
    """Run the named modules, by default all of them, each into its own JSON file.

    Each has a process of its own: memory that another one has freed would speed it up.
    """
    options = [name for name in names if name == "--publish"]
    names = [name for name in names if name not in options]
    if len(names) == 1:
        run(names[0], RESULTS if options else RUNS)
        return
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in TOOLS)
    for name in names or known:
        subprocess.run([sys.executable, "-m", "benchmarks", *options, name], check=True)


def run(name: str, folder: Path) -> None:
    """Run one module, show its table and write it down."""
    rows: list[Row] = import_module(f"benchmarks.{name}").run()
    table = Table("", "ours", "theirs", "ratio", "at best", "target", "met", title=name)
    for row in rows:
        table.add_row(
            row["name"],
            f"{row['ours_ms']:.2f}",
            f"{row['theirs_ms']:.2f}",
            f"{row['ratio']:.2f}",
            f"{row['at_best']:.2f}" if "at_best" in row else "",
            row["target"],
            "yes" if is_met(row) else "NO",
        )
    Console().print(table)
    folder.mkdir(parents=True, exist_ok=True)
    machine = {
        "cpu": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    text = json.dumps({"machine": machine, "rows": rows}, indent=1)
    (folder / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
