"""Blocks: the features γ_1 γ_2 ... x of labelled nodes or graphs, and predictions from weights."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from pgso.finding.columns import neighbour_labels, structural_columns
from pgso.finding.problem import Problem
from pgso.finding.propagation import Letter, Propagation
from pgso.finding.ridge import Block, Fit
from pgso.finding.scaling import Preparation


@dataclass(frozen=True)
class Word:
    """Operators applied to x, the last one first: (γ_1, γ_2) stands for γ_1 γ_2 x.

    Instead of x it may be ``of`` the labels of other nodes (:func:`neighbour_labels`), or of the
    structure of the graph (:func:`structural_columns`), which no operator is applied to.

    Graph tasks pool it: sums and means over a graph's nodes, side by side, of γ_1 γ_2 x, or of its
    product with x or with itself, column by column (second moments).
    """

    letters: tuple[Letter, ...] = ()
    squared: Literal["", "x", "itself"] = ""
    of: Literal["x", "labels", "structure"] = "x"

    def __str__(self) -> str:
        powers: list[list[str | int]] = []
        for letter in self.letters:
            if powers and powers[-1][0] == letter.term:
                powers[-1][1] = int(powers[-1][1]) + 1
            else:
                powers.append([letter.term, 1])
        text = " ".join(f"{name}{_superscript(int(k))}" for name, k in powers)
        text = f"{text} {self.of}" if text else self.of
        return {"": text, "x": f"x ∘ {text}", "itself": f"({text})²"}[self.squared]


class Blocks(ABC):
    """The blocks of one problem. What one rung computes, the next one may use again."""

    @staticmethod
    def of(problem: Problem) -> "Blocks":
        """Blocks of a node or a graph task."""
        return GraphBlocks(problem) if problem.kind == "graph" else NodeBlocks(problem)

    @abstractmethod
    def block(self, word: Word) -> Block:
        """The features of the labelled rows."""

    @abstractmethod
    def predict(self, words: Sequence[Word], fit: Fit) -> Tensor:
        """The values of every node or graph, (items, C)."""

    @abstractmethod
    def columns(self, word: Word) -> Tensor:
        """The features of every node or graph, (items, p)."""

    @abstractmethod
    def forget(self) -> None:
        """Free the products that are kept for words to come, except x itself."""

    @property
    @abstractmethod
    def numbers_kept(self) -> int:
        """How many numbers the products that are kept have together."""


class NodeBlocks(Blocks):
    """Blocks of a node task.

    With fewer labels than columns, the rows of γ_1 γ_2 that belong to labels are computed and then
    multiplied by x, which may be sparse: (γ_2ᵀ γ_1ᵀ E)ᵀ x, where E's columns pick the labels.
    Otherwise γ_1 γ_2 x is. Predictions γ_1 γ_2 (x W) need C columns only.

    Where x stands for the identity, a node's own column says nothing about other nodes: x itself is
    zeros, and γx is not.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.propagation = Propagation(problem.graph, problem.relations)
        self.by_rows = len(problem.train) < problem.x.size(1)
        self._known: dict[tuple[Letter, ...], Tensor] = {}
        self._blocks: dict[Word, Block] = {}
        self._columns: dict[Word, Tensor] = {}

    def block(self, word: Word) -> Block:
        """The features of the labelled rows."""
        if word not in self._blocks:
            if word.of != "x":
                features = self._beside(word)[self.problem.train]
            elif not word.letters and self.problem.has_coordinates:
                features = torch.zeros(len(self.problem.train), self.problem.x.size(1))
            elif self.by_rows:
                features = (self.problem.x.t() @ self._rows(word.letters)).t().contiguous()
            else:
                features = self._values(word.letters)[self.problem.train]
            self._blocks[word] = Block.of(features)
        return self._blocks[word]

    def predict(self, words: Sequence[Word], fit: Fit) -> Tensor:
        """The values of every node, (n, C)."""
        x = self.problem.x
        return weighted_sum(self.propagation, x, words, fit.weights, fit.intercept, self._beside)

    def columns(self, word: Word) -> Tensor:
        """The features of every node, (n, p)."""
        if word.of != "x":
            return self._beside(word)
        if not self.by_rows:
            return self._values(word.letters)
        x = self.problem.x  # what is kept are rows of operators, not values
        values = x if x.layout == torch.strided else x.to_dense()
        for letter in reversed(word.letters):
            values = self.propagation.times(values, letter)
        return values

    def _beside(self, word: Word) -> Tensor:  # (n, p)
        """The columns of a word that is not of x."""
        if word not in self._columns:
            if word.of == "structure":
                self._columns[word] = structural_columns(self.problem.graph)
            else:
                targets, train = self.problem.targets, self.problem.train
                self._columns[word] = neighbour_labels(
                    self.propagation, word.letters, targets, train
                )
        return self._columns[word]

    def forget(self) -> None:
        """Free what is kept, except x itself."""
        self._known = {key: value for key, value in self._known.items() if not key}
        self._blocks = {word: block for word, block in self._blocks.items() if not word.letters}

    @property
    def numbers_kept(self) -> int:
        """How many numbers the products that are kept have together."""
        features = sum(block.features.numel() for block in self._blocks.values())
        kernels = len(self._blocks) * len(self.problem.train) ** 2 if self.by_rows else 0
        return features + kernels + sum(values.numel() for values in self._known.values())

    def _rows(self, letters: tuple[Letter, ...]) -> Tensor:  # (n, l)
        if letters not in self._known:
            if letters:
                before = self._rows(letters[:-1])
                self._known[letters] = self.propagation.times_transposed(before, letters[-1])
            else:
                E = torch.zeros(self.problem.x.size(0), len(self.problem.train))
                E[self.problem.train, torch.arange(len(self.problem.train))] = 1.0
                self._known[letters] = E
        return self._known[letters]

    def _values(self, letters: tuple[Letter, ...]) -> Tensor:  # (n, F)
        if letters not in self._known:
            if letters:
                after = self._values(letters[1:])
                self._known[letters] = self.propagation.times(after, letters[0])
            else:
                x = self.problem.x
                self._known[letters] = x if x.layout == torch.strided else x.to_dense()
        return self._known[letters]


class GraphBlocks(Blocks):
    """Blocks of a graph task: values of nodes, pooled over each graph."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.propagation = Propagation(problem.graph, problem.relations)
        self.sizes = problem.nodes_per_graph
        self.scaling: dict[Word, Preparation] = {}  # of pooled columns
        x = problem.x
        self._known: dict[tuple[Letter, ...], Tensor] = {
            (): x if x.layout == torch.strided else x.to_dense()
        }
        self._pooled: dict[Word, Tensor] = {}

    def block(self, word: Word) -> Block:
        """The features of the labelled graphs."""
        return Block.of(self._features(word)[self.problem.train])

    def predict(self, words: Sequence[Word], fit: Fit) -> Tensor:
        """The values of every graph, (graphs, C)."""
        out = fit.intercept.float().expand(len(self.sizes), -1)
        for word, weights in zip(words, fit.weights, strict=True):
            out = out + self._features(word) @ weights
        return out

    def columns(self, word: Word) -> Tensor:
        """The features of every graph, (graphs, p)."""
        return self._features(word)

    def forget(self) -> None:
        """Free what is kept, except x itself."""
        self._known = {key: value for key, value in self._known.items() if not key}

    @property
    def numbers_kept(self) -> int:
        """How many numbers the products that are kept have together."""
        return sum(values.numel() for values in self._known.values())

    def _features(self, word: Word) -> Tensor:  # (graphs, F)
        if word not in self._pooled:
            if word.of == "structure":
                values = structural_columns(self.problem.graph)
            else:
                values = self._values(word.letters)
            if word.squared:
                values = values * (self._known[()] if word.squared == "x" else values)
            columns = pooled(values, self.sizes)
            self.scaling[word] = Preparation.of(columns)
            self._pooled[word] = self.scaling[word](columns)[:, :-1]
        return self._pooled[word]

    def _values(self, letters: tuple[Letter, ...]) -> Tensor:  # (n, F)
        if letters not in self._known:
            after = self._values(letters[1:])
            self._known[letters] = self.propagation.times(after, letters[0])
        return self._known[letters]


def pooled(values: Tensor, sizes: Tensor) -> Tensor:  # (n, p) -> (graphs, 2 p)
    """Sums over the nodes of each graph, then means."""
    sums = values.new_zeros(len(sizes), values.size(1))
    sums.index_add_(0, torch.repeat_interleave(sizes), values)
    return torch.cat([sums, sums / sizes.clamp(min=1).unsqueeze(1)], dim=1)


def weighted_sum(
    propagation: Propagation,
    x: Tensor,  # (n, F)
    words: Sequence[Word],
    weights: Sequence[Tensor],  # (F, C) of each word
    intercept: Tensor,  # (C,)
    beside: Callable[[Word], Tensor],  # the columns of words that are not of x
) -> Tensor:  # (n, C)
    """The intercept plus γ_1 γ_2 (x W) of every word: C columns are propagated, not F."""
    out = intercept.float().expand(x.size(0), -1)
    for word, W in zip(words, weights, strict=True):
        if word.of != "x":
            out = out + beside(word) @ W
            continue
        values = x @ W
        for letter in reversed(word.letters):
            values = propagation.times(values, letter)
        out = out + values
    return out


def _superscript(power: int) -> str:
    return "" if power == 1 else "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(power))
