"""Files: written whole or not at all, nothing lost, and read with what is wrong in a sentence."""

import json
import os
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from pgso.errors import InputError, first_problem

Kind = TypeVar("Kind", bound=BaseModel)
OLD = 3600  # seconds after which an unfinished file is taken for one of a killed process
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
        with suppress(OSError):  # another process was faster, or it is not ours
            if time.time() - file.stat().st_mtime > OLD:
                file.unlink()


def as_text(record: BaseModel) -> str:
    """A record as JSON that people read, too."""
    return json.dumps(record.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def as_line(record: BaseModel) -> str:
    """A record as JSON in one line."""
    return json.dumps(record.model_dump(mode="json"), separators=(",", ":")) + "\n"


def read_as(kind: type[Kind], path: str | Path, what: str, remedy: str = "") -> Kind:
    """Read a record; what is wrong with it is said in one sentence.

    Args:
        kind: Its class.
        path: Where it should be.
        what: What it is the record of: ``a run``.
        remedy: What to do if it is not there: ``; make one with pgso find``.
    """
    try:
        return kind.model_validate_json(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no record of {what} at {path}{remedy}") from None
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, no JSON, none of these choices
        raise InputError(f"{path} is not a record of {what}: {first_problem(error)}") from None
