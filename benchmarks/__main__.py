"""``python -m benchmarks [--publish] [MODULE ...]``: run, show a table of ratios, write JSON.

Measurements go to ``runs/benchmarks``. With ``--publish`` they go to ``results/benchmarks``, which
docs/speed.md is written from: run ``make readme`` afterwards.
"""

import json
import platform
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
    """Run the named modules, by default all of them, each into its own JSON file."""
    console = Console()
    folder = RESULTS if "--publish" in names else RUNS
    names = [name for name in names if name != "--publish"]
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in TOOLS)
    for name in names or known:
        rows: list[Row] = import_module(f"benchmarks.{name}").run()
        table = Table("", "ours", "theirs", "ratio", "at best", "target", "met", title=name)
        for row in rows:
            met = "yes" if is_met(row) else "NO"
            table.add_row(
                row["name"],
                f"{row['ours_ms']:.2f}",
                f"{row['theirs_ms']:.2f}",
                f"{row['ratio']:.2f}",
                f"{row['at_best']:.2f}" if "at_best" in row else "",
                row["target"],
                met,
            )
        console.print(table)
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
