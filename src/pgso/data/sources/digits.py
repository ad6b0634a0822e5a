"""Handwritten digits, embedded in scikit-learn, as a graph of nearest neighbours."""

from pathlib import Path

import numpy as np

from pgso.data.arrays import Arrays
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions
from pgso.data.splits import split_each_class
from pgso.errors import InputError


def load(root: Path, seed: int, *, neighbours: int = 10) -> Arrays:
    """8 x 8 images, joined with those they are closest to.

    Args:
        root: Not used: the images come with scikit-learn.
        seed: Of the split, 60/20/20 of each digit.
        neighbours: How many others an image is joined with; it may be chosen by more.
    """
    from sklearn.datasets import load_digits
    from sklearn.neighbors import kneighbors_graph
    from threadpoolctl import threadpool_limits

    images, y = load_digits(return_X_y=True)
    if isinstance(neighbours, bool | float) or neighbours not in range(1, len(y)):
        raise InputError(f"neighbours must lie between 1 and {len(y) - 1}, got {neighbours!r}")
    with threadpool_limits(1):  # of equal distances, which comes first depends on the threads
        nearest = kneighbors_graph(images, neighbours).tocoo()
    return Arrays(
        edge_index=both_directions(np.stack([nearest.col, nearest.row]), len(y)),
        x=(images / 16).astype(np.float32),
        y=y,
        split=split_each_class(y, seed),
        classes=tuple("0123456789"),
    )


DATASETS.add(Dataset(name="digits", load=load, sizes=Sizes(1, 1_797, 24_680, 64, 10)))
