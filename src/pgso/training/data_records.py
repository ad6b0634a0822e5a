"""What is known about the data of some runs: read from its file, or computed and stored."""

from collections.abc import Iterable
from pathlib import Path

from pgso.data.description import describe, sketch_of
from pgso.data.load import task_of
from pgso.data.task import Task
from pgso.evaluation.baselines import baselines
from pgso.records import RunSpec, Store
from pgso.records.data import DataRecord
from pgso.training.fit import state_of


def data_record(
    spec: RunSpec,
    root: str | Path | None = None,
    task: Task | None = None,
    drawn: bool = True,
) -> DataRecord:
    """Counts of the data of a spec, a sketch of its graph, and baselines: seconds at most."""
    state = state_of(spec.dataset)
    data = task_of(spec, root) if task is None else task
    sketch = sketch_of(data) if drawn else None
    more = {"baselines": baselines(data), "sketch": sketch}
    return describe(data, spec, state).model_copy(update=more)


def complete_data_records(
    specs: Iterable[RunSpec], store: Store, root: str | Path | None = None
) -> dict[int, DataRecord]:
    """One per seed; what the store does not have is computed and stored."""
    records: dict[int, DataRecord] = {}
    for spec in specs:
        if spec.seed not in records:
            record = store.data(spec)
            if record is None:
                record = data_record(spec, root)
                store.put_data(record)
            records[spec.seed] = record
    return records
