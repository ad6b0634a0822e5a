"""WebKB pages, Wikipedia pages and actors, with the ten public splits of Geom-GCN (ICLR 2020)."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions, distinct
from pgso.data.places import fetch_with_pyg, held
from pgso.data.raw import check_dense, parse_numbers, read_archive, read_lines
from pgso.data.splits import masks_to_split
from pgso.data.task import Task
from pgso.errors import InputError


@dataclass(frozen=True)
class Origin:
    """Where PyG's class for a graph keeps its raw files, and what is published about them."""

    class_name: str
    root: str  # that the class is given
    args: tuple[str, ...]
    raw: str  # folder of the raw files
    prefix: str  # of the split files
    sizes: Sizes


# Edges are counted as PyG loads them: directed and distinct.
# fmt: off
PUBLISHED = {
    "Texas": Origin("WebKB", "WebKB", ("texas",), "WebKB/texas/raw", "texas",
                    Sizes(1, 183, 325, 1_703, 5)),
    "Wisconsin": Origin("WebKB", "WebKB", ("wisconsin",), "WebKB/wisconsin/raw", "wisconsin",
                        Sizes(1, 251, 515, 1_703, 5)),
    "Cornell": Origin("WebKB", "WebKB", ("cornell",), "WebKB/cornell/raw", "cornell",
                      Sizes(1, 183, 298, 1_703, 5)),
    "Chameleon": Origin("WikipediaNetwork", "Wikipedia", ("chameleon",),
                        "Wikipedia/chameleon/geom_gcn/raw", "chameleon",
                        Sizes(1, 2_277, 36_101, 2_325, 5)),
    "Squirrel": Origin("WikipediaNetwork", "Wikipedia", ("squirrel",),
                       "Wikipedia/squirrel/geom_gcn/raw", "squirrel",
                       Sizes(1, 5_201, 217_073, 2_089, 5)),
    "Actor": Origin("Actor", "Actor", (), "Actor/raw", "film", Sizes(1, 7_600, 30_019, 932, 5)),
}
# fmt: on


def load(
    name: str, root: Path, seed: int, *, undirected: bool = False, normalise: bool = False
) -> Task:
    """One of the graphs, by default as Geom-GCN and PyG have it: directed, features as stored.

    Args:
        name: As published.
        root: The data root.
        seed: Seed s takes public split s mod 10 (48/32/20 of each class, as PyG ships them).
        undirected: Whether every edge gets its reverse, as many later papers (and all spectral
            theory) want it.
        normalise: Whether each row of features is divided by its sum.
    """
    origin = PUBLISHED[name]
    folder = root / origin.raw
    features, edges = folder / "out1_node_feature_label.txt", folder / "out1_graph_edges.txt"
    x, y = _read_nodes(features, origin.class_name == "Actor")
    edge_index = parse_numbers(
        [line.replace("\t", ",") for line in read_lines(edges)[1:]], np.int64, 2, edges, 2
    ).T
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
        classes=tuple(str(c) for c in range(int(y.max()) + 1)),
    )
    task = origin.sizes.checked(task, folder)
    return task.with_edges(both_directions(edge_index, len(y))) if undirected else task


@held
def _read_nodes(path: Path, bags: bool) -> tuple[Array, Array]:  # (n, F), (n,)
    """Features and classes in the order of the nodes: three fields a line, the first a node's id.

    Args:
        path: The file.
        bags: Whether a page's words are listed (Actor) rather than all columns of x.
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
    fields = [features for _, features, _ in rows]
    x = _bags(fields, path) if bags else parse_numbers(fields, np.float32, None, path, 2)
    order = np.argsort(nodes)
    return x[order], y[order]


def _bags(fields: list[str], path: Path) -> Array:  # (n, F)
    bags = [
        parse_numbers([field], np.int64, None, path, line).ravel()
        for line, field in enumerate(fields, start=2)
    ]
    words = np.concatenate(bags)
    check_range(words, 0, 10**5, f"{path}: a word")
    check_dense(len(bags), int(words.max()) + 1, f"{path}: bags of words")
    x = np.zeros((len(bags), int(words.max()) + 1), dtype=np.float32)
    x[np.repeat(np.arange(len(bags)), [len(bag) for bag in bags]), words] = 1
    return x


def _files(origin: Origin) -> tuple[str, ...]:
    splits = [f"{origin.prefix}_split_0.6_0.2_{k}.npz" for k in range(10)]
    names = ["out1_node_feature_label.txt", "out1_graph_edges.txt", *splits]
    return tuple(f"{origin.raw}/{name}" for name in names)


for _name, _origin in PUBLISHED.items():
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load, _name),
            sizes=_origin.sizes,
            files=_files(_origin),
            download=partial(fetch_with_pyg, _origin.class_name, _origin.root, _origin.args),
            model={"data_options": {"undirected": True}},  # what published GNN baselines use
        )
    )
