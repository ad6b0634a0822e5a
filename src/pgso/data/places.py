"""Where files are: the data root, and files that PyTorch Geometric's classes fetch into it."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pgso.errors import InputError

if TYPE_CHECKING:
    from pgso.data.dataset import Dataset

Read = TypeVar("Read")


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """The data root: the argument, or ``$PGSO_DATA``, or ``~/.cache/pgso``, in this order."""
    given = os.fspath(root) if root is not None else os.environ.get("PGSO_DATA")
    return Path(given or "~/.cache/pgso").expanduser()


def is_offline() -> bool:
    """Whether ``$PGSO_OFFLINE`` forbids to download, and to write into the data folder."""
    return os.environ.get("PGSO_OFFLINE", "").lower() not in ("", "0", "false", "no")


def is_writable(folder: Path) -> bool:
    """Whether a folder may be written to; permission bits count even for root."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    is_marked = existing.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) == 0
    return existing.is_dir() and not is_marked and os.access(existing, os.W_OK)


def held(read: Callable[..., Read]) -> Callable[..., Read]:
    """A reader of slow files that remembers the last ones, as long as they stay as they are."""

    @lru_cache(maxsize=2)
    def remembered(state: object, *given: Any) -> Read:
        return read(*given)

    def reader(*given: Any) -> Read:
        paths = [path for path in given if isinstance(path, Path)]
        files = [file for path in paths for file in (path, *sorted(path.rglob("*")))]
        states = [file.stat() for file in files if file.is_file()]
        times = tuple((s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for s in states)
        return remembered(times, *given)

    return reader


def fetch_with_pyg(class_name: str, folder: str, args: tuple[str, ...], root: Path) -> None:
    """Let one of PyG's dataset classes download its raw files below ``root / folder``."""
    import torch_geometric.datasets

    def stop(self: Any) -> None:  # in place of its processing, which would unpickle the files
        raise StopIteration

    base = getattr(torch_geometric.datasets, class_name)
    with suppress(StopIteration):
        type(class_name, (base,), {"process": stop})(str(root / folder), *args)


def fetch_zip(url: str, inside: str, folder: str, root: Path) -> None:
    """Download an archive and put its folder ``inside`` at ``root / folder``."""
    from torch_geometric.data import download_url, extract_zip

    with tempfile.TemporaryDirectory(dir=root) as scratch:
        extract_zip(download_url(url, scratch), scratch)
        shutil.move(Path(scratch) / inside, root / folder)


def ensure_files(dataset: "Dataset", root: Path) -> None:
    """Download what is missing, all or nothing, or say what it is and where it should be."""
    missing = dataset.missing(root)
    if not missing:
        return
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    lacking = f"{dataset.name} needs {missing[0]}{more}, which is not there, and"
    advice = "copy the files there, or point --data or $PGSO_DATA at a folder that has them"
    for stops, why in (
        (dataset.download is None, "cannot be downloaded"),
        (is_offline(), "nothing is downloaded offline"),
        (not is_writable(root), f"{root} is read-only, so nothing is downloaded"),
    ):
        if stops:
            raise InputError(f"{lacking} {why}; {advice}")
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".download-") as scratch:
        try:
            dataset.download(Path(scratch))  # type: ignore[misc]
        except Exception as error:  # the network, the server or the archive may fail in any way
            why = f"({type(error).__name__}: {error}): this machine seems to be offline"
            raise InputError(f"{lacking} downloading failed {why}; {advice}") from None
        left = dataset.missing(Path(scratch))
        if left:
            raise InputError(f"{lacking} the download did not bring {left[0].name}; {advice}")
        # Also those that only some datasets of a family have, such as labels of nodes.
        for file in [path for path in Path(scratch).rglob("*") if path.is_file()]:
            destination = root / file.relative_to(scratch)
            destination.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, destination)
