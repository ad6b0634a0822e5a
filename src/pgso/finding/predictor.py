"""What a finding learned: a module for any graph with the same features, and a saved model."""

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from pgso.errors import InputError
from pgso.evaluation.conformal import FEWEST, measured, strangeness
from pgso.finding.blocks import Columns, Word
from pgso.finding.forest import Forest
from pgso.finding.heads import Head, Table, mixture
from pgso.finding.ladder import Ladder
from pgso.finding.problem import Problem, one_hot
from pgso.finding.propagation import Propagation
from pgso.finding.scaling import Preparation
from pgso.finding.scores import Readout
from pgso.graph import Graph, Relations
from pgso.objectives.values import Scale
from pgso.saved import count_of, header_of, write_model

if TYPE_CHECKING:
    from pgso.finding.finding import Finding

WORDS = TypeAdapter(tuple[Word, ...])


@dataclass(frozen=True, eq=False)
class Part:
    r"""The closed form of one rung: :math:`b + \sum_w \gamma_{w_1} \gamma_{w_2} \cdots x W_w`."""

    words: tuple[Word, ...]
    weights: Sequence[Tensor]  # (F, C) of each word
    intercept: Tensor  # (C,)
    readout: Readout
    share: float  # of the mixture


class ClosedForm(nn.Module):
    """The mixture of closed forms, and of trees, that a finding predicts with.

    It is called as a network is. x is prepared as the features of the fit were. Nodes of another
    graph have no label that is known: where the labels of neighbours are columns, they are 0 there,
    an average label. :meth:`knowing` says which have one.
    """

    labels: tuple[Tensor, Tensor] | None = None  # (l,) nodes and (l, C) their targets

    def __init__(
        self,
        num_features: int,
        parts: Sequence[Part],
        *,
        is_classes: bool,
        scaling: Preparation | None,
        categories: tuple[int, ...] | None = None,
        trees: Forest | None = None,
        table: Table | None = None,
        pooling: Mapping[Word, Preparation] | None = None,
    ) -> None:
        super().__init__()
        self.num_features, self.parts, self.is_classes = num_features, tuple(parts), is_classes
        self.scaling, self.categories = scaling, categories
        self.trees, self.table = trees, table
        self.pooling = pooling  # of a graph task: how the pooled columns of each word are scaled

    @classmethod
    def of(cls, ladder: Ladder, head: Head) -> "ClosedForm":
        """What predicts in a finding."""
        problem = ladder.problem
        if problem.has_coordinates:
            raise InputError(
                "without features, the nodes of this finding are known by their place in its "
                "graph; another graph has no such place, and nothing is saved or predicted there"
            )
        rungs = [(ladder.fitted[name], w) for name, w in head.weights.items() if name != "trees"]
        return cls(
            problem.num_features,
            [Part(f.words, f.fit.weights, f.fit.intercept, f.readout, w) for f, w in rungs],
            is_classes=problem.answer == "class",
            scaling=problem.scaling,
            categories=problem.categories,
            trees=None if head.trees is None else Forest.of(head.trees),
            table=head.table,
            pooling=ladder.blocks.scaling if problem.kind == "graph" else None,
        )

    @property
    def scale(self) -> Scale | None:
        """How numbers are standardised; None of classes."""
        return self.parts[0].readout.scale

    @property
    def words(self) -> set[Word]:
        """All columns that it looks at."""
        of_parts = {word for part in self.parts for word in part.words}
        return of_parts if self.table is None else of_parts.union(self.table.words)

    def knowing(self, labels: tuple[Tensor, Tensor] | None) -> "ClosedForm":
        """The same where some nodes have a label that is known."""
        other = copy.copy(self)
        other.labels = labels
        return other

    def forward(
        self,
        x: Tensor,  # (n, F)
        graph: Graph | Relations,
        edge_weight: None = None,
        batch: Tensor | None = None,  # (n,) of a graph task
        num_graphs: int | None = None,
    ) -> Tensor:  # (n, C) or (graphs, C)
        """Logits of classes, or numbers in their unit."""
        if x.size(1) != self.num_features:
            raise InputError(f"x has {x.size(1)} columns, the head takes {self.num_features}")
        x = x if self.categories is None else one_hot(x, self.categories)
        sizes = None
        if self.pooling is None:
            assert self.scaling is not None
            x = self.scaling(x)
        else:
            assert batch is not None
            sizes = torch.bincount(batch, minlength=num_graphs or 0)
            x = (x if x.layout == torch.strided else x.to_dense()).float()
            x = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
        relations = graph if isinstance(graph, Relations) else None
        propagation = Propagation(graph.union if isinstance(graph, Relations) else graph, relations)
        none = torch.empty(0, dtype=torch.long), torch.empty(0, len(self.parts[0].intercept))
        data = Columns(x, propagation, self.labels or none, sizes, self.pooling)
        outs = [p.readout(data.weighted(p.words, p.weights, p.intercept)) for p in self.parts]
        shares = [part.share for part in self.parts]
        if self.trees is not None and self.table is not None and not x.requires_grad:
            columns = self.table.on(data)  # trees have no gradient
            said = self.trees(columns)
            outs, shares = [*outs, torch.from_numpy(said)], [*shares, 1 - shares[0]]
        return outs[0] if len(outs) == 1 else mixture(self.is_classes, outs, np.array(shares))

    def state(self) -> dict[str, Any]:
        """As plain data with tensors in it."""
        pooling = [(w, p) for w, p in (self.pooling or {}).items() if w in self.words]
        return {
            "num_features": self.num_features,
            "is_classes": self.is_classes,
            "categories": self.categories,
            "scaling": self.scaling and vars(self.scaling),
            "parts": [
                {
                    "words": WORDS.dump_python(part.words),
                    "weights": part.weights,
                    "intercept": part.intercept,
                    "readout": vars(part.readout)
                    | {"scale": part.readout.scale and vars(part.readout.scale)},
                    "share": part.share,
                }
                for part in self.parts
            ],
            "pooling": None
            if self.pooling is None
            else {
                "words": WORDS.dump_python(tuple(word for word, _ in pooling)),
                "scaling": [vars(preparation) for _, preparation in pooling],
            },
            "trees": self.trees and self.trees.state(),
            "table": self.table
            and {
                "words": WORDS.dump_python(self.table.words),
                "reductions": self.table.reductions,
            },
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "ClosedForm":
        """The same again; what does not fit together is refused."""
        parts = []
        for part in state["parts"]:
            intercept, scale = part["intercept"], part["readout"]["scale"]
            if intercept.dim() != 1 or any(W.shape[1:] != intercept.shape for W in part["weights"]):
                raise ValueError("weights that do not fit together")
            readout = Readout(**part["readout"] | {"scale": scale and Scale(**scale)})
            if scale is None and (readout.centre is None or readout.prior is None):
                raise ValueError("classes without shares")
            words = WORDS.validate_python(part["words"])
            parts.append(Part(words, part["weights"], intercept, readout, float(part["share"])))
        if not parts:
            raise ValueError("it has no closed form")
        table, pooling, categories = state["table"], state["pooling"], state["categories"]
        if pooling is not None:
            words = WORDS.validate_python(pooling["words"])
            made = [Preparation(**one) for one in pooling["scaling"]]
            pooling = dict(zip(words, made, strict=True))
        if table is not None:
            words = WORDS.validate_python(table["words"])
            table = Table(np.zeros((0, 0)), words, tuple(table["reductions"]))
        return cls(
            count_of(state["num_features"]),
            parts,
            is_classes=bool(state["is_classes"]),
            scaling=state["scaling"] and Preparation(**state["scaling"]),
            categories=categories and tuple(map(count_of, categories)),
            trees=state["trees"] and Forest.from_state(state["trees"]),
            table=table,
            pooling=pooling,
        )


def save_finding(finding: "Finding", path: str | os.PathLike[str], remember: bool = True) -> None:
    """Write what predicts, how its table is prepared, and the graph that it was fitted on."""
    problem, task, record = finding._ladder.problem, finding.task, finding.record
    if problem.answer == "labels":
        raise InputError(
            "a finding with several labels each cannot be saved; save a network instead"
        )
    model = finding.head()
    strange, coverage = calibration(problem, finding._head)
    needs_labels = any(word.is_of_labels for word in model.words)
    header = header_of(task, record.spec, strange, coverage, task if remember else None)
    said = {"rung": record.best, "head": record.head, "verdict": record.verdict}
    header |= {
        "form": "closed form",
        "head": model.state(),
        "labels": [problem.train, problem.Y] if needs_labels else None,
        "found": {**said, "val": record.kept.val, "test": record.kept.test},
    }
    write_model(path, header)


def calibration(problem: Problem, head: Head) -> tuple[Any, dict[str, float] | None]:
    """How strange the labels are that the head was not fitted to, and what that holds on test.

    Labels of validation. Where they are few, training labels take part with the predictions of
    fits that left them out.
    """
    items, honest = problem.judges, head.honest
    if len(problem.val) >= FEWEST:
        items, honest = problem.val, honest[len(problem.train) :]

    def said(out: Tensor) -> Any:
        return (out.softmax(dim=1) if problem.classes else out).numpy()

    strange = strangeness(said(honest), problem.y[items].numpy())
    test = problem.test
    return strange, measured(said(head.out[test]), problem.y[test].numpy(), strange)
