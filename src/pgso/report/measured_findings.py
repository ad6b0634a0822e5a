"""``find`` measured: the tables of docs/find.md, from ``results/find/``."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pgso.report.grid import table
from pgso.report.labels import plain, signed
from pgso.report.statistics import t_interval

SCENARIOS = {  # the options of a simulated graph, in words
    "labels": "{} labels",
    "val": "{} for validation",
    "nodes": "{} nodes",
    "classes": "{} classes",
    "metric": "{}",
    "hubs": "hubs",
    "directed": "directed",
}
COUNTS = ("truth", "repeats", "beyond", "wrong")


def scores_table(results: Path) -> str:
    """A row a dataset: the kept rung and GCN's own on test, over splits, and seconds."""
    measured = _read(results / "find" / "scores.json")
    rows = [_scores(row) for row in measured.get("rows", [])]
    if not rows:
        return "Not measured yet: `python -m benchmarks.finding`, then `make readme`."
    header = [
        "test, 100 ×", "splits", "kept", "GCN's own", "kept minus GCN's own", "shown from",
        "it kept, mostly", "CPU seconds",
    ]  # fmt: skip
    on = measured["machine"]
    return (
        f"{table(header, rows, numbers=True)}\n\nRevision {measured['ladder']} of the ladder, "
        f"{on['threads']} thread, torch {on['torch']}: `python -m benchmarks.finding`."
    )


def _scores(row: dict[str, Any]) -> list[str]:
    runs = row["runs"]
    gains = [100 * (run["test"] - run["gcn"]) for run in runs]
    ends = t_interval(gains)
    gain, needed = signed(100 * row["gain"]), "–"
    if ends is not None:
        gain += f" [{plain(ends.low)}, {plain(ends.high)}]"
        needed = signed((ends.high - ends.low) / 2)
    ((name, count),) = Counter(run["kept"] for run in runs).most_common(1)
    scores = [plain(100 * row[which]) for which in ("test", "gcn")]
    kept = f"{name} ({count} of {len(runs)})"
    seconds = f"{row['processor_seconds']:.1f}"
    return [row["dataset"], str(row["splits"]), *scores, gain, needed, kept, seconds]


def risk_table(results: Path) -> str:
    """A row a scenario: how often ``find`` climbed beyond the truth, and was wrong."""
    measured = _read(results / "find" / "risk.json")
    rows = []
    for row in measured.get("rows", []):
        words = [SCENARIOS[name].format(value) for name, value in row.items() if name not in COUNTS]
        share = f"{100 * row['wrong'] / row['repeats']:.1f} %" if row["repeats"] else "–"
        shown = [row["truth"], ", ".join(words).replace("_", " "), *map(str, _counts(row)), share]
        rows.append(shown)
    if not rows:
        return "Not simulated yet: `python -m benchmarks.finding.risk`, then `make readme`."
    header = ["labels follow", "the graph", "graphs", "beyond the truth", "wrong", "share"]
    every, wrong = (sum(row[name] for row in measured["rows"]) for name in ("repeats", "wrong"))
    return (
        f"{table(header, rows, numbers=True)}\n\nRevision {measured['ladder']} of the ladder: "
        f"{wrong} wrong climbs on {every} graphs."
    )


def _counts(row: dict[str, Any]) -> tuple[int, int, int]:
    return row["repeats"], row["beyond"], row["wrong"]


def _read(path: Path) -> dict[str, Any]:
    measured = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return measured if isinstance(measured, dict) and "ladder" in measured else {}
