"""Does it work at all? What speaks against a result, in sentences."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pgso.data import Task
from pgso.records import RunRecord
from pgso.training.baselines import FEATURES, GRAPH, GUESS, Baseline

FEW = 10  # training examples of a class


def doubts(
    tasks: Mapping[int, Task],
    baselines: Mapping[int, Sequence[Baseline]],
    records: Sequence[RunRecord],
) -> list[str]:
    """What to know before believing the scores of some runs; nothing if all is well.

    Args:
        tasks: The data by seed.
        baselines: What a network must beat, by seed.
        records: The runs on these data.
    """
    done = [record for record in records if record.status == "done" and record.test is not None]
    return [*_of_scores(done, baselines), *_of_training(done), *_of_data(tasks)]


def mean_test(baselines: Mapping[int, Sequence[Baseline]], name: str) -> float | None:
    """The mean test score of a baseline over the seeds."""
    found = [b.test for group in baselines.values() for b in group if b.name == name]
    scores = [score for score in found if score is not None]
    return float(np.mean(scores)) if scores else None


def _of_scores(
    records: Sequence[RunRecord], baselines: Mapping[int, Sequence[Baseline]]
) -> Iterator[str]:
    guesses = {seed: b.test for seed, group in baselines.items() for b in group if b.name == GUESS}
    if not records or not guesses:
        return
    objective = records[0].objective
    by_operator: dict[str, list[float]] = defaultdict(list)
    for record in records:
        assert record.test is not None
        by_operator[record.spec.operator].append(record.test)
    best = max(objective.merit(float(np.mean(scores))) for scores in by_operator.values())
    if objective.answer == "class" and objective.name != "roc_auc":
        same = [record.test == guesses.get(record.spec.seed) for record in records]
        if all(same):
            yield "every model predicts one class: its scores are those of guessing it"
            return

    def beats(name: str) -> bool | None:
        score = mean_test(baselines, name)
        return None if score is None else best > objective.merit(score)

    def written(name: str) -> str:
        return objective.written(mean_test(baselines, name))

    if beats(GUESS) is False:
        yield f"no network is better than guessing ({written(GUESS)}): it has learned nothing"
    elif beats(FEATURES) is False:
        # A node's own columns get weights of their own in a residual network.
        yield f"a model without the graph does as well or better ({written(FEATURES)}); try " + (
            "--set residual=true" if not records[0].spec.residual else "pgso find"
        )
    elif beats(GRAPH) is False:
        yield f"neighbours' labels without features do as well or better ({written(GRAPH)})"


def _of_training(records: Sequence[RunRecord]) -> Iterator[str]:
    last = [record for record in records if record.epoch == record.spec.epochs - 1]
    if records and len(last) > len(records) / 2:
        epochs = records[0].spec.epochs
        yield (
            f"the best epoch was the last one in {len(last)} of {len(records)} runs: validation "
            f"was still rising; train longer with --epochs {4 * epochs}"
        )


def _of_data(tasks: Mapping[int, Task]) -> Iterator[str]:
    for task in list(tasks.values())[:1]:
        if task.answer != "class":
            return
        members = np.bincount(task.y[task.train].numpy(), minlength=task.num_classes)
        rare = int(members.argmin())
        if members[rare] < FEW:
            count = int(members[rare])
            yield (
                f"the class {task.classes[rare]!r} has {count} training "
                f"example{'' if count == 1 else 's'}: its scores are mostly luck"
            )
