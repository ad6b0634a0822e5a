"""TU datasets: collections of small graphs (Morris et al., 2020, graphlearning.io)."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pgso.data.arrays import Array, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice, options_of
from pgso.data.edge_lists import distinct, without_loops
from pgso.data.places import fetch_with_pyg
from pgso.data.raw import check_dense, read_numbers
from pgso.data.splits import split_into_folds
from pgso.data.task import Task
from pgso.errors import InputError

PUBLISHED = {
    "MUTAG": Sizes(188, 3_371, 7_442, 7, 2),
    "PTC_MR": Sizes(344, 4_915, 10_108, 18, 2),
    "PROTEINS": Sizes(1_113, 43_471, 162_088, 3, 2),
    "IMDB-BINARY": Sizes(1_000, 19_773, 193_062, 136, 2),
    "IMDB-MULTI": Sizes(1_500, 19_502, 197_806, 89, 3),
}
MAX_LABELS = 10**4
MAX_DEGREE = 511  # larger degrees share a column: one hub must not make all features wide


def load(
    name: str,
    root: Path,
    seed: int,
    *,
    protocol: str = "fair",
    folds: int = 10,
    attributes: bool = False,
) -> Task:
    """A collection of graphs, as PyG loads it: edges distinct, no self-loops.

    Nodes are described by their one-hot labels (with ``attributes``, by these too), by their
    attributes if there are no labels, by their one-hot degree if there is neither. Seed s is fold
    s mod ``folds`` of shuffling s // ``folds``; by the ``protocol`` "gin" there is no test set.
    """
    check_choice("protocol", protocol, ("fair", "gin"))
    folder = root / name / "raw"
    files = ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes")
    edges, owners, answers, labels, numbers = (folder / f"{name}_{part}.txt" for part in files)
    owner = read_numbers(owners, np.int64, columns=1).ravel() - 1
    if (np.diff(owner) < 0).any() or owner.min() < 0:
        raise InputError(f"{owners}: graphs must be numbered from 1, in order")
    values, y = np.unique(read_numbers(answers, np.int64, columns=1).ravel(), return_inverse=True)
    check_range(owner, 0, len(y), f"{owners}: a graph (counted from 0)")
    n = len(owner)
    edge_index = read_numbers(edges, np.int64, columns=2).T - 1
    check_range(edge_index, 0, n, f"{edges}: a node (counted from 0)")
    edge_index = distinct(without_loops(edge_index), n)
    parts: list[Array] = []
    if numbers.is_file() and (attributes or not labels.is_file()):
        parts.append(read_numbers(numbers, np.float32))
    if labels.is_file():
        columns = read_numbers(labels, np.int64).T
        parts += [_one_hot(column, int(column.min())) for column in columns]
    if not parts:
        degree = np.bincount(edge_index[1], minlength=n)
        parts.append(_one_hot(np.minimum(degree, MAX_DEGREE), 0))
    if any(len(part) != n for part in parts):
        raise InputError(f"{folder}: {n} nodes have {len(parts[0])} rows of labels or attributes")
    given: dict[str, Any] = {"edge_index": edge_index, "x": np.concatenate(parts, axis=1), "y": y}
    split, classes = split_into_folds(y, seed, folds, protocol), tuple(map(str, values))
    given |= {"classes": classes, "split": split}
    task = Task.from_arrays(name, nodes_per_graph=np.bincount(owner, minlength=len(y)), **given)
    return task if attributes or name not in PUBLISHED else PUBLISHED[name].checked(task, folder)


def _one_hot(labels: Array, lowest: int) -> Array:  # (n, values)
    values = int(labels.max()) - lowest + 1  # of Python's own numbers, which do not overflow
    if values > MAX_LABELS:
        raise InputError(f"node labels span {values} values, too many for one-hot features")
    check_dense(len(labels), values, "one-hot node labels")
    x = np.zeros((len(labels), values), dtype=np.float32)
    x[np.arange(len(labels)), labels - lowest] = 1
    return x


def tu_dataset(name: str, root: Path) -> Dataset | None:
    """Any other TU dataset: one whose files are there, or ``tu:NAME``, which may be downloaded."""
    prefix, _, rest = name.rpartition(":")
    if prefix.lower() == "tu" or (root / name / "raw" / f"{name}_A.txt").is_file():
        return _dataset(rest)
    return None


def _dataset(name: str, sizes: Sizes | None = None) -> Dataset:
    parts, loader = ("A", "graph_indicator", "graph_labels"), partial(load, name)
    return Dataset(
        name=name,
        load=loader,
        options=options_of(loader),
        kind="graph",
        sizes=sizes,
        files=tuple(f"{name}/raw/{name}_{part}.txt" for part in parts),
        download=partial(fetch_with_pyg, "TUDataset", "", (name,)),
    )


for _name, _sizes in PUBLISHED.items():
    DATASETS.add(_dataset(_name, _sizes))
