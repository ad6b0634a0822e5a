"""Eigenvalues of large graphs: right, or refused; against a dense eigh of the same operator."""

import networkx
import numpy as np
import torch

from fuzz.outcome import Outcome
from pgso import PRESETS, Graph
from pgso.gso.shift import shift
from pgso.spectrum import NotConvergedError, eigenpairs, eigenvalues, gershgorin_interval
from pgso.spectrum.certified import twin

TOL = 1e-6


def _star(n, random):
    return networkx.star_graph(n - 1)


def _hubs(n, random):
    graph = networkx.empty_graph(n)
    for hub in range(int(random.integers(1, 6))):
        leaves = random.choice(n, int(random.integers(n // 10, n)), replace=False)
        graph.add_edges_from((hub, int(leaf)) for leaf in leaves if leaf != hub)
    return graph


def _nearly_empty(n, random):
    graph = networkx.empty_graph(n)
    ends = random.integers(0, n, (int(random.integers(1, 12)), 2))
    graph.add_edges_from((int(i), int(j)) for i, j in ends if i != j)
    return graph


def _sparse(n, random):
    return networkx.fast_gnp_random_graph(n, 10 ** random.uniform(-4, -2), _seed(random))


def _preferential(n, random):
    return networkx.barabasi_albert_graph(n, int(random.integers(1, 4)), _seed(random))


def _copies(n, random):
    size = int(random.integers(2, 40))
    kinds = [networkx.path_graph, networkx.complete_graph, networkx.cycle_graph]
    part = kinds[int(random.integers(3))](max(size, 3))
    copies = networkx.disjoint_union_all([part] * (n // len(part) + 1))
    return networkx.convert_node_labels_to_integers(copies)


def _torus(n, random):
    side = int(random.integers(20, 40))
    return networkx.grid_2d_graph(n // side + 1, side, periodic=True)


def _bipartite(n, random):
    few = int(random.integers(2, 30))
    return networkx.complete_bipartite_graph(few, n - few)


def _cliques_and_isolated(n, random):
    graph = networkx.empty_graph(n)
    graph.add_edges_from(networkx.complete_graph(int(random.integers(3, 60))).edges)
    return graph


def _path(n, random):
    return networkx.path_graph(n)


KINDS = {
    "star": _star,
    "hubs": _hubs,
    "nearly empty": _nearly_empty,
    "sparse random": _sparse,
    "preferential attachment": _preferential,
    "copies of one graph": _copies,
    "torus": _torus,
    "complete bipartite": _bipartite,
    "a clique among isolated nodes": _cliques_and_isolated,
    "path": _path,
}


def run(count: int, seed: int = 0) -> Outcome:
    """Try ``count`` graphs of more than a thousand nodes."""
    outcome = Outcome(
        "eigenvalues",
        "`eigenvalues` and `eigenpairs` on more than a thousand nodes are right to within `tol`, "
        "or refused.",
    )
    refused, worst = 0, 0.0
    for case in range(count):
        random = np.random.default_rng([seed, case])
        kind = list(KINDS)[case % len(KINDS)]
        outcome.count(kind)
        drawn = KINDS[kind](int(random.integers(1001, 1200)), random)
        preset = list(PRESETS)[int(random.integers(len(PRESETS)))]
        S = list(PRESETS[preset])
        if random.random() < 0.4:
            S = [float(value) for value in random.normal(0, 1, 6)] + [float(random.uniform(0, 2))]
            preset = f"S = {[round(value, 3) for value in S]}"
        k, which = int(random.integers(1, 12)), str(random.choice(["both", "smallest", "largest"]))
        name = f"seed {seed}, case {case}: {kind}, n = {len(drawn)}, {preset}, k = {k}, {which}"
        error = _error(Graph.from_networkx(drawn), S, k, which, pairs=bool(case % 2))
        if error is None:
            refused += 1
        elif not error <= 1:
            outcome.failures.append(f"{name}: off by {error:.1e} of what is allowed")
        else:
            worst = max(worst, error)
    outcome.measured = {"refused": str(refused), "largest error / allowed": f"{worst:.1e}"}
    return outcome


def _error(graph: Graph, S: list[float], k: int, which: str, pairs: bool) -> float | None:
    """The largest error of an eigenvalue, relative to what is allowed; None where refused."""
    symmetric = twin(shift(graph, S)).to_scipy().toarray()
    true = np.linalg.eigvalsh(symmetric)
    low = {"smallest": k, "largest": 0, "both": k // 2}[which]
    true = np.r_[true[:low], true[len(true) - (k - low) :]]
    ends = [float(end) for end in gershgorin_interval(graph, S)]
    allowed = 2 * TOL * (ends[1] - ends[0]) / 2 + 1e-12 * (1 + np.abs(ends).max())
    try:
        if pairs:
            found = eigenpairs(graph, S, k=k, which=which, tol=TOL).values
        else:
            found = eigenvalues(graph, S, k=k, which=which, tol=TOL)
    except NotConvergedError:
        return None
    return float(np.abs(found - true).max() / allowed)


def _seed(random: np.random.Generator) -> int:
    return int(random.integers(2**31))


torch.set_num_threads(1)
