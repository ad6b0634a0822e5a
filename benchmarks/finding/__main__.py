"""``python -m benchmarks.finding [--splits N] [DATASET ...]``: seconds and scores of ``find``.

Each dataset is searched on all its public splits, or on ten seeds. The difference between the kept
rung and GCN's own comes with a 95 % interval over splits (Student's t).
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from scipy.stats import t as student

import pgso
from benchmarks.measure import peak_memory_of_process
from pgso.records.numerics import LADDER

RESULTS = Path(__file__).parents[2] / "results" / "benchmarks"
# dataset: splits, the least test score, the most seconds of one search
TARGETS: dict[str, tuple[int, float | None, float | None]] = {
    "Cora": (1, 0.81, 3),
    "CiteSeer": (1, 0.71, 3),
    "texas": (10, 0.80, 3),
    "wisconsin": (10, 0.80, None),
    "MUTAG": (10, 0.87, 3),
    "PTC_MR": (10, 0.58, None),
    "IMDB-BINARY": (10, 0.73, None),
    "IMDB-MULTI": (10, None, None),
    "karate": (10, None, None),
    "digits": (10, None, None),
    "sbm": (10, None, None),
    "minesweeper": (10, 0.87, None),
    "minesweeper-public": (10, 0.90, None),
    "chameleon": (10, 0.765, 15),
    "actor": (10, 0.345, 15),
    "photo": (10, None, 15),
    "proteins": (10, 0.73, None),
    "us-counties": (10, None, None),
    "arxiv-2023": (1, 0.65, 60),
    "ogbn-arxiv-topicbag": (1, None, 120),
}


def measure(name: str, splits: int) -> Iterator[dict[str, Any]]:
    """One dataset, after every split."""
    runs: list[dict[str, Any]] = []
    for seed in range(splits):
        task = pgso.load_task(name, seed=seed)
        start, work = time.perf_counter(), time.process_time()
        record = pgso.find(task, seed=seed).record
        best, own = record.kept, record.rung(record.reference)
        lowest = min(record.rungs, key=lambda rung: rung.loss)
        runs.append(
            {
                "seed": seed,
                "kept": best.name,
                "head": best.head,
                "rung": record.rung(best.name).test,
                "test": best.test,
                "gcn": own.test,
                "lowest": lowest.name,
                "lowest_test": lowest.test,
                "seconds": time.perf_counter() - start,
                "processor_seconds": time.process_time() - work,
            }
        )
        yield summary(name, runs)


def summary(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The means over the splits so far."""
    splits = len(runs)
    gains = [run["test"] - run["gcn"] for run in runs]
    reach = 0.0
    if splits > 1:
        reach = float(student.ppf(0.975, splits - 1)) * stdev(gains) / splits**0.5
    return {
        "dataset": name,
        "splits": splits,
        "test": mean(run["test"] for run in runs),
        "gcn": mean(run["gcn"] for run in runs),
        "gain": mean(gains),
        "interval": [mean(gains) - reach, mean(gains) + reach],
        "seconds": mean(run["seconds"] for run in runs),
        "processor_seconds": mean(run["processor_seconds"] for run in runs),
        "peak_gib": peak_memory_of_process(),
        "runs": runs,
    }


def main(arguments: list[str]) -> None:
    """Measure, show, and keep what was measured of other datasets before."""
    path, most = RESULTS.parent / "find" / "scores.json", 10
    if arguments[:1] == ["--splits"]:
        most, arguments = int(arguments[1]), arguments[2:]
    console = Console(width=140)
    pgso.find("karate")  # imports what it needs: seconds are counted from then on
    for name in arguments or TARGETS:
        splits, score, seconds = TARGETS[name]
        for row in measure(name, min(splits, most)):
            row |= {"least": score, "most_seconds": seconds}
            write(path, row)
        table = Table("dataset", "kept", "gcn", "gain", "95 %", "s", "CPU s", "rungs")
        low, high = row["interval"]
        kept = {run["kept"] for run in row["runs"]}
        table.add_row(
            name,
            f"{100 * row['test']:.2f}",
            f"{100 * row['gcn']:.2f}",
            f"{100 * row['gain']:+.2f}",
            f"{100 * low:+.2f} to {100 * high:+.2f}",
            f"{row['seconds']:.1f}",
            f"{row['processor_seconds']:.1f}",
            "; ".join(sorted(kept)),
        )
        console.print(table)


def write(path: Path, row: dict[str, Any]) -> None:
    """Keep a row, in place of an older one of the same dataset."""
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"threads": torch.get_num_threads(), "torch": torch.__version__}
    before = json.loads(path.read_text()) if path.exists() else {}
    rows = before["rows"] if before.get("ladder") == LADDER else []  # others do not compare
    known = {old["dataset"]: old for old in rows} | {row["dataset"]: row}
    rows = [known[key] for key in TARGETS if key in known]
    planned = {key: splits for key, (splits, _, _) in TARGETS.items()}
    content = {"ladder": LADDER, "machine": machine, "planned": planned, "rows": rows}
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
