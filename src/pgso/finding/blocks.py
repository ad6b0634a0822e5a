"""Blocks: the features γ_1 γ_2 ... x of labelled nodes or graphs, and predictions from weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import torch
from torch import Tensor

from pgso.finding.columns import Preparation, neighbour_labels, structural_columns
from pgso.finding.problem import Problem
from pgso.finding.propagation import Letter, Propagation
from pgso.finding.ridge import Block

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


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

    @property
    def is_of_labels(self) -> bool:
        """Whether a label is a column of its neighbours."""
        return self.of in ("labels", "labels for trees")

    def __str__(self) -> str:
        powers = [(term, len(list(same))) for term, same in groupby(k.term for k in self.letters)]
        parts = [f"{t}{str(k).translate(SUPERSCRIPTS) if k > 1 else ''}" for t, k in powers]
        text = " ".join([*parts, self.of])
        return {"": text, "x": f"x ∘ {text}", "itself": f"({text})²"}[self.squared]


class Columns:
    """The columns of every word on one graph: of its nodes, or pooled over each of its graphs.

    Without labels that are known, the labels of neighbours are 0, an average label. How the pooled
    columns of each word are scaled is learned where ``scaling`` does not say it.
    """

    def __init__(
        self,
        x: Tensor,  # (n, F) prepared; dense or sparse
        propagation: Propagation,
        labels: tuple[Tensor, Tensor],  # (l,) nodes whose label is known, (l, C) what it is
        sizes: Tensor | None = None,  # of a graph task: the nodes of each graph
        scaling: Mapping[Word, Preparation] | None = None,
    ) -> None:
        self.x, self.propagation, self.labels, self.sizes = x, propagation, labels, sizes
        self.scaling = dict(scaling or {})
        self._values: dict[tuple[Letter, ...], Tensor] = {}
        self._columns: dict[Word, Tensor] = {}  # that are not of x, or are pooled

    def values(self, letters: tuple[Letter, ...]) -> Tensor:  # (n, F)
        """γ_1 γ_2 x."""
        if letters not in self._values:
            if letters:
                made = self.propagation.times(self.values(letters[1:]), letters[0])
            else:
                made = self.x if self.x.layout == torch.strided else self.x.to_dense()
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
                values = self.propagation.times(values, letter)
            out = out + values
        return out


class Blocks(Columns):
    """The blocks of one problem. What one rung computes, the next one may use again.

    With fewer labels than columns, the rows of γ_1 γ_2 that belong to labelled nodes are computed
    and then multiplied by x: (γ_2ᵀ γ_1ᵀ E)ᵀ x, where E's columns pick the labels. Otherwise γ_1 γ_2
    x is. Where x stands for the identity, a node's own column says nothing about others: x itself
    is zeros, and γx is not.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, is_graph = problem, problem.kind == "graph"
        sizes = problem.nodes_per_graph if is_graph else None
        propagation = Propagation(problem.graph, problem.relations)
        super().__init__(problem.x, propagation, (problem.train, problem.Y), sizes)
        self.by_rows = not is_graph and len(problem.train) < problem.x.size(1)
        self._rows: dict[tuple[Letter, ...], Tensor] = {}
        self._blocks: dict[Word, Block] = {}

    def block(self, word: Word) -> Block:
        """The features of the labelled nodes or graphs."""
        problem = self.problem
        if self.sizes is not None:
            return Block.of(self.columns(word)[problem.train])
        if word not in self._blocks:
            if word == Word() and problem.has_coordinates:
                features = torch.zeros(len(problem.train), problem.x.size(1))
            elif self.by_rows and word.of == "x":
                features = (problem.x.t() @ self.rows(word.letters)).t().contiguous()
            else:
                features = self.columns(word)[problem.train]
            self._blocks[word] = Block.of(features)
        return self._blocks[word]

    def rows(self, letters: tuple[Letter, ...]) -> Tensor:  # (n, l)
        """The rows of γ_1 γ_2 that belong to labels, as columns."""
        if letters not in self._rows:
            if letters:
                before = self.rows(letters[:-1])
                self._rows[letters] = self.propagation.operator(letters[-1]).T.times(before)
            else:
                train = self.problem.train
                self._rows[letters] = torch.zeros(self.x.size(0), len(train))
                self._rows[letters][train, torch.arange(len(train))] = 1.0
        return self._rows[letters]

    def forget(self) -> None:
        """Free what is kept, except x itself."""
        self._rows = {key: value for key, value in self._rows.items() if not key}
        self._values = {key: value for key, value in self._values.items() if not key}
        self._blocks = {word: block for word, block in self._blocks.items() if not word.letters}

    @property
    def numbers_kept(self) -> int:
        """How many numbers the products that are kept have together."""
        made = [*self._values.values(), *self._rows.values()]
        made += [block.features for block in self._blocks.values()]
        kernels = len(self._blocks) * len(self.problem.train) ** 2 if self.by_rows else 0
        return kernels + sum(values.numel() for values in made)
