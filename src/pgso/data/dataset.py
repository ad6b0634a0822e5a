"""What is known about a dataset before it is loaded: published sizes, files, options."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from pgso.data.arrays import Arrays
from pgso.errors import InputError
from pgso.records import RunSpec
from pgso.records.suggestions import MOST_COLUMNS, TABLE, suggest
from pgso.registry import Registry

if TYPE_CHECKING:
    from pgso.data.task import Task


class Sizes(NamedTuple):
    """Published statistics: totals over all graphs; edges are directed, as stored."""

    graphs: int
    nodes: int
    edges: int
    features: int
    classes: int

    def check(self, arrays: Arrays, name: str, where: Path) -> None:
        """Refuse files that do not hold the published dataset: truncated, or somebody else's."""
        graphs = 1 if arrays.nodes_per_graph is None else len(arrays.nodes_per_graph)
        nodes, features = arrays.x.shape
        sizes = Sizes(graphs, nodes, arrays.edge_index.shape[1], features, len(arrays.classes))
        for what, got, published in zip(self._fields, sizes, self, strict=True):
            if got != published:
                raise InputError(
                    f"the files in {where} hold {got} {what}, but {name} has {published}: one of "
                    "them is damaged or belongs to another dataset; fetch them again"
                )


@dataclass(frozen=True)
class Dataset:
    """An entry of the registry: how a named dataset is loaded, and what to expect."""

    name: str  # as published
    load: Callable[..., Arrays]  # (root, seed, *, options) -> Arrays
    kind: Literal["node", "graph"] = "node"
    metric: str = "accuracy"  # the name of its objective
    sizes: Sizes | None = None  # with default options; None: not published
    files: tuple[str, ...] = ()  # what must lie under the data root; empty: nothing
    download: Callable[[Path], None] | None = None  # puts the files under a given root
    model: Mapping[str, Any] = field(default_factory=dict)  # choices of a RunSpec that suit it

    @property
    def options(self) -> Mapping[str, Any]:
        """The loader's options and their defaults."""
        parameters = inspect.signature(self.load).parameters.values()
        named = (p for p in parameters if p.kind is p.KEYWORD_ONLY)
        return {p.name: p.default for p in named if p.name != "preparation"}  # a model's, no option

    def missing(self, root: Path) -> list[Path]:
        """The files that are not there."""
        return [root / file for file in self.files if not (root / file).is_file()]


class _Datasets(Registry[Dataset]):
    """Datasets by name, in capitals or not.

    Another package may bring one: an entry point in the group ``pgso.datasets`` names a module that
    ends in ``DATASETS.add(...)``. Such modules are imported when a name is not known otherwise.
    """

    def __getitem__(self, name: str) -> Dataset:
        return super().__getitem__(name.lower() if isinstance(name, str) else name)

    def add(self, dataset: Dataset) -> None:
        """Make a dataset known by its name."""
        self.register(dataset.name.lower())(dataset)
        suggest(dataset.name, dataset.model, directed="undirected" in dataset.options)


DATASETS = _Datasets("dataset", plugins="pgso.datasets")


def suited(spec: RunSpec, task: "Task | None" = None) -> RunSpec:
    """The spec with what the user's own table suggests, where nothing else was said.

    Commands, ``fit`` and ``compare`` pass every spec through this function before it is used. A
    named dataset's suggestions are in the spec already.

    Args:
        spec: As the user made it.
        task: Its data, where they are in memory; by default the first line of the files is read.
    """
    if spec.dataset in DATASETS or spec.model_fields_set.issuperset(TABLE):
        return spec
    if task is not None:
        columns = None if task.preparation is None else task.preparation.columns
        is_table = task.kind != "graph" and 0 < len(columns or ()) <= MOST_COLUMNS
    else:
        is_table = _holds_table(Path(spec.dataset).expanduser())
    return spec.suited(TABLE) if is_table else spec


def _holds_table(folder: Path) -> bool:
    """Whether a folder has features of nodes in a few columns, in any format that is read."""
    files = [folder / f"features{suffix}" for suffix in (".csv", ".parquet", ".npy")]
    edges = [folder / f"edges{suffix}" for suffix in (".csv", ".parquet")]
    try:
        columns = [_first_line(file) for file in files if file.is_file()]
        heads = [_first_line(file) for file in edges if file.is_file()]
    except (OSError, ValueError, ImportError):  # refused with a sentence when it is loaded
        return False
    several = any("graph" in (name.strip().lower() for name in head) for head in heads)
    return bool(columns and heads) and not several and len(columns[0]) <= MOST_COLUMNS


def _first_line(file: Path) -> list[str]:
    """The cells of the first line of a table, or the numbers of the columns of an array."""
    if file.suffix == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_schema(file).names)
    if file.suffix == ".npy":
        array = np.load(file, mmap_mode="r", allow_pickle=False)
        return [str(column) for column in range(array.shape[1] if array.ndim == 2 else 0)]
    with file.open(encoding="utf-8-sig") as text:
        line = text.readline(2**16).rstrip("\r\n")
    return max((line.split(mark) for mark in ",;\t"), key=len)


def check_options(load: Callable[..., Arrays], options: Mapping[str, Any], name: str) -> None:
    """Refuse options that a loader does not have, or of another type than their defaults."""
    defaults = Dataset(name, load).options
    for option, value in options.items():
        if option not in defaults:
            listed = ", ".join(f"{key}={value!r}" for key, value in defaults.items())
            raise InputError(
                f"{name} has no option {option!r}; "
                + (f"its options and defaults are {listed}" if defaults else "it has no options")
            )

        default = defaults[option]
        text = isinstance(default, str) or default is None  # None: a name, or nothing
        fits = isinstance(value, str) == text and not isinstance(value, dict)
        if default is None and value is None:
            fits = True
        if isinstance(default, bool):
            fits = value in (True, False)
        if not fits:
            raise InputError(
                f"the option {option} of {name} cannot be {value!r:.80}; its default is {default!r}"
            )


def check_choice(option: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not among a few words."""
    if value not in allowed:
        raise InputError(f"{option} must be one of {', '.join(allowed)}; got {value!r}")
