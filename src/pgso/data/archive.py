""".npz archives without pickles inside."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError


def read_archive(path: Path, keys: Mapping[str, int] | None = None) -> dict[str, Array]:
    """The arrays of an ``.npz`` file.

    Args:
        path: The file.
        keys: Which arrays are needed, and their number of dimensions; by default, all there are.
            Others may be there and are not looked at.
    """
    found: dict[str, Array] = {}
    try:
        with path.open("rb") as file:  # numpy leaves the file open if it is no archive
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"{path} is a single array; an .npz archive is needed")
            for key in archive.files if keys is None else keys:
                if key not in archive.files:
                    raise InputError(
                        f"{path} has no array {key!r}; it has {', '.join(archive.files)}"
                    )
                found[key] = archive[key]
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        reason = "it holds pickled objects" if "allow_pickle" in str(error) else str(error)
        raise InputError(f"{path} is no readable .npz archive ({reason}); fetch it again") from None
    for key, dimensions in (keys or {}).items():
        if found[key].ndim != dimensions:
            raise InputError(
                f"{path}: {key!r} must have {dimensions} dimensions, got {found[key].shape}"
            )
    return found
