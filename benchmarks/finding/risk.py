"""``python -m benchmarks.finding.risk [REPEATS]``: how often does ``find`` climb wrongly?

Graphs are generated whose truth is known: labels follow nothing, the features alone, or GCN's own
operator. A climb beyond the truth is counted, and whether the climber was right after all: with few
labels another operator than the one that made the labels may predict better. Wrong is a climb to
a rung whose score on the (large) test set is not higher.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from pgso.finding.ladder import Ladder
from pgso.finding.problem import Problem
from pgso.finding.propagation import Letter, Propagation
from pgso.finding.scaling import standardised
from pgso.graph import Graph
from pgso.objectives import OBJECTIVES

RESULTS = Path(__file__).parents[2] / "results" / "benchmarks"
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
) -> Problem:
    """A graph with hubs, or a block model whose features know the blocks."""
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.randint(classes, (nodes,), generator=generator)
    propensity = torch.rand(nodes, generator=generator).pow(-0.4)
    x = torch.randn(nodes, 20, generator=generator)
    if hubs:
        chance = propensity[:, None] * propensity
    else:
        chance = 0.8 * (blocks[:, None] == blocks) + 0.2
        x = x + 0.7 * torch.randn(classes, 20, generator=generator)[blocks]
    A = torch.rand(nodes, nodes, generator=generator) < chance * (6 / nodes / chance.mean())
    A = A if directed else torch.triu(A, 1) | torch.triu(A, 1).t()
    graph = Graph.from_edge_index(A.nonzero().t().contiguous(), num_nodes=nodes)
    y = torch.randint(classes, (nodes,), generator=generator)
    if truth != "nothing":
        signal, gcn, propagation = x, Letter.of("gcn"), Propagation(graph)
        if truth == "gcn":
            signal = propagation.times(propagation.times(x, gcn), gcn)
        values = standardised(signal) @ torch.randn(20, classes, generator=generator)
        y = (values + 1.5 * torch.randn(nodes, classes, generator=generator)).argmax(dim=1)
    numbers = OBJECTIVES[metric].answer == "value"
    if numbers:  # with errors that are large now and then, as in real data
        noise = torch.randn(nodes, 1, generator=generator) * propensity[
            torch.randperm(nodes, generator=generator)
        ].unsqueeze(1)
        y = noise if truth == "nothing" else values[:, :1] + 2 * noise
    order = torch.randperm(nodes, generator=generator)
    return Problem.prepared(
        name=truth,
        kind="node",
        metric=metric,
        graph=graph,
        x=x,
        y=y,
        train=order[:labels],
        val=order[labels : labels + val],
        test=order[labels + val :],
        classes=() if numbers else tuple("abcdefg"[:classes]),
        nodes_per_graph=torch.tensor([nodes]),
    )


def main(repeats: int) -> None:
    """Run every scenario that has not been run as often, and write what happened."""
    path = RESULTS.parent / "find" / "risk.json"
    rows = json.loads(path.read_text()) if path.exists() else []
    for truth, options in SCENARIOS:
        right, scenario = TRUTH[truth], {"truth": truth, **options}
        counts = {"repeats", "beyond", "wrong"}
        before = [r for r in rows if {k: r[k] for k in r.keys() - counts} == scenario]
        if before and before[0]["repeats"] >= repeats:
            continue
        rows = [row for row in rows if row not in before]
        beyond = wrong = 0
        for seed in range(repeats):
            ladder = Ladder(generate(truth, seed, **options))
            best = ladder.climb()
            if best.rung.name not in (right, "no graph"):
                beyond += 1
                score, reference = best.test, ladder.fitted[right].test
                merit = ladder.problem.objective.merit
                wrong += merit(score) <= merit(reference)
        rows.append({**scenario, "repeats": repeats, "beyond": beyond, "wrong": wrong})
        print(rows[-1], flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
