"""The predictor: what a finding learned as a module, for any graph with the same features."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from pgso.errors import InputError
from pgso.finding.blocks import Word, weighted_sum
from pgso.finding.columns import structural_columns
from pgso.finding.heads import Head, Table, Trees, mixture
from pgso.finding.ladder import Fitted, Ladder
from pgso.finding.propagation import Propagation
from pgso.finding.scaling import Preparation
from pgso.finding.scores import Readout
from pgso.graph import Graph


@dataclass(frozen=True, eq=False)
class Part:
    r"""The closed form of one rung: :math:`b + \sum_w \gamma_{w_1} \gamma_{w_2} \cdots x W_w`."""

    words: tuple[Word, ...]
    weights: tuple[Tensor, ...]  # (F, C) of each word
    intercept: Tensor  # (C,)
    readout: Readout
    share: float  # of the mixture

    @classmethod
    def of(cls, fitted: Fitted, share: float) -> "Part":
        """A rung as it was fitted."""
        fit = fitted.fit
        return cls(fitted.words, fit.weights, fit.intercept, fitted.readout, share)


class Predictor(nn.Module):
    """The mixture of closed forms, and of trees, that a finding predicts with; node tasks only.

    x is prepared as the features of the fit were. On another graph no node has a label that is
    known: where the labels of neighbours are columns, they are 0 there, an average label.
    """

    def __init__(
        self,
        preparation: Preparation,
        num_features: int,
        parts: Sequence[Part],
        trees: Trees | None,
        table: Table | None,
        is_classes: bool,
    ) -> None:
        super().__init__()
        self.preparation, self.num_features = preparation, num_features
        self.parts, self.trees, self.table = tuple(parts), trees, table
        self.is_classes = is_classes

    @classmethod
    def of(cls, ladder: Ladder, best: Fitted, head: Head) -> "Predictor":
        """The predictor of a finding."""
        problem = ladder.problem
        if problem.preparation is None:
            raise InputError("find has a head for other graphs in node tasks only")
        names = [name for name in head.weights if name != "trees"]
        parts = [Part.of(ladder.fitted[name], head.weights[name]) for name in names]
        return cls(
            problem.preparation,
            problem.num_features,
            parts,
            head.trees,
            head.table,
            bool(problem.classes),
        )

    def forward(self, x: Tensor, graph: Graph) -> Tensor:  # (n, F) -> (n, C)
        """Logits of classes, or numbers in their unit."""
        if x.size(1) != self.num_features:
            raise InputError(f"x has {x.size(1)} columns, the head takes {self.num_features}")
        x, propagation = self.preparation(x), Propagation(graph)
        beside = partial(self._beside, graph)
        outs = [
            part.readout(
                weighted_sum(propagation, x, part.words, part.weights, part.intercept, beside)
            )
            for part in self.parts
        ]
        shares = [part.share for part in self.parts]
        if self.trees is not None and self.table is not None:
            columns = self.table.on(partial(self._columns, x, propagation))
            said = torch.from_numpy(self.trees(np.concatenate([outs[0].numpy(), columns], axis=1)))
            outs, shares = [*outs, said], [*shares, 1 - shares[0]]
        return outs[0] if len(outs) == 1 else mixture(self.is_classes, outs, np.array(shares))

    def _columns(self, x: Tensor, propagation: Propagation, word: Word) -> Tensor:
        if word.of != "x":
            return self._beside(propagation.graph, word)
        values = x if x.layout == torch.strided else x.to_dense()
        for letter in reversed(word.letters):
            values = propagation.times(values, letter)
        return values

    def _beside(self, graph: Graph, word: Word) -> Tensor:  # (n, p)
        """Columns that are not of x."""
        if word.of == "structure":
            return structural_columns(graph)
        return torch.zeros(graph.num_nodes, len(self.parts[0].intercept))
