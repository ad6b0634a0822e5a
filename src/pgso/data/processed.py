"""Processed copies of slow raw files: written whole or not at all, checked when read."""

import hashlib
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array
from pgso.data.places import is_writable, may_keep_copies, processed_root
from pgso.records.files import write_atomically

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
