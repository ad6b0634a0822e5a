"""The options that several commands share, and the spec they make."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from glob import escape, glob
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pgso.cli.columns import show_columns
from pgso.cli.terminal import Console
from pgso.errors import InputError
from pgso.gso.presets import PRESETS
from pgso.objectives import OBJECTIVES
from pgso.records import RunSpec
from pgso.records.spec import RECIPES
from pgso.training.workers import start_loading


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What the shell offers after TAB; only for names that are known without importing torch."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def dataset_names(incomplete: str) -> list[str]:
    """What the shell offers for a dataset: names, and folders of this place."""
    from pgso.data import DATASETS

    names = completing(dataset.name for dataset in DATASETS.values())(incomplete)
    found = names or completing(DATASETS)(incomplete)  # small letters will do
    return sorted(found) + sorted(glob(f"{escape(incomplete)}*/"))


def experiment_names(incomplete: str) -> list[str]:
    """What the shell offers for a study."""
    from pgso.experiments import EXPERIMENTS

    return completing(EXPERIMENTS)(incomplete)


DatasetName = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A name (pgso list datasets) or your own folder.",
        autocompletion=dataset_names,
    ),
]
Conv = Annotated[
    str | None,
    typer.Option(help="Base architecture: pgso list convs.", show_default="gcn"),
]
Terms = Annotated[
    str | None,
    typer.Option(help="A bank: each term has weights of its own, e.g. self,gcn@in,gcn@out."),
]
Basis = Annotated[
    str | None,
    typer.Option(help="A polynomial filter: monomial | chebyshev | bernstein | jacobi."),
]
Degree = Annotated[int | None, typer.Option(help="The degree of a filter.", min=0)]
Epochs = Annotated[int | None, typer.Option(help="Passes over the training data.", min=1)]
Layers = Annotated[int | None, typer.Option(help="Number of layers.", min=1)]
Hidden = Annotated[int | None, typer.Option(help="Width of the hidden layers.", min=1)]
Preset = Annotated[
    str | None,
    typer.Option(help="Where S starts: pgso list presets.", autocompletion=completing(PRESETS)),
]
Recipe = Annotated[
    str | None, typer.Option(help=" | ".join(RECIPES), autocompletion=completing(RECIPES))
]
Base = Annotated[
    str | None, typer.Option(help="Another matrix than A: ppr | heat | non-backtracking.")
]
Task = Annotated[
    str | None, typer.Option(help="link: predict links; by default what the dataset is for.")
]
ObjectiveName = Annotated[
    str | None,
    typer.Option(
        help="What is scored: pgso list objectives.", autocompletion=completing(OBJECTIVES)
    ),
]
ClassWeights = Annotated[
    str | None, typer.Option(help="balanced: rare classes count as much as frequent ones.")
]
LogTargets = Annotated[
    bool | None, typer.Option("--log-targets", help="Learn the logarithm of the targets.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any other choice, e.g. --set norm=batch."),
]
DataOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="The dataset's own, e.g. rows=50."),
]
Out = Annotated[Path, typer.Option(help="Where records and reports go.")]
Data = Annotated[Path | None, typer.Option(help="Where datasets are; else $PGSO_DATA.")]
Workers = Annotated[int, typer.Option(help="Processes, one thread each.", min=1)]
Engine = Annotated[Literal["local", "ray"], typer.Option(help="What runs the workers.")]
Address = Annotated[str | None, typer.Option(help="Of a running Ray cluster.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; all else goes to stderr.")]

Device = Annotated[str, typer.Option(help="cpu | cuda | cuda:1 | auto: a GPU if there is one.")]

RUNS = Path("runs")
CORES = os.cpu_count() or 1


def own(device: str) -> str | None:
    """The device for a sweep's runs; None: each finds out for itself."""
    return None if device == "auto" else device


def start_early(engine: str, workers: int) -> None:
    """Load torch, here and where workers are forked from at the same time."""
    if engine == "local" and workers > 1:
        start_loading()
    import_module("pgso.training.preload")


def make_spec(
    dataset: str,
    settings: list[str] | None = None,
    data_options: list[str] | None = None,
    **choices: Any,
) -> RunSpec:
    """What was asked for; the spec itself adds what suits the dataset, as it does in Python."""
    given = {name: value for name, value in choices.items() if value is not None}
    if isinstance(given.get("terms"), str):
        given["terms"] = [term.strip() for term in given["terms"].split(",")]
    given |= pairs(settings)
    for name, instead in (("dataset", "the argument"), ("data_options", "--option NAME=VALUE")):
        if name in given:
            raise InputError(f"--set cannot change {name}; give it by {instead}")
    return RunSpec(dataset=dataset, **given, data_options=pairs(data_options))


def check_names(spec: RunSpec) -> None:
    """Refuse a conv or a preset that there is none of."""
    from pgso.convs import CONVS
    from pgso.gso.presets import resolve

    start = CONVS[spec.conv].preset
    resolve(start if spec.preset is None else spec.preset)
    if spec.terms is not None:
        CONVS[spec.conv].check_terms(spec.terms)


def check(
    spec: RunSpec, data: Path | None, needs_test: bool = False, console: Console | None = None
) -> str | None:
    """Refuse, before the first of many runs, what would fail in every one of them.

    Args:
        spec: One of the runs.
        data: Where datasets are.
        needs_test: Whether there must be a test set.
        console: Where to say what became of the columns of a user's table.

    Returns:
        What to be careful with on these data, in a sentence; mostly nothing.
    """
    from pgso.data.load import task_of
    from pgso.models.build import build_model
    from pgso.training.criterion import Criterion
    from pgso.training.fit import advice_on, check_task

    task = task_of(spec, data)
    check_task(spec, task)
    Criterion.of(spec, task)
    if needs_test and task.test.numel() == 0:
        raise InputError(
            f"{task.name} has no test set to compare on; choose another split or protocol"
        )
    build_model(spec, task)
    if console is not None:
        show_columns(console, task)
    return advice_on(task)


def refuse_settings(
    given: list[str] | None, instead: Mapping[str, str], option: str = "--set"
) -> None:
    """Refuse what would be overridden silently, and say what decides it."""
    for name in pairs(given).keys() & instead.keys():
        raise InputError(f"{option} cannot change {name} here: {instead[name]}")


def check_destination(option: str, path: Path | None, folder: bool = False) -> None:
    """Refuse, before the work, a place that cannot be written to after it."""
    if path is None:
        return
    if path.exists() and path.is_dir() != folder:
        kind = "a folder" if folder else "a file"
        raise InputError(f"{option} must name {kind}, and {path} is not one; choose another name")
    place = path if folder else path.parent
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise InputError(
            f"{option} {path} cannot be written to ({error.strerror}); choose another place"
        ) from None


def slug(name: str) -> str:
    """A dataset's name or path as the name of a folder."""
    letters = [letter if letter.isalnum() or letter in "-_" else "-" for letter in name]
    return "".join(letters).strip("-").lower() or "dataset"


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
    usual = RunSpec(**given).model_dump(mode="json") | {"recipe": RunSpec(dataset="").recipe}
    for name, value in spec.model_dump(mode="json").items():
        if name not in (*named, "operator", "seed") and value != usual[name]:
            settings = value.items() if isinstance(value, dict) else [(name, value)]
            parts += [f"{setting}-{chosen}" for setting, chosen in settings]
    text = "-".join(slug(part) for part in parts)
    if len(text) <= LONGEST:
        return text
    mark = sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:8]
    return f"{text[: LONGEST - 9].rstrip('-')}-{mark}"


def pairs(texts: list[str] | None) -> dict[str, Any]:
    """``["norm=batch", "heads=4"]`` as a dictionary; values are JSON where they can be.

    Example:
        >>> pairs(["norm=batch", "heads=4", "residual=true"])
        {'norm': 'batch', 'heads': 4, 'residual': True}
    """
    found: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{text!r} is not of the form NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):  # no JSON, or numbers and nesting without end
            found[name] = value
    return found
