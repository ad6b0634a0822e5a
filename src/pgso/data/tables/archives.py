"""A user's graph in one file: an .npz archive, an edge list, or a scipy sparse matrix."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from pgso.data.arrays import Array, Split, check_range, identity, is_unknown
from pgso.data.edge_lists import merged
from pgso.data.raw import check_dense, check_num_nodes, read_archive
from pgso.data.splits import split_at_random, split_each_class
from pgso.data.tables.answers import encode_labels
from pgso.data.tables.edges import HEADER
from pgso.data.tables.reader import read_table, tidy
from pgso.data.task import Task
from pgso.errors import InputError
from pgso.graph import Graph

PARTS = ("train", "val", "test")
INDICES = {"coo": ("row", "col"), "dia": ("offsets",)}  # arrays of scipy's formats


def load_npz(
    path: Path, root: Path, seed: int, *, undirected: bool = True, metric: str = "auto"
) -> Task:
    """A node task from the arrays of an archive, none of them pickled.

    ``edge_index`` (2, E) integers; ``y`` (n,) labels, integers (-1: unknown) or words (empty:
    unknown), or numbers, (n,) or (n, T) floats (NaN: missing); and, if there are, ``x`` (n, F)
    numbers (otherwise the identity), ``edge_weight`` (E,), and ``train``, ``val`` and ``test``,
    indices or masks.

    Args:
        path: The archive.
        root: Not used.
        seed: Of the split, 60/20/20 of each class, where the archive has none.
        undirected: Whether an edge goes both ways, however often it is listed.
        metric: The objective; ``"auto"``: accuracy of labels, RMSE of numbers.
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
    classes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    if are_numbers:
        y, metric = y.reshape(n, -1), "rmse" if metric == "auto" else metric
        targets = tuple(f"target {k}" for k in range(y.shape[1])) if y.shape[1] > 1 else ("y",)
        split = split_at_random(~is_unknown(y), seed)
    else:
        unknown, metric = "" if y.dtype.kind == "U" else "-1", metric.replace("auto", "accuracy")
        y, classes = encode_labels(["" if str(v) == unknown else tidy(str(v)) for v in y])
        if len(classes) < 2:
            raise InputError(f"{path}: 'y' needs two classes or more, got {len(classes)}")
        split = split_each_class(y, seed)
    edge_index, weight = merged(edge_index.astype(np.int64), weight, n, undirected, path)
    return Task.from_arrays(
        path.stem,
        edge_index=edge_index,
        edge_weight=weight,
        x=x.astype(np.float32),
        y=y,
        split=_split(raw, n, path) or split,
        classes=classes,
        targets=targets,
        metric=metric,
    )


def _split(raw: dict[str, Array], n: int, path: Path) -> Split | None:
    parts = [raw[part] for part in PARTS if part in raw]
    if not parts:
        return None
    if len(parts) < len(PARTS):
        raise InputError(f"{path} must have all of the arrays train, val, test, or none of them")
    train, val, test = (
        np.flatnonzero(p) if p.dtype == bool and p.shape == (n,) else p for p in parts
    )
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in (train, val, test)):
        raise InputError(f"{path}: train, val and test must be indices or masks of {n} nodes")
    return train, val, test


def read_edge_list(path: Path) -> Graph:
    """A graph from lines ``source,target[,weight]`` with node numbers from 0 on.

    Tabs, semicolons or spaces may separate the numbers; above them may be comments that begin with
    ``#`` or ``%``, and a line of column names.
    """
    table = read_table(path).with_header(HEADER, (), "source,target")
    width = len(table.names)
    ends = np.stack([table.parsed(name).values for name in table.names[:2]])
    are_numbers = ((ends % 1 == 0) & (ends >= 0) & (ends < 2**53)).all()
    if width not in (2, 3) or not are_numbers:
        problem = "node numbers that are not whole numbers from 0 on"
        problem = problem if width in (2, 3) else f"{width} columns"
        raise InputError(
            f"{path} is not an edge list ({problem}); "
            "each line must be source,target or source,target,weight with node numbers"
        )
    check_num_nodes(int(ends.max(initial=-1)) + 1, ends.shape[1], path)
    weight = torch.from_numpy(table.numbers(table.names[2]).copy()) if width == 3 else None
    return Graph.from_edge_index(torch.from_numpy(ends.astype(np.int64)), weight)


def read_sparse_matrix(path: Path) -> Graph:
    """A graph from a file of ``scipy.sparse.save_npz``, checked before compiled code sees it.

    scipy itself trusts the index arrays of the file, and reads outside of its memory where they
    are wrong.
    """
    raw = read_archive(path)
    try:
        return Graph.from_scipy(_matrix(raw, path))
    except InputError:
        raise
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path} holds no scipy sparse matrix ({str(error)[:200]}); write one with "
            "scipy.sparse.save_npz"
        ) from None


def _matrix(raw: dict[str, Any], path: Path) -> Any:
    import scipy.sparse

    kind, data = raw["format"].item(), raw["data"]
    kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(size) for size in raw["shape"])
    if kind not in ("csr", "csc", "bsr", *INDICES):
        raise ValueError(f"the format {kind[:40]!r}")
    if data.dtype.kind not in "biuf" or len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"a matrix of {data.dtype} and shape {shape}")
    check_num_nodes(max(shape), data.size, path)
    indices = [raw[name] for name in INDICES.get(kind, ("indices", "indptr"))]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in indices):
        raise ValueError("its indices are no lists of whole numbers")
    array = getattr(scipy.sparse, f"{kind}_array")
    if kind == "coo":
        return array((data, tuple(indices)), shape=shape)  # which checks its indices itself
    if kind == "dia":
        check_dense(len(indices[0]), shape[1], f"{path}: its diagonals")
    matrix = array((data, *indices), shape=shape)
    if kind != "dia":
        matrix.check_format(full_check=True)
        if (np.diff(matrix.indptr) < 0).any():
            raise ValueError("its row pointers go backwards")
    return matrix
