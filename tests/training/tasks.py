"""Tiny runs: an embedded node task with each metric, and graphs that live in a test's folder."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from pgso.records import RunSpec
from pgso.saved import read_model
from pgso.training.session import network_of

GRID = {"rows": 8, "cols": 8}


def load_model(path):
    """The network in a file, its spec, and the header that says what data it fits."""
    header = read_model(path)
    model = network_of(Path(path), header)
    return model, RunSpec(complete=True, **header["spec"]), header


def karate(**choices) -> RunSpec:
    return RunSpec(**{"dataset": "karate", "epochs": 6, "hidden_channels": 8, **choices})


def minesweeper(**choices) -> RunSpec:
    defaults = {"dataset": "minesweeper", "data_options": GRID, "epochs": 6, "hidden_channels": 8}
    plain = {"num_layers": 2, "norm": None}  # and not what the dataset suggests
    return RunSpec(**{**defaults, **plain, **choices})


def write_triangles_and_paths(root, name="SHAPES", graphs=24) -> None:
    """A TU dataset on disk: is a graph a cycle or a path?"""
    rng = np.random.default_rng(0)
    edges, owner, first = [], [], 1
    for graph in range(graphs):
        size = int(rng.integers(3, 7))
        ring = list(range(first, first + size))
        pairs = list(pairwise(ring))
        if graph % 2:
            pairs.append((ring[-1], ring[0]))
        edges += pairs + [(v, u) for u, v in pairs]
        owner += [graph + 1] * size
        first += size
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    lines = {
        "A": [f"{u}, {v}" for u, v in edges],
        "graph_indicator": [str(g) for g in owner],
        "graph_labels": [str(g % 2) for g in range(graphs)],
    }
    for what, text in lines.items():
        (folder / f"{name}_{what}.txt").write_text("\n".join(text) + "\n")


def shapes(**choices) -> RunSpec:
    defaults = {"dataset": "SHAPES", "conv": "gin", "epochs": 4, "hidden_channels": 8}
    return RunSpec(**{**defaults, "batch_size": 8, "data_options": {"folds": 3}, **choices})
