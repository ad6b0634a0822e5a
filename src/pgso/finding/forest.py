"""Boosted trees as arrays: what scikit-learn has grown, predicted and saved without it.

The arrays hold the nodes of all trees one after another. The two children of a node lie next to
each other, so that a step down is one look-up and one comparison. A leaf leads to itself.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from pgso.data.arrays import Array

if TYPE_CHECKING:
    from pgso.finding.heads import Trees

ROWS = 1024  # that go down all trees at once
DEEPEST = 256


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of gradient boosting. Its predictions are scikit-learn's, to the last digit.

    Sums are taken in the order in which the trees were grown. Columns are finite numbers, so that
    no rule for missing ones is needed. Nodes that lead astray are refused with a ValueError.
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
    def of(cls, trees: "Trees") -> "Forest":
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


def log_probabilities(seen: Array, classes: Array, num_classes: int) -> Array:  # (n, num_classes)
    """Logarithms of the probabilities of classes, of which trees have seen some."""
    probabilities = np.full((len(seen), num_classes), 1e-6)
    probabilities[:, classes] = np.clip(seen[:, : len(classes)], 1e-6, 1)
    return np.asarray(np.log(probabilities / probabilities.sum(axis=1, keepdims=True)))
