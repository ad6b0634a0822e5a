"""What every rival is given: a table, a graph, training and validation labels; no test label."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

import pgso

Array = np.ndarray[Any, Any]
WORDS = 0.1  # the share of non-zeros under which a wide table is a bag of words
MOST_NUMBERS = 20_000_000  # of the messages that are held at once


@dataclass(frozen=True)
class Answer:
    """A rival's predictions, and what the validation labels chose."""

    out: Array  # (items, classes) probabilities or logits, or (items, 1) values
    chosen: str


class Problem:
    """A task as arrays. Labels outside training and validation are hidden before anyone sees them.

    Edges are taken in both directions without self-loops, as published baselines do. Categories of
    atoms become columns of zeros and ones.
    """

    def __init__(self, task: Any, seed: int, epochs: int | None = None) -> None:
        self.seed, self.epochs = seed, epochs  # of networks, if they shall not choose
        self.kind: str = task.kind
        self.is_class = task.answer == "class"
        self.num_classes: int = task.num_classes
        self.objective = task.objective
        self.train, self.val, self.test = (
            part.numpy() for part in (task.train, task.val, task.test)
        )
        self.nodes_per_graph: Tensor = task.nodes_per_graph
        y = task.y.numpy()
        known = np.zeros(len(y), dtype=bool)
        known[self.train] = known[self.val] = True
        if self.is_class:
            self.y: Array = np.where(known, y, -1)
        else:
            self.y = np.where(known, y[:, 0].astype(np.float64), np.nan)
        self.x: Tensor = _dense(task)  # (nodes, columns)
        edges, _ = remove_self_loops(task.graph.edge_index)
        self.edges: Tensor = coalesce(to_undirected(edges, num_nodes=len(self.x)))

    @property
    def outputs(self) -> int:
        """How many columns an answer has."""
        return self.num_classes if self.is_class else 1

    @cached_property
    def is_words(self) -> bool:
        """Whether the table is a bag of words: wide, nothing negative, mostly zeros."""
        x = self.x
        return x.size(1) > 64 and bool((x >= 0).all()) and float((x != 0).float().mean()) < WORDS

    @cached_property
    def scaled(self) -> Tensor:  # (nodes, columns)
        """The table for models that need a scale: unit variance, but words stay as they are."""
        if self.is_words:
            return self.x
        spread = self.x.std(dim=0)
        return (self.x - self.x.mean(dim=0)) / torch.where(spread > 0, spread, 1)

    @cached_property
    def batch(self) -> Tensor:  # (nodes,)
        """The graph of every node."""
        return torch.arange(len(self.nodes_per_graph)).repeat_interleave(self.nodes_per_graph)

    def neighbours(self) -> Tensor:  # (nodes, 3 * columns)
        """Mean, maximum and minimum of every column over the neighbours; NaN without any."""
        source, target = self.edges
        width = self.x.size(1)
        block = max(MOST_NUMBERS // max(len(source), 1), 1)
        parts: list[list[Tensor]] = [[], [], []]
        for start in range(0, width, block):
            columns = self.x[:, start : start + block]
            where = target[:, None].expand(-1, columns.size(1))
            for part, reduce in zip(parts, ("mean", "amax", "amin"), strict=True):
                empty = torch.full_like(columns, torch.nan)
                part.append(
                    empty.scatter_reduce(0, where, columns[source], reduce, include_self=False)
                )
        return torch.cat([column for part in parts for column in part], dim=1)

    def items(self, columns: Tensor) -> Array:  # (items, ...)
        """Columns of nodes as columns of what is predicted: the nodes, or sums and means of graphs.

        A graph also has its numbers of nodes and edges.
        """
        if self.kind == "node":
            return columns.numpy()
        count = len(self.nodes_per_graph)
        zeros = torch.zeros(count, columns.size(1))
        sums = zeros.index_add(0, self.batch, columns.nan_to_num())
        edges = torch.bincount(self.batch[self.edges[1]], minlength=count).float()
        sizes = torch.stack([self.nodes_per_graph.float(), edges], dim=1)
        return torch.cat([sums, sums / sizes[:, :1], sizes], dim=1).numpy()

    def score(self, out: Array, part: Array, y: Array | None = None) -> float:
        """The task's own score of an answer on some items, by the labels that are known."""
        y = (self.y if y is None else y)[part]
        score = self.objective.score(out[part], y if self.is_class else y[:, None])
        assert score is not None
        return float(score)

    def best(self, settings: Iterable[Any], fit: Callable[[Any], Array]) -> Answer:
        """The answer of the setting with the best validation score; the first of equal ones."""
        answers = [(setting, fit(setting)) for setting in settings]
        merits = [self.objective.merit(self.score(out, self.val)) for _, out in answers]
        setting, out = answers[int(np.argmax(merits))]
        return Answer(out, f"{setting:g}")


def state_of(task: Any) -> str:
    """A short hash of table, edges, labels and split: records of other data do not compare."""
    digest = hashlib.sha256()
    dense = task.x if task.x.layout == torch.strided else task.x.to_dense()
    parts = (dense, task.graph.edge_index, task.y, task.train, task.val, task.test)
    for part in parts:
        digest.update(str(tuple(part.shape)).encode())
        digest.update(part.contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]


def read(source: str, number: int, **options: str) -> tuple[Any, Array]:
    """A task, and its true labels or values for the judge."""
    task = pgso.load_task(source, seed=number, **options)
    y = task.y.numpy()
    return task, y if task.answer == "class" else y[:, 0].astype(np.float64)


def _dense(task: Any) -> Tensor:
    if task.categories is None:
        x: Tensor = task.x if task.x.layout == torch.strided else task.x.to_dense()
        return x.float()
    columns = [
        torch.nn.functional.one_hot(task.x[:, k], size) for k, size in enumerate(task.categories)
    ]
    x = torch.cat(columns, dim=1)
    return x[:, x.any(dim=0)].float()
