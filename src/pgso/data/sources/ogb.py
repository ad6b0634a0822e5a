"""ogbn-arxiv and ogbg-molhiv from the raw files of the Open Graph Benchmark (NeurIPS 2020)."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pgso.data.arrays import Array, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions, distinct
from pgso.data.molecules import ATOM_CATEGORIES
from pgso.data.places import fetch_zip, held
from pgso.data.raw import read_lines, read_numbers
from pgso.data.task import Task
from pgso.errors import InputError

OGB = "https://snap.stanford.edu/ogb/data"
MOLHIV = Sizes(41_127, 1_049_163, 2_259_376, 9, 2)
TOPICBAG = "ogbn_arxiv_topicbag/ogbn_arxiv"
ARXIV = {  # edges are counted in both directions; the raw file lists each citation once
    "ogbn-arxiv": ("ogbn_arxiv", Sizes(1, 169_343, 2_315_598, 128, 40)),
    "ogbn-arxiv-topicbag": (TOPICBAG, Sizes(1, 169_343, 2_315_598, 40, 40)),
}
PARTS = ("train", "valid", "test")


def load_molhiv(root: Path, seed: int) -> Task:
    """Ogbg-molhiv: does a molecule inhibit HIV replication? The public scaffold split; no seed."""
    folder = root / "ogbg_molhiv"
    given: dict[str, Any] = {"classes": ("inactive", "active"), "categories": ATOM_CATEGORIES}
    task = Task.from_arrays("ogbg-molhiv", metric="roc_auc", **_read_molhiv(folder), **given)
    return MOLHIV.checked(task, folder)


def load_arxiv(name: str, root: Path, seed: int, *, undirected: bool = True) -> Task:
    """ogbn-arxiv: the subject of computer-science papers. The public time split; no seed.

    ``ogbn-arxiv-topicbag`` is the same graph with 40 substitute features, which a language model
    proposed from title and abstract: its scores must not be set beside published ones. With
    ``undirected`` every citation gets its reverse, as in OGB's examples.
    """
    folder, sizes = root / ARXIV[name][0], ARXIV[name][1]
    citations, described = _read_arxiv(folder)
    n, count = len(described["y"]), int(described["y"].max()) + 1
    mapping = folder / "mapping/labelidx2arxivcategeory.csv.gz"  # OGB's spelling
    lines = read_lines(mapping)[1:] if mapping.is_file() else []
    names = dict(line.split(",", 1) for line in lines)
    classes = tuple(names.get(str(c), str(c)).removeprefix("arxiv ") for c in range(count))
    edge_index = both_directions(citations, n)
    task = Task.from_arrays(name, edge_index=edge_index, classes=classes, **described)
    task = sizes.checked(task, folder)
    return task if undirected else task.with_edges(distinct(citations, n))


@held
def _read_molhiv(folder: Path) -> dict[str, Any]:
    """The arrays, as a task takes them."""
    lists = ("num-node-list", "num-edge-list", "graph-label")
    nodes, bonds, y = (_read(folder, f"raw/{part}") for part in lists)
    atoms, edges = _read(folder, "raw/node-feat", 9), _read(folder, "raw/edge", 2)
    fits = nodes.sum() == len(atoms) and bonds.sum() == len(edges)
    if not fits or not len(nodes) == len(bonds) == len(y):
        raise InputError(f"the files in {folder / 'raw'} do not fit each other; fetch them again")
    for column, values in enumerate(ATOM_CATEGORIES):
        check_range(atoms[:, column], 0, values, f"{folder}/raw/node-feat: column {column}")
    check_range(edges, 0, int(nodes.max()), f"{folder}/raw/edge: an atom")
    # OGB lists each bond once, from one atom to the other.
    edges = edges + np.repeat(np.cumsum(nodes) - nodes, bonds)[:, None]
    edge_index, split = np.concatenate([edges, edges[:, ::-1]]).T, _split(folder, "scaffold")
    return {"edge_index": edge_index, "x": atoms, "y": y, "nodes_per_graph": nodes, "split": split}


@held
def _read_arxiv(folder: Path) -> tuple[Array, dict[str, Any]]:
    """Citations, and the other arrays as a task takes them."""
    (n,), y = _read(folder, "raw/num-node-list"), _read(folder, "raw/node-label")
    x, edges = _read(folder, "raw/node-feat", None, np.float32), _read(folder, "raw/edge", 2)
    if not len(x) == len(y) == n:
        raise InputError(f"the files in {folder / 'raw'} do not fit each other; fetch them again")
    check_range(edges, 0, n, f"{folder}/raw/edge.csv.gz: a node")
    return edges.T, {"x": x, "y": y, "split": _split(folder, "time")}


def _read(folder: Path, part: str, columns: int | None = 1, dtype: Any = np.int64) -> Array:
    numbers = read_numbers(folder / f"{part}.csv.gz", dtype, columns)
    return numbers.ravel() if columns == 1 else numbers


def _split(folder: Path, kind: str) -> tuple[Array, ...]:
    return tuple(_read(folder, f"split/{kind}/{part}") for part in PARTS)


def _add(name: str, folder: str, url: str | None, split: str, *raw: str, **described: Any) -> None:
    """Register a dataset, whose archive holds one folder of its name."""
    parts = [f"raw/{part}" for part in ("edge", "node-feat", "num-node-list", *raw)]
    parts += [f"split/{split}/{part}" for part in PARTS]
    files = tuple(f"{folder}/{part}.csv.gz" for part in parts)
    download = None
    if url is not None:
        download = partial(fetch_zip, f"{OGB}/{url}.zip", url.rpartition("/")[2], folder)
    DATASETS.add(Dataset(name, files=files, download=download, **described))


_url, _raw = "graphproppred/csv_mol_download/hiv", ("graph-label", "num-edge-list")
_described = {"load": load_molhiv, "kind": "graph", "metric": "roc_auc", "sizes": MOLHIV}
_add("ogbg-molhiv", "ogbg_molhiv", _url, "scaffold", *_raw, **_described)
for _name, (_folder, _sizes) in ARXIV.items():
    _zip = "nodeproppred/arxiv" if _name == "ogbn-arxiv" else None
    _load = partial(load_arxiv, _name)
    _add(_name, _folder, _zip, "time", "node-label", load=_load, sizes=_sizes)
