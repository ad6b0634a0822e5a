"""A folder of records, one file per run, named by its spec: a record that exists is done."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from pgso.errors import InputError
from pgso.records.data import DataRecord, data_spec
from pgso.records.files import as_text, fingerprint, remove_leftovers, write_atomically
from pgso.records.finding import FINDING_FILE, FindingRecord, read_finding
from pgso.records.record import RunRecord
from pgso.records.spec import RunSpec

State = Callable[[str], str | None]  # of the files of a dataset
read_record = RunRecord.read


class Store:
    """Records under ``root/records``; safe under several processes, since each file is whole.

    Example:
        >>> import tempfile
        >>> store = Store(tempfile.mkdtemp())
        >>> spec = RunSpec(dataset="karate")
        >>> store.get(spec) is None
        True
        >>> store.put(RunRecord(spec=spec, val=0.5))
        >>> store.get(spec).val
        0.5
    """

    def __init__(self, root: str | Path = "runs") -> None:
        self.root = Path(root)

    def path(self, spec: RunSpec) -> Path:
        """Where the record of this spec is, or will be."""
        return self.root / "records" / f"{spec.key}.json"

    def get(self, spec: RunSpec, state_of: State = fingerprint) -> RunRecord | None:
        """The record of this spec if its run has ended; a damaged one counts as missing.

        So does one of a user's own files that have changed since, and one of other numerics.
        """
        record = self.read(spec.key)
        return record if record is not None and _is_done(record, spec, state_of) else None

    def read(self, key: str) -> RunRecord | None:
        """The record under a key, also if its data have changed since; None if there is none."""
        with suppress(InputError):
            return read_record(self.root / "records" / f"{key}.json")
        return None

    def put(self, record: RunRecord) -> None:
        """Write a record, replacing what its spec had."""
        write_atomically(self.path(record.spec), as_text(record, indent=None))

    def data(self, spec: RunSpec) -> DataRecord | None:
        """The stored description of the data; None if it is old or the files have changed."""
        wanted = data_spec(spec)
        with suppress(InputError):
            record = DataRecord.read(self.root / "data" / f"{wanted.key}.json")
            return record if _is_done(record, wanted, fingerprint) else None
        return None

    def put_data(self, record: DataRecord) -> None:
        """Write what is known about some data, replacing what was known."""
        path = self.root / "data" / f"{record.spec.key}.json"
        write_atomically(path, as_text(record, indent=None))

    def finding(self, spec: RunSpec) -> FindingRecord | None:
        """What ``pgso find`` has kept on the data of a run that asks for it; None if it is not."""
        if spec.operator != "found":
            return None
        for path in sorted(self.root.glob(f"find-*/{FINDING_FILE}")):
            with suppress(InputError):
                finding = read_finding(path)
                state = finding.data and finding.data.data
                is_same = finding.asks_the_same(spec) and finding.is_current
                if is_same and state is not None and state == fingerprint(spec.dataset):
                    return finding
        return None

    def missing(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """The specs without a finished record; failed runs are tried again.

        What a killed process left unfinished is removed, also if nothing is missing.
        """
        remove_leftovers(self.root / "records")
        state_of = cache(fingerprint)  # files are read once for all specs
        wanted = {spec.key: spec for spec in specs}
        records = ((spec, self.get(spec, state_of)) for spec in wanted.values())
        return [spec for spec, record in records if record is None or record.status == "failed"]

    def __iter__(self) -> Iterator[RunRecord]:
        for path in sorted((self.root / "records").glob("*.json")):
            with suppress(InputError):
                yield read_record(path)


def _is_done(record: RunRecord | DataRecord, spec: RunSpec, state_of: State) -> bool:
    """Whether a record answers a spec: today's numerics, on files that are as they were."""
    is_of_spec = record.spec == spec and record.is_current
    return is_of_spec and (record.data is None or record.data == state_of(spec.dataset))
