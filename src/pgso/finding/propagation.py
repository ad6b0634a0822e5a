"""Operators times features: the only file of ``finding`` that knows how γ acts."""

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from pgso.bases import undirected
from pgso.errors import InputError
from pgso.graph import Graph, Relations
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import PGSOParameters
from pgso.gso.shift import shift
from pgso.records.spec import SevenNumbers

ANY = "any"


@dataclass(frozen=True)
class Letter:
    """One operator of a rung: γ(A, S), and which edges it follows.

    ``"any"`` is the paper's operator on the graph where every edge has its reverse. ``"in"`` and
    ``"out"`` are for directed graphs: m1 D_in^e1 + m2 D_in^e2 A D_out^e3 + m3 I, and the same with
    A transposed and the degrees exchanged. A relation's name stands for the edges of that kind.
    """

    name: str  # a preset's name, or "learned"
    S: SevenNumbers
    edges: str = ANY  # "any", "in", "out", or a relation's name

    @classmethod
    def of(cls, preset: str, edges: str = ANY) -> "Letter":
        """The operator of a preset."""
        return cls(preset, tuple(PGSOParameters.of(preset).as_floats()), edges)  # type: ignore[arg-type]

    @property
    def term(self) -> str:
        """How a term is written: ``gcn``, ``gcn@out`` or ``gcn@knows``."""
        return self.name if self.edges == ANY else f"{self.name}@{self.edges}"


class Propagation:
    """Operators on one graph that differ in S and in the edges they follow.

    Example:
        >>> import torch
        >>> path = Propagation(Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])))
        >>> path.times(torch.tensor([[1.0], [2.0], [4.0]]), Letter.of("laplacian")).flatten()
        tensor([-1., -1.,  2.])
    """

    def __init__(self, graph: Graph, relations: Relations | None = None) -> None:
        self.graph, self.relations = graph, relations
        self._made: dict[Letter, ShiftOperator] = {}

    @cached_property
    def undirected(self) -> Graph:
        """The graph with a reverse for every edge."""
        return undirected(self.graph)

    def operator(self, letter: Letter, S: Tensor | None = None) -> ShiftOperator:
        """γ of a letter, made once; or of other values S (7,), through which gradients flow."""
        if S is None and letter in self._made:
            return self._made[letter]
        made = shift(self._followed(letter.edges), letter.S if S is None else S, degrees="both")
        if S is None:
            self._made[letter] = made
        return made

    def _followed(self, edges: str) -> Graph:
        if edges == ANY:
            return self.undirected
        if edges in ("in", "out"):
            return self.graph.T if edges == "out" else self.graph
        if self.relations is None:
            raise InputError(f"the edges have no kinds, and an operator asks for {edges!r}")
        return self.relations.part(edges)

    def times(self, x: Tensor, letter: Letter, S: Tensor | None = None) -> Tensor:
        """γ x, differentiable in S if it is given."""
        return self.operator(letter, S).times(x)
