""".npz archives without pickles inside, whose arrays are as large as their headers claim."""

import lzma
import math
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from tokenize import TokenError

import numpy as np

from pgso.data.arrays import Array
from pgso.data.limits import check_unpacked
from pgso.errors import InputError

BROKEN = (
    # RuntimeError: encrypted; NotImplementedError: packed in a way that Python does not know.
    *(OSError, ValueError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OverflowError),
    *(SyntaxError, RecursionError, TokenError),  # numpy reads headers as Python's own literals
)


def read_archive(
    path: Path, keys: Mapping[str, int] | None = None, words: Collection[str] = ()
) -> dict[str, Array]:
    """The arrays of an ``.npz`` file.

    Args:
        path: The file.
        keys: Which arrays are needed, and their number of dimensions; by default, all there are.
            Others may be there and are not looked at.
        words: Which of the needed arrays hold words; the others hold numbers.
    """
    try:
        with path.open("rb") as file:
            if file.read(6) == b"\x93NUMPY":
                raise InputError(f"{path} is a single array; an .npz archive is needed")
        with zipfile.ZipFile(path) as archive:
            members = {
                info.filename.removesuffix(".npy"): info
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            for key in keys or ():
                if key not in members:
                    raise InputError(f"{path} has no array {key!r}; it has {', '.join(members)}")
            wanted = {key: members[key] for key in (members if keys is None else keys)}
            check_unpacked(path, sum(info.file_size for info in wanted.values()))
            arrays = {key: _read(archive, info) for key, info in wanted.items()}
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None
    except BROKEN as error:
        reason = str(error)[:200] or type(error).__name__
        raise InputError(f"{path} is no readable .npz archive ({reason}); fetch it again") from None
    for key, dimensions in (keys or {}).items():
        if arrays[key].ndim != dimensions:
            raise InputError(
                f"{path}: {key!r} must have {dimensions} dimensions, got {arrays[key].shape}"
            )
        if key not in words and arrays[key].dtype.kind not in "biuf":
            raise InputError(f"{path}: {key!r} must hold numbers, got {arrays[key].dtype}")
    return arrays


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    with archive.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"an array of version {version}")
        if dtype.hasobject:
            raise ValueError("it holds pickled objects")
        claimed = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or claimed != info.file_size - stream.tell():
            raise ValueError(f"{info.filename} is not as large as its shape {shape} says")
    with archive.open(info) as stream:
        array: Array = np.lib.format.read_array(stream, allow_pickle=False)
    return array
