"""Pickles of arrays, and of nothing else: what the Planetoid files were stored as in Python 2."""

import io
import pickle
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgso.data.arrays import Array, check_range
from pgso.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse


class _Stored:
    """Stands in for scipy's matrix: takes its parts without looking at them."""


def _bytes_of(text: str, encoding: str) -> bytes:
    """Python 3 writes bytes into old pickle formats as a call of ``codecs.encode``."""
    return text.encode("latin1")


# The only names a file may call, each with what is called in its place.
ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Stored,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    # The same as newer versions of Python, numpy and scipy call them.
    ("numpy._core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("scipy.sparse._csr", "csr_matrix"): _Stored,
    ("builtins", "list"): list,
    ("_codecs", "encode"): _bytes_of,
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def read_pickle(path: Path) -> Any:
    """What a pickle holds, if that is arrays, sparse matrices, lists, dictionaries and numbers.

    Anything else is refused by name before it is called.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None
    try:
        return _ArrayUnpickler(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:  # a damaged pickle can raise anything
        raise InputError(
            f"{path} is no pickle of arrays ({error}); it is damaged or hostile, fetch it again"
        ) from None


def read_matrix(path: Path) -> "scipy.sparse.csr_array":  # (rows, columns)
    """A pickled array or sparse matrix of numbers, checked, as compressed sparse rows."""
    import scipy.sparse

    stored = read_pickle(path)
    try:
        if isinstance(stored, _Stored):
            parts = vars(stored)
            shape = parts.get("_shape", parts.get("shape"))
            data, indices, indptr = parts["data"], parts["indices"], parts["indptr"]
            _check_compressed(data, indices, indptr, shape, path)
            return scipy.sparse.csr_array((data, indices, indptr), shape=shape)
        if isinstance(stored, np.ndarray) and stored.ndim == 2 and stored.dtype.kind in "biuf":
            return scipy.sparse.csr_array(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} holds a broken matrix ({error}); fetch it again") from None
    raise InputError(f"{path} must hold a matrix of numbers, got {type(stored).__name__}")


def _check_compressed(data: Array, indices: Array, indptr: Array, shape: Any, path: Path) -> None:
    rows, columns = (int(size) for size in shape)
    if len(indptr) != rows + 1 or indptr[0] != 0 or indptr[-1] != len(data):
        raise ValueError("its row pointers do not fit its entries")
    if (np.diff(indptr) < 0).any() or len(indices) != len(data) or data.dtype.kind not in "biuf":
        raise ValueError("its parts do not fit each other")
    check_range(indices, 0, columns, f"{path}: a column")
