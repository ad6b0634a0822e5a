"""Where a command writes, tried before the work, and what is known about the data of its runs."""

import itertools
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from pgso.errors import InputError
from pgso.records import RunRecord, Store
from pgso.records.data import DataRecord

LONGEST = 80  # letters of the name of a folder


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


def check_model(path: Path | None) -> None:
    """Refuse, before the work, a place where no model can be saved."""
    if path is not None and path.suffix != ".safetensors":
        from pgso.saved import check_folder

        check_folder(path)
        check_destination("--save", path.parent, folder=True)
    else:
        check_destination("--save", path)


def about_model(path: Path) -> str:
    """Where a model was saved, and how large it is."""
    from pgso.saved import size_of

    size = size_of(path)
    return f"{path} ({size / 1e6:.1f} MB)" if size >= 100_000 else f"{path} ({size / 1e3:.0f} kB)"


def folder_name(*parts: str) -> str:
    """Datasets, files and other words as the name of a folder.

    A path of several folders, and what is too long and cut, ends in a mark of the whole.

    Example:
        >>> folder_name("find", "My Bank/"), folder_name("spectrum", "data/my_graph", "gcn")
        ('find-my-bank', 'spectrum-data-my_graph-gcn-cd0f0a16')
    """
    whole = "-".join(part.removeprefix("./").rstrip("/") or "dataset" for part in parts)
    text = re.sub(r"[^\w-]", "-", whole).strip("-").lower()
    if "/" not in whole and len(text) <= LONGEST:
        return text
    mark = sha256(whole.encode(errors="surrogateescape")).hexdigest()[:8]
    return f"{text[: LONGEST - 9].rstrip('-')}-{mark}"


def numbered(folder: Path, holds_the_same: Callable[[Path], bool]) -> Path:
    """The folder of a result: ``bank``, ``bank-2``, ...; the page says what it is.

    Args:
        folder: The first one that is tried.
        holds_the_same: Whether a folder holds the same result, which is written again.
    """
    others = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    for place in itertools.chain([folder], others):
        if not place.exists():
            return place
        with suppress(InputError):  # a damaged file is left alone
            if holds_the_same(place):
                return place
    raise AssertionError("unreachable")


def data_of(records: Sequence[RunRecord], store: Store, data: Path | None) -> list[DataRecord]:
    """What is known about the data of some runs, one per seed; torch is loaded only to compute."""
    specs = {record.spec.seed: record.spec for record in records}
    stored = [store.data(spec) for spec in specs.values()]
    complete = [record for record in stored if record is not None]
    if len(complete) < len(stored):
        from pgso.training.pages import complete_data_records

        complete = list(complete_data_records(specs.values(), store, data).values())
    return complete
