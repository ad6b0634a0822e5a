"""Boosted trees as arrays: what scikit-learn has grown, predicted and saved without it.

The arrays hold the nodes of all trees one after another. The two children of a node lie next to
each other, so that a step down is one look-up and one comparison. A leaf leads to itself.
"""

from collections.abc import Mapping
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
    no rule for missing ones is needed.
    """

    left: Array  # (nodes,) the left child; the right one is next to it
    feature: Array  # (nodes,) the column that decides
    bound: Array  # (nodes,) up to which a value goes left
    value: Array  # (nodes,) of a leaf
    roots: Array  # (rounds, outputs) the first node of every tree; -1: this model has fewer rounds
    baseline: Array  # (outputs,)
    classes: Array | None  # the classes that it has seen; None: numbers
    num_classes: int

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
        return cls(
            **arrays,
            roots=np.array(columns).T,
            baseline=np.concatenate([np.ravel(m._baseline_prediction) for m in trees.models]),
            classes=np.asarray(trees.models[0].classes_) if trees.num_classes else None,
            num_classes=trees.num_classes,
        )

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
        return log_probabilities(seen, self.classes, self.num_classes)

    def _raw(self, columns: Array) -> Array:  # (n, outputs)
        # Columns in one piece, as scikit-learn has them: sums over classes depend on it.
        out = np.asfortranarray(np.tile(self.baseline, (len(columns), 1)))
        is_tree = self.roots >= 0
        first = self.roots[is_tree]  # (trees,)
        for start in range(0, len(columns), ROWS):
            rows = columns[start : start + ROWS]
            flat, offset = rows.ravel(), (np.arange(len(rows)) * rows.shape[1])[:, None]
            node = np.tile(first, (len(rows), 1))
            while True:
                goes_right = flat[offset + self.feature[node]] > self.bound[node]
                below = self.left[node] + goes_right
                if (below == node).all():
                    break
                node = below
            values = np.zeros((len(rows), *self.roots.shape))
            values[:, is_tree] = self.value[node]
            for of_round in values.transpose(1, 0, 2):  # a sum over an axis has another order
                out[start : start + ROWS] += of_round
        return out

    def state(self) -> dict[str, Any]:
        """As plain data with tensors in it."""
        made = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        arrays = {k: torch.from_numpy(np.ascontiguousarray(array)) for k, array in made.items()}
        return {"classes": None, **arrays, "num_classes": self.num_classes}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Forest":
        """The same again; nodes that lead astray are refused with a ValueError."""
        arrays: dict[str, Any] = {
            k: part.numpy() for k, part in state.items() if isinstance(part, Tensor)
        }
        forest = cls(**{"classes": None, **arrays}, num_classes=int(state["num_classes"]))
        left, nodes = forest.left, np.arange(len(forest.left))
        sizes = {len(array) for array in (left, forest.feature, forest.bound, forest.value)}
        counted = (left, forest.feature, forest.roots)
        if len(sizes) > 1 or any(array.dtype != np.int64 for array in counted):
            raise ValueError("trees that are not whole")
        if forest.roots.shape[1:] != forest.baseline.shape or not forest.roots.size:
            raise ValueError("trees that do not fit their outputs")
        if min(forest.roots.min(), forest.feature.min() - 1) < -1:
            raise ValueError("trees without a root, or without a column")
        is_leaf = left == nodes
        if (left < nodes).any() or max((left + ~is_leaf).max(), forest.roots.max()) >= len(nodes):
            raise ValueError("trees that lead astray")
        level = np.unique(forest.roots[forest.roots >= 0])
        for _ in range(DEEPEST):
            inner = level[~is_leaf[level]]
            level = np.unique(np.concatenate([left[inner], left[inner] + 1]))
        if len(level):
            raise ValueError("trees that are too deep")
        return forest


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
    left = [
        k if leaf else place[int(n["left"])]
        for k, (leaf, n) in enumerate(zip(is_leaf, taken, strict=True))
    ]
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
