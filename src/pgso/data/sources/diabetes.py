"""Diabetes patients, embedded in scikit-learn, as a graph of nearest neighbours."""

from pathlib import Path

import numpy as np

from pgso.data.arrays import Arrays
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions
from pgso.data.splits import split_at_random
from pgso.errors import InputError


def load(root: Path, seed: int, *, neighbours: int = 10) -> Arrays:
    """How far the disease has progressed after a year, from ten measurements (regression).

    Args:
        root: Not used: the patients come with scikit-learn.
        seed: Of the split, 60/20/20.
        neighbours: How many others a patient is joined with; they may be chosen by more.
    """
    from sklearn.datasets import load_diabetes
    from sklearn.neighbors import kneighbors_graph
    from threadpoolctl import threadpool_limits

    table = load_diabetes()
    x = table.data / table.data.std(axis=0)
    n = len(x)
    if isinstance(neighbours, bool | float) or neighbours not in range(1, n):
        raise InputError(f"neighbours must lie between 1 and {n - 1}, got {neighbours!r}")
    with threadpool_limits(1):  # of equal distances, which comes first depends on the threads
        nearest = kneighbors_graph(x, neighbours).tocoo()
    return Arrays(
        edge_index=both_directions(np.stack([nearest.col, nearest.row]), n),
        x=x.astype(np.float32),
        y=table.target[:, None].astype(np.float64),
        split=split_at_random(np.ones(n, dtype=bool), seed),
        targets=("progression",),
        metric="rmse",
        columns=tuple(table.feature_names),
    )


DATASETS.add(Dataset(name="diabetes", load=load, metric="rmse", sizes=Sizes(1, 442, 6_166, 10, 0)))
