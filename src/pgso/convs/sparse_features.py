"""Node features with few non-zeros, and the linear map that exploits them."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.nn.dense.linear import Linear as PyGLinear

from pgso.errors import InputError
from pgso.graph import Memo, Pattern, product
from pgso.graph.inputs import check_pair
from pgso.graph.pattern import inverse


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Constant node features in compressed sparse rows, with their transpose for the gradient."""

    rows: Pattern  # one row per node
    columns: Pattern  # one row per feature
    order: Tensor  # (nnz,) where the entries of ``columns`` stand in ``rows``
    values: Tensor  # (nnz,)
    shape: tuple[int, int]  # (n, F)

    @classmethod
    def of(cls, x: Tensor) -> "SparseFeatures":
        """Prepare a torch.sparse matrix (CSR, CSC or COO); the same tensor is prepared once."""
        if x.requires_grad:
            raise InputError("sparse features are constants; pass dense ones to have gradients")
        if x.dim() != 2:
            raise InputError(f"sparse features must have shape (n, F), got {tuple(x.shape)}")

        def prepare() -> SparseFeatures:
            by_row = x if x.layout == torch.sparse_csr else x.to_sparse_csr()
            (n, width), rowptr, col = x.shape, by_row.crow_indices(), by_row.col_indices()
            column, order = torch.sort(col, stable=True)
            row = torch.repeat_interleave(torch.arange(n, device=x.device), rowptr.diff())
            return cls(
                rows=Pattern(rowptr.int(), row.int(), col.int(), None, (n, width)),
                columns=Pattern.of(column, row[order], None, (width, n)),
                order=order,
                values=by_row.values().detach(),
                shape=(n, width),
            )

        return _prepared.of(x, prepare)

    def size(self, dim: int | None = None) -> Any:
        """The number of nodes (0) or of features (1, -1); as torch's, both without ``dim``."""
        return self.shape if dim is None else self.shape[dim]

    @property
    def dtype(self) -> torch.dtype:
        """The type of the values."""
        return self.values.dtype

    @property
    def T(self) -> "SparseFeatures":
        """The transpose, whose order was computed with the matrix."""
        values = self.values.index_select(0, self.order)
        return SparseFeatures(
            self.columns, self.rows, inverse(self.order), values, self.shape[::-1]
        )

    def to_dense(self) -> Tensor:  # (n, F)
        """The features as a dense matrix."""
        identity = torch.eye(self.shape[1], dtype=self.dtype, device=self.values.device)
        return product(self.rows, self.values, identity)


# By version alone: a checksum would cost as much as a product.
_prepared: Memo[SparseFeatures] = Memo(lambda x: (x._version,))

Features = Tensor | SparseFeatures
Pair = tuple[Features, Features | None]  # of sources and targets; the targets may have none


def as_features(x: Features) -> Features:
    """Dense features as they are, torch.sparse ones prepared."""
    if isinstance(x, tuple):
        raise InputError(
            "this takes the features of one set of nodes, got a pair; GCNConv, GINConv and "
            "BankConv take (x_source, x_target)"
        )
    if not isinstance(x, (Tensor, SparseFeatures)):
        raise InputError(
            f"x must be a tensor of shape (n, F), dense or torch.sparse, got {type(x).__name__}; "
            "try torch.as_tensor(x), or torch.as_tensor(x.toarray()).to_sparse_csr()"
        )
    if isinstance(x, Tensor) and x.layout != torch.strided:
        return SparseFeatures.of(x)
    if isinstance(x, Tensor) and x.dim() < 2:
        raise InputError(f"x must have shape (n, F), a row per node, got {tuple(x.shape)}")
    return x


def as_pair(x: Any) -> Pair:
    """Features of sources and targets, each as :func:`as_features`."""
    source, target = check_pair(x)
    if source is None:
        raise InputError("the sources need features: (x_source, None) leaves out the targets'")
    return as_features(source), None if target is None else as_features(target)


def check_dropout(name: str, p: float) -> None:
    """Refuse what is no probability."""
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise InputError(f"{name} must be between 0 and 1, got {p!r}")


# 0 or 2 for every bit of a byte: eight factors of a dropout are looked up at a time.
COINS = (2 * (torch.arange(256).unsqueeze(1) >> torch.arange(8) & 1)).float()  # (256, 8)


def dropout(x: Any, p: float, training: bool) -> Any:  # of x's kind and shape
    """Torch's dropout, several times faster on the CPU; of sparse features zeros stay.

    A random bit decides if p is a half, and 16 bits otherwise, where torch draws a double. The
    probability is then p to the nearest 2^-16, and what stays is scaled by what it really is.
    """
    if not training or p == 0:
        return x
    if isinstance(x, SparseFeatures):
        return replace(x, values=dropout(x.values, p, training))
    if p >= 1 or x.device.type != "cpu" or torch.compiler.is_compiling():
        return functional.dropout(x, p, training)
    bits = 1 if p == 0.5 else 16
    words = torch.empty((x.numel() * bits + 63) // 64, dtype=torch.int64).random_(-(2**63), None)
    if bits == 1:
        factors = COINS.to(x.dtype).index_select(0, words.view(torch.uint8).int()).flatten()
    else:
        steps = 2**16
        dropped = min(round(p * steps), steps - 1)
        is_kept = words.view(torch.int16) >= dropped - steps // 2
        factors = is_kept.to(x.dtype).mul_(steps / (steps - dropped))
    return x * factors[: x.numel()].view(x.shape)


class SparseTimesDense(torch.autograd.Function):
    """X W for constant sparse X; the gradient of W is Xᵀ g, by the same product."""

    @staticmethod
    def forward(weight: Tensor, x: SparseFeatures) -> Tensor:
        return product(x.rows, x.values, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.x = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x = ctx.x
        if torch.is_grad_enabled():  # the gradient is differentiated again
            return SparseTimesDense.apply(grads[0], x.T), None
        return product(x.columns, x.values.index_select(0, x.order), grads[0]), None


class Linear(PyGLinear):
    """PyG's ``Linear`` (lazy with ``in_channels=-1``), which also takes sparse features."""

    def forward(self, x: Features) -> Tensor:  # (n, in_channels) -> (n, out_channels)
        """X Wᵀ + b."""
        if self.bias is None or isinstance(x, SparseFeatures):
            out = self.times_weight(x)
            return out if self.bias is None else out + self.bias
        self.check(x)
        return functional.linear(x, self.weight, self.bias)  # one operation, not two

    def times_weight(self, x: Features) -> Tensor:  # (n, in_channels) -> (n, out_channels)
        """X Wᵀ, for those who add the bias later."""
        self.check(x)
        if isinstance(x, SparseFeatures):
            out: Tensor = SparseTimesDense.apply(self.weight.t(), x)
            return out
        return functional.linear(x, self.weight)

    def added_to(self, out: Tensor | None, x: Features) -> Tensor:  # (n, out_channels)
        """Out + X Wᵀ in one operation: a sum of its own is another pass over n x F numbers."""
        if out is None or not isinstance(x, Tensor) or x.dim() != 2 or x.dtype != out.dtype:
            part = self.times_weight(x)
            return part if out is None else part + out
        self.check(x)
        return torch.addmm(out, x, self.weight.t())

    def check(self, x: Features) -> None:
        """Refuse integers, and another width than the first one; a lazy layer takes any."""
        if not x.dtype.is_floating_point:
            raise InputError(f"x must hold floating-point numbers, got {x.dtype}; try x.float()")
        if self.in_channels < 0:
            self.initialize_parameters(self, (x,))
        if x.size(-1) != self.in_channels:
            raise InputError(
                f"this layer takes {self.in_channels} features per node, got {x.size(-1)}"
            )
