"""A folder of records, one file per run, named by its spec: a record that exists is done."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from pgso.errors import InputError
from pgso.records.fingerprint import fingerprint
from pgso.records.record import RunRecord
from pgso.records.spec import RunSpec


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, whatever happens meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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

    def get(self, spec: RunSpec) -> RunRecord | None:
        """The record of this spec if its run has ended; a damaged one counts as missing.

        So does one of a user's own files that have changed since.
        """
        try:
            record = read_record(self.path(spec))
        except InputError:
            return None
        is_current = record.data is None or record.data == fingerprint(spec.dataset)
        return record if record.spec == spec and is_current else None

    def put(self, record: RunRecord) -> None:
        """Write a record, replacing what its spec had."""
        text = json.dumps(record.model_dump(mode="json"), separators=(",", ":"))
        write_atomically(self.path(record.spec), text + "\n")

    def missing(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """Those that have no finished record; failed runs are tried again."""
        wanted = {spec.key: spec for spec in specs}
        return [spec for spec in wanted.values() if not self._is_done(spec)]

    def _is_done(self, spec: RunSpec) -> bool:
        record = self.get(spec)
        return record is not None and record.status != "failed"

    def __iter__(self) -> Iterator[RunRecord]:
        for path in sorted((self.root / "records").glob("*.json")):
            try:
                yield read_record(path)
            except InputError:
                continue


def read_record(path: str | Path) -> RunRecord:
    """Read one record; what is wrong with it is said in one sentence."""
    try:
        return RunRecord.model_validate_json(Path(path).read_text())
    except FileNotFoundError:
        raise InputError(f"there is no record at {path}") from None
    except (OSError, UnicodeDecodeError, ValidationError, InputError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path} is not a record of a run: {first}") from None
