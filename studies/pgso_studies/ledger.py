"""Records to keep: one line of JSON a run, curves thinned, in a file that git can hold."""

import json
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from pgso.errors import InputError, first_problem
from pgso.records.files import write_atomically
from pgso.records.finding import FindingRecord
from pgso.records.record import RunRecord

POINTS = 50  # steps of a curve that is kept: at most so many, and its end
DIGITS = 5


def thinned(record: RunRecord, curves: Collection[str] | None = None) -> RunRecord:
    """The same record with short curves, the chosen epoch's scores untouched.

    ``curves["epoch"]`` says which epochs are left. What is thinned already stays as it is, since a
    ledger is written again whenever a run is added. A finding keeps neither predictions nor code,
    and a run neither densities nor its evaluation.

    Args:
        record: As it was made, or thinned less.
        curves: Names of the curves that a page shows: these keep up to 51 points, others are
            dropped. By default all curves keep their first and last point.
    """
    record = record.model_copy(update={"spectra": None, "evaluation": None, "explanation": None})
    if record.finding is not None:
        left_out: dict[str, Any] = {"predictions": (), "spectrum": None, "code": "", "same_as": {}}
        left_out["data"] = None
        finding = record.finding.model_dump(mode="json") | left_out
        short = FindingRecord.model_validate(_rounded(finding))
        record = record.model_copy(update={"finding": short})
    length = max(map(len, record.curves.values()), default=0)
    if length == 0:
        return record
    epochs = record.curves.get("epoch", list(range(length)))
    step = max(1, -(-(length - 1) // POINTS)) if curves is not None else length
    points = sorted({*range(0, length, step), length - 1})
    short_curves: dict[str, list[Any]] = {"epoch": [epochs[point] for point in points]}
    for name, values in record.curves.items():
        is_shown = curves is None or name in curves
        if name != "epoch" and is_shown and len(values) == length:
            short_curves[name] = [_rounded(values[point]) for point in points]
    return record.model_copy(update={"curves": short_curves})


def has_curves(record: RunRecord, curves: Collection[str] | None) -> bool:
    """Whether a record has the curves that a page shows, in as many points as a ledger keeps."""
    if not curves or record.finding is not None or record.status == "failed":
        return True
    if not all(name in record.curves for name in curves):
        return False
    epochs = record.curves.get("epoch")
    return epochs is None or len(epochs) >= min(POINTS // 2, epochs[-1] + 1)


def read_ledger(path: Path) -> dict[str, RunRecord]:
    """The records of a ledger by the key of their spec; an absent file holds none.

    A page asks for the same ledgers many times: a file is read again only when it has changed.
    """
    if not path.exists():
        return {}
    state = path.stat()
    return dict(_read(path.resolve(), state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=32)
def _read(path: Path, changed: int, size: int) -> dict[str, RunRecord]:
    del changed, size  # they tell one state of the file from another
    records = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            record = RunRecord.model_validate_json(line)
        except ValueError as error:  # no UTF-8, no JSON, or no choices of a run
            raise InputError(
                f"{path}, line {number} is not a record: {first_problem(error)}"
            ) from None
        records[record.spec.key] = record
    return records


def ledgers_in(results: Path, name: str = "records.jsonl") -> list[Path]:
    """The ledgers of all studies in a folder of results."""
    return sorted(results.glob(f"*/{name}"))


def write_ledger(
    path: Path, records: Iterable[RunRecord], curves: Collection[str] | None = None
) -> None:
    """Write records, thinned, sorted by key so that a change shows as a small difference."""
    write_atomically(path, _text(thinned(record, curves) for record in records))


def write_current(
    path: Path, records: Iterable[RunRecord], curves: Collection[str] | None = None
) -> dict[Path, int]:
    """Add records of today's numerics to a ledger, and keep older ones beside it.

    A page is made of one revision, so records of another one move to ``records.1.jsonl``, where no
    page looks for them. Nothing is deleted.

    Returns:
        The files with older records, and how many each received.
    """
    before = read_ledger(path).values()
    aside = _set_aside(path, [record for record in before if not record.is_current])
    current = [record for record in before if record.is_current]
    write_ledger(path, [*current, *records], curves)
    return aside


def set_aside_elsewhere(path: Path, records: Iterable[RunRecord]) -> dict[Path, int]:
    """Set aside what other ledgers hold of the same specs in an older revision.

    Studies share specs, and a spec has one result: the newest one.

    Args:
        path: The ledger that was just written; the others are ``../*/records.jsonl``.
        records: What it received.

    Returns:
        The files with older records, and how many each received.
    """
    keys = {record.spec.key for record in records}
    aside: dict[Path, int] = {}
    for ledger in ledgers_in(path.parent.parent, path.name):
        before = read_ledger(ledger)
        old = [r for key, r in before.items() if key in keys and not r.is_current]
        if old and ledger != path:
            aside |= _set_aside(ledger, old)
            stale = {record.spec.key for record in old}
            others = [record for key, record in before.items() if key not in stale]
            write_atomically(ledger, _text(others))
    return aside


def _set_aside(path: Path, records: Iterable[RunRecord]) -> dict[Path, int]:
    """Add records to ``records.1.jsonl``, by their revision."""
    aside: dict[Path, int] = {}
    by_revision: dict[str, list[RunRecord]] = {}
    for record in records:
        ladder = "" if record.ladder_revision is None else f".ladder-{record.ladder_revision}"
        by_revision.setdefault(f"{record.numerics}{ladder}", []).append(record)
    for revision, moved in sorted(by_revision.items()):
        file = path.with_suffix(f".{revision}{path.suffix}")
        write_atomically(file, _text([*read_ledger(file).values(), *moved]))
        aside[file] = len(moved)
    return aside


def _text(records: Iterable[RunRecord]) -> str:
    lines = {record.spec.key: _line(record) for record in records}
    return "".join(f"{lines[key]}\n" for key in sorted(lines))


def _line(record: RunRecord) -> str:
    """What is not the default, and the revision always: a file without one is of revision 1."""
    fields = record.model_dump(mode="json", exclude_defaults=True)
    if record.finding is not None:
        fields["finding"]["numerics"] = record.finding.numerics
        fields["finding"]["ladder"] = record.finding.ladder
    return json.dumps({"numerics": record.numerics, **fields}, separators=(",", ":"))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list | tuple) else value
