"""Public graphs whose nodes have classes: citations, web pages and actors."""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgso.data.arrays import Array, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes, check_choice
from pgso.data.edge_lists import both_directions, distinct, without_loops
from pgso.data.pickles import read_matrix, read_pickle
from pgso.data.places import fetch_with_pyg, held
from pgso.data.raw import check_dense, parse_numbers, read_archive, read_lines, read_numbers
from pgso.data.splits import masks_to_split, split_each_class
from pgso.data.task import Task
from pgso.errors import InputError

# Planetoid citation networks (Yang et al., ICML 2016).
PLANETOID = {
    "Cora": Sizes(1, 2_708, 10_556, 1_433, 7),
    "CiteSeer": Sizes(1, 3_327, 9_104, 3_703, 6),
    "PubMed": Sizes(1, 19_717, 88_648, 500, 3),
}
PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
NUM_VAL = 500  # the public validation set: the nodes after the training set


def load_planetoid(
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
        problem = "do not fit each other: one of them is truncated or belongs to another dataset"
        raise InputError(f"the files in {folder} {problem}; fetch them again")
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
    given: dict[str, Any] = {"x": x, "y": y, "classes": tuple(map(str, range(known_y.shape[1])))}
    given["split"] = public if split == "public" else split_each_class(y, seed)
    edge_index = _citations(read_pickle(paths["graph"]), n, paths["graph"])
    task = Task.from_arrays(name, edge_index=edge_index, **given)
    return PLANETOID[name].checked(task, folder)


def _citations(neighbours: Any, n: int, path: Path) -> Array:
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


# WebKB pages, Wikipedia pages and actors, with the ten public splits of Geom-GCN (ICLR 2020).


class Origin(NamedTuple):
    """Where PyG's class for a graph keeps its raw files, and what is published about them."""

    class_name: str
    raw: str  # folder of the raw files, below the one that the class is given
    prefix: str  # of the split files
    sizes: Sizes  # edges are counted as PyG loads them: directed and distinct


WEBKB, WIKI = ("WebKB", "WebKB/{}/raw"), ("WikipediaNetwork", "Wikipedia/{}/geom_gcn/raw")
GEOM_GCN = {
    "Texas": Origin(*WEBKB, "texas", Sizes(1, 183, 325, 1_703, 5)),
    "Wisconsin": Origin(*WEBKB, "wisconsin", Sizes(1, 251, 515, 1_703, 5)),
    "Cornell": Origin(*WEBKB, "cornell", Sizes(1, 183, 298, 1_703, 5)),
    "Chameleon": Origin(*WIKI, "chameleon", Sizes(1, 2_277, 36_101, 2_325, 5)),
    "Squirrel": Origin(*WIKI, "squirrel", Sizes(1, 5_201, 217_073, 2_089, 5)),
    "Actor": Origin("Actor", "Actor/raw", "film", Sizes(1, 7_600, 30_019, 932, 5)),
}
FEATURES, EDGES = "out1_node_feature_label.txt", "out1_graph_edges.txt"


def load_geom_gcn(
    name: str, root: Path, seed: int, *, undirected: bool = False, normalise: bool = False
) -> Task:
    """One of the graphs, by default as Geom-GCN and PyG have it: directed, features as stored.

    Seed s takes public split s mod 10 (48/32/20 of each class, as PyG ships them). With
    ``undirected`` every edge gets its reverse, as many later papers (and all spectral theory) want
    it; with ``normalise`` each row of features is divided by its sum.
    """
    origin = GEOM_GCN[name]
    folder = root / origin.raw.format(origin.prefix)
    edges = folder / EDGES
    x, y = _read_nodes(folder / FEATURES, origin.class_name == "Actor")
    pairs = [line.replace("\t", ",") for line in read_lines(edges)[1:]]
    edge_index = parse_numbers(pairs, np.int64, 2, edges, 2).T
    check_range(edge_index, 0, len(y), f"{edges}: a node id")
    path = folder / f"{origin.prefix}_split_0.6_0.2_{seed % 10}.npz"
    masks = read_archive(path, {"train_mask": 1, "val_mask": 1, "test_mask": 1})
    if any(len(mask) != len(y) for mask in masks.values()):
        raise InputError(f"{path} splits {len(masks['train_mask'])} nodes, {name} has {len(y)}")
    if normalise:
        total = x.sum(axis=1, keepdims=True)
        x = x / np.where(total == 0, 1, total)
    classes, split = tuple(map(str, range(int(y.max()) + 1))), masks_to_split(*masks.values())
    given: dict[str, Any] = {"x": x, "y": y, "split": split, "classes": classes}
    task = Task.from_arrays(name, edge_index=distinct(edge_index, len(y)), **given)
    task = origin.sizes.checked(task, folder)
    return task.with_edges(both_directions(edge_index, len(y))) if undirected else task


@held
def _read_nodes(path: Path, bags: bool) -> tuple[Array, Array]:  # (n, F), (n,)
    """Features and classes by node; ``bags``: fields hold the words of a page, not all columns."""
    rows = [line.split("\t") for line in read_lines(path)[1:]]
    for line, row in enumerate(rows, start=2):
        if len(row) != 3:
            problem = f"expected 3 tab-separated fields, got {len(row)}"
            raise InputError(f"{path}, line {line}: {problem}")
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


UNDIRECTED = {"data_options": {"undirected": True}}  # what published GNN baselines use
for _name, _sizes in PLANETOID.items():
    _files = tuple(f"{_name}/raw/ind.{_name.lower()}.{part}" for part in PARTS)
    _fetch = partial(fetch_with_pyg, "Planetoid", "", (_name,))
    _load = partial(load_planetoid, _name)
    DATASETS.add(Dataset(_name, _load, sizes=_sizes, files=_files, download=_fetch))
for _name, _origin in GEOM_GCN.items():
    _folder, _loader = _origin.raw.format(_origin.prefix), partial(load_geom_gcn, _name)
    _splits = [f"{_origin.prefix}_split_0.6_0.2_{k}.npz" for k in range(10)]
    _files = tuple(f"{_folder}/{file}" for file in (FEATURES, EDGES, *_splits))
    _root, _args = _folder.partition("/")[0], () if _name == "Actor" else (_origin.prefix,)
    _fetch = partial(fetch_with_pyg, _origin.class_name, _root, _args)
    _known: dict[str, Any] = {"sizes": _origin.sizes, "files": _files, "download": _fetch}
    DATASETS.add(Dataset(_name, _loader, model=UNDIRECTED, **_known))
