"""What is known about a dataset before it is loaded: published sizes, files, options."""

import gzip
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from pgso.data.raw import BROKEN
from pgso.errors import InputError, UnknownNameError
from pgso.records import RunSpec
from pgso.records.files import file_kind
from pgso.records.suggestions import MOST_COLUMNS, OWN_TABLE, PROPOSES
from pgso.registry import Registry

if TYPE_CHECKING:
    from pgso.data.task import Task

OF_A_MODEL = ("preparation", "known")  # arguments of loaders that are no options of a user


class Sizes(NamedTuple):
    """Published statistics: totals over all graphs; edges are directed, as stored."""

    graphs: int
    nodes: int
    edges: int
    features: int
    classes: int

    def checked(self, task: "Task", where: Path) -> "Task":
        """The task, unless files do not hold what was published: truncated, or somebody else's."""
        for what, published in self._asdict().items():
            got = getattr(task, f"num_{what}")
            if got != published:
                counts = f"hold {got} {what}, but {task.name} has {published}"
                problem = "one of them is damaged or belongs to another dataset"
                raise InputError(f"the files in {where} {counts}: {problem}; fetch them again")
        return task


@dataclass(frozen=True)
class Dataset:
    """An entry of the registry: how a named dataset is loaded, and what to expect."""

    name: str  # as published
    load: "Callable[..., Task]"  # (root, seed, *, options) -> Task
    kind: Literal["node", "graph"] = "node"
    metric: str = "accuracy"  # the name of its objective
    sizes: Sizes | None = None  # with default options; None: not published
    files: tuple[str, ...] = ()  # what must lie under the data root; empty: nothing
    download: Callable[[Path], None] | None = None  # puts the files under a given root
    model: Mapping[str, Any] = field(default_factory=dict)  # choices of a RunSpec that suit it
    options: Mapping[str, Any] = field(default_factory=dict)  # and defaults; added by DATASETS.add

    def missing(self, root: Path) -> list[Path]:
        """The files that are not there."""
        return [root / file for file in self.files if not (root / file).is_file()]


class _Datasets(Registry[Dataset]):
    """Datasets by name, in any case; modules of the entry points ``pgso.datasets`` may add some."""

    def __getitem__(self, name: str) -> Dataset:
        if not isinstance(name, str) or "/" in name or "\\" in name:  # a path, of no plug-in
            raise UnknownNameError(self.kind, name, self._entries)
        return super().__getitem__(name.lower())

    def add(self, dataset: Dataset) -> None:
        """Make a dataset known by its name."""
        known = replace(dataset, options=options_of(dataset.load))
        self.register(dataset.name.lower())(known)


DATASETS = _Datasets("dataset", plugins="pgso.datasets")


def suited(spec: RunSpec, task: "Task | None" = None) -> RunSpec:
    """The spec with what the user's own table suggests, where nothing else was said.

    Commands, ``fit`` and ``compare`` pass every spec through this function before it is used. A
    named dataset's suggestions are in the spec already. Without the task, the first lines of the
    files are looked at. The operator is what ``find`` keeps, if nothing was said about it and
    ``find`` has one for such a network.
    """
    if spec.dataset in DATASETS:
        return spec
    path = Path(spec.dataset).expanduser()
    of_table = _holds_table(path) if task is None else is_table(task)
    suggestions = dict(OWN_TABLE) if of_table else {}
    fields = RunSpec.model_fields
    said = [fields[name].json_schema_extra for name in spec.model_fields_set if name in fields]
    about_operator = any(isinstance(extra, dict) and extra["panel"] == "S" for extra in said)
    is_plain = spec.recipe == "paper" and spec.head == "trained" and spec.task != "link"
    is_open = not about_operator and is_plain and spec.conv in PROPOSES and not spec.sample
    if is_open and (path.is_dir() if task is None else _is_own(task)):
        suggestions["operator"] = "found"
    return spec.suited(suggestions) if suggestions else spec


def is_table(task: "Task") -> bool:
    """Whether the nodes of a task have a user's table of a few columns."""
    count = 0 if task.preparation is None else len(task.preparation.columns)
    if _is_own(task) and task.columns is None:
        count = task.num_features  # of features.npy
    return task.kind != "graph" and 0 < count <= MOST_COLUMNS


def _is_own(task: "Task") -> bool:
    """Whether a task is of a user's folder or frames: nodes have names, and are no atoms."""
    return task.preparation is not None or (task.ids is not None and task.categories is None)


def _holds_table(folder: Path) -> bool:
    """What :func:`is_table` says of the task of a folder, by the first lines of its files."""
    listed = folder.iterdir() if folder.is_dir() else ()
    files = {file_kind(file.name): file for file in listed if file.is_file()}
    features, edges = files.get("features", files.get("array")), files.get("edges")
    if features is None or edges is None:
        return False
    tops: list[list[str]] = []  # the cells of the first line of each, in small letters
    try:
        for file in (features, edges):
            suffix = file.suffix.lower()
            if suffix == ".npy":
                shape = np.lib.format.open_memmap(file, mode="r").shape
                cells = [""] * (shape[1] if len(shape) == 2 else 0)
            elif suffix == ".parquet":
                from pyarrow import parquet

                cells = parquet.read_schema(file).names
            else:
                opened = gzip.open if suffix == ".gz" else open
                with opened(file, "rt", encoding="utf-8-sig") as text:
                    line = text.readline(2**16)
                cells = max((line.split(mark) for mark in ",;\t"), key=len)
            tops.append([cell.strip().lower() for cell in cells])
    except (*BROKEN, ImportError):  # refused with a sentence when it is loaded
        return False
    columns, ends = tops
    is_answer = len(columns) == 2 and columns[1] in ("label", "class", "target", "y")
    return "graph" not in ends and not is_answer and len(columns) <= MOST_COLUMNS


def options_of(load: Callable[..., Any]) -> dict[str, Any]:
    """The options of a function and their defaults."""
    parameters = inspect.signature(load).parameters.values()
    named = (p for p in parameters if p.kind is p.KEYWORD_ONLY)
    return {p.name: p.default for p in named if p.name not in OF_A_MODEL}


def check_options(defaults: Mapping[str, Any], options: Mapping[str, Any], name: str) -> None:
    """Refuse options that a loader does not have, or of another type than their defaults."""
    for option, value in options.items():
        if option not in defaults:
            listed = ", ".join(f"{key}={value!r}" for key, value in defaults.items())
            known = f"its options and defaults are {listed}" if defaults else "it has no options"
            raise InputError(f"{name} has no option {option!r}; {known}")
        default = defaults[option]
        text = isinstance(default, str) or default is None  # None: a name, or nothing
        fits = isinstance(value, str) == text and not isinstance(value, dict)
        fits = fits or (default is None and value is None)
        if isinstance(default, bool):
            fits = value in (True, False)
        if not fits:
            problem = f"the option {option} of {name} cannot be {value!r:.80}"
            raise InputError(f"{problem}; its default is {default!r}")


def check_choice(option: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among a few words."""
    if value not in allowed:
        raise InputError(f"{option} must be one of {', '.join(allowed)}; got {value!r}")


def check_whole(option: str, value: object, low: int, high: int | None = None) -> None:
    """Refuse anything but a whole number from low on, and up to high."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):  # type: ignore[operator]
        limit = f"from {low} on" if high is None else f"from {low} to {high:,}"
        raise InputError(f"{option} must be a whole number {limit}, got {value!r}")
