"""WebKB pages, Wikipedia pages and actors, with the ten public splits of Geom-GCN (ICLR 2020)."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pgso.data.arrays import Array, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions, distinct
from pgso.data.places import fetch_with_pyg, held
from pgso.data.raw import check_dense, parse_numbers, read_archive, read_lines
from pgso.data.splits import masks_to_split
from pgso.data.task import Task
from pgso.errors import InputError


class Origin(NamedTuple):
    """Where PyG's class for a graph keeps its raw files, and what is published about them."""

    class_name: str
    root: str  # that the class is given
    raw: str  # folder of the raw files
    prefix: str  # of the split files
    sizes: Sizes  # edges are counted as PyG loads them: directed and distinct


def _webkb(name: str, *sizes: int) -> Origin:
    return Origin("WebKB", "WebKB", f"WebKB/{name}/raw", name, Sizes(1, *sizes))


def _wikipedia(name: str, *sizes: int) -> Origin:
    raw = f"Wikipedia/{name}/geom_gcn/raw"
    return Origin("WikipediaNetwork", "Wikipedia", raw, name, Sizes(1, *sizes))


PUBLISHED = {
    "Texas": _webkb("texas", 183, 325, 1_703, 5),
    "Wisconsin": _webkb("wisconsin", 251, 515, 1_703, 5),
    "Cornell": _webkb("cornell", 183, 298, 1_703, 5),
    "Chameleon": _wikipedia("chameleon", 2_277, 36_101, 2_325, 5),
    "Squirrel": _wikipedia("squirrel", 5_201, 217_073, 2_089, 5),
    "Actor": Origin("Actor", "Actor", "Actor/raw", "film", Sizes(1, 7_600, 30_019, 932, 5)),
}


def load(
    name: str, root: Path, seed: int, *, undirected: bool = False, normalise: bool = False
) -> Task:
    """One of the graphs, by default as Geom-GCN and PyG have it: directed, features as stored.

    Seed s takes public split s mod 10 (48/32/20 of each class, as PyG ships them). With
    ``undirected`` every edge gets its reverse, as many later papers (and all spectral theory) want
    it; with ``normalise`` each row of features is divided by its sum.
    """
    origin = PUBLISHED[name]
    folder = root / origin.raw
    features, edges = folder / "out1_node_feature_label.txt", folder / "out1_graph_edges.txt"
    x, y = _read_nodes(features, origin.class_name == "Actor")
    pairs = [line.replace("\t", ",") for line in read_lines(edges)[1:]]
    edge_index = parse_numbers(pairs, np.int64, 2, edges, 2).T
    check_range(edge_index, 0, len(y), f"{edges}: a node id")

    split = folder / f"{origin.prefix}_split_0.6_0.2_{seed % 10}.npz"
    masks = read_archive(split, {"train_mask": 1, "val_mask": 1, "test_mask": 1})
    if any(len(mask) != len(y) for mask in masks.values()):
        raise InputError(f"{split} splits {len(masks['train_mask'])} nodes, {name} has {len(y)}")
    if normalise:
        total = x.sum(axis=1, keepdims=True)
        x = x / np.where(total == 0, 1, total)
    task = Task.from_arrays(
        name,
        edge_index=distinct(edge_index, len(y)),
        x=x,
        y=y,
        split=masks_to_split(*masks.values()),
        classes=tuple(map(str, range(int(y.max()) + 1))),
    )
    task = origin.sizes.checked(task, folder)
    return task.with_edges(both_directions(edge_index, len(y))) if undirected else task


@held
def _read_nodes(path: Path, bags: bool) -> tuple[Array, Array]:  # (n, F), (n,)
    """Features and classes in the order of the nodes: three fields a line, the first a node's id.

    The second field has all columns of x, or, in ``bags``, the words of a page (Actor).
    """
    rows = [line.split("\t") for line in read_lines(path)[1:]]
    for number, row in enumerate(rows, start=2):
        if len(row) != 3:
            raise InputError(
                f"{path}, line {number}: expected 3 tab-separated fields, got {len(row)}"
            )
    pairs = parse_numbers([f"{node},{label}" for node, _, label in rows], np.int64, 2, path, 2)
    nodes, y = pairs.T
    check_range(nodes, 0, len(nodes), f"{path}: a node id")
    if len(np.unique(nodes)) != len(nodes):
        raise InputError(f"{path} describes a node twice; fetch it again")
    order = np.argsort(nodes)
    if not bags:
        x = parse_numbers([field for _, field, _ in rows], np.float32, None, path, 2)
        return x[order], y[order]
    lists = [
        parse_numbers([field], np.int64, None, path, line).ravel()
        for line, (_, field, _) in enumerate(rows, start=2)
    ]
    words = np.concatenate(lists)
    check_range(words, 0, 10**5, f"{path}: a word")
    check_dense(len(rows), int(words.max()) + 1, f"{path}: bags of words")
    x = np.zeros((len(rows), int(words.max()) + 1), dtype=np.float32)
    x[np.repeat(np.arange(len(rows)), [len(some) for some in lists]), words] = 1
    return x[order], y[order]


for _name, _origin in PUBLISHED.items():
    _splits = [f"{_origin.prefix}_split_0.6_0.2_{k}.npz" for k in range(10)]
    _files = ["out1_node_feature_label.txt", "out1_graph_edges.txt", *_splits]
    _args = () if _name == "Actor" else (_origin.prefix,)
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load, _name),
            sizes=_origin.sizes,
            files=tuple(f"{_origin.raw}/{file}" for file in _files),
            download=partial(fetch_with_pyg, _origin.class_name, _origin.root, _args),
            model={"data_options": {"undirected": True}},  # what published GNN baselines use
        )
    )
