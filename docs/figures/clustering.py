"""The figure of docs/spectra.md: what ``a`` does for spectral clustering of sparse graphs.

``python docs/figures/clustering.py`` writes docs/assets/clustering.json and clustering.png;
with ``--draw`` it only draws, from the numbers that are there.
"""

import json
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from sklearn.cluster import SpectralClustering
from sklearn.metrics import confusion_matrix

from pgso.spectrum import PGSOSpectralClustering, regularised_adjacency

ASSETS = Path(__file__).parents[1] / "assets"
NUM_NODES, NUM_BLOCKS, SEEDS = 900, 3, 10
INSIDE, OUTSIDE = 15.0, 3.0  # expected neighbours of a node if all nodes were in its block, or none
VALUES_OF_A = [0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]


def sparse_block_model(seed: int) -> tuple[csr_array, np.ndarray]:
    """A degree-corrected stochastic block model with about seven neighbours a node."""
    random = np.random.default_rng(seed)
    blocks = np.repeat(np.arange(NUM_BLOCKS), NUM_NODES // NUM_BLOCKS)
    popularity = random.choice([0.4, 2.5], NUM_NODES, p=[5 / 7, 2 / 7])  # of mean 1
    rate = np.where(blocks[:, None] == blocks, INSIDE, OUTSIDE) / NUM_NODES
    rate = rate * popularity[:, None] * popularity
    upper = np.triu(random.random(rate.shape) < rate, 1).astype(float)
    return csr_array(upper + upper.T), blocks


def accuracy(blocks: np.ndarray, labels: np.ndarray) -> float:
    """The share of nodes in the right block under the best naming of the clusters."""
    counts = confusion_matrix(blocks, labels)
    return float(counts[linear_sum_assignment(-counts)].sum() / len(blocks))


def measure() -> dict:
    """Accuracy of both families over a, and of scikit-learn, for every seed."""
    families = {
        "regularised": regularised_adjacency,
        "gcn": lambda a: (0, 1, 0, 0, -0.5, -0.5, a),
    }
    scores = {name: [[] for _ in VALUES_OF_A] for name in families}
    theirs, degrees = [], []
    for seed in range(SEEDS):
        A, blocks = sparse_block_model(seed)
        degrees.append(float(A.sum() / NUM_NODES))
        for name, family in families.items():
            for column, a in enumerate(VALUES_OF_A):
                model = PGSOSpectralClustering(NUM_BLOCKS, S=family(a), random_state=0)
                scores[name][column].append(accuracy(blocks, model.fit_predict(A)))
        with warnings.catch_warnings():  # it says that the graph is not connected
            warnings.simplefilter("ignore")
            model = SpectralClustering(NUM_BLOCKS, affinity="precomputed", random_state=0)
            theirs.append(accuracy(blocks, model.fit_predict(A.toarray())))
    return {
        "num_nodes": NUM_NODES,
        "num_blocks": NUM_BLOCKS,
        "mean_degree": float(np.mean(degrees)),
        "a": VALUES_OF_A,
        "accuracy": scores,
        "scikit_learn": theirs,
    }


def draw(numbers: dict) -> Figure:
    """Mean and standard error over the seeds."""
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    ax = figure.subplots()
    looks = {
        "regularised": ("#0072B2", "o", r"$D_a^{-1/2} A D_a^{-1/2}$  (a regularises)"),
        "gcn": ("#D55E00", "s", r"$D_a^{-1/2} (A + aI) D_a^{-1/2}$  (a adds self-loops too)"),
    }
    for name, (colour, marker, label) in looks.items():
        scores = np.array(numbers["accuracy"][name])
        error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        ax.errorbar(
            numbers["a"], scores.mean(axis=1), error, color=colour, marker=marker, label=label
        )
    theirs = np.mean(numbers["scikit_learn"])
    ax.axhline(theirs, color="black", linestyle="--", label="scikit-learn's SpectralClustering")
    ax.axhline(1 / numbers["num_blocks"], color="#999999", linestyle=":", label="chance")
    ax.axvline(numbers["mean_degree"], color="#999999", linewidth=0.8)
    ax.text(numbers["mean_degree"] * 1.08, 0.9, "mean degree", color="#666666", fontsize=9)
    ax.set_xscale("symlog", linthresh=0.03)
    ax.set_xlim(-0.006, 150)
    ax.set_xticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
    ax.set(xlabel="a", ylabel="share of nodes in the right block", ylim=(0.25, 0.95))
    blocks, nodes, graphs = (
        numbers["num_blocks"],
        numbers["num_nodes"],
        len(numbers["scikit_learn"]),
    )
    ax.set_title(
        f"Sparse block model: {nodes} nodes, {blocks} blocks, mean of {graphs}"
        " graphs ± standard error",
        fontsize=10,
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


def main() -> None:
    """Measure unless told only to draw."""
    numbers = ASSETS / "clustering.json"
    if "--draw" not in sys.argv:
        numbers.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    draw(json.loads(numbers.read_text(encoding="utf-8"))).savefig(
        ASSETS / "clustering.png", dpi=200
    )


if __name__ == "__main__":
    main()
