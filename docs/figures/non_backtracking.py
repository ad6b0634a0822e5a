"""The figure of docs/beyond_one_s.md: communities of sparse graphs.

``python docs/figures/non_backtracking.py`` writes docs/assets/non_backtracking.json and .png;
with ``--draw`` it only draws, from the numbers that are there.
"""

import json
import sys
from pathlib import Path

import networkx as nx
import numpy as np
from matplotlib.figure import Figure
from scipy.sparse.linalg import eigs, eigsh

from pgso import Graph
from pgso.bases import ihara_bass

ASSETS = Path(__file__).parents[1] / "assets"
NUM_NODES, SEEDS, MEAN_DEGREE = 4000, 5, 3.0
CONTRASTS = [2.0, 3.0, 3.46, 4.0, 4.4, 4.8, 5.2]  # inside - outside; detectable above √12


def sparse_block_model(contrast: float, seed: int) -> tuple[Graph, np.ndarray]:
    """Two blocks of equal size, three neighbours a node."""
    inside, outside = MEAN_DEGREE + contrast / 2, MEAN_DEGREE - contrast / 2
    rates = np.array([[inside, outside], [outside, inside]]) / NUM_NODES
    drawn = nx.stochastic_block_model([NUM_NODES // 2] * 2, rates, seed=seed)
    plain = nx.Graph()
    plain.add_nodes_from(range(NUM_NODES))
    plain.add_edges_from(drawn.edges)
    return Graph.from_networkx(plain), np.repeat([-1, 1], NUM_NODES // 2)


def measure() -> dict:
    """How far the signs of each second eigenvector agree with the blocks: 0 chance, 1 all."""
    overlaps = {"contrast": CONTRASTS, "non-backtracking": [], "adjacency": []}
    for contrast in CONTRASTS:
        rows = []
        for seed in range(SEEDS):
            graph, blocks = sparse_block_model(contrast, seed)
            n, matrix = NUM_NODES, ihara_bass(graph)
            values, vectors = eigs(matrix, k=2, which="LR", v0=np.ones(2 * n), tol=1e-5)
            second = vectors[:n, values.real.argsort()[0]].real
            _, of_adjacency = eigsh(matrix[:n, :n], k=2, which="LA", v0=np.ones(n), tol=1e-5)
            rows.append(
                [abs(float(np.mean(np.sign(v) * blocks))) for v in (second, of_adjacency[:, 0])]
            )
        for name, column in zip(("non-backtracking", "adjacency"), np.transpose(rows), strict=True):
            overlaps[name].append(column.tolist())
    return overlaps


def draw(overlaps: dict) -> None:
    """Mean and range over seeds."""
    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axes = figure.subplots()
    for name, colour in (("non-backtracking", "#0072B2"), ("adjacency", "#D55E00")):
        overlap = np.array(overlaps[name])
        axes.plot(overlaps["contrast"], overlap.mean(1), color=colour, label=name, marker="o")
        axes.fill_between(
            overlaps["contrast"], overlap.min(1), overlap.max(1), color=colour, alpha=0.2
        )
    axes.axvline(12**0.5, color="grey", linestyle=":", label="detectable beyond")
    axes.set(xlabel="neighbours inside minus outside", ylabel="overlap with the blocks")
    axes.legend(frameon=False)
    figure.savefig(ASSETS / "non_backtracking.png", dpi=200, metadata={"Software": None})


if __name__ == "__main__":
    numbers = ASSETS / "non_backtracking.json"
    if "--draw" not in sys.argv:
        numbers.write_text(json.dumps(measure(), indent=1) + "\n")
    draw(json.loads(numbers.read_text()))
