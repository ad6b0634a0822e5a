"""BlogCatalog: bloggers, their friends, and the groups that they are in (Tang & Liu 2009)."""

from pathlib import Path

import numpy as np

from pgso.data.arrays import Arrays, check_range, identity
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions
from pgso.data.splits import split_at_random
from pgso.data.text import read_numbers

FOLDER = "blogcatalog"
FILES = tuple(f"{FOLDER}/{part}.csv" for part in ("edges", "group-edges", "groups", "nodes"))
SIZES = Sizes(1, 10_312, 667_966, 10_312, 39)


def load(root: Path, seed: int) -> Arrays:
    """Several groups a blogger, multi-label; without features, each node is its own.

    Args:
        root: The data root.
        seed: Of the split, 60/20/20.
    """
    edges, member, groups, nodes = (root / file for file in FILES)
    n, labels = len(read_numbers(nodes, np.int64, 1)), len(read_numbers(groups, np.int64, 1))
    pairs = read_numbers(edges, np.int64, columns=2).T - 1
    check_range(pairs, 0, n, f"{edges}: a blogger (counted from 0)")
    who, what = read_numbers(member, np.int64, columns=2).T - 1
    check_range(who, 0, n, f"{member}: a blogger (counted from 0)")
    check_range(what, 0, labels, f"{member}: a group (counted from 0)")
    y = np.zeros((n, labels))
    y[who, what] = 1
    arrays = Arrays(
        edge_index=both_directions(pairs, n),
        x=identity(n),
        y=y,
        split=split_at_random(np.ones(n, dtype=bool), seed),
        classes=tuple(str(label + 1) for label in range(labels)),
        metric="multilabel_average_precision",
    )
    SIZES.check(arrays, "BlogCatalog", root / FOLDER)
    return arrays


DATASETS.add(
    Dataset(
        name="BlogCatalog",
        load=load,
        metric="multilabel_average_precision",
        sizes=SIZES,
        files=FILES,
        model={"norm": "batch", "weight_decay": 0.0},  # else embeddings of single nodes vanish
    )
)
