"""Communities from the spectra of operators: ``python examples/spectral_clustering.py``."""

import argparse

import networkx
import numpy as np
from sklearn.metrics import adjusted_rand_score

import pgso
from pgso.spectrum import PGSOSpectralClustering, interval, regularised_adjacency


def block_model(size: int, seed: int = 0) -> tuple[networkx.Graph, np.ndarray]:
    """Three communities: ten neighbours inside, two in each of the others, on average."""
    inside, outside = 10 / size, 2 / size
    rates = np.full((3, 3), outside) + np.eye(3) * (inside - outside)
    graph = networkx.stochastic_block_model([size] * 3, rates.tolist(), seed=seed)
    return graph, np.repeat(np.arange(3), size)


def main() -> None:
    """Cluster with each operator, and show where its eigenvalues are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true", help="a small graph")
    size = 40 if parser.parse_args().toy else 300

    network, blocks = block_model(size)
    graph = pgso.Graph.from_networkx(network)
    operators = {
        "adjacency": pgso.PRESETS["adjacency"],
        "GCN's": pgso.PRESETS["gcn"],
        "symmetric Laplacian": pgso.PRESETS["symmetric_laplacian"],
        "regularised, a = 5": regularised_adjacency(5.0),
    }
    print(f"{'operator':22} {'eigenvalues in':>20} {'agreement':>10}")
    for name, S in operators.items():
        low, high = map(float, interval(graph, S))
        clusters = PGSOSpectralClustering(3, S=S, random_state=0).fit_predict(graph)
        agreement = adjusted_rand_score(blocks, clusters)
        print(f"{name:22} {f'[{low:.2f}, {high:.2f}]':>20} {agreement:10.2f}")


if __name__ == "__main__":
    main()
