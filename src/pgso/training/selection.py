"""Which validation labels choose the epoch, which ones teach S, and which ones judge."""

from dataclasses import replace

import torch
from torch import Tensor

from pgso.data import Task
from pgso.objectives import Objective
from pgso.records import RunSpec
from pgso.training.scoring import Scoring

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
