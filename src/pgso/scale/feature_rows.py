"""Rows of features, read when a batch needs them: from memory, or from a file on disk."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pgso.data.inputs import as_scipy
from pgso.errors import InputError


class FeatureRows:
    """The rows of x that a batch asks for, and nothing else of it.

    Args:
        x: (n, F), dense (also memory-mapped, also integers) or a torch.sparse CSR matrix.

    Example:
        >>> FeatureRows(torch.eye(3))(torch.tensor([2, 0]))
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
    """

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.matrix: Any = None
        if x.layout != torch.strided:
            self.matrix = as_scipy(x)

    def __call__(self, nodes: Tensor) -> Tensor:  # (b,) -> (b, F)
        """These rows, in this order."""
        if self.matrix is None:
            return self.x.index_select(0, nodes)
        rows = self.matrix[nodes.numpy()]
        rowptr, col, values = map(torch.from_numpy, (rows.indptr, rows.indices, rows.data))
        return torch.sparse_csr_tensor(rowptr, col, values, size=rows.shape, check_invariants=False)


def mapped_features(path: str | Path) -> Tensor:  # (n, F)
    """A ``.npy`` file of numbers as a tensor that stays on disk: rows are read when they are used.

    Put it in the place of a task's x: ``dataclasses.replace(task, x=mapped_features(path))``. The
    file is never written to.
    """
    try:
        # Copy-on-write: torch wants memory that could be written, the file stays as it is.
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} cannot be mapped as an array of numbers ({error})") from None
    if array.ndim != 2 or array.dtype not in (np.float32, np.float64, np.int64):
        raise InputError(
            f"{path} must hold float32, float64 or int64 in two dimensions, a row per node, "
            f"got {array.dtype} of shape {array.shape}; write np.save(path, x.astype('float32'))"
        )
    return torch.from_numpy(array)
