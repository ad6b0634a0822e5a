"""What the shell offers after TAB, without importing torch."""

import os
import re
from collections.abc import Callable, Iterable
from glob import escape, glob
from pathlib import Path
from typing import Literal, get_args, get_origin

from pgso.gso.presets import PRESETS
from pgso.records import RunSpec


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What the shell offers after TAB; only for names that are known without importing torch."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def dataset_names(incomplete: str) -> list[str]:
    """What the shell offers for a dataset: names, and folders of this place."""
    from pgso.data import DATASETS

    names = completing(dataset.name for dataset in DATASETS.values())(incomplete)
    suggestions = names or completing(DATASETS)(incomplete)  # small letters will do
    return sorted(suggestions) + sorted(glob(f"{escape(incomplete)}*/"))


def experiment_names(incomplete: str) -> list[str]:
    """What the shell offers for a study."""
    from pgso.cli.run import has_studies, studies

    return completing(studies().EXPERIMENTS if has_studies() else ())(incomplete)


def conv_names(incomplete: str) -> list[str]:
    """What the shell offers for a conv: read off the files of ``convs/``, which import torch."""
    from importlib.metadata import entry_points

    files = (Path(__file__).parents[1] / "convs").glob("*.py")
    texts = [file.read_text(encoding="utf-8") for file in files]
    ours = {name for text in texts for name in re.findall(r'CONVS\.register\("(\w+)"\)', text)}
    plugins = {point.name for point in entry_points(group="pgso.convs")}
    return completing(sorted(ours | plugins))(incomplete)


# Known without importing torch; a test holds them against the registry.
BASE_NAMES = ("heat", "non-backtracking", "ppr", "undirected")


def words_of(name: str) -> tuple[str, ...]:
    """The words that a choice of a run may be.

    Example:
        >>> words_of("norm")
        ('batch', 'layer')
    """
    hints = (
        RunSpec.model_fields[name].annotation,
        *get_args(RunSpec.model_fields[name].annotation),
    )
    return next((get_args(hint) for hint in hints if get_origin(hint) is Literal), ())


def settings_of(incomplete: str) -> list[str]:
    """What the shell offers after ``--set``: the names of choices, then the words of one."""
    name, equals, value = incomplete.partition("=")
    if not equals:
        return completing(f"{name}=" for name in RunSpec.model_fields)(incomplete)
    words = words_of(name) if name in RunSpec.model_fields else ()
    return [f"{name}={word}" for word in completing(words)(value)]


def space_of(incomplete: str) -> list[str]:
    """What the shell offers after ``--space``."""
    return completing(f"{name}=[" for name in RunSpec.model_fields)(incomplete)


def options_of(incomplete: str) -> list[str]:
    """What the shell offers after ``--option``: the options of the dataset that was typed before.

    The words come from the shell's variables (bash sets them; for other shells typer's
    scripts do): typer does not parse a line that ends in an option without a value.
    """
    from pgso.data import DATASETS
    from pgso.data.dataset import Dataset
    from pgso.data.tables.folder import load_folder

    variables = (os.environ.get(name, "") for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS"))
    words = " ".join(variables).lower().split()
    datasets = [DATASETS[word] for word in words[1:] if word in DATASETS]
    entry = datasets[0] if datasets else Dataset("", load_folder)
    return completing(f"{name}=" for name in entry.options)(incomplete)


def terms_of(incomplete: str) -> list[str]:
    """What the shell offers for the last of several terms."""
    before, comma, last = incomplete.rpartition(",")
    terms = ["self", *(f"{name}{side}" for name in PRESETS for side in ("", "@in", "@out"))]
    return [f"{before}{comma}{term}" for term in completing(terms)(last)]
