"""A user's graph alone, without labels: an edge list, or a scipy sparse matrix."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from pgso.data.archive import read_archive
from pgso.data.arrays import check_range
from pgso.data.limits import check_dense, check_num_nodes
from pgso.data.text import parse_numbers, read_lines
from pgso.errors import InputError
from pgso.graph import Graph

COMMENTS = "#%"  # as public edge lists have them
COMPRESSED = ("csr", "csc", "bsr")


def read_edge_list(path: Path) -> Graph:
    """A graph from lines ``source,target[,weight]`` with node numbers from 0 on.

    Tabs, semicolons or spaces may separate the numbers; above them may be comments that begin with
    ``#`` or ``%``, and a line of column names.
    """
    lines = [line.strip() for line in read_lines(path)]
    first = next((k for k, line in enumerate(lines) if line and line[0] not in COMMENTS), None)
    if first is None:
        raise InputError(f"{path} is not an edge list; it has no lines but comments")
    first += any(character.isalpha() for character in lines[first].replace("e", ""))
    lines = lines[first:]
    separator = next((mark for mark in ",;\t " if lines and mark in lines[0]), ",")
    if separator != ",":
        parts = None if separator == " " else separator  # None: runs of blanks
        lines = [",".join(line.split(parts)) for line in lines]
    try:
        table = parse_numbers(lines, np.float64, None, path, first + 1)
    except InputError as error:
        raise _no_edge_list(path, str(error).removeprefix(f"{path}, ")) from None
    if table.shape[1] not in (2, 3):
        raise _no_edge_list(path, f"{table.shape[1]} columns")
    ends = table[:, :2]
    if not ((ends % 1 == 0) & (ends >= 0) & (ends < 2**53)).all():
        raise _no_edge_list(path, "node numbers that are not whole numbers from 0 on")
    check_num_nodes(int(ends.max(initial=-1)) + 1, len(ends), path)
    weight = torch.from_numpy(table[:, 2].copy()) if table.shape[1] == 3 else None
    return Graph.from_edge_index(torch.from_numpy(ends.T.astype(np.int64)), weight)


def _no_edge_list(path: Path, problem: str) -> InputError:
    return InputError(
        f"{path} is not an edge list ({problem}); "
        "each line must be source,target or source,target,weight with node numbers"
    )


def read_sparse_matrix(path: Path) -> Graph:
    """A graph from a file of ``scipy.sparse.save_npz``, checked before compiled code sees it.

    scipy itself trusts the index arrays of the file, and reads outside of its memory where they
    are wrong.
    """
    raw = read_archive(path)
    try:
        matrix = _matrix(raw, path)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error)[:200]
        raise InputError(
            f"{path} holds no scipy sparse matrix ({reason}); write one with scipy.sparse.save_npz"
        ) from None
    return Graph.from_scipy(matrix)


def _matrix(raw: dict[str, Any], path: Path) -> Any:
    import scipy.sparse

    kind = raw["format"].item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(size) for size in raw["shape"])
    data = raw["data"]
    if data.dtype.kind not in "biuf":
        raise ValueError(f"entries of type {data.dtype}")
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"a matrix of shape {shape}")
    check_num_nodes(max(shape), data.size, path)
    if kind == "coo":
        row, col = raw["row"], raw["col"]
        _check_indices(row, col)
        if not row.shape == col.shape == data.shape:
            raise ValueError("its parts do not fit each other")
        check_range(row, 0, shape[0], f"{path}: a row")
        check_range(col, 0, shape[1], f"{path}: a column")
        return scipy.sparse.coo_array((data, (row, col)), shape=shape)
    if kind == "dia":
        _check_indices(raw["offsets"])
        check_dense(len(raw["offsets"]), shape[1], f"{path}: its diagonals")
        return scipy.sparse.dia_array((data, raw["offsets"]), shape=shape)
    if kind not in COMPRESSED:
        raise ValueError(f"the format {kind[:40]!r}")
    _check_indices(raw["indices"], raw["indptr"])
    array = getattr(scipy.sparse, f"{kind}_array")
    matrix = array((data, raw["indices"], raw["indptr"]), shape=shape)
    matrix.check_format(full_check=True)
    if (np.diff(matrix.indptr) < 0).any():
        raise ValueError("its row pointers go backwards")
    return matrix


def _check_indices(*parts: Any) -> None:
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in parts):
        raise ValueError("its indices are no lists of whole numbers")
