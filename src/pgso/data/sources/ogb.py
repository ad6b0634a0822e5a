"""ogbn-arxiv and ogbg-molhiv from the raw files of the Open Graph Benchmark (NeurIPS 2020)."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pgso.data.arrays import Array, Split, check_range
from pgso.data.dataset import DATASETS, Dataset, Sizes
from pgso.data.edge_lists import both_directions, distinct
from pgso.data.molecules import ATOM_CATEGORIES
from pgso.data.places import fetch_zip, held
from pgso.data.raw import read_lines, read_numbers
from pgso.data.task import Task
from pgso.errors import InputError

OGB = "https://snap.stanford.edu/ogb/data"
MOLHIV = Sizes(41_127, 1_049_163, 2_259_376, 9, 2)
ARXIV = {  # edges are counted in both directions; the raw file lists each citation once
    "ogbn-arxiv": ("ogbn_arxiv", Sizes(1, 169_343, 2_315_598, 128, 40)),
    "ogbn-arxiv-topicbag": (
        "ogbn_arxiv_topicbag/ogbn_arxiv",
        Sizes(1, 169_343, 2_315_598, 40, 40),
    ),
}
PARTS = ("train", "valid", "test")
MOLHIV_FILES = tuple(
    [f"raw/{part}.csv.gz" for part in ("edge", "node-feat", "graph-label")]
    + [f"raw/{part}.csv.gz" for part in ("num-node-list", "num-edge-list")]
    + [f"split/scaffold/{part}.csv.gz" for part in PARTS]
)
ARXIV_FILES = tuple(
    [f"raw/{part}.csv.gz" for part in ("edge", "node-feat", "node-label", "num-node-list")]
    + [f"split/time/{part}.csv.gz" for part in PARTS]
)


def load_molhiv(root: Path, seed: int) -> Task:
    """ogbg-molhiv: does a molecule inhibit HIV replication? The public scaffold split; no seed.

    x holds OGB's nine integer atom features.
    """
    folder = root / "ogbg_molhiv"
    task = Task.from_arrays(
        "ogbg-molhiv",
        **_read_molhiv(folder),
        classes=("inactive", "active"),
        metric="roc_auc",
        categories=ATOM_CATEGORIES,
    )
    return MOLHIV.checked(task, folder)


def load_arxiv(name: str, root: Path, seed: int, *, undirected: bool = True) -> Task:
    """ogbn-arxiv: the subject of computer-science papers. The public time split; no seed.

    ``ogbn-arxiv-topicbag`` is the same graph with 40 substitute features, which a language model
    proposed from title and abstract: its scores must not be set beside published ones.

    Args:
        name: As published.
        root: The data root.
        seed: Not used.
        undirected: Whether every citation gets its reverse, as in OGB's examples.
    """
    folder = root / ARXIV[name][0]
    citations, x, y, split = _read_arxiv(folder)
    n = len(y)
    task = Task.from_arrays(
        name,
        edge_index=both_directions(citations, n),
        x=x,
        y=y,
        split=split,
        classes=_arxiv_classes(folder, int(y.max()) + 1),
    )
    task = ARXIV[name][1].checked(task, folder)
    return task if undirected else task.with_edges(distinct(citations, n))


@held
def _read_molhiv(folder: Path) -> dict[str, Any]:
    """The arrays, as a task takes them."""

    def read(part: str, columns: int) -> Array:
        return read_numbers(folder / f"raw/{part}.csv.gz", np.int64, columns)

    nodes = read("num-node-list", 1).ravel()
    bonds = read("num-edge-list", 1).ravel()
    atoms, edges = read("node-feat", 9), read("edge", 2)
    y = read("graph-label", 1).ravel()
    if not (
        nodes.sum() == len(atoms)
        and bonds.sum() == len(edges)
        and len(nodes) == len(bonds) == len(y)
    ):
        raise InputError(f"the files in {folder / 'raw'} do not fit each other; fetch them again")
    for column, values in enumerate(ATOM_CATEGORIES):
        check_range(atoms[:, column], 0, values, f"{folder}/raw/node-feat: column {column}")
    check_range(edges, 0, int(nodes.max()), f"{folder}/raw/edge: an atom")
    # OGB lists each bond once, from one atom to the other.
    start = np.repeat(np.cumsum(nodes) - nodes, bonds)
    edges = edges + start[:, None]
    return {
        "edge_index": np.concatenate([edges, edges[:, ::-1]]).T,
        "x": atoms,
        "y": y,
        "nodes_per_graph": nodes,
        "split": _read_split(folder / "split/scaffold"),
    }


@held
def _read_arxiv(folder: Path) -> tuple[Array, Array, Array, Split]:
    """Citations, features, classes and the public split."""
    raw = folder / "raw"
    (n,) = read_numbers(raw / "num-node-list.csv.gz", np.int64, 1).ravel()
    y = read_numbers(raw / "node-label.csv.gz", np.int64, 1).ravel()
    x = read_numbers(raw / "node-feat.csv.gz", np.float32)
    edges = read_numbers(raw / "edge.csv.gz", np.int64, 2)
    if not len(x) == len(y) == n:
        raise InputError(f"the files in {raw} do not fit each other; fetch them again")
    check_range(edges, 0, n, f"{raw}/edge.csv.gz: a node")
    return edges.T, x, y, _read_split(folder / "split/time")


def _read_split(folder: Path) -> Split:
    parts = (read_numbers(folder / f"{part}.csv.gz", np.int64, 1).ravel() for part in PARTS)
    train, val, test = parts
    return train, val, test


def _arxiv_classes(folder: Path, count: int) -> tuple[str, ...]:
    path = folder / "mapping/labelidx2arxivcategeory.csv.gz"  # OGB's spelling
    if not path.is_file():
        return tuple(str(c) for c in range(count))
    names = dict(line.split(",", 1) for line in read_lines(path)[1:])
    return tuple(names.get(str(c), str(c)).removeprefix("arxiv ") for c in range(count))


DATASETS.add(
    Dataset(
        name="ogbg-molhiv",
        load=load_molhiv,
        kind="graph",
        metric="roc_auc",
        sizes=MOLHIV,
        files=tuple(f"ogbg_molhiv/{file}" for file in MOLHIV_FILES),
        download=partial(
            fetch_zip, f"{OGB}/graphproppred/csv_mol_download/hiv.zip", "hiv", "ogbg_molhiv"
        ),
    )
)
for _name, (_folder, _sizes) in ARXIV.items():
    DATASETS.add(
        Dataset(
            name=_name,
            load=partial(load_arxiv, _name),
            sizes=_sizes,
            files=tuple(f"{_folder}/{file}" for file in ARXIV_FILES),
            download=partial(fetch_zip, f"{OGB}/nodeproppred/arxiv.zip", "arxiv", _folder)
            if _name == "ogbn-arxiv"
            else None,
        )
    )
