r"""γ(A, S) on one graph: the factor form o ∘ x + l ∘ A_v (r ∘ x), and its fast path.

There is one S, or one per node (:class:`NodeShift`), or one per channel or head
(:class:`ChannelShift`). The values v on A's pattern are A's own entries, constant or learned, or
others, such as those that an explainer has masked. :func:`is_plain` decides how γ x is computed.

The fast path has exact gradients from one sparse product each way, and nothing per edge. Let
:math:`P = \operatorname{Diag}(o) + \operatorname{Diag}(l)\, A\, \operatorname{Diag}(r)` with a
constant A, and y = P x. The entries of P stand on the pattern of A + I, so y is one product, and so
is the gradient of x, which is z = Pᵀ g. With q = g · x (row by row), the others are

.. math::
    \frac{\partial L}{\partial o} = q, \qquad
    l \frac{\partial L}{\partial l} = g \cdot (y - o\, x) = g \cdot y - o\, q, \qquad
    r \frac{\partial L}{\partial r} = x \cdot (z - o\, g) = x \cdot z - o\, q.

The price is a difference: where o x is much larger than the rest of y, it loses digits. Then o
stays out of P, and o x is added (``NodeShift._hold`` decides).
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NoReturn, Self

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from pgso.errors import InputError
from pgso.graph import Graph, is_eager, learns, product, row_dots, turn, weighted_product
from pgso.graph.degrees import (
    kinds_of_nodes,
    nodes_alike,
    times_rows,
    without_edges,
)
from pgso.graph.graph import sparse_matrix
from pgso.graph.inputs import check_features
from pgso.gso.formula import Factors, NodeVectors, array_factors, factors
from pgso.gso.operator import ShiftOperator


def is_plain(op: "OnPattern") -> bool:
    """Whether A is constant and execution is eager. One S, or one per node, is then fast.

    Everything else takes the general path, of operations whose derivatives torch knows: learned or
    masked edges, traced programs, ``torch.func``, forward mode, and an S per channel.
    """
    graph = op.graph
    if graph.pattern.rowptr is None or op.values is not None or not is_eager():
        return False
    return not (graph.row_sums.requires_grad or (graph.weight is not None and learns(graph.weight)))


def over_nodes(times: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A product with (n, everything else) on features (..., n, F)."""
    if x.dim() == 2:
        return times(x)
    out = times(x.movedim(-2, 0).flatten(1))
    return out.reshape(out.size(0), *x.shape[:-2], x.size(-1)).movedim(0, -2)


def entries_of(
    graph: Graph, own: Tensor | None, left: Tensor, right: Tensor, A: Tensor | None = None
) -> Tensor:  # (nnz,) or (nnz, H)
    """The entries of Diag(own) + Diag(left) A Diag(right) on the graph's pattern.

    Differentiable in the vectors, (n,) or (n, H) for entries per head, and in A, (nnz,), which is
    the graph's if it is None.
    """
    pattern = graph.pattern
    entries = left.index_select(0, pattern.row) * right.index_select(0, pattern.col)
    if A is None and graph.weight is None and graph.loops is None and own is not None:
        return entries.index_copy(0, pattern.diagonal, own)
    A = (graph.entries if A is None else A).to(entries.dtype)
    entries = entries * (A if A.dim() == entries.dim() else A.unsqueeze(1))
    return entries if own is None else entries.index_add(0, pattern.diagonal, own)


class Held:
    """P at one o, l and r: what all layers that share an operator use.

    What only gradients need is computed on first use.
    """

    def __init__(self, graph: Graph, own: Tensor | None, left: Tensor, right: Tensor) -> None:
        self.graph, self.own, self.left, self.right = graph, own, left, right
        with torch.no_grad():
            self.values = entries_of(graph, own, left, right)  # (nnz,)

    @cached_property
    def turned(self) -> Tensor:  # (nnz,)
        """The entries of Pᵀ: the same in another order."""
        return self.values.index_select(0, self.graph.transposition)

    @cached_property
    def divisors(self) -> tuple[Tensor, Tensor]:  # (targets,), (sources,)
        """The l and r that gradients are divided by; infinite where the gradient is 0.

        It is 0 where d + a ≤ 0, and where a node has no edge. There the differences of the
        formula at the top would leave a rounding error; without o there is no difference.
        """
        found, turned = [], self.graph.transposed is not self.graph.pattern
        for by, by_column in ((self.left, False), (self.right, turned)):
            empty = None if self.own is None else without_edges(self.graph, by_column)
            by = by if empty is None else by.index_fill(0, empty, torch.inf)
            if self.own is None or not bool(by.all()):  # no other device waits for this answer
                by = torch.where(by != 0, by, torch.inf)
            found.append(by)
        return found[0], found[1]


class Propagation(torch.autograd.Function):
    """y = (Diag(own) + Diag(left) A Diag(right)) x: see the top of this file."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,  # (sources, F)
        own: Tensor | None,  # (n,)
        left: Tensor,  # (targets,)
        right: Tensor,  # (sources,)
        held: Held,  # of these vectors
    ) -> Tensor:  # (targets, F)
        out = product(held.graph.pattern, held.values, x)
        ctx.held, ctx.learned = held, any(ctx.needs_input_grad[1:4])
        # A fixed operator keeps nothing of the size of x alive.
        ctx.save_for_backward(own, left, right, *((x, out) if ctx.learned else ()))
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of x, own, left and right; they can be differentiated again."""
        (g,), graph = grads, ctx.held.graph
        own, left, right, *features = ctx.saved_tensors
        again = torch.is_grad_enabled()
        if again:
            z: Tensor = Propagation.apply(g, own, right, left, Held(graph.T, own, right, left))
        else:
            z = product(graph.transposed, ctx.held.turned, g)
        if not ctx.learned:
            return z, None, None, None, None
        x, y = features
        to_right = row_dots(x, z).to(right.dtype)
        q = None if own is None else row_dots(g, x).to(own.dtype)
        to_left = row_dots(g, y).to(left.dtype)
        if own is not None:
            own_part = own * q
            to_left, to_right = to_left - own_part, to_right - own_part
        held = Held(graph, own, left, right) if again else ctx.held
        return z, q, to_left / held.divisors[0], to_right / held.divisors[1], None


class OnPattern(ShiftOperator):
    """An operator whose matrix has entries where A + I has (or A, between two sets of nodes)."""

    graph: Graph
    S: Tensor | None = None  # one S, (7,); or (7, 1, C) for a value per channel
    columns: Tensor | None = None  # what e3 acts on, if not the row sums of A
    tables: Factors | None = None  # α, m2, l, r and a by node, if they are not those of S
    values: Tensor | None = None  # (nnz,) on A's pattern, if they are not A's
    fixed: bool = False  # whether S never learns: then no digits of its gradient can be lost
    per_head: bool = False  # whether C is heads, each for as many neighbouring channels

    def __init__(self, graph: Graph, S: Tensor | None = None, **given: Any) -> None:
        device, shape = graph.row_sums.device, graph.pattern.shape
        own = {"shape": shape, "device": device, "dtype": graph.dtype}
        self._set(graph=graph, S=S, **own | given)

    def but(self, **changes: Any) -> Self:
        """The same operator with other attributes, such as ``values`` that are masked."""
        other = object.__new__(type(self))
        other._set(**{**self.__getstate__(), **changes})
        return other

    def factors(self, dtype: torch.dtype = torch.float64) -> Factors:
        """α, m2, l, r and a by node, (n,) or (n, C); in 32 bits or more, since they are powers."""
        dtype = torch.promote_types(dtype, torch.float32)

        def make() -> Factors:
            tables, S, degrees = self.tables, self.S, (self.graph.row_sums, self.columns)
            if S is not None and S.dim() > 1:  # per channel: many powers, none wider than asked for
                of_both = (d.unsqueeze(1).to(dtype) for d in degrees if d is not None)
                return factors(S.to(dtype).unbind(), *of_both)
            if S is not None:  # in double precision, and then rounded
                tables = self._once("_by_node", lambda: factors(S.unbind(), *degrees))
            assert tables is not None
            return Factors(*(None if part is None else part.to(dtype) for part in tables))

        return self._once(f"_factors_{dtype}", make)

    def entries(self, dtype: torch.dtype | None = None) -> Tensor:  # (nnz,), or (nnz, C)
        """The matrix's values on ``graph.pattern``; differentiable. By default in ``dtype``."""
        vectors = self.factors()
        own = None if self.graph.is_bipartite else vectors.own
        entries = entries_of(self.graph, own, vectors.outer, vectors.right, self.values)
        return entries.to(self.dtype if dtype is None else dtype)

    def _matmul(self, x: Tensor) -> Tensor:
        """The general path."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        vectors, kind = self._vectors(wide)
        values = (self.graph.entries if self.values is None else self.values).to(wide.dtype)
        sent = times_rows(self._column(vectors.right, wide), wide, kind)
        received = over_nodes(lambda flat: weighted_product(self.graph, values, flat), sent)
        out = times_rows(self._column(vectors.outer, wide), received, kind)
        if not self.graph.is_bipartite:
            out = times_rows(self._column(vectors.own, wide), wide, kind) + out
        return out.to(x.dtype)

    def _vectors(self, x: Tensor) -> tuple[Factors, Tensor | None]:
        """What the features are multiplied with, by node, or by kind of node and those (n,)."""
        return self.factors(x.dtype), None

    def _column(self, values: Tensor, x: Tensor) -> Tensor:  # (n, 1) or (n, F)
        """A vector as it is multiplied with features (..., n, F)."""
        del x
        return values.unsqueeze(1)

    @property
    def T(self) -> Self:
        """The transpose, on the reversed graph: l and r change sides."""
        graph, vectors = self._graph(), self.factors()
        if graph.is_bipartite:  # α acts on targets, which are the sources of the transpose
            vectors = vectors._replace(alpha=None)  # type: ignore[arg-type]
        if vectors.m2.dim():  # each m2 stays with its l
            vectors = vectors._replace(left=vectors.outer, m2=torch.ones_like(vectors.m2))
        tables = vectors._replace(left=vectors.right, right=vectors.left)
        values = None if self.values is None else turn(self.values, graph)
        made_of = {"graph": graph.T, "S": None, "columns": None, "tables": tables, "values": values}
        return self.but(shape=self.shape[::-1], **made_of)

    def to_torch_sparse(self) -> Tensor:
        """The matrix as a torch.sparse COO tensor, differentiable in S."""
        pattern = self._graph().pattern
        index = torch.stack([pattern.row, pattern.col]).long()
        return sparse_matrix(index, self.entries(), self.shape)

    def to_scipy(self) -> csr_array:
        """The matrix for scipy, over the graph's own index arrays: only its entries are new."""
        pattern = self._graph().pattern
        assert pattern.rowptr is not None
        arrays = (self.entries(torch.float64).detach(), pattern.col, pattern.rowptr)
        return csr_array(tuple(part.numpy(force=True) for part in arrays), shape=self.shape)

    def to_dense(self) -> Tensor:
        entries, pattern = self.entries(), self.graph.pattern
        position = pattern.row.long() * self.shape[1] + pattern.col
        rest = entries.shape[1:]
        dense = entries.new_zeros(self.shape[0] * self.shape[1], *rest)
        return dense.index_add(0, position, entries).view(*self.shape, *rest)

    def diagonal(self) -> Tensor:
        pattern = self._graph().pattern
        if pattern.diagonal is None:
            raise InputError(f"a rectangle of shape {self.shape} has no diagonal")
        return self.entries()[pattern.diagonal]

    @property
    def is_symmetric(self) -> bool:
        """Whether A is symmetric and e2 = e3, or the entries are those of the transpose."""
        if not self.graph.is_undirected:
            return False
        if self.S is not None and self.values is None and bool((self.S[4] == self.S[5]).all()):
            return True
        entries = self.entries().detach()
        tolerance = 8 * torch.finfo(entries.dtype).eps
        return torch.allclose(entries, turn(entries, self.graph), rtol=tolerance, atol=0.0)

    def _graph(self) -> Graph:
        if self.graph.pattern.rowptr is None:  # a traced program's edges, not sorted or merged
            raise InputError("this needs a prepared graph: make it with Graph.from_edge_index")
        return self.graph


# How much larger the diagonal part own ∘ x may be than the neighbours' part of γ x, so that their
# sum still holds enough digits of the smaller part:
MOST_OWN = 2.0  # in the mean over the nodes
MOST_OF_ONE = 64.0  # at a single node


class NodeShift(OnPattern):
    """γ(A, S) for one S, or with tables by node: A between two diagonals, plus a diagonal."""

    def _matmul(self, x: Tensor) -> Tensor:
        if not is_plain(self):
            return super()._matmul(x)
        held, m2, own = self._once(f"_held_{x.dtype}", lambda: self._hold(x.dtype))
        inputs = (held.own, held.left, held.right, held)
        if x.dim() == 2:
            out: Tensor = Propagation.apply(x, *inputs)
        else:
            out = over_nodes(lambda flat: Propagation.apply(flat, *inputs), x)
        if m2 is None:
            return out
        out = (m2.unsqueeze(1) if m2.dim() else m2).to(x.dtype) * out
        return out if own is None else out + own.unsqueeze(1).to(x.dtype) * x

    @np.errstate(all="ignore")  # of a run that diverges
    def _hold(self, features: torch.dtype) -> tuple[Held, Tensor | None, Tensor | None]:
        """P as far as one product computes it, and m2 and own if they stay outside.

        One product may compute own ∘ x and the neighbours' part of γ x together. The gradients of S
        are then differences (see the top), which keep their digits only if own ∘ x is
        not much larger than the neighbours' part. On other devices than the CPU nobody looks at the
        numbers: the parts are always computed separately.
        """
        graph, dtype = self.graph, torch.promote_types(features, torch.float32)
        kinds = kinds_of_nodes(graph, self.S is not None) if self.device.type == "cpu" else None
        arrays, may_mix = None, kinds is not None and features == dtype
        if self.S is not None and kinds is not None:
            arrays = array_factors(self.S, kinds.degree, self.columns)
        mixes = self.fixed or (may_mix and graph.is_bipartite)
        if not mixes and kinds is not None and may_mix:  # by numpy, a third of torch's time
            # How large own ∘ x is beside what nodes get from neighbours, if all x are 1.
            parts: Any = arrays or Factors(*(part.detach().numpy() for part in self.factors()))  # type: ignore[arg-type]
            got, share, number = kinds.received.numpy(), kinds.share.numpy(), kinds.number.numpy()
            loops = 0.0 if kinds.loops is None else kinds.loops.abs().numpy()
            typical = parts.right @ share  # the mean r of a neighbour
            rest = np.abs(parts.outer) * (got * typical + loops * parts.right)
            # Nodes without edges or without a power have no gradient to lose.
            size = np.abs(parts.own) * ((got + loops > 0) & (parts.left != 0))
            mixes = bool(
                (size <= MOST_OF_ONE * rest).all()
                and parts.m2.all()
                and size @ number <= MOST_OWN * (rest @ number)
            )
        names = ["outer", "right"] if mixes else ["left", "right", "m2"]
        names += [] if graph.is_bipartite else ["own"]
        if arrays is not None and kinds is not None:
            inputs = (self.S, arrays, names, (kinds.degree, self.columns), kinds.kind, dtype)
            vectors = dict(zip(names, NodeVectors.apply(*inputs), strict=True))
        else:
            vectors = {name: getattr(self.factors(), name).to(dtype) for name in names}
        own, right = vectors.get("own"), vectors["right"]
        if mixes:
            return Held(graph, own, vectors["outer"], right), None, None
        return Held(graph, None, vectors["left"], right), vectors["m2"], own

    def _apply_pair(self, source: Tensor, target: Tensor | None) -> Tensor:
        """(m1 D^e1 + m3) x_target + m2 D^e2 A_a D^e3 x_source, where the target may be None."""
        vectors, between, alpha = self.factors(), self, self.factors().alpha
        if alpha is None:
            return super()._apply_pair(source, target)
        if not self.graph.is_bipartite:
            if target is source:
                return self.times(source)
            tables = vectors._replace(alpha=torch.zeros_like(alpha))
            between = self.but(S=None, columns=None, tables=tables)
        out = between.times(source)
        if target is None:
            return out
        check_features(target, self.shape[0], self.device)
        parts = [x if x.dim() > 1 else x.unsqueeze(1) for x in (source, target)]
        wide = [x.shape[:-2] + x.shape[-1:] for x in parts]
        if wide[0] != wide[1]:
            raise InputError(
                f"x_source has {wide[0].numel()} columns, x_target has {wide[1].numel()}; map both "
                "to the same number first"
            )
        return out + (alpha.unsqueeze(1).to(out.dtype) * parts[1]).view_as(out)

    def equals(self, other: ShiftOperator) -> bool:
        """Whether both have one graph, the same values and equal factors, none of which learns."""
        if self is other or not isinstance(other, NodeShift):
            return self is other
        if other.graph is not self.graph or self.values is not other.values:
            return False
        pairs = list(zip(self.factors(), other.factors(), strict=True))
        return not any(map(learns, sum(pairs, ()))) and all(torch.equal(*pair) for pair in pairs)

    @property
    def is_certifiable(self) -> bool:
        """Whether A is symmetric, and m2 has one sign wherever nodes are joined."""
        graph = self.graph
        if not graph.is_undirected or self.values is not None:
            return False
        signs = self.factors().m2.detach().sign()
        if signs.dim() == 0:
            return True
        row, col = graph.pattern.row, graph.pattern.col
        opposed = signs.index_select(0, row) * signs.index_select(0, col) < 0
        return not bool((opposed & (graph.entries != 0)).any())

    def __repr__(self) -> str:
        if self.S is None:
            return super().__repr__()
        S = ", ".join(f"{value:.4g}" for value in self.S.tolist())
        return f"ShiftOperator(S=({S}), {self.graph})"


MANY_VALUES = 2**20  # of features, from which on powers are taken once for a degree


class ChannelShift(OnPattern):
    """γ with an S (7, 1, C) of its own for every channel, or head of neighbouring channels."""

    def _vectors(self, x: Tensor) -> tuple[Factors, Tensor | None]:
        S, kinds = self.S, None
        if S is not None and x.dim() == 2 and x.numel() >= MANY_VALUES and is_plain(self):
            kinds = nodes_alike(self.graph, self.columns is not None)
        if S is None or kinds is None:
            return super()._vectors(x)
        scalars, degrees = (part.to(x.dtype) for part in (S, kinds[0].unsqueeze(2)))
        make = partial(factors, scalars.unbind(), *degrees)
        return self._once(f"_by_kind_{x.dtype}", make), kinds[1]

    def _column(self, values: Tensor, x: Tensor) -> Tensor:  # (n, C) -> (n, F)
        count, width = values.size(-1), x.size(-1)
        if not self.per_head and width != count:
            raise InputError(
                f"S must have shape (7,), (7, {self.shape[0]}, 1) for a value per node or "
                f"(7, 1, {width}) for a value per channel of these features, got {(7, 1, count)}"
            )
        if width % count:
            raise InputError(f"{count} heads cannot share {width} channels: choose a multiple")
        return values if width == count else values.repeat_interleave(width // count, dim=-1)

    def to_torch_sparse(self) -> NoReturn:
        """Refused: it is one matrix per channel."""
        raise InputError(
            f"this operator is {self.factors().a.size(-1)} matrices, one for each channel or head: "
            "to_dense() has them all, and pgso.shift(graph, S[:, 0, c]) is one of them"
        )

    to_scipy = to_torch_sparse
