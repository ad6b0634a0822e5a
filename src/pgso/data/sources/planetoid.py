"""Planetoid citation networks: Cora, CiteSeer, PubMed (Yang et al., ICML 2016)."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pgso.data.arrays import Array, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice
from pgso.data.edge_lists import distinct, without_loops
from pgso.data.pickles import read_matrix, read_pickle
from pgso.data.places import fetch_with_pyg
from pgso.data.raw import read_numbers
from pgso.data.splits import split_each_class
from pgso.data.task import Task
from pgso.errors import InputError

PUBLISHED = {
    "Cora": Sizes(1, 2_708, 10_556, 1_433, 7),
    "CiteSeer": Sizes(1, 3_327, 9_104, 3_703, 6),
    "PubMed": Sizes(1, 19_717, 88_648, 500, 3),
}
PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
NUM_VAL = 500  # the public validation set: the nodes after the training set


def load(
    name: str, root: Path, seed: int, *, split: str = "public", normalise: bool = True
) -> Task:
    """A citation network, as PyG loads it: isolated nodes kept, edges distinct, no self-loops.

    The ``split`` is "public" (20 training nodes a class, 500 for validation, 1000 for test) or
    "random" (60/20/20 of each class, by the seed). With ``normalise`` the words of a document sum
    to 1, as in Kipf & Welling (2017).
    """
    import scipy.sparse

    check_choice("split", split, ("public", "random"))
    folder = root / name / "raw"
    paths = {part: folder / f"ind.{name.lower()}.{part}" for part in PARTS}
    train_x, train_y, test_x, test_y, known_x, known_y = (
        read_matrix(paths[part]) for part in PARTS[:6]
    )
    tested = read_numbers(paths["test.index"], np.int64, columns=1).ravel()
    cut = train_x.shape[0]
    fits = (
        known_x.shape[0] == known_y.shape[0] >= cut + NUM_VAL
        and cut == train_y.shape[0]
        and test_x.shape[0] == test_y.shape[0] == len(np.unique(tested)) == len(tested)
        and known_x.shape[1] == test_x.shape[1] == train_x.shape[1]
        and known_y.shape[1] == test_y.shape[1] == train_y.shape[1]
        and (known_x[:cut] != train_x).nnz == 0  # the training nodes are among the known ones
        and (known_y[:cut] != train_y).nnz == 0
    )
    if not fits:
        raise InputError(
            f"the files in {folder} do not fit each other: one of them is truncated or belongs to "
            "another dataset; fetch them again"
        )

    # Test nodes come in the order of test.index. CiteSeer lacks some of them: isolated nodes
    # without words, whose (unused) class is 0 as in PyG.
    first, n = known_x.shape[0], int(tested.max()) + 1
    check_range(tested, first, first + 10 * len(tested), f"{paths['test.index']}: an index")
    spread = scipy.sparse.csr_array(
        (np.ones(len(tested)), (tested - first, np.arange(len(tested)))),
        shape=(n - first, len(tested)),
    )
    x = scipy.sparse.vstack([known_x, spread @ test_x]).tocsr().astype(np.float32)
    y = np.concatenate([known_y.toarray(), (spread @ test_y).toarray()]).argmax(1)
    if normalise:
        total = np.asarray(x.sum(axis=1)).ravel()
        x = scipy.sparse.csr_array(scipy.sparse.diags_array(1 / np.maximum(total, 1)) @ x)
    public = np.arange(cut), np.arange(cut, cut + NUM_VAL), np.sort(tested)
    task = Task.from_arrays(
        name,
        edge_index=_edges(read_pickle(paths["graph"]), n, paths["graph"]),
        x=x,
        y=y,
        classes=tuple(map(str, range(known_y.shape[1]))),
        split=public if split == "public" else split_each_class(y, seed),
    )
    return PUBLISHED[name].checked(task, folder)


def _edges(neighbours: Any, n: int, path: Path) -> Array:
    try:
        counts = [len(targets) for targets in neighbours.values()]
        if sum(counts) > path.stat().st_size:  # one list may stand in many places
            raise ValueError("more neighbours than the file has bytes")
        source = np.repeat(np.array(list(neighbours), dtype=np.int64), counts)
        target = np.array([i for targets in neighbours.values() for i in targets], dtype=np.int64)
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise InputError(f"{path} must hold a dictionary of neighbours; fetch it again") from None
    edge_index = np.stack([source, target])
    check_range(edge_index, 0, n, f"{path}: a node id")
    return distinct(without_loops(edge_index), n)


for _name, _sizes in PUBLISHED.items():
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load, _name),
            sizes=_sizes,
            files=tuple(f"{_name}/raw/ind.{_name.lower()}.{part}" for part in PARTS),
            download=partial(fetch_with_pyg, "Planetoid", "", (_name,)),
        )
    )
