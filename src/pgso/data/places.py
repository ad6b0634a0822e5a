"""Where data is looked for, and where processed copies go."""

import os
import stat
from pathlib import Path


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
