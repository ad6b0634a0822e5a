"""Denoise a signal on a graph of sensors: ``python examples/denoise_sensors.py``."""

import argparse

import numpy as np
import torch
from sklearn.neighbors import kneighbors_graph

import pgso


def sensors(count: int, seed: int = 0) -> tuple[pgso.Graph, torch.Tensor]:
    """Places in a unit square, each joined to its eight nearest, and a smooth field on them."""
    places = np.random.default_rng(seed).random((count, 2))
    distances = kneighbors_graph(places, 8, mode="distance")
    width = distances.data.mean()
    distances.data = np.exp(-((distances.data / width) ** 2))  # near sensors weigh more
    graph = pgso.Graph.from_scipy(distances.maximum(distances.T))
    east, north = torch.from_numpy(places).T
    return graph, torch.sin(4 * east) + torch.cos(6 * north)


def main() -> None:
    """Compare filters by their distance from the field that the noise hides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true", help="few sensors")
    graph, field = sensors(200 if parser.parse_args().toy else 2_000)
    noise = torch.randn(len(field), generator=torch.Generator().manual_seed(0)).double()
    measured = field + 0.5 * noise

    L = pgso.shift(graph, "symmetric_laplacian")
    low, *bands = pgso.wavelets(L, "meyer", count=4)
    coefficients = [band @ measured for band in bands]
    kept = [torch.where(c.abs() > 3 * c.std(), c, 0.0) for c in coefficients]
    smooth = {
        "heat, t = 4": (heat := pgso.heat(L, t=4.0)) @ measured,
        "1 / (1 + 4 s)": (ridge := pgso.filter(L, lambda s: 1 / (1 + 4 * s))) @ measured,
        "wavelets, thresholded": low.T @ (low @ measured)
        + sum(band.T @ c for band, c in zip(bands, kept, strict=True)),
    }
    print(f"{graph}\n{heat}\n{ridge}\n")
    print(f"{'':22} {'error':>6} {'smoothness':>11}")
    for name, signal in {"field": field, "measured": measured, **smooth}.items():
        error = float((signal - field).square().mean().sqrt())
        print(f"{name:22} {error:6.3f} {float(pgso.smoothness(L, signal)):11.3f}")


if __name__ == "__main__":
    main()
