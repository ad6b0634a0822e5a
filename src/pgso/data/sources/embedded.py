"""Datasets that come with networkx and scikit-learn: karate, digits, diabetes."""

from pathlib import Path

import numpy as np

from pgso.data.arrays import Array
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions
from pgso.data.splits import split_at_random, split_each_class
from pgso.data.task import Task
from pgso.errors import InputError

# Zachary's karate club, embedded in networkx (Zachary, 1977).

CLUBS = ("Mr. Hi", "Officer")


def karate(root: Path, seed: int) -> Task:
    """Whose side does a member take? x is the identity; the seed cuts each club 60/20/20."""
    import networkx

    club = networkx.karate_club_graph()
    y = np.array([CLUBS.index(club.nodes[member]["club"]) for member in club])
    return Task.from_arrays(
        "karate",
        edge_index=both_directions(np.array(club.edges).T, len(y)),
        x=np.eye(len(y), dtype=np.float32),
        y=y,
        split=split_each_class(y, seed),
        classes=CLUBS,
    )


DATASETS.add(Dataset(name="karate", load=karate, sizes=Sizes(1, 34, 156, 34, 2)))


# Handwritten digits, embedded in scikit-learn, as a graph of nearest neighbours.


def digits(root: Path, seed: int, *, neighbours: int = 10) -> Task:
    """8 x 8 images, joined with those they are closest to.

    Args:
        root: Not used: the images come with scikit-learn.
        seed: Of the split, 60/20/20 of each digit.
        neighbours: How many others an image is joined with; it may be chosen by more.
    """
    from sklearn.datasets import load_digits

    images, y = load_digits(return_X_y=True)
    return Task.from_arrays(
        "digits",
        edge_index=_nearest(images, neighbours),
        x=(images / 16).astype(np.float32),
        y=y,
        split=split_each_class(y, seed),
        classes=tuple("0123456789"),
    )


DATASETS.add(Dataset(name="digits", load=digits, sizes=Sizes(1, 1_797, 24_680, 64, 10)))


# Diabetes patients, embedded in scikit-learn, as a graph of nearest neighbours.


def diabetes(root: Path, seed: int, *, neighbours: int = 10) -> Task:
    """How far the disease has progressed after a year, from ten measurements (regression).

    Args:
        root: Not used: the patients come with scikit-learn.
        seed: Of the split, 60/20/20.
        neighbours: How many others a patient is joined with; they may be chosen by more.
    """
    from sklearn.datasets import load_diabetes

    table = load_diabetes()
    x = table.data / table.data.std(axis=0)
    n = len(x)
    return Task.from_arrays(
        "diabetes",
        edge_index=_nearest(x, neighbours),
        x=x.astype(np.float32),
        y=table.target[:, None].astype(np.float64),
        split=split_at_random(np.ones(n, dtype=bool), seed),
        targets=("progression",),
        metric="rmse",
        columns=tuple(table.feature_names),
    )


def _nearest(x: Array, neighbours: int) -> Array:  # (2, E)
    """Each row and those it is closest to, in both directions."""
    from sklearn.neighbors import kneighbors_graph
    from threadpoolctl import threadpool_limits

    n = len(x)
    if isinstance(neighbours, bool | float) or neighbours not in range(1, n):
        raise InputError(f"neighbours must lie between 1 and {n - 1}, got {neighbours!r}")
    with threadpool_limits(1):  # of equal distances, which comes first depends on the threads
        nearest = kneighbors_graph(x, neighbours).tocoo()
    return both_directions(np.stack([nearest.col, nearest.row]), n)


DATASETS.add(
    Dataset(name="diabetes", load=diabetes, metric="rmse", sizes=Sizes(1, 442, 6_166, 10, 0))
)
