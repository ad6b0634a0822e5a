"""What a finding learned: a module for any graph with the same features, and a saved model."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import ConfigDict, Field, TypeAdapter
from scipy.special import expit
from torch import Tensor, nn

from pgso.data.arrays import Array
from pgso.errors import InputError
from pgso.evaluation.conformal import FEWEST, measured, strangeness
from pgso.finding.blocks import Blocks, Propagation, Word
from pgso.finding.columns import Preparation
from pgso.finding.heads import Head, Table, Trees, log_probabilities, mixture
from pgso.finding.ladder import Ladder
from pgso.finding.problem import Problem, Readout, one_hot
from pgso.graph import Graph, Relations
from pgso.objectives.values import Scale

ROWS = 1024  # that go down all trees at once
DEEPEST = 256  # levels of a tree
Count = Annotated[int, Field(strict=True, ge=0, lt=2**40)]


@dataclass(frozen=True, eq=False)
class Part:
    r"""The closed form of one rung: :math:`b + \sum_w \gamma_{w_1} \gamma_{w_2} \cdots x W_w`."""

    words: tuple[Word, ...]
    weights: tuple[Tensor, ...]  # (F, C) of each word
    intercept: Tensor  # (C,)
    readout: Readout
    share: float  # of the mixture


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of gradient boosting. Its predictions are scikit-learn's, to the last digit.

    The arrays hold the nodes of all trees one after another. The two children of a node lie next to
    each other, so that a step down is one look-up and one comparison. A leaf leads to itself. Sums
    are taken in the order in which the trees were grown. Columns are finite numbers.
    """

    left: Tensor  # (nodes,) the left child; the right one is next to it
    feature: Tensor  # (nodes,) the column that decides
    bound: Tensor  # (nodes,) up to which a value goes left
    value: Tensor  # (nodes,) of a leaf
    roots: Tensor  # (rounds, outputs) the first node of every tree; -1: this model has fewer rounds
    baseline: Tensor  # (outputs,)
    classes: Tensor | None  # the classes that it has seen; None: numbers
    num_classes: int

    def __post_init__(self) -> None:
        counted = (self.left, self.feature, self.roots)
        sizes = {len(array) for array in (self.left, self.feature, self.bound, self.value)}
        if len(sizes) > 1 or any(array.dtype != torch.int64 for array in counted):
            raise ValueError("trees that are not whole")
        left, feature, roots = (array.numpy() for array in counted)
        if roots.shape[1:] != tuple(self.baseline.shape) or not roots.size:
            raise ValueError("trees that do not fit their outputs")
        if min(roots.min(), feature.min() - 1) < -1:
            raise ValueError("trees without a root, or without a column")
        nodes = np.arange(len(left))
        is_leaf = left == nodes
        if (left < nodes).any() or max((left + ~is_leaf).max(), roots.max()) >= len(nodes):
            raise ValueError("trees that lead astray")
        level = np.unique(roots[roots >= 0])
        for _ in range(DEEPEST):
            inner = level[~is_leaf[level]]
            level = np.unique(np.concatenate([left[inner], left[inner] + 1]))
        if len(level):
            raise ValueError("trees that are too deep")

    @classmethod
    def of(cls, trees: Trees) -> "Forest":
        """The arrays of scikit-learn's models."""
        grown = [model._predictors for model in trees.models]
        rounds = max(len(each) for each in grown)
        columns: list[list[Any]] = []
        parts: list[dict[str, Array]] = []
        start = 0
        for model in grown:
            for output in range(len(model[0])):
                roots = []
                for of_round in model:
                    part = _siblings_together(of_round[output].nodes, start)
                    roots.append(start)
                    start += len(part["left"])
                    parts.append(part)
                columns.append(roots + [-1] * (rounds - len(roots)))
        arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        arrays["roots"] = np.ascontiguousarray(np.array(columns).T)
        baselines = [np.ravel(model._baseline_prediction) for model in trees.models]
        arrays["baseline"] = np.concatenate(baselines)
        if trees.num_classes:
            arrays["classes"] = np.asarray(trees.models[0].classes_)
        made = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return cls(**{"classes": None, **made}, num_classes=trees.num_classes)  # type: ignore[arg-type]

    def __call__(self, columns: Array) -> Array:  # (n, p) -> (n, C)
        """Logarithms of probabilities, or numbers."""
        raw = self._raw(np.ascontiguousarray(columns, dtype=np.float64))
        if self.classes is None:
            return raw
        if raw.shape[1] == 1:
            second = expit(raw[:, 0])
            seen = np.stack([1 - second, second], axis=1)
        else:
            seen = np.exp(raw - raw.max(axis=1, keepdims=True))
            seen /= seen.sum(axis=1, keepdims=True)
        return log_probabilities(seen, self.classes.numpy(), self.num_classes)

    def _raw(self, columns: Array) -> Array:  # (n, outputs)
        nodes = (self.left, self.feature, self.bound, self.value, self.roots)
        left, feature, bound, value, roots = (array.numpy() for array in nodes)
        # Columns in one piece, as scikit-learn has them: sums over classes depend on it.
        out = np.asfortranarray(np.tile(self.baseline.numpy(), (len(columns), 1)))
        is_tree = roots >= 0
        for start in range(0, len(columns), ROWS):
            rows = columns[start : start + ROWS]
            flat, offset = rows.ravel(), (np.arange(len(rows)) * rows.shape[1])[:, None]
            node = np.tile(roots[is_tree], (len(rows), 1))
            while True:
                below = left[node] + (flat[offset + feature[node]] > bound[node])
                if (below == node).all():
                    break
                node = below
            values = np.zeros((len(rows), *roots.shape))
            values[:, is_tree] = value[node]
            for of_round in values.transpose(1, 0, 2):  # a sum over an axis has another order
                out[start : start + ROWS] += of_round
        return out


def _siblings_together(nodes: Array, start: int) -> dict[str, Array]:
    """One tree with its nodes in another order, counted from ``start``."""
    order, place = [0], {0: 0}
    for node in order:  # which grows: level by level, the children of a node next to each other
        if not nodes["is_leaf"][node]:
            for child in (int(nodes["left"][node]), int(nodes["right"][node])):
                place[child] = len(order)
                order.append(child)
    taken = nodes[order]
    is_leaf = taken["is_leaf"].astype(bool)
    left = [k if is_leaf[k] else place[int(child)] for k, child in enumerate(taken["left"])]
    return {
        "left": np.array(left) + start,
        "feature": np.where(is_leaf, 0, taken["feature_idx"]).astype(np.int64),
        "bound": np.where(is_leaf, np.inf, taken["num_threshold"]),
        "value": taken["value"].astype(np.float64),
    }


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

    @classmethod
    def of(cls, ladder: Ladder, head: Head) -> "Form":
        """What predicts in a finding."""
        problem, parts = ladder.problem, list[Part]()
        if problem.has_coordinates:
            raise InputError(
                "without features, the nodes of this finding are known by their place in its "
                "graph; another graph has no such place, and nothing is saved or predicted there"
            )
        for name, share in head.weights.items():
            if name != "trees":
                one, fit = ladder.fitted[name], ladder.fitted[name].fit
                parts.append(Part(one.words, fit.weights, fit.intercept, one.readout, share))
        words = {word for part in parts for word in part.words}
        words |= set() if head.table is None else set(head.table.words)
        scaling = {w: made for w, made in ladder.blocks.scaling.items() if w in words}
        is_graph = problem.kind == "graph"
        return cls(
            num_features=problem.num_features,
            is_classes=problem.answer == "class",
            categories=problem.categories,
            scaling=problem.scaling,
            parts=tuple(parts),
            pooling=Pooling(tuple(scaling), tuple(scaling.values())) if is_graph else None,
            trees=None if head.trees is None else Forest.of(head.trees),
            table=head.table,
        )


FORM = TypeAdapter(Form)


class ClosedForm(nn.Module):
    """The mixture of closed forms, and of trees, that a finding predicts with.

    It is called as a network is. Nodes of another graph have no label that is known: where the
    labels of neighbours are columns, they are 0 there. :meth:`knowing` says which have one.
    """

    labels: tuple[Tensor, Tensor] | None = None  # (l,) nodes and (l, C) their targets

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form, self.parts, self.trees = form, form.parts, form.trees
        self.scale: Scale | None = form.parts[0].readout.scale  # of numbers

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "ClosedForm":
        """The same again; what does not fit together is refused."""
        form = FORM.validate_python(state)
        for part in form.parts:
            shape, readout = part.intercept.shape, part.readout
            if len(shape) != 1 or any(W.shape[1:] != shape for W in part.weights):
                raise ValueError("weights that do not fit together")
            if readout.scale is None and (readout.centre is None or readout.prior is None):
                raise ValueError("classes without shares")
        return cls(form)

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
        form, sizes, pooling = self.form, None, dict[Word, Preparation]()
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
            x = x.to_dense().float()
            x = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
        relations = graph if isinstance(graph, Relations) else None
        propagation = Propagation(graph.union if isinstance(graph, Relations) else graph, relations)
        none = torch.empty(0, dtype=torch.long), torch.empty(0, len(self.parts[0].intercept))
        data = Blocks(x, propagation, self.labels or none, sizes, pooling)
        outs = [p.readout(data.predict(p.words, p.weights, p.intercept)) for p in self.parts]
        shares = [part.share for part in self.parts]
        if self.trees is not None and form.table is not None and not x.requires_grad:
            outs.append(torch.from_numpy(self.trees(form.table.on(data))))  # they have no gradient
            shares.append(1 - shares[0])
        return outs[0] if len(outs) == 1 else mixture(form.is_classes, outs, np.array(shares))


def calibration(problem: Problem, head: Head) -> tuple[Any, dict[str, float] | None]:
    """How strange validation labels are, with few of them training labels too; held on test."""
    items, honest = problem.judges, head.honest
    if len(problem.val) >= FEWEST:
        items, honest = problem.val, honest[len(problem.train) :]
    sides = (honest, head.out[problem.test])
    said, on_test = ((o.softmax(dim=1) if problem.classes else o).numpy() for o in sides)
    strange = strangeness(said, problem.y[items].numpy())
    return strange, measured(on_test, problem.y[problem.test].numpy(), strange)
