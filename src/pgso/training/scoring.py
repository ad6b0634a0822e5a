"""What an epoch scores, which epoch is chosen on which labels, and the curves of a run."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from pgso.data import Task
from pgso.graph import Graph
from pgso.graph.degrees import kinds_of_nodes
from pgso.gso.module import PGSO
from pgso.objectives import Objective
from pgso.records import RunSpec
from pgso.records.spec import SevenNumbers
from pgso.spectrum.interval import gershgorin_interval

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


FEWEST = 9  # validation labels, below which there is nothing to divide
NEVER = (-torch.inf, -torch.inf)


class Selection:
    """The parts of a validation set, and the epoch that each of them prefers.

    What S was learned on does not choose the epoch, and what chose the epoch does not judge
    (docs/recipes.md). With ``s_loss="held_out"``, S learns on a half of the validation labels.
    With ``judges``, validation has three parts, the same for every run of a task:

    ======== ====================================== =====================
    part     S learns on it (``held_out``)          fixed S
    ======== ====================================== =====================
    first    teaches S                              judges
    second   chooses the epoch that is judged       the same
    third    judges                                 the same
    ======== ====================================== =====================

    The epoch whose weights are kept in the end is chosen on all labels that did not teach S: once
    the judgement is over, the others have nothing better to do.

    Args:
        spec: The run's; ``operator`` is one of fixed, pgso, mpgso.
        task: Its data.
        scoring: Where outputs of validation examples are.
    """

    def __init__(self, spec: RunSpec, task: Task, scoring: Scoring) -> None:
        self.objective: Objective = task.objective
        self.scoring = scoring
        n = task.val.numel()
        is_divided = n >= FEWEST
        held_out = spec.s_loss == "held_out" and spec.operator != "fixed" and is_divided
        parts = 3 if spec.judges else 2
        order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
        part = torch.empty(n, dtype=torch.long)
        part[order] = torch.arange(n) * parts // max(n, 1)
        teaches = part == 0
        self.teaches = teaches if held_out else torch.ones(n, dtype=torch.bool)
        self.chooses = ~teaches if held_out else torch.ones(n, dtype=torch.bool)
        self.judges = torch.zeros(n, dtype=torch.bool)
        if spec.judges and is_divided:
            self.judges = (part == 2) | (teaches & (not held_out))
        self.chooses_judged = part == 1
        self.judged: Tensor | None = None  # (val, outputs) at the epoch that the second part likes
        self.judged_merit: tuple[float, float] = NEVER

    def learning(self, task: Task) -> Task:
        """The task as a loop sees it: validation is what S may learn on."""
        return task if bool(self.teaches.all()) else replace(task, val=task.val[self.teaches])

    def merit(self, out: Tensor, score: float | None, val_loss: float) -> tuple[float, float]:
        """How good an epoch is; its outputs are remembered if it is the best to be judged.

        Args:
            out: Of the scored examples, in the unit of the targets.
            score: Of the whole validation set.
            val_loss: Likewise.
        """
        if bool(self.judges.any()):
            values = self.scoring.by_part(out)["val"]
            merit = self._merit(values, self.chooses_judged)
            if merit > self.judged_merit:
                self.judged, self.judged_merit = values.detach().clone(), merit
        if bool(self.chooses.all()):
            return self.objective.merit(score), -val_loss
        return self._merit(self.scoring.by_part(out)["val"], self.chooses)

    def _merit(self, values: Tensor, rows: Tensor) -> tuple[float, float]:
        """The score of some rows; of equal scores the smaller loss is better."""
        out, y = values[rows], self.answers[rows]
        score = self.objective.score(out.numpy(force=True), y.numpy(force=True))
        loss = 0.0 if self.objective.answer == "value" else float(self.objective.loss(out, y))
        return self.objective.merit(score), -loss

    @property
    def answers(self) -> Tensor:  # (val,) or (val, outputs)
        """The true answers of validation examples."""
        return self.scoring.by_part(self.scoring.y)["val"]


NAMES = ("loss", "train", "val", "test", "parameters", "interval")
CERTIFIED_AT_ONCE = 2**20  # discs of Theorem 2 in one go


class Curves:
    """What a record will hold of every epoch that has ended.

    Intervals are computed on demand: many epochs together take as long as one.
    """

    def __init__(self, graph: Graph, values: dict[str, list[Any]] | None = None) -> None:
        self.graph = graph
        self._values: dict[str, list[Any]] = values or {name: [] for name in NAMES}
        self._uncertified: list[list[Tensor]] = []  # by epoch, the S of each operator

    @property
    def epochs(self) -> int:
        """How many have ended."""
        return len(self._values["loss"])

    def add(self, operators: list[Tensor], certifiable: bool, **values: Any) -> None:
        """Put an epoch on the curves, and remember S where an interval can be certified."""
        for name, value in values.items():
            self._values[name].append(value)
        if certifiable and self.graph.is_undirected:
            self._uncertified.append(operators)

    def last(self, name: str) -> Any:
        """The value of the epoch that has just ended."""
        return self._values[name][-1]

    def values(self) -> dict[str, list[Any]]:
        """All of them, the intervals too."""
        if self._uncertified:
            waiting = zip(*self._uncertified, strict=True)
            self._uncertified = []
            by_operator = [certified_ends(self.graph, values) for values in waiting]
            self._values["interval"] += [list(ends) for ends in zip(*by_operator, strict=True)]
        return self._values


def is_certifiable(operators: Iterable[PGSO]) -> bool:
    """Whether Theorem 2 holds for these: with an S per node eigenvalues may be complex."""
    return all(
        gso.kind not in ("node", "structural") and gso.edges in (None, "in", "out")
        for gso in operators
    )


def certified_now(operators: Sequence[PGSO], graph: Graph) -> tuple[tuple[float, float], ...]:
    """The certified interval of each operator as it is now; empty where nothing is certified."""
    if not graph.is_undirected or not is_certifiable(operators):
        return ()
    return tuple(certified_ends(graph, [gso.S.detach().cpu()])[0] for gso in operators)


def seven_numbers(S: Tensor) -> SevenNumbers:
    """S as plain floats: means where it has many values."""
    means: SevenNumbers = tuple((S if S.dim() == 1 else S.flatten(1).mean(1)).tolist())
    return means


def certified_ends(
    graph: Graph, by_epoch: Sequence[Tensor]
) -> list[tuple[float, float]]:  # one per epoch
    """Theorem 2 for an operator's S in several epochs, as if each were a channel of one S."""
    intervals: list[tuple[float, float]] = []
    width = by_epoch[0].numel() // by_epoch[0].size(0)  # how many values S has of each scalar
    at_once = max(1, CERTIFIED_AT_ONCE // (kinds_of_nodes(graph)[0].numel() * width))
    for start in range(0, len(by_epoch), at_once):
        part = torch.stack([*by_epoch[start : start + at_once]], dim=1)
        ends = gershgorin_interval(graph, part.reshape(part.size(0), 1, -1))
        low, high = (end.view(-1, width) for end in ends)
        intervals += zip(low.amin(1).tolist(), high.amax(1).tolist(), strict=True)
    return intervals
