"""γ of several replicas at once, each with its own S on its own graph: a batch of graphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pgso.graph import Graph
from pgso.graph.degrees import MANY_NODES, are_few, received_weight
from pgso.gso.formula import factors
from pgso.gso.gradients import propagated
from pgso.gso.node_shift import MOST_OF_ONE, MOST_OWN, own_and_rest
from pgso.models.stacked.shifts import ShiftsSideBySide

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Kinds:
    """What powers are taken of, replica by replica: its nodes, or the degrees that occur in it.

    A replica has kinds by degree where :func:`pgso.graph.degrees.degree_classes` says so of its
    graph alone.
    """

    degree: Tensor  # (K,) in double precision
    index: Tensor | None  # (N,) the kind of each node; None: every node is one
    sizes: list[int]  # (R,) how many kinds each replica has
    got: Array  # (K,) what a node of this kind gets from others in A
    number: Array  # (K,) how many nodes are of this kind
    loops: Array  # (K,) self-loops, of nodes

    @classmethod
    def of(cls, graph: Graph, sizes: list[int]) -> "Kinds":
        """The kinds of an unweighted, undirected graph; its memory holds them."""
        return graph.memo("replica_kinds", lambda: cls._make(graph, sizes))

    @classmethod
    def _make(cls, graph: Graph, sizes: list[int]) -> "Kinds":
        degree, got = graph.row_sums.numpy(), received_weight(graph).numpy()
        loops = np.zeros_like(got) if graph.loops is None else graph.loops.double().numpy()
        if max(sizes) < MANY_NODES:
            number = np.ones_like(got)
            return cls(graph.row_sums, None, sizes, got, number, np.abs(loops))
        parts: list[list[Array]] = []
        index, start, first = [], 0, 0
        for size in sizes:
            nodes = slice(start, start + size)
            counts = np.bincount(degree[nodes].astype(np.int64))
            present = counts.nonzero()[0]
            if size >= MANY_NODES and are_few(len(present), size):
                place = (counts > 0).cumsum() - 1
                index.append(place[degree[nodes].astype(np.int64)] + first)
                kind = present.astype(np.float64)
                parts.append([kind, kind, counts[present].astype(np.float64), np.zeros_like(kind)])
            else:
                index.append(np.arange(first, first + size))
                ones = np.ones(size)
                parts.append([degree[nodes], got[nodes], ones, np.abs(loops[nodes])])
            start, first = start + size, first + len(parts[-1][0])
        joined = [np.concatenate(part) for part in zip(*parts, strict=True)]
        lengths = [len(part[0]) for part in parts]
        places = torch.from_numpy(np.concatenate(index))
        return cls(torch.from_numpy(joined[0]), places, lengths, joined[1], joined[2], joined[3])

    @np.errstate(all="ignore")  # of a replica that diverges
    def keep_digits(self, tables: Sequence[Array]) -> Array:  # (R,) of booleans
        """:func:`pgso.gso.node_shift.keeps_digits` for every replica."""
        starts = np.cumsum([0, *self.sizes[:-1]])
        given = self.got * self.number
        typical = np.add.reduceat(tables[3] * given, starts)
        typical /= np.maximum(np.add.reduceat(given, starts), 1e-300)
        own, rest = own_and_rest(tables, self.got, typical.repeat(self.sizes), self.loops)
        usable = np.logical_and.reduceat((own <= MOST_OF_ONE * rest) & (tables[1] != 0), starts)
        totals = (np.add.reduceat(part * self.number, starts) for part in (own, rest))
        all_own, all_rest = totals
        kept: Array = usable & (all_own <= MOST_OWN * all_rest)
        return kept


class RaggedShift(ShiftsSideBySide):
    """R operators on R graphs side by side, whose numbers of nodes differ: one product for all.

    Every block is what :func:`pgso.shift` would give for its S and its graph alone, to the last
    digit; so are the gradients of S.

    Args:
        graph: All graphs side by side, unweighted and undirected.
        sizes: The number of nodes of each replica.
        S: Shape (7, R).
        fixed: Whether S never learns.
    """

    kinds: Kinds
    nodes: list[int]

    def __init__(self, graph: Graph, sizes: list[int], S: Tensor, fixed: bool = False) -> None:
        kinds = Kinds.of(graph, sizes)
        S = S.double()
        *by_kind, m2, a = _Spread.apply(S, kinds.sizes).unbind()

        def power(base: Tensor, exponents: Tensor) -> Tensor:
            powers: Tensor = _Powers.apply(base, exponents, kinds.sizes)
            return powers

        tables = factors(by_kind, kinds.degree, power=power)
        super().__init__(graph, tables, kinds.index, fixed=fixed)
        self._set(kinds=kinds, nodes=sizes, within=tables._replace(m2=m2, a=a), m2=S[1])

    def times(self, x: Tensor) -> Tensor:  # type: ignore[override]  # (N, F)
        """γ_r x_r for every replica r."""
        own, left, right = self._vectors(x.dtype)
        mixing = None if self.fixed else self._once("_mixing", self._mixing)
        if mixing is None or mixing.all():
            return propagated(x, own, left, right, self._held(x.dtype), self._graph())
        return self._in_part(x, mixing)

    def _mixing(self) -> Array:  # (R,) of booleans
        """Which replicas compute γ x in one product (``mixes``): each decides as it would alone."""
        return self.kinds.keep_digits([part.detach().numpy() for part in self.tables])

    def _in_part(self, x: Tensor, mixing: Array) -> Tensor:
        """One product for all; replicas that do not mix leave out own ∘ x and m2, and add them."""
        mixed = torch.from_numpy(mixing.repeat(self.nodes))
        own, inside, left, right = self._inside(mixed, x.dtype)
        out = propagated(x, inside, left, right, None, self._graph())
        columns = [values.split(self.nodes) for values in (own.unsqueeze(1), x, out)]
        return self._completed(mixing.tolist(), *columns)


class _Spread(torch.autograd.Function):
    """The S of each replica for each of its kinds, and m2 and a once more: (7, R) -> (9, K).

    A gradient of S is a sum over kinds. It is taken replica by replica, and for the two places
    where m2 and a occur separately, as it is alone: the sum rounds in the same way.
    """

    @staticmethod
    def forward(ctx: Any, S: Tensor, sizes: list[int]) -> Tensor:
        ctx.sizes = sizes
        rows = torch.cat([S, S[1::5]])  # m2 is row 1, a is row 6
        return torch.from_numpy(rows.numpy().repeat(sizes, axis=1))  # a third of torch's time

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        sums = torch.stack([part.sum(1) for part in grads[0].split(ctx.sizes, 1)], 1)
        to_S = sums[:7]
        to_S[1::5] += sums[7:]
        return to_S, None


class _Powers(torch.autograd.Function):
    """base ** exponent, replica by replica: (K,), (3, K) -> (3, K); base is positive.

    Torch computes the last few powers of an array with another function than the others. So a
    power depends on its place, in the last digit.
    """

    @staticmethod
    def forward(ctx: Any, base: Tensor, exponents: Tensor, sizes: list[int]) -> Tensor:
        out = _powers(base, exponents, sizes)
        ctx.save_for_backward(base, exponents, out)
        ctx.sizes = sizes
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        base, exponents, out = ctx.saved_tensors
        slope = exponents * _powers(base, exponents - 1, ctx.sizes)
        to_base = torch.where(exponents == 0, 0.0, g * slope).sum(0)
        logarithm = torch.cat([part.log() for part in base.split(ctx.sizes)])
        return to_base, g * (out * logarithm), None


def _powers(base: Tensor, exponents: Tensor, sizes: list[int]) -> Tensor:
    out = torch.empty_like(exponents)
    columns = (values.split(sizes, -1) for values in (base, exponents, out))
    for base_r, exponents_r, out_r in zip(*columns, strict=True):
        torch.pow(base_r, exponents_r[:, :1], out=out_r)
    return out
