"""Public graphs that are one archive each: products, co-authors, and graphs of heterophily."""

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
SHCHUR = {
    "Computers": ("Amazon", "amazon_electronics_computers", Sizes(1, 13_752, 491_722, 767, 10)),
    "Photo": ("Amazon", "amazon_electronics_photo", Sizes(1, 7_650, 238_162, 745, 8)),
    "CS": ("Coauthor", "ms_academic_cs", Sizes(1, 18_333, 163_788, 6_805, 15)),
    "Physics": ("Coauthor", "ms_academic_phy", Sizes(1, 34_493, 495_924, 8_415, 5)),
}
# The graphs of "A critical look at the evaluation of GNNs under heterophily" (ICLR 2023).
HETEROPHILOUS = {
    "Roman-empire": Sizes(1, 22_662, 65_854, 300, 18),
    "Amazon-ratings": Sizes(1, 24_492, 186_100, 300, 5),
    "minesweeper-public": Sizes(1, 10_000, 78_804, 7, 2),
    "Tolokers": Sizes(1, 11_758, 1_038_000, 10, 2),
    "Questions": Sizes(1, 48_921, 307_080, 301, 2),
    # Without the pages that several names lead to, which let a network copy test labels.
    "Chameleon-filtered": Sizes(1, 890, 17_708, 2_325, 5),
    "Squirrel-filtered": Sizes(1, 2_223, 93_996, 2_089, 5),
}


def load_shchur(name: str, root: Path, seed: int) -> Task:
    """One of the graphs, undirected, with binary features; the seed cuts each class 60/20/20."""
    import scipy.sparse

    folder, file, sizes = SHCHUR[name]
    path = root / folder / name / "raw" / f"{file}.npz"
    keys = {f"{m}_{p}": 1 for m in ("adj", "attr") for p in ("data", "indices", "indptr", "shape")}
    raw = read_archive(path, {**keys, "labels": 1})
    check_range(raw["labels"], 0, sizes.classes, f"{path}: a label")
    y = raw["labels"].astype(np.int64)
    matrices = []
    try:
        for m in ("adj", "attr"):
            parts = (raw[f"{m}_data"], raw[f"{m}_indices"], raw[f"{m}_indptr"])
            matrices.append(scipy.sparse.csr_array(parts, shape=raw[f"{m}_shape"]))
            matrices[-1].check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} holds a broken matrix ({error}); fetch it again") from None
    adjacency, x = matrices
    x = x.astype(np.float32)
    x.data = (x.data > 0).astype(np.float32)
    task = Task.from_arrays(
        name,
        edge_index=both_directions(without_loops(np.stack(adjacency.nonzero())), len(y)),
        x=x,
        y=y,
        split=split_each_class(y, seed),
        classes=tuple(map(str, range(int(y.max()) + 1))),
    )
    return sizes.checked(task, path.parent)


def load_heterophilous(name: str, root: Path, seed: int) -> Task:
    """One of the graphs, undirected; seed s takes public split s mod 10 (50/25/25)."""
    path, sizes = root / _file(name), HETEROPHILOUS[name]
    masks = ("train_masks", "val_masks", "test_masks")
    dimensions = {"node_features": 2, "node_labels": 1, "edges": 2, **dict.fromkeys(masks, 2)}
    raw = read_archive(path, dimensions)
    y, n = raw["node_labels"], len(raw["node_labels"])
    if any(raw[mask].shape != (10, n) for mask in masks) or raw["edges"].shape[1] != 2:
        raise InputError(f"{path}: its arrays do not fit {n} nodes and 10 splits; fetch it again")
    check_range(raw["edges"], 0, n, f"{path}: a node id")
    check_range(y, 0, sizes.classes, f"{path}: a label")
    task = Task.from_arrays(
        name,
        edge_index=both_directions(raw["edges"].T, n),
        x=raw["node_features"].astype(np.float32),
        y=y.astype(np.int64),
        split=masks_to_split(*(raw[mask][seed % 10] for mask in masks)),
        classes=tuple(map(str, range(int(y.max()) + 1))),
        metric="roc_auc" if sizes.classes == 2 else "accuracy",
    )
    return sizes.checked(task, path.parent)


def _file(name: str) -> str:
    stem = name.lower().removesuffix("-public").replace("-", "_")
    return f"Heterophilous/{stem}/raw/{stem}.npz"


for _name, (_class, _stem, _sizes) in SHCHUR.items():
    DATASETS.add(
        Dataset(
            _name,
            partial(load_shchur, _name),
            sizes=_sizes,
            files=(f"{_class}/{_name}/raw/{_stem}.npz",),
            download=partial(fetch_with_pyg, _class, _class, (_name,)),
        )
    )
for _name, _sizes in HETEROPHILOUS.items():
    _fetch = partial(fetch_with_pyg, "HeterophilousGraphDataset", "Heterophilous")
    _fetch = partial(_fetch, (_name.removesuffix("-public"),))
    DATASETS.add(
        Dataset(
            _name,
            partial(load_heterophilous, _name),
            metric="roc_auc" if _sizes.classes == 2 else "accuracy",
            sizes=_sizes,
            files=(_file(_name),),
            download=None if _name.endswith("-filtered") else _fetch,  # PyG does not have those
        )
    )
