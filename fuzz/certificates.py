"""Certified intervals: no eigenvalue outside, for any graph, S and type of numbers."""

import numpy as np
import torch

from fuzz.outcome import Outcome
from pgso import PRESETS, Graph
from pgso.gso.shift import shift
from pgso.spectrum import interval
from pgso.spectrum.certified import twin

METHODS = ("theorem2", "optimal")


def run(count: int, seed: int = 0, methods: tuple[str, ...] = METHODS) -> Outcome:
    """Try ``count`` operators."""
    outcome = Outcome(
        "certificates",
        "No eigenvalue of γ lies outside `interval`, with S given as Python floats.",
    )
    furthest = 0.0
    for case in range(count):
        random = np.random.default_rng([seed, case])
        graph, kind = _graph(random)
        S = _parameters(random)
        outcome.count(kind)
        symmetric = twin(shift(graph, S)).to_scipy().toarray()
        values = np.linalg.eigvalsh((symmetric + symmetric.T) / 2)
        # What eigvalsh itself may be off by.
        slack = 4 * len(values) * np.finfo(float).eps * np.abs(symmetric).sum(1).max(initial=0)
        for method in methods:
            low, high = (float(end) for end in interval(graph, S, method=method))
            outside = max(low - values[0], values[-1] - high)
            if not outside <= slack:
                furthest = max(furthest, float(outside))
                outcome.failures.append(
                    f"seed {seed}, case {case}: {method} gives [{low}, {high}], eigenvalues reach "
                    f"{values[0]} and {values[-1]} ({kind}, S = {S})"
                )
                break
    outcome.measured = {"furthest outside": f"{furthest:.1e}"}
    return outcome


def _graph(random: np.random.Generator) -> tuple[Graph, str]:
    n = int(random.integers(1, 40))
    kind = ["plain", "weighted", "signed", "loops", "isolated", "star"][int(random.integers(6))]
    A = np.triu((random.random((n, n)) < random.uniform(0, 0.6)).astype(float), 1)
    if kind in ("weighted", "signed"):
        A *= random.uniform(0.01, 3, (n, n))
    if kind == "signed":
        A *= np.where(random.random((n, n)) < 0.3, -1, 1)
    if kind == "isolated":
        A[: n // 2] = 0
    if kind == "star":
        A[:] = 0
        A[0, 1:] = 1
    A = A + A.T
    if kind == "loops":
        A += np.diag((random.random(n) < 0.5).astype(float))
    return Graph.from_dense(torch.from_numpy(A)), kind


def _parameters(random: np.random.Generator) -> list[float]:
    name = list(PRESETS)[int(random.integers(len(PRESETS)))]
    S = np.array(list(PRESETS[name]), dtype=float)
    if random.random() < 0.7:
        S += random.normal(0, 0.4, 7)
    return [float(value) for value in S]


torch.set_num_threads(1)
