"""What is to be found out: a graph, features, targets and the labels that may be used."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from pgso.data import Task
from pgso.errors import InputError
from pgso.graph import Graph
from pgso.objectives import OBJECTIVES, Objective
from pgso.objectives.scale import Scale

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
    categories: tuple[int, ...] | None = None  # of integer features, which are one-hot here

    @classmethod
    def of(cls, task: Task) -> "Problem":
        """A task's features and labels."""
        if task.answer in REFUSED:
            raise InputError(
                f"{task.name} asks for {REFUSED[task.answer]}, and find answers for one class or "
                "for numbers of each node or graph; train it with pgso compare instead"
            )
        x = task.x if task.categories is None else _one_hot(task.x, task.categories)
        return cls.prepared(
            name=task.name,
            kind=task.kind,
            metric=task.metric,
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
        )

    @classmethod
    def prepared(cls, *, x: Tensor, **fields: Any) -> "Problem":
        """The same fields, of which x is as it was given."""
        fields.setdefault("num_features", x.size(1))
        many = fields["kind"] == "node" and len(fields["train"]) > MANY_LABELS
        ready = _prepare(x, fields["kind"], many and x.size(1) > COMPONENTS)
        if not fields["classes"]:
            known = fields["y"].isfinite()
            fields["train"] = fields["train"][known[fields["train"]].all(dim=1)]
            for part in ("val", "test"):
                fields[part] = fields[part][known[fields[part]].any(dim=1)]
        return cls(x=ready, **fields)

    @property
    def objective(self) -> Objective:
        """What is scored, and which way is better."""
        return OBJECTIVES[self.metric]

    @property
    def num_outputs(self) -> int:
        """The number of classes, or of numbers."""
        return len(self.classes) or self.y.size(1)

    @cached_property
    def targets(self) -> Tensor:  # (labels, C), 64 bits
        """One column per class, 1 for a label's own; or the numbers, standardised."""
        y = self.y[self.train]
        if self._scale is not None:
            return self._scale.encode(y.double())
        return torch.nn.functional.one_hot(y, len(self.classes)).double()

    @cached_property
    def class_weight(self) -> Tensor | None:  # (C,), 64 bits
        """How much a label of each class counts; None: all count the same."""
        if not getattr(self.objective, "is_balanced", False):
            return None
        weight = torch.ones(len(self.classes), dtype=torch.float64)
        found = self.objective.class_weight(self.y[self.train]).double()
        weight[: len(found)] = found.where(found > 0, torch.ones_like(found))
        return weight

    def decode(self, values: Tensor) -> Tensor:
        """Numbers in their own unit, from standardised ones."""
        assert self._scale is not None
        return self._scale.decode(values)

    @cached_property
    def _scale(self) -> Scale | None:
        return self.objective.scale(self.y[self.train], log=False)


def _prepare(x: Tensor, kind: str, many: bool) -> Tensor:
    """Features as the class says."""
    if kind == "graph":
        x = (x if x.layout == torch.strided else x.to_dense()).float()
        return torch.cat([x, x.new_ones(len(x), 1)], dim=1)
    if x.layout != torch.strided:
        x = unit_rows(x)
    return principal_components(x, COMPONENTS) if many else standardised(x)


def unit_rows(x: Tensor) -> Tensor:
    """Sparse rows of norm 1, so that a long text does not count more than a short one."""
    rows = torch.repeat_interleave(torch.arange(x.size(0)), x.crow_indices().diff())
    squares = torch.zeros(x.size(0)).index_add_(0, rows, x.values().float().square())
    values = x.values().float() / squares.sqrt().clamp(min=1e-30)[rows]
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, size=x.shape)


def standardised(x: Tensor) -> Tensor:
    """Dense columns with mean 0 and variance 1; sparse features as they are."""
    if x.layout != torch.strided:
        return x
    x = x.float()
    centred = x - x.mean(dim=0)
    deviation = centred.square().mean(dim=0).sqrt()
    return centred / torch.where(deviation > 1e-6 * x.abs().amax(dim=0), deviation, torch.inf)


def principal_components(x: Tensor, number: int) -> Tensor:  # (n, F) -> (n, number)
    """The leading principal components of x, from the decomposition of xᵀ x."""
    n = x.size(0)
    if x.layout == torch.strided:
        x = standardised(x)
        gram = x.t() @ x
        mean = x.new_zeros(1, x.size(1))
    else:
        dense = x.to_dense()
        mean = dense.mean(dim=0, keepdim=True)
        gram = dense.t() @ dense - n * mean.t() @ mean
    _, V = torch.linalg.eigh(gram.double())
    V = V[:, -number:].flip(1).float()
    components: Tensor = x @ V - mean @ V
    return components


def _one_hot(x: Tensor, categories: tuple[int, ...]) -> Tensor:
    columns = [torch.nn.functional.one_hot(x[:, c], size) for c, size in enumerate(categories)]
    return torch.cat(columns, dim=1).float()
