"""A folder of records, one file per run, named by its spec: a record that exists is done."""

import json
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

from pgso.errors import InputError, first_problem
from pgso.records.data import DataRecord, data_spec, read_data_record
from pgso.records.fingerprint import fingerprint
from pgso.records.record import RunRecord
from pgso.records.spec import RunSpec

LEFTOVER = re.compile(r"\.(?P<host>[^.]*)\.(?P<process>\d+)\.pgso-[^.]*$")
OLD = 24 * 3600  # seconds after which an unfinished file of another machine is deleted
_swept: set[Path] = set()  # folders that this process has cleaned


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, even if the process is killed.

    An error names the file. Unfinished files of processes that were killed are removed. A link
    stays, and so does what is no file, such as /dev/null or a pipe: it is written to as it is.
    """
    data = content.encode() if isinstance(content, str) else content
    path = path.resolve() if path.is_symlink() else path
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path.parent)
        prefix = f".{_host()}.{os.getpid()}.pgso-"
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix)
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
    except OSError as error:  # "No space left on device" does not say where
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_beside(path: Path, content: str | bytes) -> Path | None:
    """Write a file as :func:`write_atomically` does, and lose nothing that was there.

    Returns:
        The new name of another file that had this one; None if there was none, or the same.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "table.csv"
        >>> write_beside(path, "1"), write_beside(path, "1")
        (None, None)
        >>> write_beside(path, "2").name, path.read_text()
        ('table-1.csv', '2')
    """
    data = content.encode() if isinstance(content, str) else content
    path = path.resolve() if path.is_symlink() else path
    old = None
    if path.is_file() and path.read_bytes() != data:
        old = free_name(path)
        try:
            path.rename(old)
        except OSError as error:
            raise InputError(
                f"{path} cannot be kept as {old} ({error.strerror}); choose another name"
            ) from None
    write_atomically(path, data)
    return old


def free_name(path: Path) -> Path:
    """``table-1.csv``, or the next number that is free."""
    numbered = (path.with_stem(f"{path.stem}-{k}") for k in count(1))
    return next(name for name in numbered if not name.exists())


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left unfinished; a process looks through a folder once."""
    if folder in _swept:
        return
    _swept.add(folder)
    for file in folder.glob(".*.pgso-*"):
        name = LEFTOVER.search(file.name)
        if name is None:
            continue
        try:
            # On Windows os.kill(process, 0) would send it a Ctrl-C: files are judged by their age.
            here = name["host"] == _host() and os.name != "nt"
            if not _is_running(int(name["process"])) if here else _age(file) > OLD:
                file.unlink()
        except OSError:  # another process was faster, or it is not ours
            continue


def _host() -> str:
    return "".join(letter for letter in platform.node() if letter.isalnum() or letter == "-")


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def _age(file: Path) -> float:
    return time.time() - file.stat().st_mtime


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

        So does one of a user's own files that have changed since, and one of another revision of
        the numerics. Such a file stays where it is until a new run replaces it.
        """
        return self._get(spec, fingerprint)

    def read(self, key: str) -> RunRecord | None:
        """The record under a key, also if its data have changed since; None if there is none."""
        try:
            return read_record(self.root / "records" / f"{key}.json")
        except InputError:
            return None

    def _get(self, spec: RunSpec, state_of: Callable[[str], str | None]) -> RunRecord | None:
        try:
            record = read_record(self.path(spec))
        except InputError:
            return None
        is_same_data = record.data is None or record.data == state_of(spec.dataset)
        is_done = record.spec == spec and record.is_current and is_same_data
        return record if is_done else None

    def put(self, record: RunRecord) -> None:
        """Write a record, replacing what its spec had."""
        text = json.dumps(record.model_dump(mode="json"), separators=(",", ":"))
        write_atomically(self.path(record.spec), text + "\n")

    def data(self, spec: RunSpec) -> DataRecord | None:
        """What is known about the data of a spec, if it is of today and of the same files."""
        wanted = data_spec(spec)
        try:
            record = read_data_record(self.root / "data" / f"{wanted.key}.json")
        except InputError:
            return None
        is_same = record.spec == wanted and record.is_current
        is_same = is_same and record.data in (None, fingerprint(spec.dataset))
        return record if is_same else None

    def put_data(self, record: DataRecord) -> None:
        """Write what is known about some data, replacing what was known."""
        text = json.dumps(record.model_dump(mode="json"), separators=(",", ":"))
        write_atomically(self.root / "data" / f"{record.spec.key}.json", text + "\n")

    def missing(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """The specs without a finished record; failed runs are tried again.

        What a killed process left unfinished is removed, also if nothing is missing.
        """
        remove_leftovers(self.root / "records")
        wanted = {spec.key: spec for spec in specs}
        state_of = cache(fingerprint)  # files are read once for all specs
        records = {key: self._get(spec, state_of) for key, spec in wanted.items()}
        return [
            wanted[key]
            for key, record in records.items()
            if record is None or record.status == "failed"
        ]

    def __iter__(self) -> Iterator[RunRecord]:
        for path in sorted((self.root / "records").glob("*.json")):
            try:
                yield read_record(path)
            except InputError:
                continue


def read_record(path: str | Path) -> RunRecord:
    """Read one record; what is wrong with it is said in one sentence."""
    try:
        return RunRecord.model_validate_json(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no record at {path}") from None
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, no JSON, no RunSpec
        raise InputError(f"{path} is not a record of a run: {first_problem(error)}") from None
