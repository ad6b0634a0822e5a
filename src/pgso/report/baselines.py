"""What a network must beat: scores of simple models, over the seeds."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from pgso.objectives import Objective
from pgso.records.data import BaselineRecord, DataRecord
from pgso.report.grid import Grid


def mean_baselines(data: Iterable[DataRecord]) -> tuple[BaselineRecord, ...]:
    """Every baseline with its mean scores over the seeds."""
    by_name: dict[str, list[BaselineRecord]] = defaultdict(list)
    for record in data:
        for entry in record.baselines:
            by_name[entry.name].append(entry)
    return tuple(
        BaselineRecord(
            name=name,
            label=entries[0].label,
            val=_mean(entry.val for entry in entries),
            test=_mean(entry.test for entry in entries),
        )
        for name, entries in by_name.items()
    )


def baselines_grid(data: Sequence[DataRecord], objective: Objective) -> Grid:
    """A row each; empty where the task has none."""
    rows = tuple(
        (entry.label, *(objective.written(score) for score in (entry.val, entry.test)))
        for entry in mean_baselines(data)
    )
    title = f"What a network must beat, {objective.heading}"
    several = f"Means over {len(data)} splits." if len(data) > 1 else ""
    return Grid(title, ("model", "validation", "test"), rows, several)


def _mean(scores: Iterable[float | None]) -> float | None:
    numbers = [score for score in scores if score is not None]
    return fmean(numbers) if numbers else None
