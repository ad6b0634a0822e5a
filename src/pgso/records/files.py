"""Files: written whole or not at all, nothing lost, and whether a user's own have changed."""

import hashlib
import json
import os
import re
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from pydantic import BaseModel

from pgso.errors import InputError

OLD = 3600  # seconds after which an unfinished file is taken for one of a killed process


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, even if the process is killed; an error names the file.

    A link stays, and so does what is no file, such as /dev/null or a pipe.
    """
    data = content.encode() if isinstance(content, str) else content
    path = path.resolve() if path.is_symlink() else path
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{os.getpid()}.pgso-")
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


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left unfinished."""
    for file in folder.glob(".*.pgso-*"):
        with suppress(OSError):  # another process was faster, or it is not ours
            if time.time() - file.stat().st_mtime > OLD:
                file.unlink()


def write_beside(path: Path, content: str | bytes) -> Path | None:
    """Write a file as :func:`write_atomically` does, and lose nothing that was there.

    Returned is the new name of another file that had this one; None if there was none, or the same.
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


def as_text(record: BaseModel, indent: int | None = 1) -> str:
    """A record as JSON that people read, too; without an indent in one line."""
    fields = record.model_dump(mode="json")
    if indent is None:
        return json.dumps(fields, separators=(",", ":")) + "\n"
    return json.dumps(fields, indent=indent, ensure_ascii=False) + "\n"


_TABLE = re.compile(r"(?i)(edge|feature|node|label|target|split)s?\.(csv|tsv|txt|parquet)(\.gz)?")
ORDER = ("columns", "edges", "features", "array", "labels", "targets", "splits")
READ_UP_TO = 2**26  # bytes of a file that are read: a twentieth of a second


def file_kind(name: str) -> str | None:
    """What a file of a user's folder holds, by its name; None: it is no part of the dataset."""
    if name.lower() in ("columns.json", "features.npy"):
        return "columns" if name.lower() == "columns.json" else "array"
    table = _TABLE.fullmatch(name)
    if table is None:
        return None
    return "features" if table[1].lower() == "node" else f"{table[1].lower()}s"


def fingerprint(dataset: str) -> str | None:
    """A name for the state of a user's folder or file; None if it is neither.

    Names, sizes and contents count, so that a copy is the same data; of a file above 64 MB the
    first 64 MB, its times and its place on the disk. Other files of a folder do not count.
    """
    path = Path(dataset).expanduser()
    if not path.exists():
        return None
    files = [path]
    if path.is_dir():
        kinds = {file: file_kind(file.name) for file in path.iterdir() if file.is_file()}
        ranks = {file: ORDER.index(kind) for file, kind in kinds.items() if kind is not None}
        files = sorted(ranks, key=lambda file: (ranks[file], file.name))
    total = hashlib.sha256()
    for file in files:
        status = file.stat()
        facts: list[object] = [file.name, status.st_size]
        if status.st_size > READ_UP_TO:
            facts += [status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        total.update(repr(facts).encode(errors="surrogateescape"))
        with file.open("rb") as content:
            total.update(content.read(READ_UP_TO))
    return total.hexdigest()[:20]
