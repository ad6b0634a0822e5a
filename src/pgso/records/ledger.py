"""Records to keep: one line of JSON a run, curves thinned, in a file that git can hold."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pgso.errors import InputError
from pgso.records.finding import FindingRecord
from pgso.records.record import RunRecord
from pgso.records.store import write_atomically

POINTS = 50  # of a curve
DIGITS = 5


def thinned(record: RunRecord) -> RunRecord:
    """The same record with at most 50 points a curve, the chosen epoch's scores untouched.

    ``curves["epoch"]`` says which epochs are left. A finding keeps neither predictions nor code,
    and a run neither densities nor its evaluation.
    """
    record = record.model_copy(update={"spectra": None, "evaluation": None, "explanation": None})
    if record.finding is not None:
        left_out: dict[str, Any] = {"predictions": (), "spectrum": None, "code": "", "same_as": {}}
        left_out["data"] = None
        finding = record.finding.model_dump(mode="json") | left_out
        short = FindingRecord.model_validate(_rounded(finding))
        record = record.model_copy(update={"finding": short})
    length = len(record.curves.get("loss", []))
    if "epoch" in record.curves or length == 0:
        return record
    step = max(1, -(-length // POINTS))
    kept = sorted({*range(0, length, step), length - 1})
    curves: dict[str, list[Any]] = {"epoch": kept}
    for name, values in record.curves.items():
        if len(values) == length:
            curves[name] = [_rounded(values[epoch]) for epoch in kept]
    return record.model_copy(update={"curves": curves})


def read_ledger(path: Path) -> dict[str, RunRecord]:
    """The records of a ledger by the key of their spec; an absent file holds none."""
    if not path.exists():
        return {}
    records = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            record = RunRecord.model_validate_json(line)
        except ValueError as error:  # no UTF-8, no JSON, or no choices of a run
            first = str(error).splitlines()[0][:200]
            raise InputError(f"{path}, line {number} is not a record: {first}") from None
        records[record.spec.key] = record
    return records


def write_ledger(path: Path, records: Iterable[RunRecord]) -> None:
    """Write records, thinned, sorted by key so that a change shows as a small difference."""
    lines = {record.spec.key: _line(record) for record in records}
    write_atomically(path, "".join(f"{lines[key]}\n" for key in sorted(lines)))


def write_current(path: Path, records: Iterable[RunRecord]) -> dict[Path, int]:
    """Add records of today's numerics to a ledger, and keep older ones beside it.

    A page is made of one revision, so records of another one move to ``records.1.jsonl``, where no
    page looks for them. Nothing is deleted.

    Returns:
        The files with older records, and how many each received.
    """
    before = read_ledger(path).values()
    aside = {}
    for revision in sorted({record.numerics for record in before if not record.is_current}):
        file = path.with_suffix(f".{revision}{path.suffix}")
        moved = [record for record in before if record.numerics == revision]
        write_ledger(file, [*read_ledger(file).values(), *moved])
        aside[file] = len(moved)
    write_ledger(path, [*(record for record in before if record.is_current), *records])
    return aside


def _line(record: RunRecord) -> str:
    """What is not the default, and the revision always: a file without one is of revision 1."""
    fields = thinned(record).model_dump(mode="json", exclude_defaults=True)
    if record.finding is not None:
        fields["finding"]["numerics"] = record.finding.numerics
    return json.dumps({"numerics": record.numerics, **fields}, separators=(",", ":"))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list | tuple) else value
