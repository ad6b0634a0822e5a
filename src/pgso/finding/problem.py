"""What is to be found out: a graph, features, targets and the labels that may be used.

:class:`Problem` holds them, prepared for ridge regression. It is made of a :class:`Task`, or by
:func:`problem_from` of a graph, features and labels in memory, of many types.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from pgso.data import Task
from pgso.data.arrays import Array, check_objective, identity, named_class, rarer_class
from pgso.data.description import is_diagonal
from pgso.data.inputs import as_array, read_answers, read_features, read_graph, read_labels
from pgso.data.task import IN_MEMORY, stored
from pgso.errors import InputError
from pgso.finding.columns import coordinates, structural_names
from pgso.finding.scaling import Preparation
from pgso.graph import Graph, Relations
from pgso.objectives import OBJECTIVES, Answer, Objective
from pgso.objectives.values import Scale

MANY_LABELS = 2000  # from here on wide features are reduced to ...
DEFAULT = {"class": "accuracy", "labels": "multilabel_roc_auc", "value": "r2"}  # objectives
COMPONENTS = 384  # ... this many principal components: a decomposition costs columns³


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes or graphs with targets, prepared for ridge regression.

    ``x`` is dense or CSR. Dense columns have unit variance. Sparse rows (bags of words) have norm
    1, and their columns stay as they are: rare words would become the largest features. With many
    labels, wide features are reduced to their principal components, and a column of its own for
    each node (no features) to the leading directions of GCN's γ (:func:`coordinates`). The nodes of
    graph tasks keep their features and get a column of ones, since sums over a graph count; it is
    the pooled columns that have unit variance.

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
    raw: Tensor | None = None  # (n, num_features) the features of nodes as they came
    feature_names: tuple[str, ...] | None = None  # of the columns of ``raw``
    categories: tuple[int, ...] | None = None  # of integer features, which are one-hot here
    relations: Relations | None = None  # the edges by their kind, where they have kinds
    positive: str | None = None  # of two classes, the one that scores are about

    @classmethod
    def of(cls, task: Task) -> "Problem":
        """A task's features and labels."""
        if task.kind == "link":
            raise InputError(
                f"{task.name} asks for links, and find answers for classes, labels or numbers of "
                "each node or graph; train it with pgso compare instead"
            )
        if not task.classes and not task.targets:
            raise InputError(
                f"{task.name} was loaded without labels; find needs some to learn from"
            )
        x = task.x if task.categories is None else one_hot(task.x, task.categories)
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
            feature_names=task.columns if task.categories is None else None,
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
            if is_large and not fields["has_features"]:
                ready = coordinates(fields["graph"], COMPONENTS)
            else:
                preparation = Preparation.of(x, COMPONENTS if is_large else None)
                ready = preparation(x)
        if fields["y"].dim() == 2:
            is_known = fields["y"].isfinite()
            for part in ("train", "val", "test"):
                known = is_known[fields[part]]
                is_whole = part == "train" and not fields["classes"]
                fields[part] = fields[part][known.all(dim=1) if is_whole else known.any(dim=1)]
        return cls(x=ready, raw=x, preparation=preparation, **fields)

    def relabelled(self) -> "Problem":
        """The same nodes on the same graph, relabelled at random: a graph that says nothing.

        The nodes of graph tasks stay in their graph.
        """
        generator = torch.Generator().manual_seed(0)
        owner = torch.repeat_interleave(self.nodes_per_graph)
        order = torch.rand(len(owner), generator=generator).double() + owner
        new = order.argsort()  # a permutation within each graph

        def moved(graph: Graph) -> Graph:
            sources, targets = graph.edge_index
            edges = torch.stack([new[sources], new[targets]])
            return Graph.from_edge_index(edges, graph.edge_weight, num_nodes=graph.num_nodes)

        kinds = self.relations
        if kinds is not None:
            kinds = Relations({name: moved(part) for name, part in kinds.graphs.items()})
        return replace(self, graph=moved(self.graph), relations=kinds)

    @property
    def answer(self) -> Answer:
        """What y says about each item: its class, its labels or its numbers."""
        if not self.classes:
            return "value"
        return "class" if self.y.dim() == 1 else "labels"

    @property
    def objective(self) -> Objective:
        """What is scored, and which way is better."""
        objective = OBJECTIVES[self.metric]
        if self.positive is None:
            return objective
        return objective.of_class(self.positive, self.classes.index(self.positive))

    @property
    def has_coordinates(self) -> bool:
        """Whether x holds :func:`coordinates` in place of the identity."""
        return self.kind == "node" and self.preparation is None

    def names_of(self, source: str, count: int) -> list[str]:
        """The names of a block's columns: of x, of the labels or of the structure."""
        if source == "structure":
            names = list(structural_names(self.graph))
        elif source == "labels":
            names = list(self.classes or self.columns or ["target"])
        else:
            preparation = self.preparation
            reduced = self.has_coordinates or bool(preparation and preparation.V is not None)
            given = range(COMPONENTS if reduced else self.num_features)
            names = [f"component {k}" if reduced else self.name_of_column(k) for k in given]
            names += ["1"]
        if self.kind == "graph":  # sums over a graph, then means
            names = [f"{how} of {name}" for how in ("sum", "mean") for name in names]
        return names[:count] if len(names) >= count else [str(k) for k in range(count)]

    def name_of_column(self, number: int) -> str:
        """What the user calls a column of the features, or its number."""
        names = self.feature_names
        return f"column {number}" if names is None else names[number]

    @property
    def num_outputs(self) -> int:
        """The number of classes, or of numbers."""
        return len(self.classes) or self.y.size(1)

    @cached_property
    def targets(self) -> Tensor:  # (labels, C), 64 bits
        """One column per class, 1 for a label's own; or the numbers, standardised.

        Of several labels each, one that is unknown counts as the share of those who have it.
        """
        y = self.y[self.train]
        if self.scale is not None:
            return self.scale.encode(y.double())
        if self.answer == "labels":
            return y.double().where(y.isfinite(), y.double().nanmean(dim=0).nan_to_num())
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


def one_hot(x: Tensor, categories: tuple[int, ...]) -> Tensor:
    """Integer features as columns of 0 and 1."""
    columns = [torch.nn.functional.one_hot(x[:, c], size) for c, size in enumerate(categories)]
    return torch.cat(columns, dim=1).float()


def problem_from(
    data: Any,
    x: Any,
    y: Any,
    train: Any,
    val: Any,
    test: Any,
    objective: str | None = None,
    positive: object = None,
) -> Problem:
    """The problem of one graph whose nodes have classes or numbers.

    Args:
        data: The graph, or its edges by their kind. PyG's data may bring x, y and masks.
        x: Features, one row per node; None for the identity.
        y: Classes, or numbers (:func:`read_answers` says which), or a column for each of several
            numbers; -1, None or NaN where unknown (of numbers: None or NaN).
        train: Indices or a mask; None: every label that is in no other part.
        val: Likewise; None: none.
        test: Likewise; None: none.
        objective: What is scored; by default accuracy, or R² of numbers.
        positive: Of two classes, the one that scores are about; by default the rarer one.
    """
    x = getattr(data, "x", None) if x is None else x
    y = getattr(data, "y", None) if y is None else y
    if y is None:
        raise InputError("find needs labels; give y, one per node, with -1 where it is unknown")
    parts = {"train": train, "val": val, "test": test}
    numbers = objective is not None and OBJECTIVES[objective].answer == "value"
    classes, values, has_label = _targets(y, numbers)
    if not has_label.any():
        raise InputError("y holds no label that is known; give some nodes a class or a number")
    n = len(values)
    features = identity(n) if x is None else x
    prepared = stored(read_features(features))
    if prepared.size(0) != n:
        raise InputError(f"x has {prepared.size(0)} rows, y has {n}; give one of each per node")
    if prepared.size(1) == 0:
        raise InputError("x has no columns; leave x out if the nodes have no features")
    chosen = {name: _indices(part, name, has_label) for name, part in parts.items()}
    if train is None and getattr(data, "train_mask", None) is not None:
        given = np.concatenate(list(chosen.values()))
        for name in parts:
            if parts[name] is None:  # the data's own, without what was given another use
                parts[name] = getattr(data, f"{name}_mask", None)
                chosen[name] = np.setdiff1d(_indices(parts[name], name, has_label), given)
    if parts["train"] is None:
        taken = np.isin(np.arange(n), np.concatenate([chosen["val"], chosen["test"]]))
        chosen["train"] = np.flatnonzero(has_label & ~taken)
    together = np.concatenate(list(chosen.values()))
    if len(np.unique(together)) < len(together):
        raise InputError("train, val and test must not overlap; a label can have one use only")
    answer: Answer = "value" if not classes else "labels" if values.ndim == 2 else "class"
    if objective is not None:
        check_objective(objective, answer, len(classes), IN_MEMORY)
    if positive is None:
        positive = rarer_class(values[chosen["train"]], classes)
    else:
        positive = named_class(positive, classes, IN_MEMORY)
    relations = data if isinstance(data, Relations) else None
    return Problem.prepared(
        name=IN_MEMORY,
        kind="node",
        metric=OBJECTIVES[objective or DEFAULT[answer]].name,
        graph=read_graph(relations.union if relations is not None else data, n),
        relations=relations,
        x=prepared,
        y=torch.from_numpy(values),
        classes=classes,
        positive=positive,
        nodes_per_graph=torch.tensor([n]),
        **{name: torch.from_numpy(part) for name, part in chosen.items()},
    )


def _targets(y: Any, numbers: bool = False) -> tuple[tuple[str, ...], Array, Array]:
    """The names of the classes (none: numbers), a value or row per node, and which are known.

    Numbers are no classes if the objective scores ``numbers``; floating-point ones also if they
    have fractions or many values.
    """
    values, are_numbers = read_answers(y, numbers)
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if values.ndim == 2 and not numbers and known.size and np.isin(known, (0, 1)).all():
        labels = values.astype(np.float32)
        is_known: Array = np.any(np.isfinite(labels), axis=1)
        return tuple(f"label {k}" for k in range(labels.shape[1])), labels, is_known
    if are_numbers or (values.ndim == 2 and values.dtype.kind == "f"):
        columns = values.reshape(len(values), -1).astype(np.float64)
        has_number = np.isfinite(columns)
        rows: Array = np.any(has_number, axis=1)
        return (), np.where(has_number, columns, np.nan), rows
    names, codes = read_labels(values)
    return tuple(str(name) for name in names), codes, codes >= 0


def _indices(part: Any, name: str, has_label: Array) -> Array:
    if part is None:
        return np.zeros(0, dtype=np.int64)
    given = as_array(part)
    if given.dtype.kind == "b":
        if given.shape != has_label.shape:
            raise InputError(
                f"{name} is a mask of shape {given.shape}; it needs one entry for each of "
                f"{len(has_label)} nodes"
            )
        given = np.flatnonzero(given)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise InputError(
            f"{name} must be node indices or a mask, got {given.dtype} of {given.shape}"
        )
    if len(given) and (given.min() < 0 or given.max() >= len(has_label)):
        raise InputError(f"{name} names a node outside 0 ... {len(has_label) - 1}")
    if not has_label[given].all():
        node = int(given[~has_label[given]][0])
        raise InputError(f"node {node} is in {name} but has no label; leave it out or label it")
    return given.astype(np.int64)
