"""The records of the race: JSON lines, appended whole, the newest of a cell counts."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.rivals.field import DATASETS, OURS, RECORDS, RIVALS, Dataset, Rival, races

Record = dict[str, Any]
Cell = tuple[str, int, str]  # dataset, split, rival


def append(record: Record, path: Path = RECORDS) -> None:
    """Add a line with one write: a killed process leaves a whole line or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, (json.dumps(record, ensure_ascii=False) + "\n").encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def read(path: Path = RECORDS) -> dict[Cell, Record]:
    """The newest record of every cell that is of the rival's present revision.

    Of ``find``, those of the newest ladder in the file: two ladders do not compare. Neither do two
    states of the data: of every split, the newest record says which one counts.
    """
    if not path.exists():
        return {}
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    newest = max((r["ladder"] for r in records if r["rival"] in OURS), default=None)
    states = {(r["dataset"], r["split"]): r["data"] for r in records}
    return {
        (record["dataset"], record["split"], record["rival"]): record
        for record in records
        if record["rival"] in RIVALS
        and record["dataset"] in DATASETS
        and record["data"] == states[record["dataset"], record["split"]]
        and record["revision"] == RIVALS[record["rival"]].revision
        and (record["rival"] not in OURS or record["ladder"] == newest)
    }


def missing(
    known: Iterable[Cell],
    splits: int,
    datasets: Iterable[Dataset],
    rivals: Iterable[Rival],
) -> Iterator[Cell]:
    """The cells that have to be run, cheap ones first.

    A published single split is run once: what the seed of a network moves is not what is asked.
    """
    known = set(known)
    cells = [
        (_cost(dataset, rival) + split, split, dataset.name, rival.name)
        for dataset in datasets
        for rival in rivals
        for split in range(min(splits, dataset.splits))
        if races(rival, dataset) and (dataset.name, split, rival.name) not in known
    ]
    for _, split, dataset_name, rival_name in sorted(cells):
        yield dataset_name, split, rival_name


def _cost(dataset: Dataset, rival: Rival) -> int:
    return dataset.cost + rival.cost + dataset.words * rival.cost_of_words
