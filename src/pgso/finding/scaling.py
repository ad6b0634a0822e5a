"""Features made ready for ridge regression: learned on one graph, applied to any."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pgso.data.inputs import as_scipy

EXACT = 1000  # columns up to which principal components are exact


@dataclass(frozen=True, eq=False)
class Preparation:
    """How features of nodes are prepared.

    Dense columns have zero mean and unit variance on the graph it was learned on; a constant one
    becomes ones. Sparse rows have norm 1, so that a long text does not count more than a short one.
    Either may then be turned into principal components. Dense features get one more column of ones:
    its sums over neighbours are the degrees, which centred features hide.
    """

    mean: Tensor | None  # (F,) subtracted from dense columns; None: features were sparse
    factor: Tensor | None  # (F,) one over the deviation, or over the value of a constant column
    V: Tensor | None = None  # (F, k) principal components
    offset: Tensor | None = None  # (1, k) the components of the mean

    @classmethod
    def of(cls, x: Tensor, components: int | None = None) -> "Preparation":
        """Learn it from features, (n, F); ``components``: how many, None for no reduction."""
        if x.layout != torch.strided:
            first = cls(None, None)
        else:
            # In units of a power of 2, which costs no digits: squares of 1e30 have no float.
            values = x.float()
            unit = torch.exp2(torch.frexp(values.abs().amax(dim=0)).exponent.float())
            values = values / unit
            mean = values.mean(dim=0)
            deviation = (values - mean).square().mean(dim=0).sqrt()
            varies = deviation > 1e-6 * values.abs().amax(dim=0)
            factor = torch.where(varies, deviation, mean)
            factor = torch.where(factor == 0, factor, 1 / factor) / unit
            first = cls(torch.where(varies, mean * unit, 0.0), factor)
        if components is None:
            return first
        columns = first(x)
        if first.mean is not None:
            columns = columns[:, :-1]  # the ones come last, and are added again
        return cls(first.mean, first.factor, *_components(columns, components))

    def __call__(self, x: Tensor) -> Tensor:
        """Features prepared, (n, F) or (n, k); dense where those it was learned on were."""
        if self.mean is None or self.factor is None:
            x = unit_rows(x if x.layout != torch.strided else x.to_sparse_csr())
        else:
            x = x if x.layout == torch.strided else x.to_dense()
            x = (x.float() - self.mean) * self.factor
        if self.V is not None and self.offset is not None:
            x = x @ self.V - self.offset
        return x if self.mean is None else torch.cat([x, x.new_ones(len(x), 1)], dim=1)


def standardised(x: Tensor) -> Tensor:
    """Dense columns with mean 0 and variance 1; sparse features as they are."""
    return Preparation.of(x)(x)[:, :-1] if x.layout == torch.strided else x


def principal_components(x: Tensor, number: int) -> Tensor:  # (n, F) -> (n, number)
    """The leading principal components of x; dense columns are standardised first."""
    x = standardised(x)
    V, offset = _components(x, number)
    return x @ V - offset


def unit_rows(x: Tensor) -> Tensor:
    """Sparse rows of norm 1."""
    rows = torch.repeat_interleave(torch.arange(x.size(0)), x.crow_indices().diff())
    squares = torch.zeros(x.size(0)).index_add_(0, rows, x.values().float().square())
    values = x.values().float() / squares.sqrt().clamp(min=1e-30)[rows]
    index = x.crow_indices(), x.col_indices()
    return torch.sparse_csr_tensor(*index, values, size=x.shape, check_invariants=False)


def _components(x: Tensor, number: int) -> tuple[Tensor, Tensor]:  # (F, k), (1, k)
    """The leading directions V of x, and the mean times V.

    Of few columns they are exact, of many from a randomised decomposition of x as it is stored.
    """
    if x.size(1) <= EXACT:
        dense = x if x.layout == torch.strided else x.to_dense()
        mean = dense.mean(dim=0, keepdim=True)
        gram = dense.t() @ dense - len(dense) * mean.t() @ mean
        _, V = torch.linalg.eigh(gram.double())
        V = V[:, -number:].flip(1).float()
        return V, mean @ V
    from sklearn.utils.extmath import randomized_svd  # slow to import, and rarely needed

    matrix: Any = x.numpy() if x.layout == torch.strided else as_scipy(x)
    _, _, Vt = randomized_svd(matrix, number, n_iter=4, random_state=0)
    V = torch.from_numpy(np.ascontiguousarray(Vt.T)).float()
    mean = torch.from_numpy(np.asarray(matrix.mean(axis=0))).float().reshape(1, -1)
    return V, mean @ V
