"""Scores of the parts of a split, all from one evaluation."""

import torch
from torch import Tensor

from pgso.data import Task

MANY_GRAPHS = 10_000  # above this, training graphs are not scored again every epoch


class Scoring:
    """Which items an evaluation needs, and the scores of each part.

    Args:
        task: The data, targets in their own unit.
    """

    def __init__(self, task: Task) -> None:
        parts = {"train": task.train, "val": task.val, "test": task.test}
        # Training links are compared with other pairs every epoch: they have no score.
        if task.kind == "link" or (task.kind == "graph" and task.train.numel() > MANY_GRAPHS):
            del parts["train"]
        self.objective = task.objective
        self.sizes = {name: index.numel() for name, index in parts.items()}
        self.scored = torch.cat(list(parts.values()))  # whose outputs an evaluation needs
        self.y = task.y[self.scored]

    def by_part(self, values: Tensor) -> dict[str, Tensor]:
        """What belongs to the scored items, cut into train, val and test."""
        parts = values.split(list(self.sizes.values()))
        return dict(zip(self.sizes, parts, strict=True))

    def scores(self, out: Tensor) -> dict[str, float | None]:
        """The score of every part; None for a part without one."""
        by_part: dict[str, float | None] = dict.fromkeys(("train", "val", "test"))
        outputs, answers, start = out.numpy(force=True), self.y.numpy(force=True), 0
        for name, size in self.sizes.items():
            rows = slice(start, start + size)
            by_part[name] = self.objective.score(outputs[rows], answers[rows])
            start += size
        return by_part
