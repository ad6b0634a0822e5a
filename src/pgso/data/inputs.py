"""What users of scikit-learn hand over: graphs, features and labels of many types."""

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse
import torch
from pandas import isna
from torch import Tensor

from pgso.data.arrays import Array, are_values, check_finite, is_on_disk
from pgso.errors import InputError
from pgso.graph import Graph

SPARSE_BELOW = 0.1  # the share of non-zeros under which features are stored as a sparse matrix
NARROW = 64  # columns up to which they stay dense anyway: the dense product costs nothing there


def read_graph(graph: Any, num_nodes: int | None = None) -> Graph:
    """The graph of anything that :meth:`pgso.Graph.of` takes, with one node per row."""
    prepared = Graph.of(graph, num_nodes=num_nodes)
    if num_nodes is not None and prepared.num_nodes != num_nodes:
        counts = f"the graph has {prepared.num_nodes} nodes, but there are {num_nodes} rows"
        raise InputError(f"{counts}; give one row per node")
    return prepared


def read_features(X: Any) -> "Array | scipy.sparse.csr_array":  # (n, F)
    """X as 32-bit numbers, dense or in compressed sparse rows; anything not finite is refused."""
    if isinstance(X, Tensor) and X.layout != torch.strided:  # as the x of our own tasks may be
        X = as_scipy(X.detach().cpu().to_sparse_csr())
    values = scipy.sparse.csr_array(X) if scipy.sparse.issparse(X) else as_array(X, "X")
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise InputError(f"X must be numbers of shape (n, F), got {values.dtype} of {values.shape}")
    values = values.astype(np.float32)
    check_finite(values, "X: features")
    return values


def as_tensor(X: "Array | scipy.sparse.csr_array") -> Tensor:
    """Features as a dense tensor, or a torch.sparse one."""
    if isinstance(X, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(X))
    rowptr, col = (torch.from_numpy(part.astype(np.int64)) for part in (X.indptr, X.indices))
    return torch.sparse_csr_tensor(
        rowptr, col, torch.from_numpy(X.data), size=X.shape, check_invariants=False
    )


def stored(x: "Array | scipy.sparse.csr_array", may_be_sparse: bool = True) -> Tensor:
    """Features as a task has them: CSR if they are wide and mostly zeros; large files mapped."""
    if is_on_disk(x):
        return torch.from_numpy(x)
    n, columns = x.shape
    entries = np.count_nonzero(x) if isinstance(x, np.ndarray) else x.count_nonzero()
    if not may_be_sparse or columns <= NARROW or entries >= SPARSE_BELOW * n * columns:
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        return torch.from_numpy(np.ascontiguousarray(dense, dtype=np.float32))
    matrix = scipy.sparse.csr_array(x, dtype=np.float32, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return as_tensor(matrix)


def graph_of(edge_index: Array, weight: Array | None, num_nodes: int) -> Graph:
    """The graph of numpy's arrays."""
    ends = torch.from_numpy(np.ascontiguousarray(edge_index, dtype=np.int64))
    given = None if weight is None else torch.from_numpy(weight.astype(np.float32))
    return Graph.from_edge_index(ends, given, num_nodes)


def as_scipy(x: Tensor) -> "scipy.sparse.csr_array":
    """A torch.sparse CSR matrix as scipy's, of the same memory."""
    parts = (x.values(), x.col_indices(), x.crow_indices())
    return scipy.sparse.csr_array(tuple(as_array(part) for part in parts), shape=tuple(x.shape))


def read_labels(y: Any) -> tuple[Array, Array]:  # (C,) classes, (n,) codes
    """The classes in order, and the place of each label among them: -1 where it is unknown."""
    labels = as_array(y, "y")
    if labels.ndim != 1:
        raise InputError(f"y must hold one label per node, shape (n,), got {labels.shape}")
    has_label = np.array([not _is_unknown(label) for label in labels.tolist()], dtype=bool)
    codes = np.full(len(labels), -1, dtype=np.int64)
    try:
        classes, codes[has_label] = np.unique(labels[has_label], return_inverse=True)
    except TypeError:
        raise InputError("the labels in y must be of one type, such as all words") from None
    return classes, codes


def read_answers(y: Any, numbers: bool = False) -> tuple[Array, bool]:
    """Y as an array, one column flat, and whether it holds numbers rather than classes.

    Floating-point values are numbers if they have fractions or many values, or if an objective
    asks for ``numbers``. Of a list with None, which means unknown, numbers count as floating-point
    ones if one of them is.
    """
    values = as_array(y, "y")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype.kind == "O" and values.ndim == 1:
        known = [label for label in values.tolist() if not _is_unknown(label)]
        is_number = [isinstance(label, Real) and not isinstance(label, bool) for label in known]
        if all(is_number) and any(isinstance(label, float) for label in known):
            values = np.array([np.nan if isna(v) else v for v in values], dtype=np.float64)
    if values.dtype.kind == "c":
        raise InputError("y holds complex numbers; give real numbers, or classes")
    if values.dtype.kind != "f":
        return values, numbers and values.dtype.kind in "iu"
    if np.isinf(values).any():
        raise InputError("y holds inf; numbers must be finite, or NaN where one is unknown")
    return values, numbers or are_values(values[np.isfinite(values)])


def _is_unknown(label: Any) -> bool:
    if isinstance(label, str | bool):
        return label in ("-1", "nan")
    return np.ndim(label) == 0 and bool(isna(label) or label == -1)


def as_array(values: Any, what: str = "it") -> Array:
    """A tensor, array or list as an array."""
    if not isinstance(values, Tensor):
        try:
            return np.asarray(values)
        except ValueError as error:
            raise InputError(f"{what} is not an array: {error}") from None
    if values.dtype == torch.bfloat16:  # which numpy does not have
        values = values.float()
    return np.asarray(values.numpy(force=True))
