"""What a finding learned: a module for any graph with the same features, and a saved model."""

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch
from pydantic import ConfigDict, Field, TypeAdapter
from torch import Tensor, nn

from pgso.errors import InputError
from pgso.evaluation.conformal import FEWEST, measured, strangeness
from pgso.finding.blocks import Columns, Word
from pgso.finding.forest import Forest
from pgso.finding.heads import Head, Table, mixture
from pgso.finding.ladder import Ladder
from pgso.finding.problem import Problem, one_hot
from pgso.finding.propagation import Propagation
from pgso.finding.ridge import Weighted
from pgso.finding.scaling import Preparation
from pgso.finding.scores import Readout
from pgso.graph import Graph, Relations
from pgso.objectives.values import Scale
from pgso.saved import header_of, write_model

if TYPE_CHECKING:
    from pgso.finding.finding import Finding

Count = Annotated[int, Field(strict=True, ge=0, lt=2**40)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(Weighted):
    r"""The closed form of one rung: :math:`b + \sum_w \gamma_{w_1} \gamma_{w_2} \cdots x W_w`."""

    words: tuple[Word, ...]
    readout: Readout
    share: float  # of the mixture

    def __post_init__(self) -> None:
        shape, readout = self.intercept.shape, self.readout
        if len(shape) != 1 or any(W.shape[1:] != shape for W in self.weights):
            raise ValueError("weights that do not fit together")
        if readout.scale is None and (readout.centre is None or readout.prior is None):
            raise ValueError("classes without shares")


@dataclass(frozen=True, eq=False)
class Pooling:
    """How the pooled columns of each word are scaled."""

    words: tuple[Word, ...]
    scaling: tuple[Preparation, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Form:
    """What is saved of a closed form: plain data with tensors in it."""

    num_features: Count
    is_classes: bool
    categories: tuple[Count, ...] | None
    scaling: Preparation | None  # of the features of nodes
    parts: Annotated[tuple[Part, ...], Field(min_length=1)]
    pooling: Pooling | None  # of a graph task
    trees: Forest | None
    table: Table | None  # what the trees see

    __pydantic_config__ = ConfigDict(arbitrary_types_allowed=True)


FORM = TypeAdapter(Form)


class ClosedForm(nn.Module):
    """The mixture of closed forms, and of trees, that a finding predicts with.

    It is called as a network is. x is prepared as the features of the fit were. Nodes of another
    graph have no label that is known: where the labels of neighbours are columns, they are 0 there,
    an average label. :meth:`knowing` says which have one.
    """

    labels: tuple[Tensor, Tensor] | None = None  # (l,) nodes and (l, C) their targets

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form, self.parts, self.trees = form, form.parts, form.trees
        self.scale: Scale | None = form.parts[0].readout.scale  # of numbers

    @classmethod
    def of(cls, ladder: Ladder, head: Head) -> "ClosedForm":
        """What predicts in a finding."""
        problem, words, parts = ladder.problem, set[Word](), list[Part]()
        if problem.has_coordinates:
            raise InputError(
                "without features, the nodes of this finding are known by their place in its "
                "graph; another graph has no such place, and nothing is saved or predicted there"
            )
        for name, share in head.weights.items():
            if name != "trees":
                one = ladder.fitted[name]
                words |= set(one.words)
                fit: dict[str, Any] = {"weights": one.fit.weights, "intercept": one.fit.intercept}
                parts.append(Part(words=one.words, **fit, readout=one.readout, share=share))
        words |= set() if head.table is None else set(head.table.words)
        scaling = {w: made for w, made in ladder.blocks.scaling.items() if w in words}
        is_graph = problem.kind == "graph"
        return cls(
            Form(
                num_features=problem.num_features,
                is_classes=problem.answer == "class",
                categories=problem.categories,
                scaling=problem.scaling,
                parts=tuple(parts),
                pooling=Pooling(tuple(scaling), tuple(scaling.values())) if is_graph else None,
                trees=None if head.trees is None else Forest.of(head.trees),
                table=head.table,
            )
        )

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "ClosedForm":
        """The same again; what does not fit together is refused."""
        return cls(FORM.validate_python(state))

    def state(self) -> dict[str, Any]:
        """As plain data with tensors in it."""
        saved: dict[str, Any] = FORM.dump_python(self.form)
        return saved

    @property
    def needs_labels(self) -> bool:
        """Whether labels of neighbours are among its columns."""
        words = [word for part in self.parts for word in part.words]
        words += [] if self.form.table is None else self.form.table.words
        return any(word.is_of_labels for word in words)

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
        form, sizes, pooling = self.form, None, None
        if x.size(1) != form.num_features:
            raise InputError(f"x has {x.size(1)} columns, the head takes {form.num_features}")
        x = x if form.categories is None else one_hot(x, form.categories)
        if form.pooling is None:
            assert form.scaling is not None
            x = form.scaling(x)
        else:
            assert batch is not None
            sizes = torch.bincount(batch, minlength=num_graphs or 0)
            pooling = dict(zip(form.pooling.words, form.pooling.scaling, strict=True))
            x = (x if x.layout == torch.strided else x.to_dense()).float()
            x = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
        relations = graph if isinstance(graph, Relations) else None
        propagation = Propagation(graph.union if isinstance(graph, Relations) else graph, relations)
        none = torch.empty(0, dtype=torch.long), torch.empty(0, len(self.parts[0].intercept))
        data = Columns(x, propagation, self.labels or none, sizes, pooling)
        outs = [part.readout(data.predict(part.words, part)) for part in self.parts]
        shares = [part.share for part in self.parts]
        if self.trees is not None and form.table is not None and not x.requires_grad:
            outs.append(torch.from_numpy(self.trees(form.table.on(data))))  # they have no gradient
            shares.append(1 - shares[0])
        return outs[0] if len(outs) == 1 else mixture(form.is_classes, outs, np.array(shares))


def save_finding(finding: "Finding", path: str | os.PathLike[str], remember: bool = True) -> None:
    """Write what predicts, how its table is prepared, and the graph that it was fitted on."""
    problem, task, record = finding._ladder.problem, finding.task, finding.record
    if problem.answer == "labels":
        raise InputError(
            "a finding with several labels each cannot be saved; save a network instead"
        )
    model = finding.head()
    strange, coverage = calibration(problem, finding._head)
    header = header_of(task, record.spec, strange, coverage, task if remember else None)
    said = {"rung": record.best, "head": record.head, "verdict": record.verdict}
    header |= {
        "form": "closed form",
        "head": model.state(),
        "labels": [problem.train, problem.Y] if model.needs_labels else None,
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
