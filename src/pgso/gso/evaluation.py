"""γ(A, S) on one graph at one S: its entries, and what the gradients of S are summed with."""

from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor

from pgso.graph import EdgeList, Graph, for_any_mode, turn
from pgso.gso.powers import numbers, powers_of


class Evaluation:
    """What depends on S and the graph alone, most of it computed when it is first asked for.

    It keeps no reference to the graph, so that it can be remembered for as long as the graph lives.
    """

    def __init__(self, graph: Graph | EdgeList, S: Tensor, transposed: bool) -> None:
        self.S, self.transposed = numbers(S), transposed
        m1, _, m3, e1, e2, e3, a = self.S
        self.powers = powers_of(graph, S.dtype, a, (e1, e2, e3))
        self.alpha = m1 * self.powers.D1 + m3  # (n,) what is diagonal in γ whatever A is
        # No cached properties: their locks cannot be traced.
        self._entries: Tensor | None = None
        self._transposed_entries: Tensor | None = None
        self._derivative_rows: Tensor | None = None
        self._parts: tuple[float, float] | None = None

    def entries(self, graph: Graph | EdgeList) -> Tensor:  # (nnz,)
        """The values of :func:`pgso.gso.message_passing.pgso_entries`."""
        if self._entries is None:
            self._entries = self._on_pattern(graph)
        return self._entries

    def transposed_entries(self, graph: Graph) -> Tensor:  # (nnz,)
        """Those of the transpose, on the other pattern: the same, in another order."""
        if self._transposed_entries is None:
            *_, e2, e3, _ = self.S
            entries = self.entries(graph)
            symmetric = graph.is_undirected and e2 == e3
            self._transposed_entries = (
                entries if symmetric else turn(entries, graph, self.transposed)
            )
        return self._transposed_entries

    def derivative_rows(self) -> Tensor:  # (7, n)
        """See :meth:`pgso.gso.powers.Powers.derivative_rows`."""
        if self._derivative_rows is None:
            self._derivative_rows = self.powers.derivative_rows()
        return self._derivative_rows

    def parts(self) -> tuple[float, float]:
        """The sizes of the two parts of γ: |m2| Σ_i d_i (d_i + a)^(e2+e3), and Σ_i |α_i|."""
        if self._parts is None:
            part = self.S[1] * (self.derivative_rows()[4] @ self.powers.d_a)
            self._parts = abs(float(part.detach())), float(self.alpha.detach().abs().sum())
        return self._parts

    def _on_pattern(self, graph: Graph | EdgeList) -> Tensor:  # (nnz,)
        _, m2, _, _, _, _, a = self.S
        D2, D3 = self.powers.D2, self.powers.D3
        pattern, weight = graph.pattern, graph.weight
        if self.transposed:
            assert isinstance(graph, Graph)
            pattern = graph.transposed
            if weight is not None and not graph.is_undirected:
                weight = weight.index_select(0, graph.transposition)
        left: Tensor = m2 * D2
        dtype = D2.dtype
        loops = a if graph.loops is None else graph.loops.to(dtype) + a
        diagonal = self.alpha + left * D3 * loops

        entries, others = left.index_select(0, pattern.row), D3.index_select(0, pattern.col)
        if isinstance(a, float):  # no one is watching: a large graph is spared two more buffers
            entries.mul_(others)
            if weight is not None:
                entries.mul_(weight)
            entries.index_copy_(0, pattern.diagonal, diagonal)
            return entries
        entries = entries * others if weight is None else entries * others * weight.to(dtype)
        gamma: Tensor = entries.index_copy(0, pattern.diagonal, diagonal)
        return gamma


def evaluation_of(graph: Graph, S: Tensor, transposed: bool) -> Evaluation:
    """The evaluation at an S of plain numbers; a graph remembers its last one.

    Layers that share S, and fixed operators in every step, ask for the same one again and again.
    """
    key = (S.dtype, transposed, *S.tolist())
    last = _last.get(graph)
    if last is None or last[0] != key:
        with for_any_mode():
            last = _last[graph] = key, Evaluation(graph, S, transposed)
    return last[1]


_last: "WeakKeyDictionary[Graph, tuple[tuple[Any, ...], Evaluation]]" = WeakKeyDictionary()
