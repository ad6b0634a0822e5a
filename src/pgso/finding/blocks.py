"""Letters, words and blocks: operators, their products on x, and the features of labelled rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from pgso.bases import undirected
from pgso.errors import InputError
from pgso.finding.columns import Preparation, structural_columns
from pgso.finding.problem import Problem
from pgso.finding.ridge import Block
from pgso.graph import Graph, Relations
from pgso.gso.operator import ShiftOperator
from pgso.gso.parameters import PRESETS
from pgso.gso.shift import shift
from pgso.records.spec import SevenNumbers

ANY = "any"
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LABEL_PATHS = {  # operators whose product says how much a label counts: A, and A D⁻¹ A
    1: ("adjacency",),
    2: ("adjacency", "mean"),
}
CALM = 1.0  # labels of an average neighbour that every mean over neighbours' labels starts from
GRAIN = 1 / (20 * math.pi)  # of labels for trees: no share of a few labels lies between two grains


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
        m1, m2, m3, e1, e2, e3, a = map(float, PRESETS[preset])
        return cls(preset, (m1, m2, m3, e1, e2, e3, a), edges)

    @property
    def term(self) -> str:
        """How a term is written: ``gcn``, ``gcn@out`` or ``gcn@knows``."""
        return self.name if self.edges == ANY else f"{self.name}@{self.edges}"


@dataclass(frozen=True)
class Word:
    """Operators applied to x, the last one first: (γ_1, γ_2) stands for γ_1 γ_2 x.

    Instead of x it may be ``of`` the labels of other nodes, as a closed form or as trees see them,
    or of the structure of the graph, which no operator is applied to. Graph tasks pool it: sums and
    means over a graph's nodes, side by side, of γ_1 γ_2 x, or of its product with x or with itself,
    column by column (second moments).
    """

    letters: tuple[Letter, ...] = ()
    squared: Literal["", "x", "itself"] = ""
    of: Literal["x", "labels", "labels for trees", "structure"] = "x"

    def __str__(self) -> str:
        powers = [(term, len(list(same))) for term, same in groupby(k.term for k in self.letters)]
        parts = [f"{t}{str(k).translate(SUPERSCRIPTS) if k > 1 else ''}" for t, k in powers]
        text = " ".join([*parts, self.of])
        return {"": text, "x": f"x ∘ {text}", "itself": f"({text})²"}[self.squared]


@dataclass(eq=False)
class Propagation:
    """Operators on one graph that differ in S and in the edges they follow.

    Example:
        >>> path = Propagation(Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])))
        >>> x = torch.tensor([[1.0], [2.0], [4.0]])
        >>> path.operator(Letter.of("laplacian")).times(x).flatten()
        tensor([-1., -1.,  2.])
    """

    graph: Graph
    relations: Relations | None = None
    _made: dict[Letter, ShiftOperator] = field(default_factory=dict)

    def operator(self, letter: Letter, S: Tensor | None = None) -> ShiftOperator:
        """γ of a letter, made once; or of other values S (7,), through which gradients flow."""
        if S is None and letter in self._made:
            return self._made[letter]
        graph, edges = self.graph, letter.edges
        if edges == ANY:
            if not graph.is_undirected:  # a graph that remembers itself is a cycle
                graph = graph.memo("undirected", lambda: undirected(self.graph))
        elif edges in ("in", "out"):
            graph = graph.T if edges == "out" else graph
        elif self.relations is None:
            raise InputError(f"the edges have no kinds, and an operator asks for {edges!r}")
        else:
            graph = self.relations.part(edges)
        made = shift(graph, letter.S if S is None else S, degrees="both")
        if S is None:
            self._made[letter] = made
        return made


@dataclass(eq=False)
class Blocks:
    """The columns of every word on one graph, and the blocks of its labelled nodes or graphs.

    Columns are those of the nodes, or pooled over each graph. What one rung computes, the next one
    may use again. Without labels that are known, the labels of neighbours are 0, an average label.
    How the pooled columns of each word are scaled is learned where ``scaling`` does not say it.

    With fewer labels than columns of x, the rows of γ_1 γ_2 that belong to labelled nodes are
    computed and then multiplied by x: (γ_2ᵀ γ_1ᵀ E)ᵀ x, where E's columns pick the labels.
    Otherwise γ_1 γ_2 x is. Where x stands for the identity, a node's own column says nothing about
    others: x itself is zeros, and γx is not.
    """

    x: Tensor  # (n, F) prepared; dense or sparse
    propagation: Propagation
    labels: tuple[Tensor, Tensor]  # (l,) nodes or graphs whose label is known, (l, C) what it is
    sizes: Tensor | None = None  # of a graph task: the nodes of each graph
    scaling: dict[Word, Preparation] = field(default_factory=dict)
    has_coordinates: bool = False  # whether x stands for the identity
    _values: dict[tuple[Letter, ...], Tensor] = field(default_factory=dict)
    _columns: dict[Word, Tensor] = field(default_factory=dict)  # that are not of x, or are pooled
    _rows: dict[tuple[Letter, ...], Tensor] = field(default_factory=dict)
    _blocks: dict[Word, Block] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem) -> "Blocks":
        """The blocks of a problem."""
        return cls(
            problem.x,
            Propagation(problem.graph, problem.relations),
            labels=(problem.train, problem.Y),
            sizes=problem.nodes_per_graph if problem.kind == "graph" else None,
            has_coordinates=problem.has_coordinates,
        )

    def values(self, letters: tuple[Letter, ...]) -> Tensor:  # (n, F)
        """γ_1 γ_2 x."""
        if letters not in self._values:
            if letters:
                gamma = self.propagation.operator(letters[0])
                made = gamma.times(self.values(letters[1:]))
            else:
                made = self.x.to_dense()
            self._values[letters] = made
        return self._values[letters]

    def columns(self, word: Word) -> Tensor:  # (items, p)
        """The features of every node or graph."""
        if self.sizes is None and word.of == "x":
            return self.values(word.letters)
        if word not in self._columns:
            if word.of == "x":
                values = self.values(word.letters)
            elif word.of == "structure":
                values = structural_columns(self.propagation.graph)
            elif len(self.labels[0]):
                nodes, targets = self.labels
                values = neighbour_labels(
                    self.propagation, word.letters, targets, nodes, word.of == "labels for trees"
                )
            else:
                values = torch.zeros(self.propagation.graph.num_nodes, self.labels[1].size(1))
            if self.sizes is not None:
                if word.squared:
                    values = values * (self.values(()) if word.squared == "x" else values)
                sums = values.new_zeros(len(self.sizes), values.size(1))
                sums.index_add_(0, torch.repeat_interleave(self.sizes), values)
                means = sums / self.sizes.clamp(min=1).unsqueeze(1)
                values = torch.cat([sums, means], dim=1)
                if word not in self.scaling:
                    self.scaling[word] = Preparation.of(values)
                values = self.scaling[word](values)[:, :-1]
            self._columns[word] = values
        return self._columns[word]

    def predict(
        self, words: Sequence[Word], weights: Sequence[Tensor], intercept: Tensor
    ) -> Tensor:  # (items, C)
        """The intercept plus γ_1 γ_2 (x W) of every word: C columns are propagated, not F."""
        items = self.x.size(0) if self.sizes is None else len(self.sizes)
        out = intercept.float().expand(items, -1)
        for word, W in zip(words, weights, strict=True):
            if self.sizes is not None or word.of != "x":
                out = out + self.columns(word) @ W
                continue
            values = self.x @ W
            for letter in reversed(word.letters):
                values = self.propagation.operator(letter).times(values)
            out = out + values
        return out

    def block(self, word: Word) -> Block:
        """The features of the labelled nodes or graphs."""
        train, _ = self.labels
        if self.sizes is not None:
            return Block.of(self.columns(word)[train])
        if word not in self._blocks:
            if word == Word() and self.has_coordinates:
                features = torch.zeros(len(train), self.x.size(1))
            elif len(train) < self.x.size(1) and word.of == "x":
                features = (self.x.t() @ self.rows(word.letters)).t().contiguous()
            else:
                features = self.columns(word)[train]
            self._blocks[word] = Block.of(features)
        return self._blocks[word]

    def rows(self, letters: tuple[Letter, ...]) -> Tensor:  # (n, l)
        """The rows of γ_1 γ_2 that belong to labels, as columns."""
        if letters not in self._rows:
            if letters:
                before = self.rows(letters[:-1])
                self._rows[letters] = self.propagation.operator(letters[-1]).T.times(before)
            else:
                train, _ = self.labels
                self._rows[letters] = torch.zeros(self.x.size(0), len(train))
                self._rows[letters][train, torch.arange(len(train))] = 1.0
        return self._rows[letters]

    def forget(self, most: int) -> None:
        """Free what is kept, except x itself, if it has more than so many numbers together."""
        train, _ = self.labels
        made = [*self._values.values(), *self._rows.values()]
        made += [block.features for block in self._blocks.values()]
        by_rows = self.sizes is None and len(train) < self.x.size(1)
        kernels = len(self._blocks) * len(train) ** 2 if by_rows else 0
        if kernels + sum(values.numel() for values in made) <= most:
            return
        self._rows = {key: value for key, value in self._rows.items() if not key}
        self._values = {key: value for key, value in self._values.items() if not key}
        self._blocks = {word: block for word, block in self._blocks.items() if not word.letters}


def neighbour_labels(
    propagation: Propagation,
    letters: tuple[Letter, ...],
    targets: Tensor,  # (l, C)
    train: Tensor,  # (l,) the nodes that have them
    for_trees: bool = False,
) -> Tensor:  # (n, C)
    r"""The mean of the labels that a product of operators leads to, without the node's own.

    With W the product, Y the centred targets and M the mask of labelled nodes, row i is

    .. math::
        \sum_{j \neq i} W_{ij} Y_j \, / \, (1 + \sum_{j \neq i} W_{ij} M_j):

    the diagonal of W is removed exactly, so that no node sees its own label, and Y is centred by
    the mean of the other labels: where a hub is near all of them, what differs from the mean of
    all would be minus its own. The one in the denominator is a label of an average node.

    The mean of the others differs by a trifle with the node's own class, which trees would read off
    it. So ``for_trees`` Y is centred by the mean of all labels, and values are rounded: by more
    than one label in some hundred, and by more than floating point.
    """
    Y = torch.zeros(propagation.graph.num_nodes, targets.size(1) + 1)
    centred = (targets - targets.mean(dim=0)).float()
    Y[train] = torch.cat([centred, torch.ones(len(train), 1)], dim=1)
    paths = Y
    for letter in reversed(letters):
        paths = propagation.operator(letter).times(paths)
    first, *rest = [propagation.operator(letter).to_scipy().tocsr() for letter in letters]
    diagonal = first.diagonal()
    if rest:  # of a product of two
        diagonal = np.asarray(first.multiply(rest[0].T).sum(axis=1)).ravel()
    paths = paths - torch.from_numpy(diagonal).float().unsqueeze(1) * Y
    sums, counts = paths[:, :-1], paths[:, -1:].clamp(min=0)
    if for_trees:
        return (sums / (CALM + counts) / GRAIN).round() * GRAIN
    sums[train] += counts[train] * centred / max(len(train) - 1, 1)
    return sums / (CALM + counts)
