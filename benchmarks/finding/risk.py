"""``python -m benchmarks.finding.risk [REPEATS]``: how often does ``find`` climb wrongly?

Graphs are generated whose truth is known: labels follow nothing, the features alone, or GCN's own
operator. A climb beyond the truth is counted, and whether the climber was right after all: with few
labels another operator than the one that made the labels may predict better. Wrong is a climb to
a rung whose score on the (large) test set is not higher. A run that was stopped is resumed;
counts of another revision of the ladder are dropped.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from pgso.data import Task
from pgso.finding.blocks import Letter, Propagation
from pgso.finding.columns import Preparation
from pgso.finding.ladder import Ladder
from pgso.finding.problem import Problem
from pgso.graph import Graph
from pgso.objectives import OBJECTIVES
from pgso.records.files import write_atomically
from pgso.records.numerics import LADDER

RESULTS = Path(__file__).parents[2] / "results" / "benchmarks"
TURN = 20  # seeds of a scenario, before the next one has its turn
TRUTH = {"nothing": "no graph", "features": "no graph", "gcn": "gcn, 2 hops"}
SCENARIOS: list[tuple[str, dict[str, Any]]] = [
    ("nothing", {}),
    ("nothing", {"labels": 80, "val": 0}),
    ("nothing", {"hubs": True, "labels": 300}),
    ("nothing", {"directed": True}),
    ("nothing", {"classes": 2, "metric": "roc_auc", "labels": 60, "val": 30}),
    ("features", {"hubs": True}),
    ("features", {"hubs": True, "labels": 80, "val": 0}),
    ("features", {"labels": 80, "val": 60}),
    ("gcn", {"hubs": True, "val": 0}),
    ("gcn", {"hubs": True, "labels": 300, "val": 150, "nodes": 1000}),
    ("nothing", {"metric": "r2"}),
    ("nothing", {"metric": "mae", "hubs": True, "labels": 80, "val": 0}),
    ("features", {"metric": "rmse"}),
    ("nothing", {"classes": 2, "metric": "balanced_accuracy"}),
    ("features", {"classes": 20, "hubs": True, "labels": 200, "nodes": 1000}),
    ("features", {"classes": 50, "hubs": True, "labels": 200, "nodes": 1000}),
    ("features", {"classes": 50, "hubs": True, "labels": 200, "nodes": 1000, "columns": 200}),
    ("features", {"classes": 20, "hubs": True, "labels": 60, "val": 60}),
    ("features", {"hubs": True, "imbalance": True}),
    ("features", {"hubs": True, "copies": True}),
    ("features", {"hubs": True, "tails": True}),
    ("features", {"hubs": True, "columns": 16, "noise": 4.0}),
]


def generate(
    truth: str,
    seed: int,
    *,
    nodes: int = 500,
    labels: int = 140,
    val: int = 100,
    classes: int = 3,
    hubs: bool = False,
    directed: bool = False,
    metric: str = "accuracy",
    columns: int = 20,
    noise: float = 1.5,
    imbalance: bool = False,
    copies: bool = False,
    tails: bool = False,
) -> Problem:
    """A graph with hubs, or a block model whose features know the blocks.

    Args:
        truth: What labels follow: ``"nothing"``, ``"features"`` or ``"gcn"``.
        seed: Of everything.
        nodes: How many.
        labels: That train.
        val: That judge only.
        classes: How many.
        hubs: Whether degrees are uneven and the graph knows nothing of blocks.
        directed: Whether edges have a direction.
        metric: The objective.
        columns: Of the features.
        noise: Of the labels; 4 leaves features that tell little.
        imbalance: Whether the first class is the most frequent by far.
        copies: Whether every row of the features stands there twice.
        tails: Whether features have heavy tails.
    """
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.randint(classes, (nodes,), generator=generator)
    propensity = torch.rand(nodes, generator=generator).pow(-0.4)
    x = torch.randn(nodes, columns, generator=generator)
    x = x.sign() * x.abs() ** 3 if tails else x
    x = x[torch.arange(nodes) // 2] if copies else x
    if hubs:
        chance = propensity[:, None] * propensity
    else:
        chance = 0.8 * (blocks[:, None] == blocks) + 0.2
        x = x + 0.7 * torch.randn(classes, columns, generator=generator)[blocks]
    A = torch.rand(nodes, nodes, generator=generator) < chance * (6 / nodes / chance.mean())
    A = A if directed else torch.triu(A, 1) | torch.triu(A, 1).t()
    graph = Graph.from_edge_index(A.nonzero().t().contiguous(), num_nodes=nodes)
    y = torch.randint(classes, (nodes,), generator=generator)
    if truth != "nothing":
        signal, gcn, propagation = x, Letter.of("gcn"), Propagation(graph)
        if truth == "gcn":
            gamma = propagation.operator(gcn)
            signal = gamma.times(gamma.times(x))
        values = Preparation.of(signal)(signal)[:, :-1] @ torch.randn(
            columns, classes, generator=generator
        )
        values[:, 0] += 2.0 * columns**0.5 * imbalance
        y = (values + noise * torch.randn(nodes, classes, generator=generator)).argmax(dim=1)
    numbers = OBJECTIVES[metric].answer == "value"
    if numbers:  # with errors that are large now and then, as in real data
        errors = torch.randn(nodes, 1, generator=generator) * propensity[
            torch.randperm(nodes, generator=generator)
        ].unsqueeze(1)
        y = errors if truth == "nothing" else values[:, :1] + 2 * errors
    order = torch.randperm(nodes, generator=generator)
    return Problem.prepared(
        Task(
            name=truth,
            kind="node",
            metric=metric,
            graph=graph,
            x=x,
            y=y,
            train=order[:labels],
            val=order[labels : labels + val],
            test=order[labels + val :],
            classes=() if numbers else tuple(map(str, range(classes))),
            targets=("number",) if numbers else (),
            nodes_per_graph=torch.tensor([nodes]),
        )
    )


def main(repeats: int) -> None:
    """Run every scenario as often as asked, a few seeds of each in turn; what is done is kept."""
    path = RESULTS.parent / "find" / "risk.json"
    content = json.loads(path.read_text()) if path.exists() else {}
    is_kept = isinstance(content, dict) and content.get("ladder") == LADDER
    before = content["rows"] if is_kept else []
    rows = [_row_of(before, truth, options) for truth, options in SCENARIOS]
    while any(row["repeats"] < repeats for row in rows):
        for row, (truth, options) in zip(rows, SCENARIOS, strict=True):
            for seed in range(row["repeats"], min(row["repeats"] + TURN, repeats)):
                beyond, wrong = climb(truth, seed, options)
                row["repeats"] += 1
                row["beyond"] += beyond
                row["wrong"] += wrong
            print(row, flush=True)
            write_atomically(path, json.dumps({"ladder": LADDER, "rows": rows}, indent=1) + "\n")


def climb(truth: str, seed: int, options: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a rung beyond the truth was kept, and whether that was wrong."""
    right, ladder = TRUTH[truth], Ladder(generate(truth, seed, **options))
    best = ladder.climb()
    if best.rung.name in (right, "no graph"):
        return False, False
    merit = ladder.problem.objective.merit
    return True, merit(best.test) <= merit(ladder.fitted[right].test)


def _row_of(rows: list[dict[str, Any]], truth: str, options: dict[str, Any]) -> dict[str, Any]:
    """What is known of a scenario so far."""
    scenario = {"truth": truth, **options}
    counts = {"repeats", "beyond", "wrong"}
    known = [row for row in rows if {k: row[k] for k in row.keys() - counts} == scenario]
    return known[0] if known else {**scenario, "repeats": 0, "beyond": 0, "wrong": 0}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
