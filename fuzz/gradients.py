"""γ's values and gradients against dense autograd in the same type: never worse."""

import numpy as np
import torch

from fuzz.outcome import Outcome
from pgso import PRESETS, Graph, apply_pgso, dense_pgso

WORSE = 8  # times the error of the dense computation that rounding in another order may cost
UNITS = 32  # and so many units in the last place of the largest part of a sum
NAMES = ("y", "grad x", "grad S")


def run(count: int, seed: int = 0) -> Outcome:
    """Try ``count`` graphs, S and types."""
    outcome = Outcome(
        "gradients",
        "Values of γ x and gradients in x and in all seven scalars are at least as good as dense "
        "autograd in the same type, and finite where those are.",
    )
    worst = dict.fromkeys(NAMES, 0.0)
    for case in range(count):
        random = np.random.default_rng([seed, case])
        dtype = torch.float32 if case % 2 else torch.float64
        adjacency, kind = _adjacency(random)
        S, start = _parameters(random)
        outcome.count(f"{str(dtype).removeprefix('torch.')}, {kind}")
        x = random.normal(size=(len(adjacency), int(random.integers(1, 4))))
        g = random.normal(size=x.shape)
        found = _fast(adjacency, S, x, g, dtype)
        naive = _dense(adjacency, S, x, g, dtype)
        # The same rounded inputs, in twice the digits: numpy's long double for double itself.
        truth, size = _truth(adjacency, S, x, g, dtype)
        eps = torch.finfo(dtype).eps
        for name, ours, theirs, true, scale in zip(NAMES, found, naive, truth, size, strict=True):
            allowed = WORSE * np.abs(theirs - true) + UNITS * eps * scale
            error = np.abs(ours - true)
            fits = np.isfinite(true) & np.isfinite(theirs)
            bad = fits & ~(error <= allowed)
            if bad.any():
                place = int(np.flatnonzero(bad.ravel())[0])
                shown = [float(np.ravel(part)[place]) for part in (ours, theirs, true)]
                outcome.failures.append(
                    f"seed {seed}, case {case}: {name}[{place}] is {shown[0]:.17g}, dense "
                    f"{shown[1]:.17g}, true {shown[2]:.17g} ({dtype}, {kind}, S from {start})"
                )
                break
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.where(fits & (allowed > 0), error / allowed, 0)
            worst[name] = max(worst[name], float(ratio.max(initial=0)))
    outcome.measured = {f"{name}, error / allowed": f"{value:.2f}" for name, value in worst.items()}
    return outcome


def _adjacency(random: np.random.Generator) -> tuple[np.ndarray, str]:
    """A small graph whose degrees are exact in 32 bits, so that the sign of d + a is certain."""
    n = int(random.integers(1, 12))
    A = (random.random((n, n)) < random.uniform(0, 0.8)).astype(float)
    kind = ["undirected", "directed", "weighted", "loops", "hub"][int(random.integers(5))]
    if kind == "weighted":
        A *= random.integers(1, 64, (n, n)) / 8
    if kind == "hub":
        A[0], A[:, 0] = 1, 1
    if kind != "loops":
        np.fill_diagonal(A, 0)
    if kind != "directed":
        A = np.triu(A) + np.triu(A, 1).T
    return A, kind


def _parameters(random: np.random.Generator) -> tuple[np.ndarray, str]:
    name = list(PRESETS)[int(random.integers(len(PRESETS)))]
    S = np.array(list(PRESETS[name]), dtype=float)
    way = int(random.integers(4))
    if way == 1:
        S += random.normal(0, 0.3, 7)
    elif way == 2:
        S = random.normal(0, 1, 7)
    elif way == 3:  # small a: isolated nodes have d + a = a
        S[6] = 10.0 ** random.uniform(-6, 0)
        S[3:6] += random.normal(0, 0.3, 3)
    return S.astype(np.float32).astype(float), f"{name}, {way}"


def _fast(A, S, x, g, dtype):
    target, source = np.nonzero(A)
    edges = torch.from_numpy(np.stack([source, target]))
    weight = torch.from_numpy(A[target, source]).to(dtype)
    graph = Graph.from_edge_index(edges, weight, len(A))
    return _gradients(lambda x, S: apply_pgso(x, graph, S), S, x, g, dtype)


def _dense(A, S, x, g, dtype):
    matrix = torch.from_numpy(A).to(dtype)
    return _gradients(lambda x, S: dense_pgso(matrix, tuple(S)) @ x, S, x, g, dtype)


def _gradients(function, S, x, g, dtype):
    x = torch.from_numpy(x).to(dtype).requires_grad_()
    S = torch.from_numpy(S).to(dtype).requires_grad_()
    y = function(x, S)
    grads = torch.autograd.grad(y, (x, S), torch.from_numpy(g).to(dtype))
    return [part.detach().numpy().astype(np.longdouble) for part in (y, *grads)]


def _truth(A, S, x, g, dtype):
    """Values and gradients by the formula in long double, and the size of what is summed."""
    kind = np.float32 if dtype == torch.float32 else np.float64
    A, S, x, g = (np.longdouble(part.astype(kind)) for part in (A, S, x, g))
    n = len(A)
    m1, m2, m3, e1, e2, e3, a = S
    A_a, d = A + a * np.eye(n, dtype=np.longdouble), A.sum(1) + a
    positive = d > 0
    safe = np.where(positive, d, 1)

    def power(e):
        if e == 0 and ZERO_IS_ONE:
            return np.ones_like(d)
        return np.where(positive, safe**e, 0)

    log = np.where(positive, np.log(safe), 0)
    p1, p2, p3 = power(e1), power(e2), power(e3)
    gamma = np.diag(m1 * p1) + m2 * p2[:, None] * A_a * p3 + m3 * np.eye(n)
    outer = g @ x.T  # the gradient in γ's entries
    inner = p2[:, None] * A_a * p3
    diagonal = np.diag(outer)
    inverse = np.where(positive, 1 / safe, 0)
    by_e1, by_e2, by_e3 = m1 * p1 * log, log[:, None] * m2 * inner, m2 * inner * log
    by_a = [
        e1 * m1 * p1 * inverse * diagonal,
        e2 * inverse[:, None] * m2 * inner * outer,
        e3 * m2 * inner * inverse * outer,
        m2 * p2 * p3 * diagonal,
    ]
    parts = [
        [p1 * diagonal],
        [inner * outer],
        [diagonal],
        [by_e1 * diagonal],
        [by_e2 * outer],
        [by_e3 * outer],
        by_a,
    ]
    grad_S = np.array([sum(part.sum() for part in group) for group in parts])
    size_S = np.array([sum(np.abs(part).sum() for part in group) for group in parts])
    # Every entry is known to a few units of its own size, and log d to one of d's.
    truth = [gamma @ x, gamma.T @ g, grad_S]
    size = [np.abs(gamma) @ np.abs(x), np.abs(gamma.T) @ np.abs(g), size_S]
    # Where d and a nearly cancel, d + a itself is known to fewer digits, in any order of summing.
    lost = ((A.sum(1) + abs(a)) / safe)[positive].max(initial=1)
    return truth, [part * max(1, lost / 4) for part in size]


def _zero_is_one() -> bool:
    """Whether x⁰ = 1 also where d + a <= 0 (docs/conventions.md), by the slow truth itself."""
    empty = torch.zeros(1, 1, dtype=torch.float64)
    return bool(dense_pgso(empty, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)).item() == 1)


ZERO_IS_ONE = _zero_is_one()
torch.set_num_threads(1)
