"""Public graphs that are .npz archives: co-purchases, co-authors, heterophily."""

from functools import partial
from pathlib import Path

import numpy as np

from pgso.data.arrays import check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions, without_loops
from pgso.data.places import fetch_with_pyg
from pgso.data.raw import read_archive
from pgso.data.splits import masks_to_split, split_each_class
from pgso.data.task import Task
from pgso.errors import InputError

# Amazon co-purchases and Coauthor networks (Shchur et al., "Pitfalls of GNN evaluation", 2018).

SHCHUR_PUBLISHED = {
    "Computers": ("Amazon", Sizes(1, 13_752, 491_722, 767, 10)),
    "Photo": ("Amazon", Sizes(1, 7_650, 238_162, 745, 8)),
    "CS": ("Coauthor", Sizes(1, 18_333, 163_788, 6_805, 15)),
    "Physics": ("Coauthor", Sizes(1, 34_493, 495_924, 8_415, 5)),
}


def load_shchur(name: str, root: Path, seed: int) -> Task:
    """One of the graphs, undirected, with binary features; the seed cuts each class 60/20/20."""
    import scipy.sparse

    path = root / _file_shchur(name)
    parts = ("data", "indices", "indptr", "shape")
    raw = read_archive(
        path, {f"{m}_{p}": 1 for m in ("adj", "attr") for p in parts} | {"labels": 1}
    )
    y = raw["labels"]
    check_range(y, 0, SHCHUR_PUBLISHED[name][1].classes, f"{path}: a label")
    y = y.astype(np.int64)
    try:
        adjacency, x = (
            scipy.sparse.csr_array(
                tuple(raw[f"{matrix}_{part}"] for part in parts[:3]), shape=raw[f"{matrix}_shape"]
            )
            for matrix in ("adj", "attr")
        )
        for matrix in (adjacency, x):
            matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} holds a broken matrix ({error}); fetch it again") from None
    x = x.astype(np.float32)
    x.data = (x.data > 0).astype(np.float32)
    task = Task.from_arrays(
        name,
        edge_index=both_directions(without_loops(np.stack(adjacency.nonzero())), len(y)),
        x=x,
        y=y,
        split=split_each_class(y, seed),
        classes=tuple(str(c) for c in range(int(y.max()) + 1)),
    )
    return SHCHUR_PUBLISHED[name][1].checked(task, path.parent)


def _file_shchur(name: str) -> str:
    if SHCHUR_PUBLISHED[name][0] == "Amazon":
        return f"Amazon/{name}/raw/amazon_electronics_{name.lower()}.npz"
    return f"Coauthor/{name}/raw/ms_academic_{name[:3].lower()}.npz"


for _name, (_class, _sizes) in SHCHUR_PUBLISHED.items():
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load_shchur, _name),
            sizes=_sizes,
            files=(_file_shchur(_name),),
            download=partial(fetch_with_pyg, _class, _class, (_name,)),
        )
    )


# The graphs of "A critical look at the evaluation of GNNs under heterophily" (ICLR 2023).

HETEROPHILOUS_PUBLISHED = {
    "Roman-empire": Sizes(1, 22_662, 65_854, 300, 18),
    "Amazon-ratings": Sizes(1, 24_492, 186_100, 300, 5),
    "minesweeper-public": Sizes(1, 10_000, 78_804, 7, 2),
    "Tolokers": Sizes(1, 11_758, 1_038_000, 10, 2),
    "Questions": Sizes(1, 48_921, 307_080, 301, 2),
    # Without the pages that several names lead to, which let a network copy test labels.
    "Chameleon-filtered": Sizes(1, 890, 17_708, 2_325, 5),
    "Squirrel-filtered": Sizes(1, 2_223, 93_996, 2_089, 5),
}


def load_heterophilous(name: str, root: Path, seed: int) -> Task:
    """One of the graphs, undirected; seed s takes public split s mod 10 (50/25/25)."""
    path = root / _file_heterophilous(name)
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
    check_range(y, 0, HETEROPHILOUS_PUBLISHED[name].classes, f"{path}: a label")
    task = Task.from_arrays(
        name,
        edge_index=both_directions(raw["edges"].T, n),
        x=raw["node_features"].astype(np.float32),
        y=y.astype(np.int64),
        split=masks_to_split(*(mask[seed % 10] for mask in masks)),
        classes=tuple(str(c) for c in range(int(y.max()) + 1)),
        metric="roc_auc" if HETEROPHILOUS_PUBLISHED[name].classes == 2 else "accuracy",
    )
    return HETEROPHILOUS_PUBLISHED[name].checked(task, path.parent)


def _file_heterophilous(name: str) -> str:
    stem = name.lower().removesuffix("-public").replace("-", "_")
    return f"Heterophilous/{stem}/raw/{stem}.npz"


for _name, _sizes in HETEROPHILOUS_PUBLISHED.items():
    _args = "HeterophilousGraphDataset", "Heterophilous", (_name.removesuffix("-public"),)
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load_heterophilous, _name),
            metric="roc_auc" if _sizes.classes == 2 else "accuracy",
            sizes=_sizes,
            files=(_file_heterophilous(_name),),
            # PyG's class does not know the filtered ones.
            download=None if _name.endswith("-filtered") else partial(fetch_with_pyg, *_args),
        )
    )
