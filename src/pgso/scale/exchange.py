"""Operators and norms on a graph whose rows several processes share."""

from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from pgso.convs.architecture import Conv
from pgso.convs.sparse_features import SparseFeatures, as_features
from pgso.errors import InputError
from pgso.gso.module import PGSO
from pgso.gso.operator import ShiftOperator
from pgso.scale.partition import Partition

M = TypeVar("M", bound=nn.Module)


def distribute(model: M, num_ranks: int) -> M:
    """Let a model take a :class:`Partition` in the place of a graph: the same model, changed.

    Before an operator applies, the rows of the halo come from their owners. Their gradients go back
    to the owners. So loss and gradients, summed over the processes, equal the loss and gradients of
    a single process. Batch norm takes the statistics of all rows. On an ordinary graph nothing
    changes.

    Args:
        model: A :class:`pgso.GNN`, or any model of pgso's layers.
        num_ranks: How many processes share the rows.
    """
    if not any(isinstance(module, PGSO) for module in model.modules()):
        raise InputError(f"{type(model).__name__} has no operator; build it of pgso's layers")
    for module in model.modules():
        if isinstance(module, PGSO) and module.kind in ("node", "structural"):
            raise InputError(
                f"an operator of shape {module.shape!r} needs the whole graph in every process; "
                "sample neighbours instead (--sample 15,10)"
            )
        if isinstance(module, PGSO) and (module.degrees == "both" or module.edges == "out"):
            raise InputError(
                "@in, @out and degrees='both' need the edges out of every node, and a process has "
                "the edges into its own nodes; leave them out, or start one process"
            )
        # Attention looks at the rows of both ends of an edge; the others leave it to the operator.
        if isinstance(module, Conv) and module.attends:
            module.register_forward_pre_hook(_fetch_halo)
            module.register_forward_hook(_drop_halo)
        elif type(module) is nn.BatchNorm1d and num_ranks > 1:
            module.__class__ = SharedBatchNorm
    return model


def _fetch_halo(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    x, graph, *more = args
    inner: Any
    if isinstance(graph, Partition):
        partition, inner = graph, graph.graph
    elif isinstance(graph, BlockShift):
        partition, inner = graph.partition, graph.whole
    else:
        return None
    x = as_features(x)
    if isinstance(x, SparseFeatures):
        x = x.to_dense()
    module._num_own = partition.num_own  # type: ignore[assignment]
    return with_halo(x, partition), inner, *more


def _drop_halo(module: nn.Module, args: tuple[Any, ...], out: Tensor) -> Tensor:
    num_own = module.__dict__.pop("_num_own", None)
    return out if num_own is None else own_rows(out, num_own)


class BlockShift(ShiftOperator):
    """A block of rows of γ: what one process computes of γ x from its own rows of x.

    Args:
        whole: γ on the block's graph, halo included.
        partition: The block.
    """

    whole: ShiftOperator
    partition: Partition

    def __init__(self, whole: ShiftOperator, partition: Partition) -> None:
        self._set(whole=whole, partition=partition, device=whole.device)
        self._set(shape=(partition.num_own, partition.num_own))

    def _matmul(self, x: Tensor) -> Tensor:
        return own_rows(self.whole @ with_halo(x, self.partition), self.partition.num_own)

    @property
    def T(self) -> ShiftOperator:
        """Refused: a process has rows of γ, not columns."""
        raise InputError("a block of rows has no transpose; use the whole graph")

    def to_dense(self) -> Tensor:
        """Refused: the columns belong to several processes."""
        raise InputError("a block of rows is no square matrix; use the whole graph")

    def to_scipy(self) -> Any:
        """Not to be had: the columns belong to several processes."""
        raise InputError("a block of rows is no square matrix; use the whole graph")

    def diagonal(self) -> Tensor:
        """The diagonal entries of the block's own nodes."""
        return self.whole.diagonal()[: self.partition.num_own]


def with_halo(
    x: Tensor,  # (own, F)
    partition: Partition,
) -> Tensor:  # (own + halo, F)
    """The block's own rows, and the rows of its halo by one all-to-all; differentiable.

    Rows of constant features are fetched once, and again only after the features were changed in
    place. All processes have to do the same: either all change their features, or none.
    """
    if not x.requires_grad:
        return partition.fetched.of(x, lambda: _WithHalo.forward(x, partition))
    out: Tensor = _WithHalo.apply(x, partition)
    return out


class _WithHalo(torch.autograd.Function):
    """The backward pass sends the gradients of the halo's rows to their owners, who add them."""

    @staticmethod
    def forward(x: Tensor, partition: Partition) -> Tensor:
        out = x.new_empty(partition.num_own + sum(partition.wanted), x.size(1))
        out[: partition.num_own] = x
        halo, to_send = out[partition.num_own :], x.index_select(0, partition.to_send)
        dist.all_to_all_single(halo, to_send, list(partition.wanted), list(partition.sent))
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.partition = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        partition: Partition = ctx.partition
        own_grad, halo = grads[0].split([partition.num_own, sum(partition.wanted)])
        back = own_grad.new_empty(sum(partition.sent), own_grad.size(1))
        dist.all_to_all_single(
            back, halo.contiguous(), list(partition.sent), list(partition.wanted)
        )
        return own_grad.index_add(0, partition.to_send, back), None


def own_rows(out: Tensor, num_own: int) -> Tensor:  # (own + halo, F) -> (own, F)
    """The block's own rows; the gradient of the halo's is 0."""
    rows: Tensor = _OwnRows.apply(out, num_own)
    return rows


class _OwnRows(torch.autograd.Function):
    """``out[:num_own]``. The backward pass of the slice itself would write every row twice."""

    @staticmethod
    def forward(out: Tensor, num_own: int) -> Tensor:
        return out[:num_own]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.num_all = len(inputs[0])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        padded = g.new_empty(ctx.num_all, *g.shape[1:])
        padded[: len(g)] = g
        padded[len(g) :] = 0
        return padded, None


class SharedBatchNorm(nn.BatchNorm1d):
    """Batch norm over the rows of all processes, also on the CPU, where torch has none.

    In evaluation mode it is torch's ``BatchNorm1d``.
    """

    def forward(self, x: Tensor) -> Tensor:  # (n, F) -> (n, F)
        """(x - mean) / sqrt(var + eps), scaled and shifted."""
        if not self.training:
            return super().forward(x)
        rows = _summed(x.new_full((1,), len(x)))
        mean = _summed(x.sum(0)) / rows
        centred = x - mean
        var = _summed(centred.square().sum(0)) / rows
        if self.running_mean is not None and self.running_var is not None:
            assert self.num_batches_tracked is not None
            self.num_batches_tracked += 1
            step = self.momentum or 1 / float(self.num_batches_tracked)
            with torch.no_grad():
                self.running_mean.lerp_(mean, step)
                self.running_var.lerp_(var * rows / (rows - 1).clamp(min=1), step)
        out = centred * (var + self.eps).rsqrt()
        return out if self.weight is None else torch.addcmul(self.bias, out, self.weight)


class _Sum(torch.autograd.Function):
    """A sum over processes. Its gradient is the sum of the gradients of all processes."""

    @staticmethod
    def forward(values: Tensor) -> Tensor:
        out = values.clone()
        dist.all_reduce(out)
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return _summed(grads[0])


def _summed(values: Tensor) -> Tensor:
    out: Tensor = _Sum.apply(values)
    return out
