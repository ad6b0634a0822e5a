"""``python -m benchmarks.finding.signals [--seeds N] [--networks]``: is the signal named, and used?

Customers leave for a reason that is known: their own columns, their contacts', both, or none. Each
of the four cases is generated with 20 seeds. ``find`` must name the case, and where the columns say
something, models must be as good as logistic regression on the same rows. With ``--networks`` the
default network (fixed and PGSO) is trained as well: minutes.
"""

import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table

import pgso
from pgso.data.sources.customers import SIGNALS
from pgso.evaluation.baselines import FEATURES, baselines
from pgso.records.numerics import LADDER

RESULTS = Path(__file__).parents[2] / "results" / "find" / "signals.json"
NEEDED = 18 / 20  # of the seeds, that the case is named on


def measure(signal: str, seeds: int, networks: bool) -> dict[str, Any]:
    """One of the four cases, all seeds."""
    named: Counter[str] = Counter()
    scores: dict[str, list[float]] = {}
    for seed in range(seeds):
        task = pgso.load_task("customers", seed=seed, signal=signal)
        record = pgso.find(task, seed=seed).record
        named[str(record.signal)] += 1
        test = {"find": record.kept.test}
        test |= {entry.label: entry.test for entry in baselines(task) if entry.name == FEATURES}
        if networks:
            for operator in ("fixed", "pgso"):
                options = {"signal": signal}
                spec = pgso.RunSpec(
                    dataset="customers", data_options=options, operator=operator, seed=seed
                )
                test[f"network, {operator}"] = pgso.fit(spec).test
        for name, score in test.items():
            scores.setdefault(name, []).append(float(score))
    return {
        "signal": signal,
        "seeds": seeds,
        "named": dict(named),
        "right": named[signal],
        "met": named[signal] >= NEEDED * seeds,
        "roc_auc": {name: mean(values) for name, values in scores.items()},
        "scores": scores,
    }


def main(words: list[str]) -> None:
    """Measure, show, and write the JSON."""
    seeds = int(words[words.index("--seeds") + 1]) if "--seeds" in words else 20
    job = partial(measure, seeds=seeds, networks="--networks" in words)
    with ProcessPoolExecutor(len(SIGNALS)) as pool:
        rows = list(pool.map(job, SIGNALS))
    table = Table("the signal is in", "named rightly", "ROC-AUC on test, mean")
    for row in rows:
        shown = ", ".join(f"{name} {100 * value:.1f}" for name, value in row["roc_auc"].items())
        table.add_row(row["signal"], f"{row['right']} of {row['seeds']}", shown)
    Console().print(table)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    content = {"numerics": pgso.NUMERICS, "ladder": LADDER, "rows": rows}
    RESULTS.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
