"""Amazon co-purchases and Coauthor networks (Shchur et al., "Pitfalls of GNN evaluation", 2018)."""

from functools import partial
from pathlib import Path

import numpy as np

from pgso.data.archive import read_archive
from pgso.data.arrays import Arrays, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.download import fetch_with_pyg
from pgso.data.edge_lists import both_directions, without_loops
from pgso.data.splits import split_each_class
from pgso.errors import InputError

PUBLISHED = {
    "Computers": ("Amazon", Sizes(1, 13_752, 491_722, 767, 10)),
    "Photo": ("Amazon", Sizes(1, 7_650, 238_162, 745, 8)),
    "CS": ("Coauthor", Sizes(1, 18_333, 163_788, 6_805, 15)),
    "Physics": ("Coauthor", Sizes(1, 34_493, 495_924, 8_415, 5)),
}


def load(name: str, root: Path, seed: int) -> Arrays:
    """One of the graphs, undirected, with binary features; the seed cuts each class 60/20/20."""
    import scipy.sparse

    path = root / _file(name)
    parts = ("data", "indices", "indptr", "shape")
    raw = read_archive(
        path, {f"{m}_{p}": 1 for m in ("adj", "attr") for p in parts} | {"labels": 1}
    )
    y = raw["labels"]
    check_range(y, 0, PUBLISHED[name][1].classes, f"{path}: a label")
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
    arrays = Arrays(
        edge_index=both_directions(without_loops(np.stack(adjacency.nonzero())), len(y)),
        x=x,
        y=y,
        split=split_each_class(y, seed),
        classes=tuple(str(c) for c in range(int(y.max()) + 1)),
    )
    PUBLISHED[name][1].check(arrays, name, path.parent)
    return arrays


def _file(name: str) -> str:
    if PUBLISHED[name][0] == "Amazon":
        return f"Amazon/{name}/raw/amazon_electronics_{name.lower()}.npz"
    return f"Coauthor/{name}/raw/ms_academic_{name[:3].lower()}.npz"


def _download(name: str, root: Path) -> None:
    class_name = PUBLISHED[name][0]
    fetch_with_pyg(class_name, class_name, name, root=root)


for _name, (_, _sizes) in PUBLISHED.items():
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load, _name),
            sizes=_sizes,
            files=(_file(_name),),
            download=partial(_download, _name),
        )
    )
