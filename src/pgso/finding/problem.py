"""What is to be found out: a graph, features, targets and the labels that may be used."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from pgso.data import Task
from pgso.graph import Graph

MANY_LABELS = 2000  # from here on wide features are reduced to ...
COMPONENTS = 384  # ... this many principal components: a decomposition costs columns³


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes or graphs with targets, prepared for ridge regression.

    ``x`` is dense or CSR. Dense columns have unit variance. Sparse rows (bags of words) have norm
    1, and their columns stay as they are: rare words would become the largest features. With many
    labels, wide features are reduced to their principal components. The nodes of graph tasks keep
    their features and get a column of ones, since sums over a graph count; it is the pooled
    columns that have unit variance.
    """

    name: str
    kind: Literal["node", "graph"]
    metric: str
    graph: Graph
    x: Tensor  # (n, F)
    y: Tensor  # (items,) int64 classes, or floating-point numbers
    train: Tensor
    val: Tensor
    test: Tensor
    classes: tuple[str, ...]  # empty: regression
    nodes_per_graph: Tensor
    num_features: int  # before x was prepared

    @classmethod
    def of(cls, task: Task) -> "Problem":
        """A task's features and labels."""
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
        )

    @classmethod
    def prepared(cls, *, x: Tensor, **fields: Any) -> "Problem":
        """The same fields, of which x is as it was given."""
        many = fields["kind"] == "node" and len(fields["train"]) > MANY_LABELS
        ready = _prepare(x, fields["kind"], many and x.size(1) > COMPONENTS)
        return cls(x=ready, num_features=x.size(1), **fields)

    @cached_property
    def targets(self) -> Tensor:  # (labels, C), 64 bits
        """One column per class, 1 for a label's own; or the numbers."""
        y = self.y[self.train]
        if not self.classes:
            return y.double().unsqueeze(1)
        return torch.nn.functional.one_hot(y, len(self.classes)).double()


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
    return torch.sparse_csr_tensor(
        x.crow_indices(), x.col_indices(), values, size=x.shape, check_invariants=False
    )


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
