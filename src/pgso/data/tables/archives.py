"""A user's graph in one file: an .npz archive, an edge list, or a scipy sparse matrix."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from pgso.data.arrays import check_range, identity
from pgso.data.edge_lists import merged
from pgso.data.pyg import answers_of, indices_of
from pgso.data.raw import check_dense, check_num_nodes, read_archive
from pgso.data.splits import split_by_seed
from pgso.data.tables.edges import HEADER
from pgso.data.tables.reader import read_table, tidy
from pgso.data.task import Task
from pgso.errors import InputError
from pgso.graph import Graph

PARTS = ("train", "val", "test")
INDICES = ("indices", "indptr", "row", "col", "offsets")  # arrays of scipy's formats


def load_npz(path: Path, root: Path, seed: int, *, undirected: bool = True) -> Task:
    """A node task from the arrays of an archive, none of them pickled.

    ``edge_index`` (2, E) integers; ``y`` (n,) labels, integers (-1: unknown) or words (empty:
    unknown), or numbers, (n,) or (n, T) floats (NaN: missing); and, if there are, ``x`` (n, F)
    numbers, ``edge_weight`` (E,), and ``train``, ``val`` and ``test``, indices or masks. An edge
    goes both ways if ``undirected``, however often it is listed.
    """
    raw = read_archive(path)
    for key in ("edge_index", "y"):
        if key not in raw:
            raise InputError(f"{path} has no array {key!r}; it has {', '.join(raw) or 'none'}")
    y, edge_index, weight = raw["y"], raw["edge_index"], raw.get("edge_weight")
    n, are_numbers = len(y), y.dtype.kind == "f" and y.ndim in (1, 2)
    if not are_numbers and (y.ndim != 1 or y.dtype.kind not in "biuU"):
        raise InputError(f"{path}: 'y' must be one integer or word per node, got {y.dtype}")
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype.kind not in "iu":
        given = f"{edge_index.dtype} of shape {edge_index.shape}"
        raise InputError(f"{path}: 'edge_index' must be integers of shape (2, E), got {given}")
    is_weight = weight is None or weight.shape == edge_index.shape[1:]
    if not is_weight or (weight is not None and weight.dtype.kind not in "iuf"):
        raise InputError(f"{path}: 'edge_weight' must be one number per edge")
    check_range(edge_index, 0, n, f"{path}: a node id of 'edge_index'")
    x = raw["x"] if "x" in raw else identity(n)
    if x.ndim != 2 or x.shape[0] != n or x.dtype.kind not in "biuf":
        raise InputError(f"{path}: 'x' must be numbers of shape ({n}, F), a row per node")
    if y.dtype.kind == "U":
        y = np.array([tidy(word) or "-1" for word in y])
    answers = answers_of(y, are_numbers)
    if not are_numbers and len(answers["classes"]) < 2:
        raise InputError(f"{path}: 'y' needs two classes or more, got {len(answers['classes'])}")
    parts = [raw[part] for part in PARTS if part in raw]
    if parts and len(parts) < len(PARTS):
        raise InputError(f"{path} must have all of the arrays train, val, test, or none of them")
    split: Any = tuple(indices_of(raw[part], f"{path}: {part}", n) for part in PARTS if parts)
    edge_index, weight, _ = merged(edge_index.astype(np.int64), weight, n, undirected, path)
    split = split or split_by_seed(answers["y"], seed)
    graph: Any = {"edge_index": edge_index, "edge_weight": weight, "x": x.astype(np.float32)}
    return Task.from_arrays(path.stem, split=split, **graph, **answers)


def read_edge_list(path: Path) -> Graph:
    """A graph from lines ``source,target[,weight]`` with node numbers from 0 on."""
    table = read_table(path).with_header(HEADER, (), "source,target")
    width = len(table.names)
    ends = np.stack([table.parsed(name).values for name in table.names[:2]])
    are_numbers = ((ends % 1 == 0) & (ends >= 0) & (ends < 2**53)).all()
    if width not in (2, 3) or not are_numbers:
        problem = "node numbers that are not whole numbers from 0 on"
        problem = problem if width in (2, 3) else f"{width} columns"
        form = "each line must be source,target or source,target,weight with node numbers"
        raise InputError(f"{path} is not an edge list ({problem}); {form}")
    check_num_nodes(int(ends.max(initial=-1)) + 1, ends.shape[1], path)
    weight = torch.from_numpy(table.numbers(table.names[2]).copy()) if width == 3 else None
    return Graph.from_edge_index(torch.from_numpy(ends.astype(np.int64)), weight)


def read_sparse_matrix(path: Path) -> Graph:
    """A graph from a file of ``scipy.sparse.save_npz``, whose indices scipy itself would trust."""
    import scipy.sparse

    raw = read_archive(path)
    try:
        shape, data = tuple(int(size) for size in raw["shape"]), raw["data"]
        indices = [raw[name] for name in INDICES if name in raw]
        if data.dtype.kind not in "biuf" or len(shape) != 2 or min(shape) < 0:
            raise ValueError(f"a matrix of {data.dtype} and shape {shape}")
        if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in indices):
            raise ValueError("its indices are no lists of whole numbers")
        check_num_nodes(max(shape), data.size, path)
        check_dense(len(raw.get("offsets", ())), shape[1], f"{path}: its diagonals")
        matrix = scipy.sparse.load_npz(path)
        if matrix.format in ("csr", "csc", "bsr"):  # others check their indices themselves
            matrix.check_format(full_check=True)
        return Graph.from_scipy(matrix)
    except InputError:
        raise
    except Exception as error:  # a damaged file can raise anything
        problem = f"{path} holds no scipy sparse matrix ({str(error)[:200]})"
        raise InputError(f"{problem}; write one with scipy.sparse.save_npz") from None
