"""Where files are: the data root, and processed copies of slow raw files."""

import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array
from pgso.records.files import write_atomically


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """The data root: the argument, or ``$PGSO_DATA``, or ``~/.cache/pgso``, in this order."""
    given = os.fspath(root) if root is not None else os.environ.get("PGSO_DATA")
    return Path(given or "~/.cache/pgso").expanduser()


def processed_root() -> Path:
    """Where processed copies are kept: ``$PGSO_CACHE``, or ``~/.cache/pgso/processed``."""
    return Path(os.environ.get("PGSO_CACHE") or "~/.cache/pgso/processed").expanduser()


def is_offline() -> bool:
    """Whether ``$PGSO_OFFLINE`` forbids to download, and to write into the data folder."""
    return os.environ.get("PGSO_OFFLINE", "").lower() not in ("", "0", "false", "no")


def may_keep_copies() -> bool:
    """Whether processed copies may be written; offline, only outside of the data folder."""
    copies = processed_root().absolute()
    return not (is_offline() and copies.is_relative_to(data_root().absolute()))


def is_writable(folder: Path) -> bool:
    """Whether files may be put into a folder that exists or could be made.

    The permission bits count even for root, who could write anyway: a tree that its owner marked
    read-only is left alone.
    """
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    bits = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    return (
        existing.is_dir() and bool(existing.stat().st_mode & bits) and os.access(existing, os.W_OK)
    )


VERSION = 1  # of what is stored; another number makes every copy stale

Named = dict[str, Array]


def cached(name: str, files: Sequence[Path], build: Callable[[], Named]) -> Named:
    """The arrays that ``build`` makes of ``files``, from a copy if there is a sound one.

    The copy's name holds the files' paths, sizes and times, so changed files get a new one. It is
    written under a name of its own and renamed when complete: two processes may do so at once,
    and one that is killed leaves no half-written copy. A damaged copy is built anew; where
    nothing can be written, nothing is.
    """
    copy = processed_root() / f"{name}-{_fingerprint(files)}.safetensors"
    arrays = _read(copy)
    if arrays is None:
        # safetensors stores what lies in memory, in that order.
        arrays = {key: np.ascontiguousarray(array) for key, array in build().items()}
        _write(copy, arrays)
    return arrays


def _fingerprint(files: Sequence[Path]) -> str:
    facts = [str(VERSION)]
    for file in files:
        status = file.stat()
        # A user can set the time of the last writing (mtime), but not of the last change (ctime).
        times = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
        facts.append(f"{file.absolute()} {status.st_size} {times}")
    return hashlib.sha256("\n".join(facts).encode(errors="surrogateescape")).hexdigest()[:16]


def _checksum(arrays: Named) -> str:
    total = 0
    for key in sorted(arrays):
        total = zlib.crc32(arrays[key].reshape(-1).data, zlib.crc32(key.encode(), total))
    return str(total)


def _read(copy: Path) -> Named | None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(copy, framework="numpy") as content:
            arrays = {key: content.get_tensor(key) for key in content.keys()}  # noqa: SIM118
            metadata = content.metadata() or {}
    except (OSError, SafetensorError):
        return None
    return arrays if metadata.get("checksum") == _checksum(arrays) else None


def _write(copy: Path, arrays: Named) -> None:
    from safetensors.numpy import save

    if not may_keep_copies() or not is_writable(copy.parent):
        return
    # A full disc costs the copy, not the run.
    with suppress(OSError):
        write_atomically(copy, save(arrays, metadata={"checksum": _checksum(arrays)}))
