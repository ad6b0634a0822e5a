"""``python -m benchmarks.rivals rank [DATASET ...]``: which operator, before training?

Three ways to rank seven operators without training, against the test scores of networks that are
trained with each: the spectral alignment of "Which Graph Shift Operator?" (arXiv 2602.06557), with
all labels as in its public code and with training labels only, and the leave-one-out loss of
``find``'s one-hop rungs. Written from the description: k-nearest-neighbour graphs of the one-hot
labels and of the rows of γx, their normalised Laplacians L1 and L2, and the mean eigenvalue of
(L1 + 0.001 I)^-1 L2 as distortion; lower is better.
"""

import json
import time
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.neighbors import NearestNeighbors

import pgso
from benchmarks.rivals.field import RESULTS
from benchmarks.rivals.ledger import append
from benchmarks.rivals.problem import Array, Problem, read
from pgso.records.numerics import LADDER

RECORDS = RESULTS / "ranking.jsonl"
OPERATORS = (
    "adjacency",
    "gcn",
    "mean",
    "laplacian",
    "signless_laplacian",
    "random_walk_laplacian",
    "symmetric_laplacian",
)
DATASETS = ("Texas", "Wisconsin", "Chameleon-filtered", "Cora", "sbm", "digits", "CiteSeer")
DATASETS += ("minesweeper-public", "Chameleon")
NEIGHBOURS, RIDGE, EPOCHS, SEEDS = 5, 1e-3, 100, 2
WAYS = {
    "all_labels": "spectral alignment, all labels (also those of the test set)",
    "train_labels": "spectral alignment, training labels only",
    "leave_one_out": "leave-one-out loss of `find`, training labels only",
}


def laplacian_of_neighbours(rows: Array) -> Array:  # (n, n)
    """The normalised Laplacian of the symmetrised k-nearest-neighbour graph of these rows."""
    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(rows) - 1)).fit(rows)
    A = search.kneighbors_graph().toarray()
    A = np.maximum(A, A.T)
    d = A.sum(axis=1) ** -0.5
    result: Array = np.eye(len(rows)) - d[:, None] * A * d[None, :]
    return result


def distortion(signal: Array, labels: Array) -> float:
    r"""The mean eigenvalue of :math:`(L_1 + 0.001 I)^{-1} L_2`: its trace divided by n.

    Args:
        signal: The rows of γx, (n, F).
        labels: The classes of the same nodes, (n,).
    """
    one_hot = np.eye(int(labels.max()) + 1)[labels]
    L1, L2 = laplacian_of_neighbours(one_hot), laplacian_of_neighbours(signal)
    return float(np.trace(np.linalg.solve(L1 + RIDGE * np.eye(len(L1)), L2)) / len(L1))


def measure(name: str, seed: int, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """All four numbers of every operator on one dataset, and CPU seconds for all operators.

    Args:
        name: The dataset.
        seed: Of the split and the networks.
        before: The record of an older ladder: only ``find`` is asked again.
    """
    torch.set_num_threads(1)
    task, y = read(name, seed)
    problem = Problem(task, seed)

    def left_out() -> dict[str, float]:
        return {
            rung.terms[0]: float(rung.loo_loss)
            for rung in pgso.find(task, seed=seed).rungs
            if rung.hops == 1 and len(rung.terms) == 1 and rung.terms[0] in OPERATORS
        }

    ways = {"leave_one_out": left_out}
    if before is None:
        ways |= {
            "all_labels": lambda: aligned(problem, np.flatnonzero(y >= 0), y),
            "train_labels": lambda: aligned(problem, problem.train, y),
            "training": lambda: {k: trained(name, k, seed) for k in OPERATORS},
        }
    results, seconds = {}, {}
    for way, call in ways.items():
        start = time.process_time()
        results[way] = call()
        seconds[way] = round(time.process_time() - start, 3)
    tests = before["test"] if before else results.pop("training")
    return {
        "dataset": name,
        "seed": seed,
        "numerics": pgso.NUMERICS,
        "ladder": LADDER,
        "epochs": EPOCHS,
        "test": tests,
        "losses": {**(before["losses"] if before else {}), **results},
        "seconds": {**(before["seconds"] if before else {}), **seconds},
    }


def aligned(problem: Problem, items: Array, y: Array) -> dict[str, float]:
    """The distortion of every operator, on some nodes."""
    graph = pgso.Graph.from_edge_index(problem.edges, num_nodes=len(problem.x))
    return {
        operator: distortion(
            (pgso.shift(graph, operator) @ problem.scaled).numpy()[items], y[items]
        )
        for operator in OPERATORS
    }


def trained(name: str, operator: str, seed: int) -> float:
    """The test score of a two-layer GCN with this operator in place of its own."""
    spec = pgso.RunSpec(
        dataset=name,
        conv="gcn",
        operator="fixed",
        preset=operator,
        base="undirected",
        num_layers=2,
        epochs=EPOCHS,
        seed=seed,
    )
    test = pgso.fit(spec).test
    assert test is not None
    return float(test)


def correlation(record: dict[str, Any], way: str) -> float | None:
    """Spearman's rank correlation of minus the loss with the test score, over the operators."""
    losses = record["losses"][way]
    shared = [operator for operator in OPERATORS if operator in losses]
    if len(shared) < 3:
        return None
    tests = [record["test"][operator] for operator in shared]
    rho = spearmanr([-losses[operator] for operator in shared], tests).statistic
    return None if np.isnan(rho) else float(rho)


def regret(record: dict[str, Any], way: str) -> float:
    """How far the network with the operator that is ranked first is below the best of them."""
    losses = record["losses"][way]
    first = min(losses, key=losses.__getitem__)
    return float(max(record["test"].values()) - record["test"][first])


def records() -> list[dict[str, Any]]:
    """The newest record of every dataset and seed; of one ladder, the newest."""
    lines = _lines()
    newest = max((line["ladder"] for line in lines), default=None)
    kept = {(r["dataset"], r["seed"]): r for r in lines if r["ladder"] == newest}
    return [kept[key] for key in sorted(kept, key=lambda k: (DATASETS.index(k[0]), k[1]))]


def _lines() -> list[dict[str, Any]]:
    if not RECORDS.exists():
        return []
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


def main(names: list[str]) -> None:
    """Measure what has no record of today's ladder yet."""
    older = {(r["dataset"], r["seed"]): r for r in _lines() if r["numerics"] == pgso.NUMERICS}
    for seed in range(SEEDS):
        for name in names or DATASETS:
            before = older.get((name, seed))
            if before is not None and before["ladder"] == LADDER:
                continue
            record = measure(name, seed, before)
            append(record, RECORDS)
            print(name, seed, {way: correlation(record, way) for way in WAYS}, flush=True)
