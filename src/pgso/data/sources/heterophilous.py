"""The graphs of "A critical look at the evaluation of GNNs under heterophily" (ICLR 2023)."""

from functools import partial
from pathlib import Path

import numpy as np

from pgso.data.archive import read_archive
from pgso.data.arrays import Arrays, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.download import fetch_with_pyg
from pgso.data.edge_lists import both_directions
from pgso.data.splits import masks_to_split
from pgso.errors import InputError

PUBLISHED = {
    "Roman-empire": Sizes(1, 22_662, 65_854, 300, 18),
    "Amazon-ratings": Sizes(1, 24_492, 186_100, 300, 5),
    "minesweeper-public": Sizes(1, 10_000, 78_804, 7, 2),
    "Tolokers": Sizes(1, 11_758, 1_038_000, 10, 2),
    "Questions": Sizes(1, 48_921, 307_080, 301, 2),
    # Without the pages that several names lead to, which let a network copy test labels.
    "Chameleon-filtered": Sizes(1, 890, 17_708, 2_325, 5),
    "Squirrel-filtered": Sizes(1, 2_223, 93_996, 2_089, 5),
}


def load(name: str, root: Path, seed: int) -> Arrays:
    """One of the graphs, undirected; seed s takes public split s mod 10 (50/25/25)."""
    path = root / _file(name)
    raw = read_archive(
        path,
        {
            "node_features": 2,
            "node_labels": 1,
            "edges": 2,
            "train_masks": 2,
            "val_masks": 2,
            "test_masks": 2,
        },
    )
    y, n = raw["node_labels"], len(raw["node_labels"])
    masks = [raw[f"{part}_masks"] for part in ("train", "val", "test")]
    if any(mask.shape != (10, n) for mask in masks) or raw["edges"].shape[1] != 2:
        raise InputError(f"{path}: its arrays do not fit {n} nodes and 10 splits; fetch it again")
    check_range(raw["edges"], 0, n, f"{path}: a node id")
    check_range(y, 0, PUBLISHED[name].classes, f"{path}: a label")
    arrays = Arrays(
        edge_index=both_directions(raw["edges"].T, n),
        x=raw["node_features"].astype(np.float32),
        y=y.astype(np.int64),
        split=masks_to_split(*(mask[seed % 10] for mask in masks)),
        classes=tuple(str(c) for c in range(int(y.max()) + 1)),
        metric="roc_auc" if PUBLISHED[name].classes == 2 else "accuracy",
    )
    PUBLISHED[name].check(arrays, name, path.parent)
    return arrays


def _file(name: str) -> str:
    stem = name.lower().removesuffix("-public").replace("-", "_")
    return f"Heterophilous/{stem}/raw/{stem}.npz"


def _download(name: str, root: Path) -> None:
    fetch_with_pyg(
        "HeterophilousGraphDataset", "Heterophilous", name.removesuffix("-public"), root=root
    )


for _name, _sizes in PUBLISHED.items():
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load, _name),
            metric="roc_auc" if _sizes.classes == 2 else "accuracy",
            sizes=_sizes,
            files=(_file(_name),),
            # PyG's class does not know the filtered ones.
            download=None if _name.endswith("-filtered") else partial(_download, _name),
        )
    )
