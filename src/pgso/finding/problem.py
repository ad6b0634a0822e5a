"""What is to be found out: a graph, features, targets and the labels that may be used."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from pgso.data import Task
from pgso.data.description import is_diagonal
from pgso.errors import InputError
from pgso.finding.scaling import Preparation
from pgso.graph import Graph, Relations
from pgso.objectives import OBJECTIVES, Objective
from pgso.objectives.values import Scale

MANY_LABELS = 2000  # from here on wide features are reduced to ...
COMPONENTS = 384  # ... this many principal components: a decomposition costs columns³
REFUSED = {"labels": "several labels each", "link": "links"}


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes or graphs with targets, prepared for ridge regression.

    ``x`` is dense or CSR. Dense columns have unit variance. Sparse rows (bags of words) have norm
    1, and their columns stay as they are: rare words would become the largest features. With many
    labels, wide features are reduced to their principal components. The nodes of graph tasks keep
    their features and get a column of ones, since sums over a graph count; it is the pooled
    columns that have unit variance.

    Numbers to be predicted have zero mean and unit variance over the training labels, so that
    several columns count the same. What lacks one of several numbers does not train.
    """

    name: str
    kind: Literal["node", "graph"]
    metric: str  # the objective's name
    graph: Graph
    x: Tensor  # (n, F)
    y: Tensor  # (items,) int64 classes, or (items, T) numbers, NaN where one is missing
    train: Tensor
    val: Tensor
    test: Tensor
    classes: tuple[str, ...]  # empty: regression
    nodes_per_graph: Tensor
    num_features: int  # before x was prepared
    has_features: bool = True  # False: a column is a node's own, as where x was left out
    preparation: Preparation | None = None  # what was done to the features of nodes
    ids: tuple[str, ...] | None = None  # what the user calls each node or graph
    columns: tuple[str, ...] = ()  # the names of the numbers
    categories: tuple[int, ...] | None = None  # of integer features, which are one-hot here
    relations: Relations | None = None  # the edges by their kind, where they have kinds
    positive: str | None = None  # of two classes, the one that scores are about

    @classmethod
    def of(cls, task: Task) -> "Problem":
        """A task's features and labels."""
        if task.answer in REFUSED:
            raise InputError(
                f"{task.name} asks for {REFUSED[task.answer]}, and find answers for one class or "
                "for numbers of each node or graph; train it with pgso compare instead"
            )
        if not task.classes and not task.targets:
            raise InputError(
                f"{task.name} was loaded without labels; find needs some to learn from"
            )
        x = task.x if task.categories is None else _one_hot(task.x, task.categories)
        return cls.prepared(
            name=task.name,
            kind=task.kind,
            metric=task.metric,
            positive=task.positive,
            graph=task.graph,
            x=x,
            y=task.y,
            train=task.train,
            val=task.val,
            test=task.test,
            classes=task.classes,
            nodes_per_graph=task.nodes_per_graph,
            num_features=task.num_features,
            categories=task.categories,
            ids=task.ids,
            columns=task.targets,
            relations=task.relations,
        )

    @classmethod
    def prepared(cls, *, x: Tensor, **fields: Any) -> "Problem":
        """The same fields, of which x is as it was given."""
        fields.setdefault("num_features", x.size(1))
        fields["has_features"] = fields["kind"] == "graph" or not is_diagonal(x)
        preparation = None
        if fields["kind"] == "graph":
            x = (x if x.layout == torch.strided else x.to_dense()).float()
            ready = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
        else:
            is_large = len(fields["train"]) > MANY_LABELS and x.size(1) > COMPONENTS
            preparation = Preparation.of(x, COMPONENTS if is_large else None)
            ready = preparation(x)
        if not fields["classes"]:
            has_number = fields["y"].isfinite()
            fields["train"] = fields["train"][has_number[fields["train"]].all(dim=1)]
            for part in ("val", "test"):
                fields[part] = fields[part][has_number[fields[part]].any(dim=1)]
        return cls(x=ready, preparation=preparation, **fields)

    @property
    def objective(self) -> Objective:
        """What is scored, and which way is better."""
        objective = OBJECTIVES[self.metric]
        if self.positive is None:
            return objective
        return objective.of_class(self.positive, self.classes.index(self.positive))

    @property
    def num_outputs(self) -> int:
        """The number of classes, or of numbers."""
        return len(self.classes) or self.y.size(1)

    @cached_property
    def targets(self) -> Tensor:  # (labels, C), 64 bits
        """One column per class, 1 for a label's own; or the numbers, standardised."""
        y = self.y[self.train]
        if self.scale is not None:
            return self.scale.encode(y.double())
        return torch.nn.functional.one_hot(y, len(self.classes)).double()

    @cached_property
    def class_weight(self) -> Tensor | None:  # (C,), 64 bits
        """How much a label of each class counts; None: all count the same."""
        if not getattr(self.objective, "is_balanced", False):
            return None
        weight = torch.ones(len(self.classes), dtype=torch.float64)
        weights = self.objective.class_weight(self.y[self.train]).double()
        weight[: len(weights)] = weights.where(weights > 0, torch.ones_like(weights))
        return weight

    @cached_property
    def scale(self) -> Scale | None:
        """How numbers are standardised; None of classes."""
        return self.objective.scale(self.y[self.train], log=False)


def _one_hot(x: Tensor, categories: tuple[int, ...]) -> Tensor:
    columns = [torch.nn.functional.one_hot(x[:, c], size) for c, size in enumerate(categories)]
    return torch.cat(columns, dim=1).float()
