"""γ of several replicas at once: one S each, on copies of one graph side by side."""

from typing import Any

import torch
from torch import Tensor

from pgso.graph import Graph, product, row_dots
from pgso.graph.degrees import degree_classes, receivers, senders
from pgso.graph.pattern import side_by_side
from pgso.graph.reach import Level, Reach
from pgso.gso.formula import Factors, factors
from pgso.gso.gradients import entries_of, or_infinite, propagated
from pgso.gso.node_shift import keeps_digits
from pgso.models.stacked.shifts import ShiftsSideBySide


class ReplicaShift(ShiftsSideBySide):
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
            rows, places = classes[0], classes[1]
            index = copies.memo(
                "replica_classes", lambda: side_by_side(places, rows.numel(), count)
            )
        S = S.double()
        by_replica = factors(S.unsqueeze(2).unbind(), rows, columns)
        size = (count, rows.numel())
        tables = Factors(*(part.expand(size).reshape(-1) for part in by_replica))
        super().__init__(copies, tables, index, fixed=fixed)
        again = by_replica.m2.expand(size).reshape(-1)
        self._set(one=graph, num_replicas=count, reach=reach)
        self._set(within=tables._replace(m2=again), m2=S[1])

    def times(self, x: Tensor) -> Tensor:  # type: ignore[override]  # (R, n, F)
        """γ_r x_r for every replica r: all rows, or the rows that the reach's next layer needs."""
        level = None if self.reach is None else self.reach.levels.get(x.size(1))
        mixing = None if self.fixed else self._once("_mixing", self._mixing)
        if mixing is None or bool(mixing.all()):
            held = None if level is not None else self._held(x.dtype)
            out = self._propagated(x, *self._vectors(x.dtype), held, level)
        else:
            out = self._in_part(x, mixing, level)
        return out.view(x.size(0), -1, x.size(-1))

    def _propagated(
        self, x: Tensor, own: Any, left: Tensor, right: Tensor, held: Any, level: Level | None
    ) -> Tensor:
        flat = x.reshape(-1, x.size(-1))
        if level is None:
            return propagated(flat, own, left, right, held, self._graph())
        out: Tensor = ReachedPropagation.apply(flat, own, left, right, level, self._graph())
        return out

    def _mixing(self) -> Tensor:  # (R,) of booleans
        """Which replicas compute γ x in one product (``mixes``): each decides as it would alone."""
        shape = (self.num_replicas, -1)
        tables = [part.detach().view(shape).numpy() for part in self.tables]
        return torch.from_numpy(keeps_digits(tables, self.one, self.index is not None))

    def _in_part(self, x: Tensor, mixing: Tensor, level: Level | None) -> Tensor:
        """One product for all; replicas that do not mix leave out own ∘ x and m2, and add them."""
        mixed = mixing.repeat_interleave(self.one.num_nodes)
        own, inside, left, right = self._inside(mixed, x.dtype)
        out = self._propagated(x, inside, left, right, None, level)
        rows = x.unbind()  # after the product: where x has other uses, gradients are added in order
        if level is not None:
            own = own.index_select(0, level.rows)
            among = level.among[: level.among.numel() // self.num_replicas]
            rows = tuple(part.index_select(0, among) for part in rows)
        own_parts = own.unsqueeze(1).chunk(self.num_replicas)
        return self._completed(mixing.tolist(), own_parts, rows, out.chunk(self.num_replicas))

    def _scaled(self, out: Tensor, m2: Tensor) -> Tensor:
        """m2 out. Its gradient is a sum over all nodes, of which some may not be there."""
        nodes = None if self.reach is None else self.reach.nodes_of(out.size(0))
        if nodes is None:
            return m2 * out
        whole = out.new_zeros(self.one.num_nodes, out.size(1)).index_copy(0, nodes, out)
        return (m2 * whole).index_select(0, nodes)


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
