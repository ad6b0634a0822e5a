"""γ of several replicas at once: one S each, on copies of one graph side by side."""

from typing import Any

import torch
from torch import Tensor

from pgso.graph import Graph, product, row_dots
from pgso.graph.degrees import degree_classes, receivers, senders
from pgso.graph.reach import Level, Reach
from pgso.gso.formula import Factors, factors
from pgso.gso.gradients import entries_of, or_infinite, propagated
from pgso.gso.node_shift import NodeShift, keeps_digits


class ReplicaShift(NodeShift):
    """R operators on one graph as one block-diagonal matrix, one product for all.

    Every block is what :func:`pgso.shift` would give for its S alone, to the last digit.

    Args:
        graph: The graph of one replica.
        copies: ``graph.copies(R)``.
        S: Shape (7, R).
        columns: What e3 acts on, if not the row sums.
        fixed: Whether S never learns.
        reach: The nodes that each layer needs, if the loss sees only a few nodes; None: all.
    """

    one: Graph
    num_replicas: int
    reach: Reach | None

    def __init__(
        self,
        graph: Graph,
        copies: Graph,
        S: Tensor,  # (7, R)
        columns: Tensor | None = None,  # (n,)
        fixed: bool = False,
        reach: Reach | None = None,
    ) -> None:
        count = S.size(1)
        classes = degree_classes(graph) if columns is None and graph.is_undirected else None
        rows, index = graph.row_sums, None
        if classes is not None:
            rows, index = classes[0], copies.memo("replica_classes", lambda: _index(classes, count))
        tables = factors(S.double().unsqueeze(2).unbind(), rows, columns)
        size = (count, rows.numel())
        super().__init__(
            copies, Factors(*(part.expand(size).reshape(-1) for part in tables)), index, fixed=fixed
        )
        self._set(one=graph, num_replicas=count, reach=reach)

    def times(self, x: Tensor) -> Tensor:  # type: ignore[override]  # (R, n, F)
        """γ_r x_r for every replica r: all rows, or the rows that the reach's next layer needs."""
        flat = x.reshape(-1, x.size(-1))
        level = None if self.reach is None else self.reach.levels.get(x.size(1))
        return self._times(flat, level).view(x.size(0), -1, x.size(-1))

    def _times(self, x: Tensor, level: Level | None) -> Tensor:
        own, left, right = self._vectors(x.dtype)
        mixing = None if self.fixed else self._once("_mixing", self._mixing)
        if mixing is None or bool(mixing.all()):
            held = None if level is not None else self._held(x.dtype)
            return self._propagated(x, own, left, right, held, level)
        return self._in_part(x, mixing, level)

    def _propagated(
        self, x: Tensor, own: Any, left: Tensor, right: Tensor, held: Any, level: Level | None
    ) -> Tensor:
        if level is None:
            return propagated(x, own, left, right, held, self._graph())
        out: Tensor = ReachedPropagation.apply(x, own, left, right, level, self._graph())
        return out

    def _mixing(self) -> Tensor:  # (R,) of booleans
        """Which replicas compute γ x in one product (``mixes``): each decides as it would alone."""
        shape = (self.num_replicas, -1)
        tables = [part.detach().view(shape).numpy() for part in self.tables]
        return torch.from_numpy(keeps_digits(tables, self.one, self.index is not None))

    def _in_part(self, x: Tensor, mixing: Tensor, level: Level | None) -> Tensor:
        """Scale ∘ (P x) + rest ∘ x. For replicas that mix, P is γ, scale 1 and rest 0."""
        by_node = self.factors(x.dtype)
        own, outer, right = self._vectors(x.dtype)
        assert own is not None
        mixed = mixing.repeat_interleave(self.one.num_nodes)
        inside = torch.where(mixed, own, 0.0)
        left = torch.where(mixed, outer, by_node.left)
        scale = torch.where(mixed, 1.0, by_node.m2).unsqueeze(1).to(x.dtype)
        rest = torch.where(mixed, 0.0, own).unsqueeze(1).to(x.dtype)
        out = self._propagated(x, inside, left, right, None, level)
        if level is not None:
            scale, rest = (part.index_select(0, level.rows) for part in (scale, rest))
            x = x.index_select(0, level.among)
        return scale * out + rest * x


class ReachedPropagation(torch.autograd.Function):
    """:class:`pgso.gso.gradients.Propagation` on a level: what it leaves out would be zeros."""

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any, x: Tensor, own: Tensor, left: Tensor, right: Tensor, level: Level, graph: Graph
    ) -> Tensor:
        own_rows = own.index_select(0, level.rows)
        values = entries_of(level, own_rows, left, right)
        out = product(level.forth, values, x)
        ctx.learned, ctx.level, ctx.graph = any(ctx.needs_input_grad[1:4]), level, graph
        ctx.save_for_backward(values, *((own_rows, left, right, x, out) if ctx.learned else ()))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, own, left and right."""
        (g,), level, graph = grads, ctx.level, ctx.graph
        values, *features = ctx.saved_tensors
        z = product(level.back, values.index_select(0, level.transposition), g)
        if not ctx.learned:
            return z, None, None, None, None, None
        own, left, right, x, y = features
        size = graph.num_nodes // graph.num_copies * x.size(1)
        q = row_dots(g, x.index_select(0, level.among), size)
        own_part = own * q
        to_left = row_dots(g, y, size) - own_part
        to_right = row_dots(x, z, size)
        to_right[level.among] -= own_part
        by_left, by_right = or_infinite(left, receivers(graph)), or_infinite(right, senders(graph))
        whole = torch.zeros_like(left)
        return (
            z,
            whole.index_copy(0, level.rows, q),
            whole.index_copy(0, level.rows, to_left) / by_left,
            whole.index_copy(0, level.columns, to_right) / by_right,
            None,
            None,
        )


def _index(classes: tuple[Tensor, Tensor, Tensor], count: int) -> Tensor:  # (R n,)
    degree, index, _ = classes
    starts = degree.numel() * torch.arange(count)
    return (starts.unsqueeze(1) + index).flatten()
