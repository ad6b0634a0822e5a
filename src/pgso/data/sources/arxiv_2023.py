"""arxiv-2023: citations of recent computer-science papers, with features from their titles."""

from pathlib import Path

import numpy as np

from pgso.data.archive import read_archive
from pgso.data.arrays import Arrays, check_finite, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions, distinct
from pgso.data.text import read_numbers

FOLDER = "arxiv_2023"
LISTED = Sizes(1, 33_868, 305_672, 128, 39)  # citations as the file lists them
FILES = ("edges.csv.gz", "title_svd128.npz", "train.csv.gz", "valid.csv.gz", "test.csv.gz")


def load(root: Path, seed: int, *, undirected: bool = True) -> Arrays:
    """The graph with its public time split (no seed), columns of x standardised.

    Papers of 2021 to 2023 outside the test set are in no part. 17 papers cite themselves.

    Args:
        root: The data root.
        seed: Not used.
        undirected: Whether every citation gets its reverse, as for ogbn-arxiv.
    """
    folder = root / FOLDER
    raw = read_archive(
        folder / "title_svd128.npz", {"x": 2, "y": 1, "classes": 1}, words=("classes",)
    )
    x = raw["x"].astype(np.float32)
    check_finite(x, f"{folder / 'title_svd128.npz'}: features")
    citations = read_numbers(folder / "edges.csv.gz", np.int64, 2, header=True).T
    check_range(citations, 0, len(x), f"{folder / 'edges.csv.gz'}: a node")
    train, val, test = (
        read_numbers(folder / f"{part}.csv.gz", np.int64, 1, header=True).ravel()
        for part in ("train", "valid", "test")
    )
    arrays = Arrays(
        edge_index=distinct(citations, len(x)),
        x=(x - x.mean(0)) / (x.std(0) + 1e-8),
        y=raw["y"],
        split=(train, val, test),
        classes=tuple(str(name) for name in raw["classes"]),
    )
    LISTED.check(arrays, "arxiv-2023", folder)
    if undirected:
        arrays = arrays.replace(edge_index=both_directions(arrays.edge_index, len(x)))
    return arrays


DATASETS.add(
    Dataset(
        name="arxiv-2023",
        load=load,
        sizes=Sizes(1, 33_868, 606_775, 128, 39),
        files=tuple(f"{FOLDER}/{file}" for file in FILES),
    )
)
