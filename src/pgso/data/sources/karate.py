"""Zachary's karate club, embedded in networkx (Zachary, 1977)."""

from pathlib import Path

import numpy as np

from pgso.data.arrays import Arrays
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions
from pgso.data.splits import split_each_class

CLUBS = ("Mr. Hi", "Officer")


def load(root: Path, seed: int) -> Arrays:
    """Whose side does a member take? x is the identity; the seed cuts each club 60/20/20."""
    import networkx

    club = networkx.karate_club_graph()
    y = np.array([CLUBS.index(club.nodes[member]["club"]) for member in club])
    return Arrays(
        edge_index=both_directions(np.array(club.edges).T, len(y)),
        x=np.eye(len(y), dtype=np.float32),
        y=y,
        split=split_each_class(y, seed),
        classes=CLUBS,
    )


DATASETS.add(Dataset(name="karate", load=load, sizes=Sizes(1, 34, 156, 34, 2)))
