"""Where a command writes: tried before the work, and a folder of its own for every setting."""

import os
import tempfile
from hashlib import sha256
from pathlib import Path

from pgso.data.dataset import suited
from pgso.errors import InputError
from pgso.records import RunSpec


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


def folder_of(spec: RunSpec) -> str:
    """The name of a comparison's folder: every setting that is not the default is in it.

    Example:
        >>> folder_of(RunSpec(dataset="karate", conv="gat", epochs=20, data_options={"a": 1}))
        'karate-gat-a-1-epochs-20'
    """
    named = ("dataset", "conv", "base", "task", "objective")  # these need no name before them
    given = {name: getattr(spec, name) for name in (*named, "recipe") if getattr(spec, name)}
    parts = [str(given[name]) for name in named if name in given]
    # What a link task or a recipe suggests is no setting of its own.
    usual = suited(RunSpec(**given)).model_dump(mode="json") | {"recipe": "paper"}
    for name, value in spec.model_dump(mode="json").items():
        if name not in (*named, "operator", "seed") and value != usual[name]:
            settings = value.items() if isinstance(value, dict) else [(name, value)]
            parts += [f"{setting}-{chosen}" for setting, chosen in settings]
    return shortened("-".join(slug(part) for part in parts), "\n".join(parts))


def shortened(text: str, whole: str = "") -> str:
    """A name for a folder: what is too long is cut, and ends in a mark of the whole."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 9].rstrip('-')}-{_mark(whole or text)}"


def _mark(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]
