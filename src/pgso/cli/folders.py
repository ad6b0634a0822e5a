"""Where a command writes: tried before the work, and a folder of its own for every setting."""

import itertools
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from pgso.errors import InputError


def check_destination(option: str, path: Path | None, folder: bool = False) -> None:
    """Refuse, before the work, a place that cannot be written to after it; leave nothing there."""
    if path is None:
        return
    if path.exists() and path.is_dir() != folder:
        kind = "a folder" if folder else "a file"
        raise InputError(f"{option} must name {kind}, and {path} is not one; choose another name")
    target = path if folder else path.parent
    # Folders that are not there yet are made by what is written, in the first one that is there.
    there = next(filter(os.path.lexists, (target, *target.parents)), target)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise InputError(
            f"{option} {path} cannot be written to ({error.strerror}); choose another place"
        ) from None


def slug(name: str) -> str:
    """A dataset's name or path as the name of a folder.

    A path of several parts ends in a mark, for another path may have the same letters.

    Example:
        >>> slug("./my_graph"), slug("data/my_graph")
        ('my_graph', 'data-my_graph-a3f7')
    """
    path = name.removeprefix("./").rstrip("/")
    letters = [letter if letter.isalnum() or letter in "-_" else "-" for letter in path]
    plain = "".join(letters).strip("-").lower() or "dataset"
    return f"{plain}-{_mark(path)[:4]}" if "/" in path else plain


LONGEST = 80  # letters of the name of a folder


def numbered(out: Path, name: str, holds_the_same: Callable[[Path], bool]) -> Path:
    """The folder of a result: ``bank``, ``bank-2``, ...; the page says what it is.

    Args:
        out: Where results are.
        name: The first name that is tried.
        holds_the_same: Whether a folder holds the same result, which is written again.
    """
    for number in itertools.count(1):
        folder = out / (name if number == 1 else f"{name}-{number}")
        if not folder.exists():
            return folder
        with suppress(InputError):  # a damaged file is left alone
            if holds_the_same(folder):
                return folder
    raise AssertionError("unreachable")


def last_name(dataset: str) -> str:
    """What a dataset or a path ends in, as the name of a folder.

    Example:
        >>> last_name("../data/My Bank/"), last_name("tu:MUTAG")
        ('my-bank', 'tu-mutag')
    """
    return shortened(slug(Path(dataset).name or "dataset"))


def shortened(text: str, whole: str = "") -> str:
    """A name for a folder: what is too long is cut, and ends in a mark of the whole."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 9].rstrip('-')}-{_mark(whole or text)}"


def _mark(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]
