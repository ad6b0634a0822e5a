"""Public graphs whose nodes have classes: citations, web pages, actors, products, heterophily."""

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
        edge_index=_citations(read_pickle(paths["graph"]), n, paths["graph"]),
        x=x,
        y=y,
        classes=tuple(map(str, range(known_y.shape[1]))),
        split=public if split == "public" else split_each_class(y, seed),
    )
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
    root: str  # that the class is given
    raw: str  # folder of the raw files
    prefix: str  # of the split files
    sizes: Sizes  # edges are counted as PyG loads them: directed and distinct


def _webkb(name: str, *sizes: int) -> Origin:
    return Origin("WebKB", "WebKB", f"WebKB/{name}/raw", name, Sizes(1, *sizes))


def _wikipedia(name: str, *sizes: int) -> Origin:
    raw = f"Wikipedia/{name}/geom_gcn/raw"
    return Origin("WikipediaNetwork", "Wikipedia", raw, name, Sizes(1, *sizes))


GEOM_GCN = {
    "Texas": _webkb("texas", 183, 325, 1_703, 5),
    "Wisconsin": _webkb("wisconsin", 251, 515, 1_703, 5),
    "Cornell": _webkb("cornell", 183, 298, 1_703, 5),
    "Chameleon": _wikipedia("chameleon", 2_277, 36_101, 2_325, 5),
    "Squirrel": _wikipedia("squirrel", 5_201, 217_073, 2_089, 5),
    "Actor": Origin("Actor", "Actor", "Actor/raw", "film", Sizes(1, 7_600, 30_019, 932, 5)),
}


def load_geom_gcn(
    name: str, root: Path, seed: int, *, undirected: bool = False, normalise: bool = False
) -> Task:
    """One of the graphs, by default as Geom-GCN and PyG have it: directed, features as stored.

    Seed s takes public split s mod 10 (48/32/20 of each class, as PyG ships them). With
    ``undirected`` every edge gets its reverse, as many later papers (and all spectral theory) want
    it; with ``normalise`` each row of features is divided by its sum.
    """
    origin = GEOM_GCN[name]
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


def _add(
    name: str, load: Any, sizes: Sizes, files: list[str], *fetched: Any, **described: Any
) -> None:
    """Register a graph; ``fetched`` are PyG's class, its root and its arguments."""
    download = partial(fetch_with_pyg, *fetched) if fetched else None
    loader = partial(load, name)
    DATASETS.add(
        Dataset(name, loader, sizes=sizes, files=tuple(files), download=download, **described)
    )


for _name, _sizes in PLANETOID.items():
    _files = [f"{_name}/raw/ind.{_name.lower()}.{part}" for part in PARTS]
    _add(_name, load_planetoid, _sizes, _files, "Planetoid", "", (_name,))
for _name, _origin in GEOM_GCN.items():
    _splits = [f"{_origin.prefix}_split_0.6_0.2_{k}.npz" for k in range(10)]
    _files = ["out1_node_feature_label.txt", "out1_graph_edges.txt", *_splits]
    _files = [f"{_origin.raw}/{file}" for file in _files]
    _pyg = _origin.class_name, _origin.root, () if _name == "Actor" else (_origin.prefix,)
    _suits = {"data_options": {"undirected": True}}  # what published GNN baselines use
    _add(_name, load_geom_gcn, _origin.sizes, _files, *_pyg, model=_suits)
for _name, (_class, _stem, _sizes) in SHCHUR.items():
    _files = [f"{_class}/{_name}/raw/{_stem}.npz"]
    _add(_name, load_shchur, _sizes, _files, _class, _class, (_name,))
for _name, _sizes in HETEROPHILOUS.items():
    _args: tuple[Any, ...] = ()
    if not _name.endswith("-filtered"):  # which PyG's class does not know
        _args = "HeterophilousGraphDataset", "Heterophilous", (_name.removesuffix("-public"),)
    _metric = "roc_auc" if _sizes.classes == 2 else "accuracy"
    _add(_name, load_heterophilous, _sizes, [_file(_name)], *_args, metric=_metric)
